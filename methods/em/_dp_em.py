"""The authors' code of DP-EM (Park, Foulds, Chaudhuri & Welling 2017): composition, released statistics and noise.

The releases have the names of the authors' code. LLG adds Laplace noise to weights and means, and Gaussian noise to
covariances. GGG adds Gaussian noise to all three. Rows have norm at most 1, and neighbours differ in one replaced row.
The sensitivities here are those that the authors' code DECLARES. Not all of them are bounds, and
:func:`sensitivity_replay` compares them with measured changes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from methods.em._em import Prior, e_step, map_m_step, moments
from models.mixture_of_gaussians import MixtureParameters

RELEASES = ("LLG", "GGG")
COMPOSITIONS = ("linear", "advanced", "zcdp", "moments")
#: the authors' grid of eps' for the moments accountant, and its largest moment
GRID = (0.001, 0.999, 200)
LARGEST_MOMENT = 100
#: a count of at most the first number is replaced by the second wherever it is used (authors' code)
SMALLEST_COUNT, COUNT_REPLACEMENT = 1.0, 1.01
EIGENVALUE_FLOOR = 1e-3


class PerRelease(NamedTuple):
    """The privacy parameters of one of the J (2 K + 1) releases: ``epsilon`` = eps', and ``delta`` = delta_i.

    Only a Gaussian release has a delta. Its noise has standard deviation sqrt(2 ln(1.25 / delta)) / epsilon times the
    sensitivity. A Laplace release has the noise scale sensitivity / epsilon.
    """

    epsilon: float
    delta: float

    @property
    def noise_multiplier(self) -> float:
        """z, the standard deviation of Gaussian noise over the sensitivity."""
        return math.sqrt(2.0 * math.log(1.25 / self.delta)) / self.epsilon


def per_release_epsilon(
    epsilon: float,
    delta: float,
    components: int,
    iterations: int,
    release: str,
    composition: str,
    delta_i: float = 1e-6,
    as_authors: bool = True,
) -> PerRelease:
    """The privacy parameters of each release, such that all M-steps together cost (epsilon, delta).

    There are J = ``iterations`` M-steps of 2 K + 1 releases. With ``as_authors``, the formulas are those of the
    authors' code with its slips:

    - linear, advanced: GGG counts J (K + 1) Gaussian releases towards delta, although there are J (2 K + 1).
    - zcdp: LLG leaves out the J K covariances. GGG counts one Gaussian group of J K as if it were pure eps'-DP. eps' is
      searched in [0, 1].
    - moments: eps' is taken from a grid of 200 points in [0.001, 0.999]. It is the last point before the first one at
      which no moment 1..100 meets the constraint. If all points meet it, the authors' index is empty, and this function
      takes the last point, 0.999. If not even the first point meets it, LLG takes that point nevertheless, and GGG
      stops.

    Otherwise the formulas are consistent: they count all releases, have no cap, and use moments 1 to 10,000 without a
    grid.

    Parameters
    ----------
    epsilon, delta : the total budget; delta < 1.
    components, iterations : K, J.
    release : "LLG" or "GGG".
    composition : "linear", "advanced", "zcdp" or "moments".
    delta_i : delta of one Gaussian release (authors' code: 1e-6). With "linear" it follows from delta.

    Raises
    ------
    ValueError : for an argument out of range, or a budget that is used up by delta_i or too small for the grid.
    """
    if release not in RELEASES:
        raise ValueError(f"release = {release!r}; give one of {', '.join(RELEASES)}")
    if composition not in COMPOSITIONS:
        raise ValueError(f"composition = {composition!r}; give one of {', '.join(COMPOSITIONS)}")
    if not (epsilon > 0 and math.isfinite(epsilon) and 0 < delta < 1 and 0 < delta_i < 1):
        raise ValueError(
            f"epsilon = {epsilon}, delta = {delta}, delta_i = {delta_i}; give a finite epsilon above 0 and deltas in "
            "(0, 1)"
        )
    if components < 1 or iterations < 1:
        raise ValueError(f"components = {components}, iterations = {iterations}; give at least 1 of each")
    j, k = iterations, components
    total = j * (2 * k + 1)
    gaussian = j * k if release == "LLG" else total
    counted = j * (k + 1) if as_authors and release == "GGG" else gaussian  # towards delta
    if composition == "linear":
        return PerRelease(epsilon / total, delta / counted)
    c2 = 2.0 * math.log(1.25 / delta_i)
    if composition == "advanced":
        rest = delta - counted * delta_i
        if not rest > 0:
            raise ValueError(
                f"delta = {delta:g} is used up by {counted} releases with delta_i = {delta_i:g}; lower delta_i"
            )
        return PerRelease(_advanced(epsilon, total, rest), delta_i)
    if composition == "zcdp":
        rho = (math.sqrt(math.log(1.0 / delta) + epsilon) - math.sqrt(math.log(1.0 / delta))) ** 2
        value = math.sqrt(rho / _rho_of_one(release, j, k, c2, as_authors))
        return PerRelease(min(value, 1.0) if as_authors else value, delta_i)

    if as_authors:
        lambdas = np.arange(1, LARGEST_MOMENT + 1)
        grid = np.linspace(*GRID)
        meets = np.array([_moments_slack(e, lambdas, epsilon, delta, total, gaussian, c2) < 0 for e in grid])
        first = int(np.argmin(meets)) if not meets.all() else len(grid)
        if first == 0 and release == "GGG":
            raise ValueError(
                f"moments: no eps' of the program's grid meets epsilon = {epsilon}, delta = {delta}; give a larger "
                "budget or as_authors = False"
            )
        return PerRelease(float(grid[max(first - 1, 0)]), delta_i)
    lambdas = np.arange(1, 10_001)

    def slack(value: float) -> float:
        return _moments_slack(value, lambdas, epsilon, delta, total, gaussian, c2)

    high = 1.0
    while slack(high) < 0:
        high *= 2.0
    if not slack(1e-9) < 0:
        raise ValueError(f"moments: epsilon = {epsilon}, delta = {delta} is too small for moments up to 10,000")
    return PerRelease(float(brentq(slack, 1e-9, high, xtol=1e-14, rtol=1e-13)), delta_i)


def _advanced(epsilon: float, releases: int, delta: float) -> float:
    """The root e of n e (exp(e) - 1) + sqrt(2 n ln(1 / delta)) e = epsilon."""

    def gap(value: float) -> float:
        return releases * value * math.expm1(value) + math.sqrt(2 * releases * math.log(1 / delta)) * value - epsilon

    high = 1.0
    while gap(high) < 0:
        high *= 2.0
    return float(brentq(gap, 0.0, high, xtol=1e-15, rtol=1e-14))


def _rho_of_one(release: str, j: int, k: int, c2: float, as_authors: bool) -> float:
    """The rho of all releases at eps' = 1, with eps'^2 / 2 per pure and eps'^2 / (2 c2) per Gaussian release."""
    if release == "LLG":
        return j * (k + 1) / 2.0 + (0.0 if as_authors else j * k / (2.0 * c2))
    if as_authors:
        return j * (k + 1) / (2.0 * c2) + j * k / 2.0
    return j * (2 * k + 1) / (2.0 * c2)


def _moments_slack(
    value: float, lambdas: np.ndarray, epsilon: float, delta: float, total: int, gaussian: int, c2: float
) -> float:
    """The minimum over moments of alpha(lambda) - lambda epsilon, minus ln delta. Below 0 the constraint is met."""
    alpha = gaussian * (lambdas**2 + lambdas) * value**2 / (2.0 * c2)
    laplace = total - gaussian
    if laplace:
        terms = np.stack(
            [
                np.log((lambdas + 1.0) / (2.0 * lambdas + 1.0)) + lambdas * value,
                np.log(lambdas / (2.0 * lambdas + 1.0)) - (lambdas + 1.0) * value,
            ]
        )
        alpha = alpha + laplace * logsumexp(terms, axis=0)
    return float((alpha - lambdas * epsilon).min()) - math.log(delta)


# ------------------------------------------------------------------------------------------------ released statistics
class Sensitivities(NamedTuple):
    """The sensitivities that the authors' code declares: of the weights, and per component of mean and covariance."""

    weights: float
    means: np.ndarray
    covariances: np.ndarray


class Released(NamedTuple):
    """The statistics of one M-step before the noise, their declared sensitivities, and the counts (K,) behind them."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    counts: np.ndarray
    sensitivities: Sensitivities


def declared_sensitivities(n: int, counts: np.ndarray, d: int, release: str, prior: Prior) -> Sensitivities:
    """The sensitivities that the authors' code declares under replacement of one row of norm at most 1.

    They are claims, not bounds:

    - weights: 2 / n, in L1 (LLG) and L2 (GGG). This holds.
    - mean k: 2 / (w_k + kappa0) in L2 (GGG), times sqrt(d) in L1 (LLG). The worst case reaches it. But w_k is the count
      in the given data, and the smaller count of the two neighbours would be needed. The noise scale also reveals w_k.
    - covariance k: 1 / (w_k + nu0 + d + 2), in the Frobenius norm. This is too small, because the worst case is near
      4 / w_k (:func:`worst_case`).
    """
    root = math.sqrt(d) if release == "LLG" else 1.0
    return Sensitivities(2.0 / n, 2.0 * root / (counts + prior.kappa0), 1.0 / (counts + 2 * d + 3))


def statistics_of(x: np.ndarray, responsibilities: np.ndarray, n: int, release: str, prior: Prior) -> Released:
    """The weights, means and covariances of the M-step before the noise, for ``n`` rows.

    The declared sensitivities are those of :func:`declared_sensitivities`.
    """
    m = moments(x, responsibilities, SMALLEST_COUNT, COUNT_REPLACEMENT)
    p = map_m_step(m, prior)
    declared = declared_sensitivities(n, m.counts, x.shape[1], release, prior)
    return Released(p.weights, p.means, p.covariances, m.counts, declared)


def released_statistics(
    x: np.ndarray, parameters: MixtureParameters, release: str = "GGG", prior: Prior | None = None
) -> Released:
    """The statistics of the M-step after ``parameters``, before the noise, for rows x (n, d) of norm at most 1."""
    prior = prior or Prior()
    g, _ = e_step(x, parameters.weights, parameters.means, parameters.covariances)
    return statistics_of(x, g, len(x), release, prior)


class Row(NamedTuple):
    """The declared and the measured change of one statistic between neighbours. ``component`` -1: the weights."""

    statistic: str
    component: int
    declared: float
    measured: float
    ratio: float


def sensitivity_replay(
    x: np.ndarray,
    neighbour: np.ndarray,
    parameters: MixtureParameters,
    release: str = "GGG",
    prior: Prior | None = None,
) -> list[Row]:
    """The change of every statistic between x and ``neighbour``, compared with the sensitivity declared for x.

    Earlier outputs are equal for both. A ratio above 1 shows that the authors' code adds less noise than it charges
    for. Weights and means are measured in L1 for LLG and in L2 for GGG. Covariances are measured in the Frobenius norm.
    """
    a, b = (released_statistics(rows, parameters, release, prior) for rows in (x, neighbour))
    norm = 1 if release == "LLG" else 2

    def row(statistic: str, component: int, declared: float, measured: float) -> Row:
        return Row(statistic, component, float(declared), float(measured), float(measured / declared))

    s = a.sensitivities
    rows = [row("weights", -1, s.weights, np.linalg.norm(a.weights - b.weights, norm))]
    for k in range(len(a.weights)):
        rows.append(row("mean", k, s.means[k], np.linalg.norm(a.means[k] - b.means[k], norm)))
        change = np.linalg.norm(a.covariances[k] - b.covariances[k])
        rows.append(row("covariance", k, s.covariances[k], change))
    return rows


def worst_case(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The worst case of the sensitivities: n rows at a point u of norm 1, and the same with one row moved to -u.

    With one component the mean moves by exactly 2 / (n + kappa0), and the scatter by 4 - 4 / n. The covariance moves by
    nearly 4 / n, which is 3.6 to 4 times the declared sensitivity.
    """
    x = np.zeros((n, d))
    x[:, 0] = 1.0
    neighbour = x.copy()
    neighbour[-1] = -neighbour[-1]
    return x, neighbour


# ----------------------------------------------------------------------------------------------------- post-processing
def repaired_weights(noisy: np.ndarray, n: int, prior: Prior) -> np.ndarray:
    """The weights of the authors' code: clipped to [0, 1], normalised, times n plus dirichlet - 1, normalised again."""
    clipped = np.clip(noisy, 0.0, 1.0)
    total = clipped.sum()
    # if all weights are 0, the authors' code divides by 1, which leaves the prior
    counts = n * clipped / (total if total > 0 else 1.0) + prior.dirichlet - 1.0
    if not counts.sum() > 0:
        counts = np.ones_like(counts)
    return counts / counts.sum()


def repaired_mean(noisy: np.ndarray) -> np.ndarray:
    """The mean of the authors' code, which is scaled to norm 1 if it is longer."""
    return noisy / max(1.0, float(np.linalg.norm(noisy)))


def symmetric(upper: np.ndarray, d: int) -> np.ndarray:
    """The symmetric matrix (d, d) with the upper triangle ``upper``, diagonal included, row by row."""
    out = np.zeros((d, d))
    out[np.triu_indices(d)] = upper
    return out + np.triu(out, 1).T


def repaired_covariance(noisy: np.ndarray, floor: float = EIGENVALUE_FLOOR) -> np.ndarray:
    """The symmetric matrix with each eigenvalue below ``floor`` set to ``floor``."""
    values, vectors = np.linalg.eigh(noisy)
    return (vectors * np.maximum(values, floor)) @ vectors.T
