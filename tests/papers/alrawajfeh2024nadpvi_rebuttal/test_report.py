"""Figures and tables of NA-DPVI, from small made-up scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from evaluation.coverage import LEVELS
from evaluation.summary import COLUMNS
from papers.alrawajfeh2024nadpvi_rebuttal import figures, tables
from reports.blocks import latex, markdown
from reports.verdicts import COLUMNS as VERDICTS
from tests.made_up_run import run_of

FAMILIES = ["gamma_exponential", "beta_bernoulli"]
#: (method, setting, data sets, coverage error, real epsilon)
CELLS = [
    ("exact_posterior", "", 8, 0.02, ""),
    ("bernstein_sheldon_2018", "epsilon=0.1", 8, 0.03, "0.09998"),
    ("na_dpvi", "epsilon=0.1", 8, 0.04, "0.0842"),
    ("na_dpvi", "epsilon=0.1;tight", 8, 0.05, "0.0999"),
    ("na_dpvi", "epsilon=1", 8, 0.06, "0.9864"),
    ("dpvi_last_iterate", "epsilon=0.1", 8, 0.25, "0.0842"),
    ("na_dpvi_nuts", "epsilon=0.1", 4, 0.07, "0.0842"),
]


def row(experiment, dataset, method, setting, epsilon="", **more):
    private = method.startswith(("dpvi", "na_dpvi"))
    relation = ("add_remove" if private else "replace_one") if epsilon else ""
    return dict.fromkeys(COLUMNS, "") | {
        "cell": f"{dataset}-{method}-{setting}", "experiment": experiment, "dataset": dataset, "protocol": "p",
        "method": method, "setting": setting, "status": "ok", "epsilon": epsilon, "delta": "1e-05" if epsilon else "",
        "relation": relation, "accountant": "dp_accounting_pld" if epsilon else "", "scale": "full",
    } | more  # fmt: skip


def coverage_rows(dataset, method, setting, n, rmse, epsilon):
    base = row("x", dataset, method, setting, epsilon)
    name = "tarp_coverage_rmse"
    found = {name: rmse, f"{name}_redraws": 0.001, f"{name}_sd": 0.004, f"{name}_low": rmse / 2,
             f"{name}_high": rmse * 1.5, f"{name}_floor": 0.0164, f"{name}_floor_upper": 0.0295}  # fmt: skip
    for level in 1 - LEVELS:
        found[f"tarp_coverage_{level:.3f}"] = min(1.0, level + rmse / 2)
        found[f"tarp_coverage_{level:.3f}_redraws"] = 0.003
    out = [base | {"metric": m, "value": repr(float(v))} for m, v in found.items()]
    return out + [base | {"split": str(k), "metric": "tarp_fraction", "value": "0.5"} for k in range(n)]


@pytest.fixture(scope="module")
def scores():
    rows = [r for d in FAMILIES for cell in CELLS for r in coverage_rows(d, *cell)]
    for dataset in FAMILIES:
        for k, rhat in enumerate((1.001, 1.02, 1.003)):
            base = row("x", dataset, "na_dpvi_nuts", "epsilon=0.1", "0.0842", split=str(k))
            told = {"rhat_max": rhat, "ess_min": 500 - 100 * k, "divergences": k, "mean_gap_max": 0.1}
            rows += [base | {"metric": m, "value": repr(float(v))} for m, v in told.items()]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def adult():
    rng, rows = np.random.default_rng(0), []
    for method in ("na_dpvi", "dpvim"):
        for epsilon, real in (("0.3", "0.2862"), ("0.1", "0.0842")):
            for split in range(3):
                base = row("y", "adult_complete", method, f"epsilon={epsilon}", real, split=str(split))
                found = {m: 0.1 + 0.01 * split for m in tables.CALIBRATION}
                for k in range(3 if split else 2):  # the first run has no row in the last bin
                    found |= {f"calibration_predicted_{k}": 0.1 + 0.3 * k, f"calibration_fraction_{k}": rng.random()}
                rows += [base | {"metric": m, "value": repr(float(v))} for m, v in found.items()]
    return pd.DataFrame(rows)


def tables_of(config, scores):
    return tables.build(run_of("nowhere", config, scores)).methods


def config(experiment="x", names=FAMILIES, scaling="moments", **more):
    model = {"kind": "logistic_regression_normal_prior", "scaling": scaling}
    return {"experiment": experiment, "datasets": names, "model": model} | more


@pytest.fixture(scope="module")
def verdicts():
    base = dict.fromkeys(VERDICTS, "")
    kept = {"metric": "tarp_coverage_rmse", "dataset": FAMILIES[0], "our_method": "na_dpvi"}
    printed = {"reading": "printed", "our_setting": "epsilon=0.1", "published_mean": "0.023", "published_std": "0.008"}
    return pd.DataFrame([base | kept | printed, base | kept | printed | {
        "reading": "corrected", "our_setting": "epsilon=0.1;tight"}])  # fmt: skip


@pytest.fixture(scope="module")
def extra(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extra")
    numbers = {"low": 0.01, "high": 0.05, "sd": 0.01, "floor": 0.0164, "floor_upper": 0.0295, "n": 500}
    for dataset in FAMILIES:
        base = {"dataset": dataset, **numbers}
        for what, column, values in (
            ("priors", "variant", ["as in the program", "optimum_sd = 3"]),
            ("controls", "width", [0.5, 1.0, 2.0]),
            ("references", "centre", ["own", "prior mean"]),
        ):
            base |= {"method": "na_dpvi"} if what == "references" else {}
            rows = [base | {"setting": "epsilon=0.1", column: v, "rmse": 0.02 + 0.01 * k} for k, v in enumerate(values)]
            pd.DataFrame(rows).to_csv(folder / f"na_dpvi_{what}_{dataset}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def drawn(scores, verdicts, extra, tmp_path_factory):
    """(figures, their folder) of the families."""
    folder = tmp_path_factory.mktemp("figures")
    names = [f"na_dpvi_{what}_{d}.csv" for d in FAMILIES for what in ("priors", "controls", "references")]
    return figures.build(run_of(folder, config(extra=names), scores, verdicts, extra)), folder


def test_a_label_is_read_in_parts():
    found = tables.label_of("epsilon=0.1;step=4 sqrt 2;tight")
    assert (found["epsilon"], found["step"], found["words"]) == ("0.1", "4 sqrt 2", "step 4 sqrt 2, tight")
    assert tables.label_of("") == {"epsilon": "", "step": "", "words": ""}
    assert tables.row_title("na_dpvi", "epsilon=0.1;tight") == "NA-DPVI, tight"


def test_the_coverage_table_has_interval_floor_and_guarantee_of_every_cell(scores):
    found = tables_of(config(), scores)
    assert [t.name for t, _ in found] == ["x_coverage", "x_nuts"]
    table, long = found[0]
    assert len(long) == len(FAMILIES) * len(CELLS)
    assert list(dict.fromkeys(long["dataset"])) == FAMILIES  # the config's order, not the alphabet's
    block = table.blocks[0]
    heads = [name for name, entries in block.rows if not entries]
    assert heads == ["no claim", "claimed epsilon 0.1", "claimed epsilon 1"]
    line = dict(block.rows)["NA-DPVI, tight"]
    texts = [e.lines[0].partition(" [")[0] for e in line]
    assert texts == ["0.0500 ± 0.0010", "0.0250 to 0.0750", "0.0164, 0.0295", "8", "0.0999", "1e-05", "add remove",
                     "dp accounting pld"]  # fmt: skip
    text = markdown(table)
    assert "replace one" in text
    assert "do not carry the same guarantee" in text
    assert any("clipping norm" in t for t in table.footnotes)  # a leak of DPVI
    assert r"\begin{tabular}" in latex(table)


def test_the_note_on_slack_is_computed(scores):
    note = next(n for n in tables_of(config(), scores)[0][0].notes if "slack" in n)
    assert "a claimed 0.1 costs 0.0842;" in note  # 0.0999 is within 1 % of it
    assert "a claimed 1 costs 0.9864" in note
    kept = scores[~scores["setting"].isin(["epsilon=0.1", "epsilon=1"])]
    assert not any("slack" in n for n in tables_of(config(), kept)[0][0].notes)


def test_a_cell_without_score_says_why(scores):
    hit = (scores["method"] == "dpvi_last_iterate") & (scores["dataset"] == FAMILIES[0])
    lost = scores[~hit | (scores["split"] != "")].copy()
    lost.loc[hit, ["status", "reason", "metric", "value"]] = ["diverged", "not finite", "", ""]
    table, _ = tables_of(config(), lost)[0]
    entry = dict(table.blocks[0].rows)["Naive (last iterate)"][0]
    assert entry.verdict == "diverged"
    assert "not finite" in table.footnotes


def test_the_check_shows_the_worst_run_and_the_median(scores):
    table, long = tables_of(config(), scores)[1]
    line = dict(table.blocks[0].rows)["Gamma-exponential [epsilon=0.1]"]
    assert [e.lines[0] for e in line] == ["1.0200", "300", "2", "0.100", "-", "-", "3"]
    assert line[0].after == ("median 1.0030",)
    worst = long.set_index(["dataset", "metric"])["worst"]
    assert worst[FAMILIES[1], "ess_min"] == 300


def test_the_calibration_table_has_a_block_for_each_epsilon(adult):
    ((table, long),) = tables_of(config("y", ["adult_complete"]), adult)
    assert [b.title[-3:] for b in table.blocks] == ["0.1", "0.3"]
    line = dict(table.blocks[0].rows)["NA-DPVI"]
    assert line[0].lines == ("0.1100 ± 0.0100 (3)",)
    assert len(long) == 4 * len(tables.CALIBRATION)
    assert any("Adult as published" in t for t in table.footnotes)


def test_moments_that_are_paid_for_are_no_leak(adult):
    ((table, _),) = tables_of(config("y", ["adult_complete"], "paid"), adult)
    assert any("clipping norm" in t for t in table.footnotes)
    assert not any("Adult as published" in t for t in table.footnotes)


def test_every_figure_of_the_families_is_drawn(drawn):
    found, folder = drawn
    wanted = ["figure1", "table1_rmse", "table1_epsilon"]
    assert [f.name for f in found] == [
        *(f"{figures.SOURCE}_{w}" for w in wanted),
        "x_priors",
        "x_references",
        "x_controls",
    ]
    for figure in found:
        assert (folder / f"{figure.name}.svg").stat().st_size > 10_000
        assert len(pd.read_csv(folder / f"{figure.name}.csv"))


def test_figure_1_holds_the_headline_cells_with_the_band_of_their_count(drawn):
    data = pd.read_csv(drawn[1] / f"{figures.SOURCE}_figure1.csv", keep_default_na=False)
    assert set(zip(data["method"], data["setting"], strict=True)) == {
        ("na_dpvi", "epsilon=0.1"), ("bernstein_sheldon_2018", "epsilon=0.1"), ("dpvi_last_iterate", "epsilon=0.1"),
        ("exact_posterior", ""),
    }  # fmt: skip
    assert data.groupby(["dataset", "method"]).size().eq(len(LEVELS)).all()
    point = data[(data["method"] == "na_dpvi") & (data["nominal"] == 0.5)].iloc[0]
    assert point["error"] == pytest.approx(0.02)
    assert point["redraws"] == pytest.approx(0.003)
    assert (point["low"], point["high"]) == (binom.ppf(0.025, 8, 0.5) / 8, binom.ppf(0.975, 8, 0.5) / 8)


def test_the_band_holds_95_percent_of_a_calibrated_method():
    rng, nominal = np.random.default_rng(0), np.array([0.05, 0.5, 0.9])
    low, high = figures.band(nominal, 500)
    shown = (rng.uniform(size=(4000, 500, 1)) < nominal).mean(axis=1)
    inside = ((shown >= low) & (shown <= high)).mean(axis=0)
    # 4,000 draws: standard error .0035; a closed band of counts holds up to 2 % more than 95 %
    assert (inside > 0.94).all()
    assert (inside < 0.98).all()
    narrow = ((shown + 0.05 >= low) & (shown + 0.05 <= high)).mean(axis=0)
    assert (narrow < 0.8).all()


def test_the_published_number_stands_beside_the_cell_that_answers_it(drawn):
    data = pd.read_csv(drawn[1] / f"{figures.SOURCE}_table1_rmse.csv", keep_default_na=False)
    found = data[data["published"] != ""]
    assert found[["dataset", "setting", "published"]].to_numpy().tolist() == [[FAMILIES[0], "epsilon=0.1", "0.023"]]
    assert "epsilon=1" not in set(data["setting"])  # another epsilon has no place in Table 1
    assert "NA-DPVI (NUTS, check) (n = 4)" in set(data["row"])


def test_the_figure_of_priors_holds_the_published_number_of_its_cell(drawn):
    data = pd.read_csv(drawn[1] / "x_priors.csv")
    assert list(data["variant"]) == ["as in the program", "optimum_sd = 3"] * 2
    assert data.loc[data["dataset"] == FAMILIES[0], "published"].tolist() == [0.023, 0.023]
    assert data.loc[data["dataset"] == FAMILIES[1], "published"].isna().all()


def test_the_figure_of_reference_points_names_cell_and_centre(drawn):
    data = pd.read_csv(drawn[1] / "x_references.csv")
    assert list(data["row"]) == ["NA-DPVI,\nepsilon=0.1, own", "NA-DPVI,\nepsilon=0.1, prior mean"] * 2
    assert data["published"].dropna().tolist() == [0.023, 0.023]


def test_linear_regression_has_a_column_an_epsilon_and_a_line_a_step(scores, verdicts, tmp_path):
    one = scores[scores["dataset"] == FAMILIES[0]].copy()
    steps = one[one["setting"] == "epsilon=0.1"].assign(setting="epsilon=0.1;step=sqrt 2", cell="other")
    other = one["setting"].isin(["epsilon=0.1", "epsilon=1"]) & (one["method"] == "na_dpvi")
    one.loc[other, "setting"] += ";step=4 sqrt 2"
    drawn = figures.build(run_of(tmp_path, config(names=FAMILIES[:1]), pd.concat([one, steps]), verdicts))
    assert [f.name[-11:] for f in drawn] == ["tal_figure2", "table2_rmse"]
    data = pd.read_csv(tmp_path / f"{figures.SOURCE}_figure2.csv", keep_default_na=False)
    assert set(data["panel"]) == {"epsilon = 0.1", "epsilon = 1"}
    here = data[(data["panel"] == "epsilon = 0.1") & (data["method"] == "na_dpvi")]
    assert set(here["setting"]) == {"epsilon=0.1;step=4 sqrt 2", "epsilon=0.1;step=sqrt 2", "epsilon=0.1;tight"}
    assert "two step sizes" in drawn[0].caption


def test_figure_3_averages_the_runs_that_have_rows_in_a_bin(adult, tmp_path):
    (drawn,) = figures.build(run_of(tmp_path, config("y", ["adult_complete"], "paid"), adult))
    assert drawn.name == f"{figures.SOURCE}_figure3_paid"
    data = pd.read_csv(tmp_path / f"{drawn.name}.csv")
    assert data.groupby("bin")["runs"].unique().map(list).to_dict() == {0: [3], 1: [3], 2: [2]}
    keep = (adult["method"] == "dpvim") & (adult["setting"] == "epsilon=0.1")
    values = adult.loc[keep & (adult["metric"] == "calibration_fraction_2"), "value"].astype(float)
    line = data[(data["method"] == "dpvim") & (data["claimed"] == 0.1) & (data["bin"] == 2)].iloc[0]
    assert line["fraction"] == pytest.approx(values.mean())
    assert line["error"] == pytest.approx(values.mean() - 0.7)
    assert line["error_sd"] == pytest.approx(values.std())


def test_no_figure_where_there_is_nothing_for_it(scores, verdicts, tmp_path):
    nothing = scores[scores["status"] != "ok"]
    assert figures.build(run_of(tmp_path, config(extra=["na_dpvi_priors_x.csv"]), nothing, verdicts, tmp_path)) == []
    assert tables_of(config(), nothing) == []
