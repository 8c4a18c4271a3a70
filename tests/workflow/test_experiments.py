"""From config to cells: ids, seeds, scales, and one clear error for each bad key."""

import dataclasses
import textwrap

import pytest

from methods import contract
from workflow import committed, experiments
from workflow.experiments import ConfigError, cells, families, jobs, units
from workflow.papers import REFERENCE
from workflow.papers import experiments as files
from workflow.store import seed_text

BASE = """
experiment: {name}
title: a test
sources: []
model: {{kind: bnn_regression, hidden: {{by_dataset: {{default: 3, protein: 4}}}}}}
datasets: [wine, protein]
protocols: {{literature: {{splits: {{by_dataset: {{wine: 5, default: 2}}}}}}}}
arms:
  - {{method: predict_mean, protocols: [literature]{more}}}
scales: {{full: {{}}, quick: {{splits: 2}}, tiny: {{datasets: [wine], splits: 1}}}}
answers: []
"""


@pytest.fixture
def write(tmp_path):
    count = iter(range(100))

    def _write(more="", text=BASE):
        name = f"e{next(count)}"
        path = tmp_path / f"{name}.yaml"
        path.write_text(textwrap.dedent(text.format(name=name, more=more)))
        return path

    return _write


def test_values_by_dataset_and_scale(write):
    path = write()
    full = {c.dataset: c for c in cells(path, "full")}
    assert (full["wine"].splits, full["protein"].splits) == (5, 2)
    assert dict(full["protein"].model)["hidden"] == 4
    assert [c.splits for c in cells(path, "quick")] == [2, 2]
    assert [(c.dataset, c.splits) for c in cells(path, "tiny")] == [("wine", 1)]


def test_quick_is_what_tiny_is_where_an_experiment_does_not_name_it(write):
    path = write(text=BASE.replace("quick: {{splits: 2}}, ", ""))
    quick, tiny = cells(path, "quick"), cells(path, "tiny")
    assert [(c.dataset, c.splits, c.scale) for c in quick] == [("wine", 1, "quick")]
    assert [(c.id, c.settings) for c in quick] == [(c.id, c.settings) for c in tiny]
    with pytest.raises(ConfigError, match="'tiny' is a required property"):
        cells(write(text=BASE.replace(", tiny: {{datasets: [wine], splits: 1}}", "")), "full")


@pytest.mark.parametrize(
    ("dataset", "protocol", "method", "split", "words"),
    [
        ("life_science", "folds", "dp_em_authors", 0, "9d76639d-8578b05b-1fa9441e-7e32da02"),
        ("kin8nm", "authors", "adf", 0, "6f470aa9-e0382476-d38311b4-a27bdf20"),
        ("kin8nm", "literature", "dp_sep_corrected", 0, "579b3ad4-9d84aa0e-ed0316c5-b178cf5f"),
    ],
)
def test_the_law_of_seeds_is_that_of_the_committed_runs(write, dataset, protocol, method, split, words):
    """The reference does not store seeds: under another law they would be filled in wrong, so it must be run anew."""
    (cell, *_) = cells(write(), "full")
    cell = dataclasses.replace(cell, dataset=dataset, protocol=protocol, method=method)
    assert seed_text(cell.seed(split, "fit")) == words


def test_a_renamed_method_keeps_its_seeds(write, monkeypatch):
    """Another method stands for the renamed one: what it says in ``seed_name`` is hashed, and not its name."""
    old = cells(write(), "full")[0]
    new = dataclasses.replace(old, method="ridge")
    assert new.seed(0, "fit") != old.seed(0, "fit")
    monkeypatch.setattr(type(contract.get("ridge")), "seed_name", old.method)
    assert new.seed(0, "fit") == old.seed(0, "fit")


def test_seed_depends_on_its_axes_only(write):
    a = cells(write(), "full")[0]
    b = cells(write(", label: other, splits: 3"), "full")[0]
    assert a.id != b.id
    assert a.seed(1, "fit") == b.seed(1, "fit")  # neither the setting nor the number of splits moves a seed
    assert len({tuple(a.seed(k, r)) for k in range(5) for r in ("fit", "noise", "predict")}) == 15


def test_cell_id_is_readable_and_follows_the_settings(write):
    path = write()
    cell = cells(path, "full")[0]
    assert cell.id.startswith(f"{path.stem}-wine-literature-predict_mean-")
    assert cell.id == cells(path, "full")[0].id


def test_a_later_setting_at_its_default_changes_no_cell():
    """``start`` of clipped_sep came after its cells were committed: they keep their ids."""
    made = cells(files()["dpsep_uci"], "full")
    of = {(c.setting, c.dataset): c for c in made if c.method == "clipped_sep" and c.protocol == "authors"}
    plain, other = of["clip=1", "kin8nm"], of["clip=1;start=program", "kin8nm"]
    assert set(plain.values["settings"]) == {"clip", "epochs", "floor", "gamma"}
    assert plain.build_settings().start == "printed"
    assert other.values["settings"]["start"] == other.build_settings().start == "program"


@pytest.mark.parametrize("what", ["intervals", "diagnostics"])
def test_intervals_and_diagnostics_are_facts_of_the_experiment_and_of_no_id(write, what):
    """An experiment may ask for more scores of the same fits."""
    path = write()
    cell = cells(path, "full")[0]
    assert not getattr(cell, what)
    path.write_text(path.read_text() + f"{what}: true\n")
    experiments.load.cache_clear()
    assert cells(path, "full")[0] == dataclasses.replace(cell, **{what: True})
    assert cells(path, "full")[0].id == cell.id


def test_chunks_are_ranges_of_splits_and_of_no_id(write):
    path = write(", splits: 7")
    cell = cells(path, "full")[0]
    text = path.read_text()
    path.write_text(text + "chunks: {predict_mean: 3}\n")
    experiments.load.cache_clear()
    cut = cells(path, "full")[0]
    assert (cell.chunks, cut.chunks) == (1, 3)
    assert cut.id == cell.id
    assert [list(cut.chunk(k)) for k in (1, 2, 3, 4)] == [[0, 1], [2, 3], [4, 5, 6], []]
    assert [list(cell.chunk(k)) for k in (1, 2)] == [list(range(7)), []]
    path.write_text(text + "chunks: {nobody: 3}\n")
    experiments.load.cache_clear()
    with pytest.raises(ConfigError, match="no method 'nobody'"):
        cells(path, "full")


def test_a_job_holds_the_cells_of_one_run_and_no_unit_is_cut():
    """Readings of one run are one job. What is fitted together is as large as before: a family, or one cell."""
    every = [c for p in files().values() for c in cells(p, "full")]
    for group in jobs(every).values():
        assert len({(c.experiment, c.dataset, c.run_of) for c in group}) == 1
    assert len(jobs(every)) == len({(c.experiment, c.dataset, c.run_of) for c in every})
    together = units(every)
    assert {k: v for k, v in together.items() if v[0].family} == families(every)
    assert all(len({c.job for c in group}) == 1 for group in together.values())
    assert all(len(group) == 1 for name, group in together.items() if not group[0].family)


def test_a_cell_names_the_modules_that_its_scores_rest_on(write):
    (cell, *_) = cells(write(), "full")
    fit = {
        "methods.baselines.predict_mean",
        "models.bnn_regression",
        "datasets.protocols.splits",
        f"datasets.{cell.dataset}",
    }
    score = {"models.posteriors", "evaluation.scorers"}
    assert cell.score_roots == fit | score | {f"workflow.{part}" for part in ("worker", "draws", "score")}


def test_an_unknown_kind_of_model_lists_the_known(write):
    with pytest.raises(ConfigError, match=r"model\.kind 'bnn'; known: bnn_classification"):
        cells(write(text=BASE.replace("{{kind: bnn_regression", "{{kind: bnn")), "full")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (", settings: {learning_rte: 1}", ["predict_mean", "unknown setting 'learning_rte'"]),
        (", budget: {epsilon: 0, delta: 1.0e-5}", ["arms.0.budget.epsilon", "0 is less than or equal"]),
        (", quick: false, budget: {epsilon: -1}", ["arms.0.budget.epsilon", "-1"]),
        (", budget: {claimed_epsilon: -1}", ["arms.0.budget.claimed_epsilon", "-1"]),
        (", budget: {epsilon: {by_dataset: {wine: -2, default: 1}}}", ["budget.epsilon", "wine", "-2"]),
        (", budget: {delta: 2}", ["delta = 2"]),
        (", colour: red", ["colour"]),
        (", splits: {by_dataset: {wine: 2}}", ["no value for data set 'protein'"]),
    ],
)
def test_bad_keys_are_named(write, more, words):
    with pytest.raises(ConfigError) as error:
        cells(write(more), "full")
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("scale", ["full", "tiny"])
def test_a_data_set_of_a_scale_that_the_experiment_lacks_is_an_error(write, scale):
    with pytest.raises(ConfigError, match=r"scales\.tiny\.datasets: 'power' is not under datasets"):
        cells(write(text=BASE.replace("{{datasets: [wine], ", "{{datasets: [wine, power], ")), scale)


def test_an_epsilon_of_those_that_nobody_listed_is_above_0(write):
    more = "include_unlisted_methods: {{protocols: [literature], budget: {{epsilon: -1, delta: 1.0e-5}}}}\n"
    with pytest.raises(ConfigError, match=r"include_unlisted_methods\.budget\.epsilon: -1"):
        cells(write(text=BASE + more), "tiny")


def test_unknown_names_list_the_known(write):
    with pytest.raises(ConfigError, match=r"unknown method 'vii'.*ridge"):
        cells(write(text=BASE.replace("predict_mean", "vii")), "full")
    with pytest.raises(ConfigError, match=r"unknown data set 'wines'.*wine"):
        cells(write(text=BASE.replace("[wine, protein]", "[wine, wines]")), "full")
    with pytest.raises(ConfigError, match="scale 'fast'"):
        cells(write(), "fast")
    with pytest.raises(ConfigError, match="no experiment file"):
        experiments.load("papers/none/experiments/none.yaml")


def test_two_arms_with_the_same_cell_are_refused(write):
    text = BASE.replace("scales:", "  - {{method: predict_mean, protocols: [literature]}}\nscales:")
    with pytest.raises(ConfigError, match="same cell"):
        cells(write(text=text), "full")


ABLATED = BASE.replace("{more}", "")
ABLATED += """ablations:
  - {{method: ridge, datasets: [wine], protocols: [literature], settings: {{count: 3}}{more}}}
"""


def test_an_ablation_is_marked_and_runs_at_full_scale_only(write):
    path = write(", label: heavy", ABLATED)
    assert [(c.dataset, c.setting) for c in cells(path, "full") if c.method == "ridge"] == [("wine", "ablation;heavy")]
    assert not [c for s in ("quick", "tiny") for c in cells(path, s) if c.method == "ridge"]


def test_an_ablation_keeps_the_method_among_those_that_nobody_listed(write):
    text = ABLATED.replace("scales:", "include_unlisted_methods: {{protocols: [literature]}}\nscales:")
    settings = [c.setting for c in cells(write(", label: heavy", text), "full") if c.method == "ridge"]
    assert sorted(settings) == ["", "", "ablation;heavy"]  # on both data sets as it is, and the ablation on one


def test_an_ablation_says_what_differs(write):
    with pytest.raises(ConfigError, match=r"ablation of ridge: give it a label"):
        cells(write("", ABLATED), "full")


@pytest.mark.parametrize("scale", experiments.SCALES)
def test_the_committed_experiments_expand(scale):
    expanded = [cells(path, scale) for path in experiments.experiment_files()]
    assert any(expanded)
    if scale == "full":
        assert all(expanded)
    for found in expanded:
        assert len({c.id for c in found}) == len(found)
        for cell in found:
            cell.build_settings()
            cell.build_model()
            cell.build_budget()


def test_every_answer_names_a_cell_that_runs():
    for path in experiments.experiment_files():
        config = experiments.load(path)
        have = {(c.protocol, c.method, c.setting) for c in cells(path, "full")}
        for answer in config["answers"]:
            named = [*answer["readings"].values(), *answer.get("also", [])]
            for cell in named:
                assert (cell["protocol"], cell["method"], cell.get("label", "")) in have, (path, answer, cell)


@pytest.mark.parametrize("name", sorted(set(committed.experiments(REFERENCE)) & set(files())))
def test_every_committed_cell_is_one_of_the_config(name):
    """The name of a setting is part of a cell's id: a field that is renamed loses what is committed."""
    known = {c.id for c in cells(files()[name], "full")}
    gone = sorted(set(committed.read(REFERENCE, name)["cell"]) - known)
    assert not gone, f"{len(gone)} committed cells are no cells of {name} any more, such as {gone[0]}"
