"""Which score rows of papers with their own code are recomputed."""

from workflow import papers, recompute


def test_samples_of_papers_with_programs_are_committed_cells_of_one_file_and_method():
    assert set(papers.programs()) >= {"wang2018", "jalko2017dpvi", "raisa2021thesis"}
    units = recompute.own_units()
    for key, (_, program) in papers.programs().items():
        mine, known = [u for u in units if u.experiment == key], recompute.own_cells(key)
        ids = [i for u in mine for i in u.cells]
        assert len(set(ids)) == len(ids) > 2
        assert {u.seconds for u in mine} == set(program.samples.values())  # each pattern names some
        readings = {(r["method"], r["reading"]) for c in known.values() for r in c.rows}
        assert len({(r["method"], r["reading"]) for i in ids for r in known[i].rows}) == len(readings)
        for unit in mine:
            assert len({(known[i].file, r["method"], r["reading"]) for i in unit.cells for r in known[i].rows}) == 1


def test_a_committed_number_of_a_short_run_that_is_gone_differs():
    unit = recompute.Unit("bbb_mnist", "mnist_digits", ("a-cell",), ("bayes_by_backprop",), short=(("epochs", 1),))
    known = {("bbb_mnist", "bayes_by_backprop", cell, "mean_sd"): 0.5 for cell in ("a-cell", "another")}
    (only,) = recompute.compare_short(unit, recompute.Found([], [], 0.0), known)
    assert (only.cell, only.metric, only.verdict) == ("a-cell", "mean_sd", recompute.DIFFERS)
