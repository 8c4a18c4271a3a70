"""One draw from a conjugate posterior as the release: check the rows, charge the budget, draw once.

The same functions draw a table of repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from methods._shared.exponential_family import guarantee
from methods.contract import Diverged, Fit
from models.exponential_family import Family, ParameterSample, check_order
from models.task import Task
from privacy.budget import Budget


def posterior(
    prior: np.ndarray, total: np.ndarray, n: int, data_weight: float = 1.0, prior_weight: float = 1.0
) -> np.ndarray:
    """prior_weight eta0 + data_weight (total, n), for totals (..., k) of n statistics; shape (..., k + 1)."""
    total = np.asarray(total, dtype=np.float64)
    counts = np.full((*total.shape[:-1], 1), float(n))
    return prior_weight * np.asarray(prior) + data_weight * np.concatenate([total, counts], axis=-1)


def weights(law: Family, prior: tuple[float, ...], n: int, order: float, epsilon: float, algorithm: str):
    """(data_weight, prior_weight) of the algorithm "direct", "diffused" (2) or "concentrated" (3).

    Raises ValueError for another name, and the errors of the calibration.
    """
    if algorithm == "direct":
        return 1.0, 1.0
    if algorithm == "diffused":
        return guarantee.diffused_weight(law, prior, n, order, epsilon), 1.0
    if algorithm == "concentrated":
        return 1.0, 1.0 / guarantee.concentrated_weight(law, prior, n, order, epsilon)
    raise ValueError(f"algorithm '{algorithm}'; give 'direct', 'diffused' or 'concentrated'")


def one_draw(
    task: Task,
    statistics: np.ndarray,
    algorithm: str,
    budget: Budget,
    rng: np.random.Generator,
    method: str,
) -> Fit:
    """Calibrate, charge and draw one parameter. The draw itself is the mechanism, so it uses ``rng``.

    Parameters
    ----------
    statistics : S(x) of the rows, (n, k).
    algorithm : see :func:`weights`. "direct" needs no budget. If the budget states an order, it is added to the curve
        of the ledger.

    Diagnostics: data_weight (r), prior_weight (1 / m), and the critical_order of the guarantee if it is finite.
    """
    law, eta0, n = task.model.law, task.model.natural, task.public.n
    prior = tuple(map(float, eta0))
    order, epsilon = budget.renyi or (None, None)
    if algorithm != "direct":
        order, epsilon = budget.require_renyi(method)
    r, w = weights(law, prior, n, order, epsilon, algorithm)
    budget.spend(guarantee.draw_event(law, prior, n, r, w, order))
    theta = law.sample(rng, posterior(eta0, statistics.sum(axis=0), n, r, w))
    if not np.isfinite(theta).all():
        raise Diverged(f"{task.name}: the draw is not finite; give a prior that is further from its boundary")
    top = guarantee.critical_order(law, prior, r, w)
    told: Mapping[str, float] = {"data_weight": r, "prior_weight": w}
    return Fit(
        ParameterSample(theta, law), budget.ledger, {**told, **({"critical_order": top} if top < math.inf else {})}
    )


def gaussian_multiplier(order: float, epsilon: float) -> float:
    """Noise multiplier at which a Gaussian release costs epsilon at ``order``: sqrt(order / (2 epsilon)).

    Its Renyi divergence is order / (2 multiplier^2) (Mironov 2017, corollary 3). Raises ValueError for an order below 1
    or an epsilon <= 0.
    """
    check_order(order)
    if not (0 < epsilon < math.inf):
        raise ValueError(f"Renyi epsilon {epsilon} at order {order}; give a finite number above 0")
    return math.sqrt(order / (2.0 * epsilon))
