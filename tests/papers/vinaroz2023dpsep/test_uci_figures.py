"""Figures are drawn from scores alone: files, numbers beside them, nothing where there is nothing."""

import logging
import math

import numpy as np
import pandas as pd
import pytest

from evaluation.summary import COLUMNS
from papers.vinaroz2023dpsep import uci_figures as figures
from reports import style


def curve_scores():
    """A grid of two settings on one data set, and a yardstick of another experiment."""
    rows = []
    for damping in (0.007, 0.02):
        for clip in (0.05, 0.5):
            for k in range(3):
                rows.append(
                    ("dpsep_corrected_curve", "dp_sep_corrected", f"damping={damping};clip={clip}", k, damping + clip)
                )
    rows += [("dpsep_uci", "ridge", "", k, 0.6 + 0.01 * k) for k in range(3)]
    return pd.DataFrame(
        [
            dict.fromkeys(COLUMNS, "")
            | {"experiment": e, "cell": e + m + s, "dataset": "wine", "protocol": "literature", "method": m,
               "setting": s, "split": str(k), "metric": "rmse", "value": repr(v + 0.01 * k), "status": "ok"}
            for e, m, s, k, v in rows
        ],
        columns=COLUMNS,
    )  # fmt: skip


CURVE = {"experiment": "dpsep_corrected_curve", "title": "curve", "sources": []}


def test_published_and_ours_stand_in_the_data_of_the_figure(config, scores, all_verdicts, tmp_path):
    wine = all_verdicts[all_verdicts["dataset"] == "wine"]
    ridge = scores[(scores["method"] == "sep") & (scores["dataset"] == "wine")].assign(method="ridge", cell="r")
    drawn = figures.build(tmp_path, config, wine, pd.concat([scores, ridge]), scores)
    assert [f.name for f in drawn] == ["dpsep_uci_rmse", "dpsep_uci_clip"]
    for f in drawn:
        assert b"<svg" in (tmp_path / f"{f.name}.svg").read_bytes()[:1000]
    data = pd.read_csv(tmp_path / "dpsep_uci_rmse.csv")
    want = wine[(wine["source"] == figures.SOURCE) & (wine["table"] == "3") & (wine["headline"] == "yes")]
    ours = data[data["what"].isin(style.READING)]
    assert sorted(ours["mean"]) == sorted(want["mean"])
    assert sorted(data.loc[data["what"] == "published", "mean"]) == sorted(
        want.drop_duplicates("method")["published_mean"].astype(float)
    )
    assert set(data.loc[data["what"] == "baseline", "method"]) == {"ridge"}
    assert (ours["low"] < ours["mean"]).all()
    clip = pd.read_csv(tmp_path / "dpsep_uci_clip.csv")
    assert len(clip[clip["what"] == "authors"]) == 2 * 6
    assert not list(tmp_path.glob(".*"))


def test_an_interval_is_the_corrected_one():
    # Nadeau and Bengio 2003: t(0.975; 9) s sqrt(1/10 + 1/9), with t from a table.
    assert figures.half_width(2.0, 10) == pytest.approx(2.262157 * 2 * math.sqrt(1 / 10 + 1 / 9), rel=1e-6)
    assert math.isnan(figures.half_width(1.0, 1))
    assert math.isnan(figures.half_width(math.nan, 5))


def test_without_scores_there_is_no_figure(config, scores, all_verdicts, tmp_path, caplog):
    nothing = all_verdicts.assign(mean=np.nan)
    with caplog.at_level(logging.INFO, logger="reports.style"):
        assert figures.build(tmp_path, config, nothing, scores, scores) == []
    assert "dpsep_uci_rmse is left out" in caplog.text
    assert not any(tmp_path.iterdir())


def test_curve_reads_its_settings_from_the_labels(tmp_path, all_verdicts):
    every = curve_scores()
    mine = every[every["experiment"] == "dpsep_corrected_curve"]
    (drawn,) = figures.build(tmp_path, CURVE, all_verdicts.iloc[:0], mine, every)
    assert "Linear regression" in drawn.caption
    data = pd.read_csv(tmp_path / "dpsep_corrected_curve.csv")
    grid = data[data["what"] == "ours"]
    assert len(grid) == 4
    assert grid["mean"].to_numpy() == pytest.approx((grid["damping"] + grid["clip"] + 0.01).to_numpy(), rel=1e-12)
    assert data.loc[data["what"] == "line", "mean"].to_numpy() == pytest.approx([0.62], rel=1e-12)


def test_a_curve_without_scores_is_left_out(tmp_path, all_verdicts, caplog):
    with caplog.at_level(logging.INFO, logger="reports.style"):
        empty = pd.DataFrame(columns=COLUMNS, dtype=str)
        assert figures.build(tmp_path, CURVE, all_verdicts.iloc[:0], empty, empty) == []
    assert "is left out" in caplog.text


@pytest.mark.parametrize(
    ("label", "settings"),
    [("damping=0.01;clip=1", {"damping": 0.01, "clip": 1.0}), ("clip=1", {"clip": 1.0}), ("", {}), ("all four", {})],
)
def test_settings_of(label, settings):
    assert figures.settings_of(label) == settings


@pytest.mark.parametrize(
    ("points", "kind"),
    [([0.5, 0.6], "linear"), ([0.5, 60.0], "log"), ([-3.0, -2.0], "linear"), ([-900.0, -1.0], "symlog")],
)
def test_an_axis_shows_every_point(points, kind):
    with style.canvas(1, 1) as (_, axes):
        ax = axes[0, 0]
        figures._scale(ax, points, [-1e6, 1e6])
        assert ax.get_yscale() == kind
        low, high = ax.get_ylim()
        assert low < min(points)
        assert max(points) < high < 1e6  # a long interval is cut, a point never


def test_same_scores_give_the_same_picture(tmp_path, all_verdicts):
    every = curve_scores()
    for folder in ("a", "b"):
        figures.corrected_curve(tmp_path / folder, CURVE, all_verdicts.iloc[:0], every)
    for end in ("svg", "csv"):
        first, second = (tmp_path / f / f"dpsep_corrected_curve.{end}" for f in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()
