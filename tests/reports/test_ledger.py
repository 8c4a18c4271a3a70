import json
import math
from dataclasses import dataclass, field

import pandas as pd
import pytest

import datasets
from privacy.ledger import Ledger, Mechanism
from reports import ledger
from workflow import committed

EVENT = {
    "what": "site",
    "mechanism": "gaussian",
    "relation": "add_remove",
    "sensitivity": 1.0,
    "noise_scale": 2.0,
    "sampling": "poisson",
    "sampling_rate": 0.01,
    "steps": 100,
    "proof": "",
    "generator": "",
    "renyi_curve": [],
}
BARE = EVENT | {"what": "mean", "mechanism": "no_noise", "sensitivity": "inf", "noise_scale": 0.0, "steps": 1}
#: of the model of the scores
KIND = "bnn_regression"


@dataclass
class Cost:
    epsilon: float
    all: dict = field(default_factory=dict)
    accountant: str = "one"


def toy(events: Ledger, delta: float) -> Cost:
    """Epsilon = steps x sampling rate; infinite for a bare release. Not an accountant, only easy to check by hand."""
    if any(e.mechanism is Mechanism.NO_NOISE for e in events):
        return Cost(math.inf, {"one": math.inf, "two": "cannot say"})
    total = sum(e.steps * e.sampling_rate for e in events)
    return Cost(total, {"one": total, "two": 2 * total})


def record(folder, cell, ledgers, budget=None, status="ok", **more):
    splits = [{"split": k, "status": status, "ledger": events} for k, events in enumerate(ledgers)]
    base = {"cell": cell, "method": "dp_sep", "budget": budget or {}, "splits": splits, "reused": []}
    (folder / f"{cell.replace('=', '_')}.json").write_text(json.dumps(base | more))


def test_one_row_per_event_and_accountant_and_a_total(tmp_path):
    record(tmp_path, "c", [[EVENT, EVENT | {"what": "other", "steps": 300}]], {"claimed_epsilon": 1.0, "delta": 1e-6})
    frame = ledger.build(tmp_path, epsilon_of=toy)
    assert list(frame.columns) == ledger.COLUMNS
    assert frame[["event", "accountant", "epsilon"]].to_numpy().tolist() == [
        ["site", "one", 1.0],
        ["site", "two", 2.0],
        ["other", "one", 3.0],
        ["other", "two", 6.0],
        ["(total)", "one", 4.0],
        ["(total)", "two", 8.0],
    ]
    assert set(frame["epsilon_claimed"]) == {1.0}
    assert set(frame["delta"]) == {1e-6}
    assert set(frame["sampling"]) == {"poisson"}
    assert frame["reason"].tolist() == ["", "", "", "", "taken as the answer", ""]


def test_a_bare_release_is_infinite_and_reasons_are_kept(tmp_path):
    record(tmp_path, "c", [[BARE]], {"claimed_epsilon": 1.0})
    total = ledger.build(tmp_path, epsilon_of=toy).query("event == '(total)'")
    assert total["epsilon"].iloc[0] == math.inf
    assert math.isnan(total["epsilon"].iloc[1])
    assert total["reason"].iloc[1] == "cannot say"


def test_the_dearest_ledger_of_a_cell_is_shown(tmp_path):
    record(tmp_path, "c", [[EVENT], [EVENT | {"steps": 900}], [EVENT]])
    frame = ledger.build(tmp_path, epsilon_of=toy)
    assert frame["epsilon"].tolist() == [9.0, 18.0, 9.0, 18.0]
    assert frame["reason"].str.contains("dearest of 2 ledgers").all()


def test_what_has_no_claim_and_no_event_is_left_out(tmp_path):
    record(tmp_path, "plain", [[], []])
    record(tmp_path, "claims", [[]], {"claimed_epsilon": 1.0})
    record(tmp_path, "failed", [[]], {"claimed_epsilon": 1.0}, status="failed")
    record(tmp_path, "stale", [[EVENT]])
    frame = ledger.build(tmp_path, {"plain", "claims", "failed"}, epsilon_of=toy)
    assert frame["cell"].tolist() == ["claims"]
    assert "recorded no release" in frame["reason"].iloc[0]


def test_a_restored_cell_keeps_its_committed_rows(tmp_path):
    record(tmp_path, "c", [], reused=[{"cell": "c"}])
    old = ["c", "dp_sep", "site", "one", "1.0", "0.5", "1e-05", "add_remove", "poisson", "7", ""]
    old = pd.DataFrame([[*old, "gaussian", "2.0", "0.01", "", ""]], columns=ledger.COLUMNS)
    assert ledger.build(tmp_path, {"c"}, toy, old).to_numpy().tolist() == old.to_numpy().tolist()


def test_a_row_has_what_epsilon_follows_from(tmp_path):
    draw = EVENT | {"what": "draw", "mechanism": "written_bound", "sampling": "full_batch", "sampling_rate": 1.0}
    clipped = EVENT | {"what": "clipped", "relation": "replace_one", "sensitivity": 4.0, "contribution": 2.0}
    record(tmp_path, "c", [[EVENT, BARE, draw | {"renyi_curve": [[2.0, 0.5], [3.0, 0.75]]}, clipped]])
    frame = ledger.build(tmp_path, epsilon_of=toy).drop_duplicates("event").set_index("event")
    columns = ["mechanism", "noise_multiplier", "sampling_rate", "renyi_curve", "contribution"]
    assert frame.loc[["site", "mean", "draw", "clipped"], columns].to_numpy().tolist() == [
        ["gaussian", 2.0, 0.01, "", ""],
        ["no_noise", 0.0, 0.01, "", ""],
        ["written_bound", "", 1.0, "[[2.0, 0.5], [3.0, 0.75]]", ""],
        ["gaussian", 0.5, 0.01, "", 0.5],
    ]
    assert frame.loc[ledger.TOTAL, columns].isna().all()


def test_ledgers_are_one_file_per_experiment_and_the_same_bytes_again(tmp_path):
    columns = dict.fromkeys(ledger.COLUMNS, "") | {"event": "e", "accountant": "a"}
    for name in ("two", "one"):
        rows = pd.DataFrame([columns | {"cell": f"{name}-b"}, columns | {"cell": f"{name}-a"}])
        committed.write_ledger(tmp_path, name, rows)
        before = committed.path_of(tmp_path, name, "ledgers").read_bytes()
        committed.write_ledger(tmp_path, name, rows)
        assert committed.path_of(tmp_path, name, "ledgers").read_bytes() == before
    assert committed.ledgers(tmp_path)["cell"].tolist() == ["one-a", "one-b", "two-a", "two-b"]
    assert list(committed.ledgers(tmp_path / "none").columns) == ledger.COLUMNS


def test_contributions_are_a_column_only_of_files_that_state_one(tmp_path):
    columns = dict.fromkeys(ledger.COLUMNS, "") | {"event": "e", "accountant": "a"}
    rows = pd.DataFrame([columns | {"cell": "c"}, columns | {"cell": "d", "contribution": math.nan}])
    for name, stated in (("without", ""), ("stating", "0.5")):
        rows.loc[0, "contribution"] = stated
        committed.write_ledger(tmp_path, name, rows)
        found = pd.read_csv(committed.path_of(tmp_path, name, "ledgers"), dtype=str)
        assert ("contribution" in found) == bool(stated)
    assert committed.ledgers(tmp_path)["contribution"].tolist() == ["0.5", "", "", ""]


def test_a_budget_without_delta_is_charged_at_delta_zero(tmp_path):
    record(tmp_path, "c", [[EVENT]], {"claimed_epsilon": 1.0, "delta": 0.0})
    assert set(ledger.build(tmp_path, epsilon_of=toy)["delta"]) == {0.0}


def test_of_a_cell_restored_in_part_the_dearer_ledger_is_shown(tmp_path):
    for share, before, answer in (("cheap", 0.5, "fresh"), ("dear", 9.0, "before")):
        record(tmp_path, share, [[EVENT]], reused=[{"cell": f"{share} of fewer splits"}])
        old = ledger.build(tmp_path, {share}, toy)
        old = old.assign(cell=f"{share} of fewer splits", epsilon=before, reason="taken as the answer; before")
        frame = ledger.build(tmp_path, {share}, toy, old)
        assert set(frame["cell"]) == {share}
        assert frame["reason"].str.contains("before").all() == (answer == "before")


def test_real_accountants_agree_with_this_interface(tmp_path):
    record(tmp_path, "c", [[BARE]], {"claimed_epsilon": 1.0})
    frame = ledger.build(tmp_path)
    assert (frame["epsilon"] == math.inf).any()


def privacy(scores, config, all_verdicts, tmp_path):
    cells = all_verdicts.loc[all_verdicts["our_method"].isin(["dp_sep", "dp_sep_authors"]), "cell"].unique()
    for cell in cells:
        events = [BARE] if "authors" in cell else [EVENT]
        record(tmp_path, cell, [events], {"claimed_epsilon": 1.0})
    return ledger.privacy_frame(all_verdicts, scores, ledger.build(tmp_path, epsilon_of=toy), {"kind": KIND})


def test_privacy_table_sets_claimed_beside_real(scores, config, all_verdicts, tmp_path):
    frame = privacy(scores, config, all_verdicts, tmp_path)
    at = frame.set_index(["source", "method", "setting", "reading", "dataset"]).sort_index()
    column = ("vinaroz2023dpsep", "dp_sep", "epsilon=1;delta=1e-5;clip=1")
    printed, released = at.loc[(*column, "printed", "wine")], at.loc[(*column, "authors", "wine")]
    assert (printed["epsilon"], printed["relation"], printed["sampling"]) == (0.9, "add_remove", "poisson")
    assert printed["claim"] in ("holds", "holds except for named leaks")
    assert (released["epsilon"], released["claim"]) == (math.inf, "no finite epsilon")
    dp_vi = at.loc[("vinaroz2023dpsep", "dp_vi", "epsilon~1;delta=1e-5", "printed", "wine")]
    assert dp_vi["claim"] == "no ledger"
    assert set(frame["source"]) == {"vinaroz2023dpsep", "vinaroz2021dpsep"}
    table, long = ledger.privacy_table(frame, "x_privacy", "banner", {"kind": KIND})
    assert len(long) == len(frame)
    dp_sep, dp_vi = table.blocks
    names = [name for name, _ in dp_sep.rows]
    assert len(names) == len(set(names)) == 2  # both sources and six equal settings: one row a reading
    assert names[0] == "as printed: dp_sep [clip=1 or clip=2 or clip=3 or clip=4 or clip=5 or clip=10]"
    wine = dict(dp_sep.rows)[names[0]][list(dp_sep.columns).index("Wine")]
    assert wine.lines == ("0.9",)
    assert wine.verdict == printed["claim"]
    assert [e.verdict for e in dp_vi.rows[0][1][1:7]] == ["no ledger"] * 6
    assert all(text in table.footnotes for text in ledger.leaks_of("dp_sep_authors", "wine", KIND))


def test_a_cell_without_data_says_so_once(scores, config, all_verdicts, tmp_path):
    rows = all_verdicts.copy()
    gone = (rows["dataset"] == "year") & (rows["method"] == "dp_sep")
    rows.loc[gone, ["verdict", "reason"]] = ["no_data", "no file"]
    frame = privacy(scores[scores["dataset"] != "year"], config, rows, tmp_path)
    year = frame[(frame["dataset"] == "year") & (frame["method"] == "dp_sep")]
    assert set(year["claim"]) == {"no data"}
    table, _ = ledger.privacy_table(frame, "x_privacy", "banner", {"kind": KIND})
    assert list(table.footnotes).count("no file") == 1
    at = list(table.blocks[0].columns).index("Year")
    assert {e[at].verdict for _, e in table.blocks[0].rows} == {"no data"}


def test_of_two_protocols_the_dearer_one_is_shown(scores, config, all_verdicts, tmp_path):
    twice = pd.concat([all_verdicts, all_verdicts.assign(protocol="literature", cell=all_verdicts["cell"] + "-2")])
    more = scores.assign(cell=scores["cell"] + "-2", protocol="literature")
    more["epsilon"] = more["epsilon"].replace({"0.9": "1.5"})
    frame = privacy(pd.concat([scores, more]), config, twice, tmp_path)
    keys = ["source", "method", "setting", "reading", "dataset", "our_method", "our_setting"]
    assert not frame.duplicated(keys).any()
    assert set(frame.loc[frame["our_method"] == "dp_sep", "epsilon"]) == {1.5}


@pytest.mark.parametrize(
    ("epsilon", "printed", "rounded", "leaks", "word"),
    [
        (1.0, "1", False, False, "holds"),
        (1.01, "1", False, False, "not shown"),
        (1.07, "1", True, False, "holds"),
        (1.6, "1", True, False, "not shown"),
        (0.5, "1", False, True, "holds except for named leaks"),
        (math.nan, "1", False, False, "no ledger"),
    ],
)
def test_claim(epsilon, printed, rounded, leaks, word):
    assert ledger._claim(epsilon, printed, rounded, leaks, "not shown") == word


def test_the_printed_epsilon_of_a_setting():
    assert ledger._printed_epsilon("epsilon~1;delta=1e-5") == ("1", True)
    assert ledger._printed_epsilon("epsilon=0.3;delta=1e-5;N=5000") == ("0.3", False)
    assert ledger._printed_epsilon("clip=1") == ("", False)


def test_a_column_that_prints_no_epsilon_is_held_to_the_claim_of_the_run(scores, config, all_verdicts, tmp_path):
    unnamed = all_verdicts["method"] == "dp_sep"
    some = all_verdicts[unnamed].assign(setting="delta=1e-5")
    frame = privacy(scores, config, some, tmp_path)
    assert set(frame["epsilon_published"]) == {""}
    printed = frame[frame["our_method"] == "dp_sep"]
    assert set(printed["epsilon"]) == {0.9}
    assert set(printed["claim"]) <= {"holds", "holds except for named leaks"}
    assert set(frame.loc[frame["our_method"] == "dp_sep_authors", "claim"]) <= {"no finite epsilon", "not shown"}
    table, _ = ledger.privacy_table(frame, "p", "banner", {"kind": KIND})
    assert all(entries[0].lines[0].startswith("none printed; ours 1") for b in table.blocks for _, entries in b.rows)


MIXTURE, LINEAR, LOGISTIC = "mixture_of_gaussians", "bounded_linear_regression", "logistic_regression_normal_prior"


@pytest.mark.parametrize(
    ("method", "start", "yes", "no"),
    [
        ("dp_sep_corrected", "on kin8nm, power and wine only: three", ("power", KIND), ("protein", KIND)),
        ("dp_sep_authors", "on the mixture an update", ("mixture_of_gaussians", MIXTURE), ("wine", KIND)),
        ("dp_sep_authors", "on the mixture rows are read", ("mixture_of_gaussians", MIXTURE), ("wine", KIND)),
        ("dp_sep_authors", "on the network clipped", ("wine", KIND), ("mixture_of_gaussians", MIXTURE)),
        ("dp_sep", "inputs and target of a regression", ("wine", KIND), ("mixture_of_gaussians", MIXTURE)),
        ("dpvi", "where the model's scaling is 'moments' (Adult as published)", ("adult_complete", LOGISTIC),
         ("linear_regression_10d", "linear_regression_unknown_noise")),
        ("bernstein_sheldon_2018_authors", "all counts of the Dirichlet",
         ("dirichlet_categorical", "conjugate_simulator"), ("beta_bernoulli", "conjugate_simulator")),
        ("bernstein_sheldon_2018_authors", "the bounds of the gamma-exponential's sum",
         ("gamma_exponential", "conjugate_simulator"), ("beta_bernoulli", "conjugate_simulator")),
        ("adassp", "on wine only", ("wine", KIND), ("power", KIND)),
    ],
)  # fmt: skip
def test_a_leak_is_shown_where_it_applies(method, start, yes, no):
    """Its words tell the reader what its fields tell the suite."""
    assert [t for t in ledger.leaks_of(method, *yes) if t.startswith(start)]
    assert not [t for t in ledger.leaks_of(method, *no) if t.startswith(start)]


def test_a_method_shows_the_leaks_of_the_kind_of_model_that_it_fits():
    assert ledger.leaks_of("adassp", "wine", KIND)
    assert ledger.leaks_of("adassp", "wine", LINEAR) == ledger.guards(["wine", "no_data_set"])
    assert ledger.leaks_of("adassp", "kin8nm", LINEAR) == ()
    (n,) = ledger.leaks_of("dpvi", "kin8nm", LINEAR)
    assert n in ledger.leaks_of("dpvi", "adult_complete", LOGISTIC)


def test_ranges_that_are_extremes_are_a_leak_of_every_method_that_takes_them():
    """From the data set's own statement: on Power for all in the box and no other, the target where there is one."""
    (linear,) = ledger.leaks_of("dp_sgd", "power", LINEAR)
    assert ledger.CONDITIONAL in linear
    assert datasets.get("power").target in linear
    assert linear in ledger.leaks_of("dpvi", "power", LINEAR)
    (density,) = ledger.leaks_of("dp_single_gaussian", "power", "bounded_mixture")
    assert datasets.get("power").target not in density
    assert ledger.leaks_of("dp_single_gaussian", "protein", "bounded_mixture") == ()
    assert ledger.leaks_of("dp_sgd", "protein", LINEAR) != ()
    shown = {s: ledger.leaks_of("posterior_sampling_glm_direct", "abalone", "logistic_regression", s)
             for s in ("public", "data")}  # fmt: skip
    assert [sum(ledger.CONDITIONAL in t for t in shown[s]) for s in ("public", "data")] == [1, 0]
    assert not any(ledger.CONDITIONAL in t for t in ledger.leaks_of("dp_sep", "power", KIND))


@pytest.mark.parametrize(
    ("model", "leaks"),
    [({"scaling": "data"}, True), ({"scaling": "public"}, False), ({}, False)],  # public is the model's default
)
def test_a_leak_of_scaling_is_shown_under_the_scaling_of_the_config(model, leaks):
    """The experiment by public ranges showed the leak of the one by private ranges."""
    shown = ledger.leaks_under({"kind": "logistic_regression", **model}, "posterior_sampling_glm_direct", "adult")
    assert any(text.startswith("where the model's scaling is 'data'") for text in shown) is leaks
    assert any("Markov chain" in text for text in shown)


def test_what_a_model_pays_for_is_no_leak():
    shown, paid = (ledger.leaks_of("dpvi", "adult_complete", LOGISTIC, s) for s in ("moments", "paid"))
    assert ledger.leaks_of("dpvi", "adult_complete", LOGISTIC) == shown
    assert len(shown) == len(paid) + 1
    assert set(paid) < set(shown)


def test_what_a_method_claims_is_that_of_the_kind_it_fits(tmp_path):
    """exact_posterior is taught the box and is not private there; a method that nobody was taught keeps its adapter."""
    model, budget = {"kind": "bounded_linear_regression"}, {"epsilon": 1.0, "delta": 1e-5}
    record(tmp_path, "a", [[EVENT]], budget, method="dp_sep_corrected", model=model)
    record(tmp_path, "b", [[EVENT]], budget, method="exact_posterior", model=model)
    frame = ledger.build(tmp_path, epsilon_of=toy)
    assert set(frame.loc[frame["cell"] == "a", "epsilon_claimed"]) == {1.0}
    assert frame.loc[frame["cell"] == "b", "epsilon_claimed"].isna().all()
    assert ledger.leaks_of("nobody", "wine", "bounded_linear_regression") == ()
