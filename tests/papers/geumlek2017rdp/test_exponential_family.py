"""The tables of figures 1 and 2: what the config asks for, exact expectations against repetitions, limits."""

from __future__ import annotations

import copy
import csv
import io
import math
from itertools import pairwise

import numpy as np
import pytest
import yaml

from datasets.files import ROOT
from papers.geumlek2017rdp import exponential_family as tables
from workflow.experiments import ConfigError, load
from workflow.extra import Request, about, write

CONFIG = ROOT / "papers/geumlek2017rdp/experiments/rdp_exponential_family.yaml"
SETTINGS = tables.settings(CONFIG)


@pytest.fixture(scope="module")
def small():
    chosen = copy.deepcopy(SETTINGS)
    chosen["epsilons"] = {"low": 0.001, "high": 10.0, "per_decade": 1}
    return chosen | {"repetitions": 4000, "curve_points": 20}


@pytest.fixture(scope="module")
def heldout(small):
    return tables.figure2_heldout(small)


def test_the_config_says_what_the_paper_says():
    assert SETTINGS["prior"] == [6, 18]
    assert SETTINGS["n"] == 100
    assert SETTINGS["weights"] == [0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    assert SETTINGS["figure2_orders"] == [2, 15]
    assert SETTINGS["repetitions"] == 10_000
    assert load(CONFIG)["extra"] == [*tables.MAKERS, "rdp_claims.csv"]


def test_figure_1_reaches_each_asymptote_and_stays_finite(small):
    rows = tables.figure1(small)
    assert {(r["panel"], r["r_or_m"]) for r in rows} == {
        (p, w) for p in ("diffused", "concentrated") for w in small["weights"]
    }
    assert all(math.isfinite(r["epsilon"]) and 1 <= r["order"] < r["asymptote"] for r in rows)
    for panel in ("diffused", "concentrated"):
        for weight in small["weights"]:
            curve = [r for r in rows if (r["panel"], r["r_or_m"], r["kind"]) == (panel, weight, "curve")]
            assert len(curve) == small["curve_points"]
            assert np.all(np.diff([r["order"] for r in curve]) > 0)
            assert np.all(np.diff([r["epsilon"] for r in curve]) > 0)
            assert curve[0]["order"] == 1
            assert curve[-1]["order"] > 0.99 * curve[-1]["asymptote"]
    direct = {r["order"]: r["epsilon"] for r in rows if r["r_or_m"] == 1 and r["panel"] == "concentrated"}
    assert direct[2] == pytest.approx(math.log(672 / 555), rel=1e-12)


def test_repetitions_agree_with_the_exact_expectations(heldout):
    """5.2 standard errors for the mean: below 1e-4 for all rows together. sd: kurtosis unknown, a coarse check."""
    drawn = [r for r in heldout if "mean" in r]
    assert len(drawn) == 6 * (1 + 4 * 5)
    for r in drawn:
        assert abs(r["mean"] - r["exact_mean"]) < 5.2 * r["exact_sd"] / math.sqrt(r["repetitions"]), r
        assert r["sd"] == pytest.approx(r["exact_sd"], rel=0.25)
        assert r["standard_error"] == pytest.approx(r["sd"] / math.sqrt(4000))


def find(rows, **values):
    (row,) = [r for r in rows if all(r[k] == v for k, v in values.items())]
    return row


def test_published_scores(heldout):
    for order, epsilon, method, value in (
        (15, 0.1, tables.DIFFUSED, 57.38015),
        (15, 1.0, tables.DIFFUSED, 56.43904),
        (15, 0.1, tables.CONCENTRATED, 60.26478),
        (15, 1.0, tables.CONCENTRATED, 51.85041),
        (15, 0.1, tables.GAUSSIAN, 54.54174),
        (15, 1.0, tables.GAUSSIAN, 51.28819),
        (2, 0.1, tables.DIFFUSED, 52.45452),
        (2, 1.0, tables.DIFFUSED, 51.23135),
        (2, 0.1, tables.CONCENTRATED, 51.50771),
        (2, 1.0, tables.CONCENTRATED, 51.01019),
        (2, 0.1, tables.GAUSSIAN, 51.37872),
        (2, 1.0, tables.GAUSSIAN, 51.06370),
    ):
        reading = "order / (2 epsilon)" if method == tables.GAUSSIAN else ""
        row = find(heldout, prior="1 2", order=order, epsilon=epsilon, method=method, reading=reading)
        assert row["exact_mean"] == pytest.approx(value, abs=6e-6)
    direct = find(heldout, prior="6 18", rho=0.5, order=15, method=tables.DIRECT)
    assert (direct["exact_mean"], direct["exact_sd"]) == pytest.approx((70.244207, 1.896177), abs=6e-7)
    assert direct["epsilon"] == math.inf


def test_the_other_reading_of_the_noise_is_half_the_epsilon(small):
    found = {(r.reading, r.epsilon): r.sigma for r in tables.releases((6.0, 18.0), 100, 2.0, np.array([0.1, 0.2]))}
    assert found["order / epsilon", 0.2] == pytest.approx(found["order / (2 epsilon)", 0.1], rel=1e-12)


def test_divergences_and_their_limits(small):
    rows = tables.figure2_kl(small)
    for order, most in ((2, 0.0), (15, 0.097728765)):
        assert find(rows, order=order, method=tables.DIFFUSED, epsilon=0.0)["kl"] == pytest.approx(
            0.611674273, abs=6e-10
        )
        assert find(rows, order=order, method=tables.CONCENTRATED, epsilon=0.0)["kl"] == math.inf
        assert find(rows, order=order, method=tables.DIFFUSED, epsilon=math.inf)["kl"] == pytest.approx(most, abs=6e-10)
        for reading in tables.READINGS:
            assert find(rows, order=order, method=tables.GAUSSIAN, reading=reading, epsilon=math.inf)["kl"] == 0.0
    assert find(rows, order=15, method=tables.CONCENTRATED, epsilon=math.inf)["kl"] == pytest.approx(
        0.022164989, abs=6e-10
    )
    assert find(rows, order=15, method=tables.CONCENTRATED, epsilon=math.inf)["r_or_m"] == pytest.approx(6 / 14)
    assert find(rows, order=2, method=tables.DIRECT)["epsilon"] == pytest.approx(0.191290, abs=6e-7)
    for order in (2, 15):
        for method in (tables.DIFFUSED, tables.CONCENTRATED):
            one = sorted((r for r in rows if (r["order"], r["method"]) == (order, method)), key=lambda r: r["epsilon"])
            # more budget, closer to the posterior; near the limit weights are equal to 1e-15, and only rounding is left
            assert all(later["kl"] <= earlier["kl"] * (1 + 1e-11) for earlier, later in pairwise(one))


def test_suprema(small):
    rows = tables.suprema(small)
    assert {r["check"] for r in rows} == {"corollary_2", "corners_only", "theorem_16"}
    for r in rows:
        if r["check"] == "theorem_16":
            assert 4.0 < r["ratio"] < 7.1
            continue
        assert r["exact"] == pytest.approx(r["brute_force"], rel=1e-8)
        assert (r["ratio"] < 0.999) if r["check"] == "corners_only" else (r["ratio"] > 1 - 1e-9)
    assert any(r["stated"] == math.inf for r in rows)


def test_the_tables_are_written_whole(tmp_path, monkeypatch, small):
    monkeypatch.setattr(tables, "settings", lambda path: small | {"heldout": small["heldout"][:1], "repetitions": 50})
    _, extra = about("geumlek2017rdp", "rdp_figure1.csv")
    write(Request(extra, "full", tmp_path, tmp_path))
    columns_of = tables.COLUMNS | {"rdp_claims.csv": tables.CLAIM_COLUMNS}
    assert sorted(p.name for p in tmp_path.glob("*.csv")) == sorted(columns_of)
    for name, columns in columns_of.items():
        with (tmp_path / name).open(newline="") as f:
            rows = list(csv.DictReader(f))
        assert tuple(rows[0]) == columns
        assert not any(v == "nan" for r in rows for v in r.values())


def test_cells_of_a_table():
    text = tables.table(("a", "b", "c"), [{"a": 1 / 3, "b": math.nan}, {"a": math.inf, "c": "x"}])
    assert list(csv.reader(io.StringIO(text))) == [["a", "b", "c"], ["0.333333333333", "", ""], ["inf", "", "x"]]


def test_the_grid_has_round_numbers():
    grid = tables.grid(SETTINGS["epsilons"]).tolist()
    assert len(grid) == 25
    assert {0.001, 0.01, 0.1, 1.0, 10.0} <= set(grid)


def test_a_missing_or_unknown_key_is_named(tmp_path):
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    for change, words in ((("pop", "seed"), "missing key 'seed'"), (("add", "colour"), "unknown key 'colour'")):
        altered = copy.deepcopy(config)
        if change[0] == "pop":
            del altered["extra_settings"][change[1]]
        else:
            altered["extra_settings"][change[1]] = 1
        path = tmp_path / change[1] / "rdp_exponential_family.yaml"
        path.parent.mkdir()
        path.write_text(yaml.safe_dump(altered))
        with pytest.raises(ConfigError, match=words):
            tables.settings(path)
