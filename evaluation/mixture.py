"""Scores of a fitted mixture of Gaussians: distance to the exact posterior, clustering, density of fresh rows.

Two readings of "F-norm" are scored side by side.

*As printed* (Vinaroz & Park 2023, section 6.1: "the L2 distance between the parameters of the ground truth posterior
and those of the learned posterior, when the parameters are flattened into a single long vector"): ``fnorm_mean`` and
``fnorm_covariance`` are Euclidean norms of the differences of all means and of all covariances, components matched by
the assignment with the least total squared distance of means (Hungarian algorithm), against the exact posterior given
the labels under the model's prior.

*As the authors' code computes it*: ``squared_mean_error`` and ``squared_covariance_error`` are averages over the
components of squared norms, components matched greedily, against the posterior given the labels under a prior whose
precision is its variance (10 instead of 0.1). ``program_kl_proxy`` likewise (first version, 2021); its trace term is
always D.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment

from evaluation.metrics import scored

#: the metrics that belong to one reading.
PRINTED = ("fnorm_mean", "fnorm_covariance", "fnorm_average", "kl")
PROGRAM = ("squared_mean_error", "squared_covariance_error", "squared_average_error", "program_kl_proxy")


class Components(Protocol):
    """The compared parameters: means (J, D), covariances (J, D, D)."""

    means: np.ndarray
    covariances: np.ndarray


def match(true_means: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Index of the estimated component for each true one, least total squared distance (Hungarian algorithm): (J,)."""
    cost = ((true_means[:, None, :] - means[None, :, :]) ** 2).sum(axis=2)
    return linear_sum_assignment(cost)[1]


def greedy_match(true_means: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The authors' matching: each true component in order takes the nearest estimated mean that is left: (J,)."""
    left = list(range(len(means)))
    found = []
    for target in true_means:
        distances = [float(((target - means[j]) ** 2).sum()) for j in left]
        found.append(left.pop(int(np.argmin(distances))))
    return np.array(found)


def squared_errors(truth: Components, fit: Components, order: np.ndarray) -> tuple[float, float]:
    """Averages over the components of |mean difference|^2 and of |covariance difference|_F^2."""
    j = len(order)
    mean = float(((truth.means - fit.means[order]) ** 2).sum()) / j
    covariance = float(((truth.covariances - fit.covariances[order]) ** 2).sum()) / j
    return mean, covariance


def program_kl_proxy(truth: Components, fit: Components, order: np.ndarray) -> float:
    """Average over the components of 1/2 (D + d' S^-1 d + log |S| / |V| - D), S true and V fitted covariance; nats.

    The authors' formula for KL(fit || truth): its trace term is tr(V^-1 V) = D instead of tr(S^-1 V).
    """
    total = 0.0
    for target, s, k in zip(truth.means, truth.covariances, order, strict=True):
        d = target - fit.means[k]
        total += float(d @ np.linalg.solve(s, d)) + np.linalg.slogdet(s)[1] - np.linalg.slogdet(fit.covariances[k])[1]
    return 0.5 * total / len(order)


def paired_kl(truth: Components, fit: Components, order: np.ndarray) -> float:
    """Average over matched components of KL(truth || fit); nats."""
    total = 0.0
    for target, s, k in zip(truth.means, truth.covariances, order, strict=True):
        d, v = fit.means[k] - target, fit.covariances[k]
        total += float(np.trace(np.linalg.solve(v, s)) + d @ np.linalg.solve(v, d)) - len(d)
        total += np.linalg.slogdet(v)[1] - np.linalg.slogdet(s)[1]
    return 0.5 * total / len(order)


def posterior_scores(truth: Components, program_truth: Components, fit: Components) -> dict[str, tuple[float, str]]:
    """Distances to the exact posterior, by metric: (value, unit). See the module for the two readings.

    ``posterior_sd``: root of the mean variance of a coordinate of a component's mean, what the paper calls uncertainty.
    Raises ValueError where a number is not finite.
    """
    order = match(truth.means, fit.means)
    mean, covariance = (math.sqrt(len(order) * e) for e in squared_errors(truth, fit, order))
    greedy = greedy_match(program_truth.means, fit.means)
    squared_mean, squared_covariance = squared_errors(program_truth, fit, greedy)
    variance = float(np.trace(fit.covariances, axis1=1, axis2=2).mean()) / fit.means.shape[1]
    found = {
        "fnorm_mean": mean,
        "fnorm_covariance": covariance,
        "fnorm_average": 0.5 * (mean + covariance),
        "kl": paired_kl(truth, fit, order),
        "squared_mean_error": squared_mean,
        "squared_covariance_error": squared_covariance,
        "squared_average_error": 0.5 * (squared_mean + squared_covariance),
        "program_kl_proxy": program_kl_proxy(program_truth, fit, greedy),
        "posterior_sd": math.sqrt(variance),
    }
    return _finite(scored(**found))


def label_error(responsibilities: np.ndarray, labels: np.ndarray, order: np.ndarray) -> float:
    """Share of the rows whose most probable component, matched by ``order``, is not their label."""
    return float(np.mean(order[np.asarray(labels).astype(int)] != responsibilities.argmax(axis=1)))


def density_scores(log_density: np.ndarray) -> dict[str, tuple[float, str]]:
    """Mean log-density of test rows. Raises ValueError where it is not finite."""
    return _finite(scored(test_log_likelihood=float(np.mean(log_density))))


def _finite(found: dict[str, tuple[float, str]]) -> dict[str, tuple[float, str]]:
    bad = [name for name, (value, _) in found.items() if not math.isfinite(value)]
    if bad:
        raise ValueError(f"{', '.join(bad)} not finite: the fit has diverged")
    return found
