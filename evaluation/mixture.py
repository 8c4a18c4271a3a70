"""Scores of a fitted mixture of Gaussians: distance to the exact posterior, clustering, density of test rows.

There are two readings of "F-norm".

*As printed* (Vinaroz & Park 2023, section 6.1: "the L2 distance between the parameters of the ground truth posterior
and those of the learned posterior, when the parameters are flattened into a single long vector"). ``fnorm_mean`` and
``fnorm_covariance`` are the Euclidean norms of the differences of all means and of all covariances. Components are
matched by the least total squared distance of means (Hungarian algorithm). The truth is the exact posterior given the
labels under the model's prior.

*Authors' code.* ``squared_mean_error`` and ``squared_covariance_error`` are averages over the components of squared
norms. Components are matched greedily. The truth is the posterior given the labels under a prior whose precision is
the model's prior variance (10 instead of 0.1). ``program_kl_proxy`` (first version of the code, 2021) is computed in
the same way. Its trace term is always D.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment

from evaluation.metrics import scored

#: the metrics of each reading.
PRINTED = ("fnorm_mean", "fnorm_covariance", "fnorm_average", "kl")
PROGRAM = ("squared_mean_error", "squared_covariance_error", "squared_average_error", "program_kl_proxy")


class Components(Protocol):
    """The parameters that are compared: means (J, D), covariances (J, D, D)."""

    means: np.ndarray
    covariances: np.ndarray


def match(true_means: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The index of the estimated component for each true one, by least total squared distance of means: (J,)."""
    cost = ((true_means[:, None, :] - means[None, :, :]) ** 2).sum(axis=2)
    return linear_sum_assignment(cost)[1]


def greedy_match(true_means: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The authors' matching: each true component in turn takes the nearest estimated mean that is left. (J,)."""
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
    """The authors' formula for KL(fit || truth), averaged over the components, in nats.

    With true covariance S, fitted covariance V and difference of means d, it is

        1/2 (D + d' S^-1 d + log(|S| / |V|) - D).

    Its trace term is tr(V^-1 V) = D instead of tr(S^-1 V).
    """
    total = 0.0
    for target, s, k in zip(truth.means, truth.covariances, order, strict=True):
        d = target - fit.means[k]
        total += float(d @ np.linalg.solve(s, d)) + np.linalg.slogdet(s)[1] - np.linalg.slogdet(fit.covariances[k])[1]
    return 0.5 * total / len(order)


def paired_kl(truth: Components, fit: Components, order: np.ndarray) -> float:
    """The average over matched components of KL(truth || fit), in nats."""
    total = 0.0
    for target, s, k in zip(truth.means, truth.covariances, order, strict=True):
        d, v = fit.means[k] - target, fit.covariances[k]
        total += float(np.trace(np.linalg.solve(v, s)) + d @ np.linalg.solve(v, d)) - len(d)
        total += np.linalg.slogdet(v)[1] - np.linalg.slogdet(s)[1]
    return 0.5 * total / len(order)


def posterior_scores(truth: Components, program_truth: Components, fit: Components) -> dict[str, tuple[float, str]]:
    """Distances to the exact posterior, by metric: (value, unit). The module's docstring explains both readings.

    ``posterior_sd`` is the root of the mean variance of a coordinate of a component's mean. The paper calls it
    uncertainty. Raises ValueError if a number is not finite.
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
    """The share of rows whose most probable component, matched by ``order``, differs from their label."""
    return float(np.mean(order[np.asarray(labels).astype(int)] != responsibilities.argmax(axis=1)))


def density_scores(log_density: np.ndarray) -> dict[str, tuple[float, str]]:
    """The mean log-density of test rows. Raises ValueError if it is not finite."""
    return _finite(scored(test_log_likelihood=float(np.mean(log_density))))


def _finite(found: dict[str, tuple[float, str]]) -> dict[str, tuple[float, str]]:
    bad = [name for name, (value, _) in found.items() if not math.isfinite(value)]
    if bad:
        raise ValueError(f"{', '.join(bad)} not finite: the fit has diverged")
    return found
