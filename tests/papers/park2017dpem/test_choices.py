"""The second derivation of DP-EM: piece by piece equal to the method's, and every choice changes something."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from methods.em import _dp_em as dp_em
from methods.em import _em as em
from models.mixture_of_gaussians import MixtureParameters
from papers.park2017dpem import PAPER, choices

D = 4


@pytest.fixture
def x():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(300, D)) * [1.0, 0.6, 0.3, 0.1] + np.repeat(
        [[0.5, 0, 0, 0], [-0.5, 0.4, 0, 0]], 150, axis=0
    )
    return rows / np.linalg.norm(rows, axis=1).max()


@pytest.fixture
def parameters():
    rng = np.random.default_rng(6)
    root = rng.normal(size=(3, D, D)) / 4
    return np.array([0.5, 0.3, 0.2]), rng.normal(size=(3, D)) / 4, root @ root.transpose(0, 2, 1) + 0.05 * np.eye(D)


def test_the_e_step_the_mode_and_the_prior_are_those_of_the_method(x, parameters):
    theirs, likelihood = em.e_step(x, *parameters)
    ours, again = choices.e_step(choices.features(x), D, *parameters)
    assert ours == pytest.approx(theirs, abs=1e-10)
    assert again == pytest.approx(likelihood, rel=1e-12)
    dead = np.column_stack([theirs[:, 0] + theirs[:, 1], theirs[:, 2] * 1e-4, theirs[:, 2] * (1 - 1e-4)])
    for g in (theirs, dead):  # a component with less than one row has its count replaced
        released = dp_em.statistics_of(x, g, len(x), "GGG", em.Prior())
        mine = choices.statistics(choices.features(x), D, g)
        for name in ("weights", "means", "covariances", "counts"):
            assert getattr(mine, name) == pytest.approx(getattr(released, name), abs=1e-10), name
    assert choices.log_prior(*parameters) == pytest.approx(em.log_prior(MixtureParameters(*parameters), em.Prior()))


@pytest.mark.parametrize("cell", choices.CELLS, ids=lambda c: c.name)
def test_composition_and_noise_are_those_of_the_method(cell):
    consistent = cell.composition == "consistent zcdp"
    each = dp_em.per_release_epsilon(
        cell.epsilon, choices.DELTA, 3, 10, cell.noise, "zcdp" if consistent else cell.composition,
        as_authors=not consistent,
    )  # fmt: skip
    one, root = choices.budget_of_one(cell)
    assert one == pytest.approx(each.epsilon, rel=1e-9)
    assert root == pytest.approx(math.sqrt(2 * math.log(1.25 / each.delta)), rel=1e-12)
    counts = np.array([1.01, 40.0, 8000.0])
    declared = dp_em.declared_sensitivities(24_000, counts, 10, cell.noise, em.Prior())
    first = 1 / each.epsilon if cell.noise == "LLG" else each.noise_multiplier
    weights, means, covariances = choices.noise_scales(cell, counts, 24_000, 10)
    assert weights == pytest.approx(declared.weights * first, rel=1e-9)
    assert means == pytest.approx(declared.means * first, rel=1e-9)
    assert covariances == pytest.approx(declared.covariances * each.noise_multiplier, rel=1e-9)


def test_repairs_are_those_of_the_method():
    rng = np.random.default_rng(7)
    for _ in range(50):
        mean, weights = rng.normal(size=D), rng.normal(0.3, 0.4, size=3)
        noisy = dp_em.symmetric(rng.normal(size=D * (D + 1) // 2) / 10, D)
        assert choices.repaired_mean(mean) == pytest.approx(dp_em.repaired_mean(mean))
        assert choices.repaired_weights(weights, 300) == pytest.approx(dp_em.repaired_weights(weights, 300, em.Prior()))
        assert choices.repaired_covariance(noisy) == pytest.approx(dp_em.repaired_covariance(noisy), abs=1e-12)
    assert choices.repaired_weights(np.array([-1.0, -2.0, -0.1]), 300) == pytest.approx(np.full(3, 1 / 3))


def test_largest_changes_between_neighbours_found_by_search():
    """One component, n - 1 rows at one point, one row moved along a circle: the mean's bound is reached, the
    covariance's exceeded nearly fourfold, at the opposite point."""
    n = 200
    at = np.zeros((n, 2))
    at[:, 0] = 1.0
    g = np.ones((n, 1))
    base = choices.statistics(choices.features(at), 2, g)
    found = []
    for angle in np.linspace(0, math.pi, 61):
        moved = at.copy()
        moved[-1] = math.cos(angle), math.sin(angle)
        other = choices.statistics(choices.features(moved), 2, g)
        found.append((np.linalg.norm(other.means - base.means), np.linalg.norm(other.covariances - base.covariances)))
    mean, covariance = np.array(found).T
    assert mean.max() == pytest.approx(2 / (n + choices.KAPPA0))
    assert 3.8 < covariance.max() * (n + 2 * 2 + 3) < 4
    assert mean.argmax() == covariance.argmax() == 60


def test_every_choice_changes_a_score_and_the_draws_are_shared(x):
    f = choices.features(x)
    cell = choices.Cell("GGG", "linear", 20.0)

    def score(choice, noise=cell):
        fit = choices.run(f, D, 16.0, noise, choice, np.random.default_rng(1))
        return choices.score(f[:50], D, 16.0, fit, choice)

    base = score(choices.PROGRAM)
    assert base == score(choices.PROGRAM)
    few = choices.Cell("GGG", "linear", 0.5)  # 300 rows: noise that pushes means and weights out of their ranges
    heavy = score(choices.PROGRAM, few)
    for name, choice in choices.CHOICES.items():
        same = score(choice) == base and score(choice, few) == heavy
        assert same == (name == "as the program"), name


def test_rows_give_shifts_from_the_same_runs():
    cell = choices.CELLS[0]
    found = {(cell.name, "as the program"): [1.0, 2.0, 4.0], (cell.name, "b"): [0.0, 1.5, 2.0]}
    base, other = choices.rows(found, (cell,))
    assert (base["shift"], base["runs"], base["heavy"]) == (0.0, 3, "yes")
    assert other["shift"] == pytest.approx(np.mean([-1, -0.5, -2]))
    assert other["shift_standard_error"] == pytest.approx(np.std([-1, -0.5, -2], ddof=1) / math.sqrt(3))


@pytest.mark.parametrize("scale", ["full", "quick", "tiny"])
def test_a_scale_says_how_many_fits_are_made(monkeypatch, scale):
    """At full scale the committed number; a tiny run makes a fiftieth of these fits."""
    made = []

    def scores_of(x, fold, cells=choices.CELLS, choices_=choices.CHOICES, repeats=choices.REPEATS):
        made.extend((fold, cell.name, k) for cell in cells for k in range(repeats))
        return {(cell.name, choice): [0.5 * fold] * repeats for cell in cells for choice in choices_}

    monkeypatch.setattr(choices, "scores_of", scores_of)
    request = SimpleNamespace(scale=scale, data=lambda: SimpleNamespace(ok=True, x=np.zeros((30, 2))))
    lines = choices.tables(request)["dpem_choices.csv"].splitlines()
    committed = pd.read_csv(PAPER.reference / "dpem_choices.csv")
    runs = committed.drop_duplicates("cell")["runs"].sum()
    assert len(set(made)) == len(made) == {"full": runs, "quick": runs / 10, "tiny": runs / 50}[scale]
    cells = {"full": 10, "quick": 10, "tiny": 2}[scale]
    assert len(lines) == 1 + cells * len(choices.CHOICES)
    assert not any(line.endswith(",nan") for line in lines)
