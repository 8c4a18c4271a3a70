"""Score rows of papers with their own code: which are recomputed, and how they are compared."""

from workflow import own_code, papers


def test_samples_of_papers_with_programs_are_committed_cells_of_one_file_and_method():
    assert set(papers.programs()) >= {"wang2018", "jalko2017dpvi", "raisa2021thesis"}
    units = own_code.own_units()
    for key, (_, program) in papers.programs().items():
        mine, known = [u for u in units if u.experiment == key], own_code.own_cells(key)
        ids = [i for u in mine for i in u.cells]
        assert len(set(ids)) == len(ids) > 2
        assert {u.seconds for u in mine} == set(program.samples.values())  # each pattern names some
        readings = {(r["method"], r["reading"]) for c in known.values() for r in c.rows}
        assert len({(r["method"], r["reading"]) for i in ids for r in known[i].rows}) == len(readings)
        for unit in mine:
            assert len({(known[i].file, r["method"], r["reading"]) for i in unit.cells for r in known[i].rows}) == 1


def test_a_score_row_of_a_papers_program_is_compared_measure_by_measure(monkeypatch):
    monkeypatch.setattr(own_code, "own_tolerance", lambda was: (1e-6, "some kernels"))
    measures = {"{metric}": "mean", "accuracy": "1 - mean", "epsilon": "ledger_epsilon", "sd": "std"}
    was = {"method": "m", "dataset": "d", "metric": "error", "setting": "epsilon~1;delta=1e-3", "status": "ok",
           "reason": "", "repeats": "40", "mean": "0.25", "std": "", "ledger_epsilon": "2"}  # fmt: skip

    def lines(**changes):
        found = own_code.own_numbers(measures, "i", was, was | changes)
        return [(n.metric, n.committed, n.here, n.verdict, n.why) for n in found]

    assert lines() == [
        ("error", "0.25", "0.25", "equal", "40 repetitions"),
        ("accuracy", "0.75", "0.75", "equal", "40 repetitions"),
        ("epsilon", "2", "2", "equal", "delta 1e-3"),
    ]
    assert [line[3] for line in lines(mean=0.2500001, ledger_epsilon="2.1")] == ["within", "within", "differs"]
    assert lines(mean=0.26)[1] == ("accuracy", "0.75", "0.74", "differs", "40 repetitions; some kernels")
    assert lines(status="no_data", reason="no file") == [("status", "ok", "no_data", "not run", "no file")]
    assert lines(status="diverged", reason="nan") == [("status", "ok", "diverged", "differs", "nan")]
