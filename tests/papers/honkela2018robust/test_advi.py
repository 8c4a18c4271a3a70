"""The stopped optimiser against fits of the source's own old libraries, and its gradient."""

import numpy as np
import pytest
from scipy.stats import gamma, norm

from papers.honkela2018robust import advi, data, release, run, streams
from papers.honkela2018robust.data import Moments
from tests.papers.honkela2018robust.test_streams import OPTIMISER


def log_joint(moments, at):
    """Of (b, ln l, ln l0), with the Jacobian."""
    b, precision, shrinkage = at[:-2], np.exp(at[-2]), np.exp(at[-1])
    error = b @ moments.gram @ b - 2 * b @ moments.cross + moments.square
    likelihood = moments.n / 2 * np.log(precision / (2 * np.pi)) - precision / 2 * error
    prior = norm.logpdf(b, 0, shrinkage**-0.5).sum() + gamma.logpdf([precision, shrinkage], 2, scale=1 / 2).sum()
    return likelihood + prior + at[-2] + at[-1]


def test_the_gradient_by_differences():
    rng = np.random.default_rng(0)
    x, y, at = rng.standard_normal((9, 3)), rng.standard_normal(9), rng.standard_normal(5)
    moments = Moments.of(x, y)
    by_steps = [(log_joint(moments, at + h) - log_joint(moments, at - h)) / 2e-6 for h in 1e-6 * np.eye(5)]
    assert advi.gradient(advi.Batch.of([moments]), at[None])[0] == pytest.approx(by_steps, rel=1e-6)


def test_a_fit_of_the_first_fold(fold):
    """u and exp(w) after one update and after 4,999."""
    found = release.as_published(fold, 500, None)
    batch = advi.Batch.of([found.private + found.public])
    z = streams.Normals([OPTIMISER], 12).draw(advi.STEPS - 1).transpose(0, 2, 1)
    u, w = next(advi.updates(batch, iter(z)))
    assert u[0, [0, 3, 10, 11]] == pytest.approx(
        [-0.000994435818, -0.00098537083, 0.000999988288, 0.000998864454], abs=1e-12
    )
    assert np.exp(w[0, [0, 9]]) == pytest.approx([1.000999384651, 1.000726759988], abs=1e-12)
    u, w = advi.stopped(batch, z)
    assert u[0] == pytest.approx(
        [-1.182193932, -0.863811288, -1.012362672, -0.088271581, 1.264643126, -1.23962021, 1.25333245, -1.197374626,
         -1.229370473, 1.200048578, -1.056616727, -0.232484346],
        abs=1e-8,
    )  # fmt: skip
    assert np.exp(w[0, 0]) == pytest.approx(0.635782154, abs=1e-8)


@pytest.mark.parametrize(
    ("method", "setting", "expected"),
    [
        ("lr", "epsilon=1;n=500", [[0.893237323732, 0.892853285329, 0.893177317732]]),
        pytest.param("lr", "epsilon=1;n=500", [[0.893237323732, 0.892853285329, 0.893177317732],
                                               [0.926276627663, 0.925724572457, 0.926912691269]],
                     marks=pytest.mark.nightly),
        ("rplr", "epsilon=1;n=500", [[0.807176717672, 0.810081008101, 0.808484848485]]),
        pytest.param("rplr", "epsilon=0.1;n=500", [[0.10496249625, 0.115919591959, 0.112151215122]],
                     marks=pytest.mark.nightly),
        pytest.param("rplr", "epsilon=2;n=100", [[0.497161716172, 0.500942094209, 0.494485448545]],
                     marks=pytest.mark.nightly),
    ],
)  # fmt: skip
def test_scores_by_stream(table, method, setting, expected):
    folds = [data.fold(table, f) for f in range(len(expected))]
    moments = [run.moments_of(f, method, setting, f.generator())[0] for f in folds]
    found = run.scores(folds, moments, run.randomness(method == "rplr", len(folds)))
    assert found == pytest.approx(np.array(expected), abs=1e-11)


def test_no_step_is_longer_than_the_rate_times_the_root_of_its_share(fold):
    """With a constant gradient a step is rate / sqrt(window), 1.58 in 5,000: what keeps the walk near its start."""
    batch = advi.Batch(np.zeros((1, 1, 1)), np.full((1, 1), 1e6), np.zeros(1), 10)
    z = np.zeros((advi.STEPS - 1, 1, 3))
    u, _ = advi.stopped(batch, z)
    assert u[0, 0] < advi.RATE * (advi.STEPS / np.sqrt(advi.WINDOW) + advi.WINDOW)
    assert u[0, 0] == pytest.approx(1.58, abs=0.01)
