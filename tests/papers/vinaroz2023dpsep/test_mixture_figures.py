"""Figures of the mixture: drawn from fits and tables that are there, left out where they are not."""

import numpy as np
import pandas as pd
import pytest

import datasets
from datasets import store
from evaluation.summary import COLUMNS
from papers.vinaroz2023dpsep import kl_tables
from papers.vinaroz2023dpsep import mixture_figures as figures
from workflow.extra import text_of

CONFIG = {"experiment": "dpsep_mixture", "sources": ["vinaroz2021dpsep"]}


def test_ellipse_holds_98_percent():
    """100,000 draws: the share inside is within 6 standard errors of 0.98."""
    rng = np.random.default_rng(0)
    covariance = np.array([[2.0, 0.6], [0.6, 0.5]])
    ring = figures.ellipse(np.array([1.0, -1.0]), covariance)
    distance = np.einsum("ni,ij,nj->n", ring - [1, -1], np.linalg.inv(covariance), ring - [1, -1])
    np.testing.assert_allclose(distance, figures.RADIUS**2, rtol=1e-9)
    x = rng.multivariate_normal([0, 0], covariance, 100_000)
    inside = np.mean(np.einsum("ni,ij,nj->n", x, np.linalg.inv(covariance), x) < figures.RADIUS**2)
    assert abs(inside - 0.98) < 6 * np.sqrt(0.98 * 0.02 / 100_000)


@pytest.fixture
def scene(tmp_path):
    """The released law's table in short, and a stored fit of data seed 60 by two methods."""
    from datasets.mixture_of_gaussians_released import draw
    from datasets.protocols.replicates import TEST, TRAIN

    x, labels, means = draw(figures.SEED, TRAIN)
    n = 60 * (TRAIN + TEST)
    rows, target = np.zeros((n, 4)), np.zeros(n)
    start = (figures.SEED - 1) * (TRAIN + TEST)
    rows[start : start + TRAIN], target[start : start + TRAIN] = x, labels
    (tmp_path / "data").mkdir()
    table = datasets.Table(rows, target, tuple(f"x{i}" for i in range(1, 5)))
    store.save(tmp_path / "data" / f"{figures.RELEASED}.npz", datasets.get(figures.RELEASED), table)
    fits = tmp_path / "fits"
    fits.mkdir()
    scores = []
    for method in ("sep", "ep"):
        prefix = f"{figures.SEED - 1}/"
        np.savez(fits / f"cell-{method}.npz", **{prefix + "means": means[::-1], prefix + "noise_sd": np.float64(0.5),
                 prefix + "covariances": np.stack([np.eye(4) * 0.01] * 4)})  # fmt: skip
        facts = {"cell": f"cell-{method}", "dataset": figures.RELEASED, "method": method, "status": "ok"}
        scores.append(dict.fromkeys(COLUMNS, "") | facts | {"split": str(figures.SEED - 1)})
    return tmp_path, pd.DataFrame(scores, columns=COLUMNS)


def test_figure_1_matches_the_components(scene):
    folder, scores = scene
    drawn = figures.clusters(folder / "out", "vinaroz2021dpsep", scores, folder / "fits", folder / "data")
    assert drawn.name == "vinaroz2021dpsep_figure1"
    table = pd.read_csv(folder / "out" / f"{drawn.name}.csv")
    truth = table[table["panel"] == "truth, exact posterior"]
    for panel in ("EP", "SEP"):
        mine = table[table["panel"] == panel]
        # stored in reverse order; after matching they stand with the posterior means, half a standard deviation away
        np.testing.assert_allclose(mine["mean_x1"], truth["mean_x1"], atol=0.2)
    assert (folder / "out" / f"{drawn.name}.svg").stat().st_size > 1000


def test_nothing_is_drawn_without_fits(scene):
    folder, scores = scene
    nowhere = folder / "nowhere"
    assert figures.clusters(folder / "out", "vinaroz2021dpsep", scores, nowhere, folder / "data") is None
    assert figures.theorem(folder, nowhere / "kl_bound.csv") is None


def test_theorem_is_drawn_from_its_table(tmp_path):
    rows = kl_tables.monte_carlo_table(np.random.default_rng(0), sizes=(1000, 3000), dimensions=(2, 4), draws=20)
    (tmp_path / "kl_bound.csv").write_text(text_of(list(rows[0]), rows, 6))
    assert figures.theorem(tmp_path / "out", tmp_path / "kl_bound.csv").name == "kl_bound"
    data = pd.read_csv(tmp_path / "out" / "kl_bound.csv")
    assert set(data["d"]) == {2, 4}
    assert set(data["growth"]) == {"fixed", "rows"}
