"""Variances of nested scores are those planted; the committed table and what the documentation says of it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common_tasks import split_scores as splits


def planted(rng, sd_tables, sd_splits, sd_noise, tables=400, size=(10, 3)):
    scores = sd_tables * rng.standard_normal((tables, 1, 1)) + sd_splits * rng.standard_normal((tables, size[0], 1))
    return scores + sd_noise * rng.standard_normal((tables, *size)) - 3.0


def test_planted_variances_are_found():
    """Within 5 standard errors of 400 tables (7 % of a variance between tables): by chance once in a million."""
    found = splits.components(planted(np.random.default_rng(0), 0.3, 0.5, 0.4))
    assert found == pytest.approx([0.09, 0.25, 0.16], rel=0.4)
    alone = splits.components(planted(np.random.default_rng(1), 0.3, 0.5, 0.0)[:, :, :1])
    assert alone == pytest.approx([0.09, 0.25, 0.0], rel=0.4)


def test_the_interval_covers_the_planted_correlation():
    """95 % intervals of 60 simulations of 40 tables. Below .8 of 60 with coverage .92: probability .002."""
    rng, truth = np.random.default_rng(2), 0.09 / 0.5
    found = [splits.share(planted(rng, 0.3, 0.5, 0.4, tables=40), seed) for seed in range(60)]
    assert np.mean([low <= truth <= high for _, low, high in found]) > 0.8


def test_the_committed_table_and_the_page_on_comparisons():
    found = pd.read_csv(splits.TABLE, dtype={"epsilon": str}, keep_default_na=False)
    assert tuple(found.columns) == splits.COLUMNS
    arms = [(m, f"{e:g}") for m, e in splits.ARMS]
    assert list(found[["method", "epsilon"]].itertuples(index=False, name=None)) == [*arms, (splits.EXACT, ""), *arms]
    variance = found[["sd_tables", "sd_splits", "sd_noise"]] ** 2
    kept = variance["sd_tables"] > 0
    told = variance["sd_tables"] / variance.sum(axis=1)
    np.testing.assert_allclose(found["correlation"][kept], told[kept], atol=0.01)
    np.testing.assert_allclose(
        found["noise"], variance["sd_noise"] / (variance["sd_splits"] + variance["sd_noise"]), atol=0.02
    )
    rows = found.set_index(["score", "method", "epsilon"])
    page = (Path(__file__).parents[2] / "docs/explanation/comparisons.md").read_text(encoding="utf-8")
    for words, key in (
        ("exact posterior", ("score", splits.EXACT, "")),
        ("AdaSSP at epsilon = 1, less the exact posterior", ("difference", "adassp", "1")),
        ("Whitened SSP at epsilon = 1, less the exact posterior", ("difference", "whitened_ssp", "1")),
    ):
        r = rows.loc[key]
        told = f"{r['correlation']:.2f} [{r['low']:.2f}, {r['high']:.2f}] | {r['noise']:.0%}".replace("%", " %")
        assert f"| {words} | {told} |" in page
