"""Do intervals count the privacy noise, as ``Method.noise_aware`` says? About 10 CPU seconds.

z = (posterior mean - true weight) / posterior sd over fits of fresh tables at epsilon = 0.3, so that the noise of the
releases is larger than the spread of the exact posterior. The 36 z of a method that counts its noise have root mean
square 1. It is above 1.5 with probability 3e-5 (chi-squared, 36 degrees of freedom). There are three such methods.
"""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest

from methods import contract
from models.bounded import BoundedLinearRegression, BoundedLogisticRegression
from models.task import PublicKnowledge, Task
from privacy.budget import BudgetSpec

LINEAR, LOGISTIC = "bounded_linear_regression", "bounded_logistic_regression"
ROWS, INPUTS, FITS, EPSILON, LIMIT = 2000, 3, 12, 0.3, 1.5


def table(k: int, kind: str) -> tuple[np.ndarray, Task]:
    """True weights (INPUTS,) and a task in the box, all of whose ranges are public."""
    rng = np.random.default_rng([9, k])
    x, w = rng.uniform(-1, 1, (ROWS, INPUTS)), rng.normal(0, 0.15 if kind == LINEAR else 1.0, INPUTS)
    if kind == LINEAR:
        y, model = np.clip(x @ w + 0.1 * rng.standard_normal(ROWS), -1, 1), BoundedLinearRegression()
    else:
        y, model = (rng.uniform(size=ROWS) < 1 / (1 + np.exp(-x @ w))).astype(float), BoundedLogisticRegression()
    range_of_y = (-1.0, 1.0) if kind == LINEAR else None
    return w, Task("z", model, x, y, PublicKnowledge(ROWS, ((-1.0, 1.0),) * INPUTS, range_of_y))


@functools.cache
def fitted(name: str, kind: str, k: int):
    """The fit of table k and the state of its generator after it; several methods read one run."""
    method, rng = contract.get(name, kind), np.random.default_rng([1, k])
    budget = BudgetSpec(epsilon=EPSILON, delta=1e-5, mode="enforce").open(np.random.default_rng([2, k]))
    return method.fit(table(k, kind)[1], method.Settings(), budget, rng), rng


def rms_z(name: str, kind: str) -> float:
    method = contract.get(name, kind)
    run = contract.get(method.run_of, kind) if method.run_of else method
    z = []
    run.prepare(table(0, kind)[1], run.Settings())
    for k in range(FITS):
        w, _ = table(k, kind)
        fit, rng = copy.deepcopy(fitted(run.name, kind, k))
        fit = method.read(fit, method.Settings(), rng) if method.run_of else fit
        theta = fit.posterior.sample(1000, np.random.default_rng(3))[:, :INPUTS]
        z.append((theta.mean(axis=0) - w) / theta.std(axis=0))
    return float(np.sqrt(np.mean(np.square(z))))


def aware(kind: str) -> list[str]:
    found = (contract.get(name, kind) for name in contract.names(kind))
    return [m.name for m in found if m.privacy is not None and m.noise_aware]


def test_the_methods_that_say_so_are_these():
    assert aware(LINEAR) == ["bernstein_sheldon_2019_corrected", "na_dpvi", "na_dpvi_laplace"]
    assert aware(LOGISTIC) == []


def by_night(name: str):
    """The chain of Bernstein & Sheldon takes seconds; ``test_noisy_posteriors.py`` checks its posterior by day."""
    return pytest.mark.nightly if name == "bernstein_sheldon_2019_corrected" else ()


@pytest.mark.parametrize("name", [pytest.param(name, marks=by_night(name)) for name in aware(LINEAR)])
def test_intervals_that_count_the_noise_have_z_near_one(name):
    assert rms_z(name, LINEAR) < LIMIT


@pytest.mark.parametrize(
    ("name", "kind", "least"),
    [
        # the first reads the run of NA-DPVI, the second releases what Bernstein's does
        ("dpvi_last_iterate", LINEAR, 2 * LIMIT),
        ("sufficient_statistics_perturbation", LINEAR, 2 * LIMIT),
        # these count the noise, but their run ends too early
        ("na_dpvi", LOGISTIC, LIMIT),
        ("na_dpvi_laplace", LOGISTIC, 2 * LIMIT),
    ],
)
def test_intervals_that_do_not_cover_are_found(name, kind, least):
    """The same measure sees it."""
    assert not contract.get(name, kind).noise_aware
    assert rms_z(name, kind) > least
