"""DP-EM as its authors released it (Park, Foulds, Chaudhuri & Welling 2017): composition, released statistics, noise.

Names of the releases as in the authors' code: LLG adds Laplace noise to weights and means and Gaussian noise to
covariances, GGG Gaussian noise to all three. Rows have norm at most 1; neighbours differ in one replaced row. The
sensitivities here are those that the authors' code DECLARES. They are not all bounds: :func:`sensitivity_replay`
measures them.
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
#: a count of at most 1 becomes 1.01 wherever it is used (authors' code)
SMALLEST_COUNT, COUNT_REPLACEMENT = 1.0, 1.01
EIGENVALUE_FLOOR = 1e-3


class PerRelease(NamedTuple):
    """``epsilon``: eps' of each of the J (2 K + 1) releases. ``delta``: delta_i of a Gaussian one.

    A Gaussian release gets the noise sd ``sqrt(2 ln(1.25 / delta)) / epsilon`` x sensitivity, a Laplace one the scale
    sensitivity / ``epsilon``.
    """

    epsilon: float
    delta: float

    @property
    def noise_multiplier(self) -> float:
        """z, Gaussian noise standard deviation over sensitivity."""
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
    """eps' of every release, so that J = ``iterations`` M-steps of 2 K + 1 releases cost (epsilon, delta) in all.

    With ``as_authors`` the authors' formulas with their slips:

    - linear, advanced: GGG counts J (K + 1) Gaussian releases towards delta, there are J (2 K + 1);
    - zcdp: LLG leaves the J K covariances out; GGG counts one Gaussian group of J K as if it were pure eps'-DP; eps' is
      searched in [0, 1];
    - moments: eps' is the last point of a grid of 200 in [0.001, 0.999] before the first at which no moment 1..100
      meets the constraint. Where all do, the authors' index is empty; the last point, 0.999, is taken here. Where not
      even the first does, LLG takes it all the same and GGG stops.

    Otherwise the consistent ones: all releases counted, no cap, moments 1 to 10,000 without a grid.

    Parameters
    ----------
    epsilon, delta : the total budget; delta < 1.
    components, iterations : K, J.
    release : "LLG" or "GGG"; composition : "linear", "advanced", "zcdp" or "moments".
    delta_i : delta of one Gaussian release (the authors' code: 1e-6). With "linear" it follows from delta.

    Raises
    ------
    ValueError : an argument out of range, or a budget that is used up by delta_i or too small for the grid.
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
    """Root of n e (exp(e) - 1) + sqrt(2 n ln(1 / delta)) e = epsilon."""

    def gap(value: float) -> float:
        return releases * value * math.expm1(value) + math.sqrt(2 * releases * math.log(1 / delta)) * value - epsilon

    high = 1.0
    while gap(high) < 0:
        high *= 2.0
    return float(brentq(gap, 0.0, high, xtol=1e-15, rtol=1e-14))


def _rho_of_one(release: str, j: int, k: int, c2: float, as_authors: bool) -> float:
    """rho of all releases at eps' = 1: eps'^2 / 2 for a pure one, eps'^2 / (2 c2) for a Gaussian one."""
    if release == "LLG":
        return j * (k + 1) / 2.0 + (0.0 if as_authors else j * k / (2.0 * c2))
    if as_authors:
        return j * (k + 1) / (2.0 * c2) + j * k / 2.0
    return j * (2 * k + 1) / (2.0 * c2)


def _moments_slack(
    value: float, lambdas: np.ndarray, epsilon: float, delta: float, total: int, gaussian: int, c2: float
) -> float:
    """min over the moments of alpha(lambda) - lambda epsilon, minus ln delta; below 0: the constraint is met."""
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
    """Sensitivities that the authors' code declares: one of weights, one per component of means and covariances."""

    weights: float
    means: np.ndarray
    covariances: np.ndarray


class Released(NamedTuple):
    """Statistics of one M-step before the noise, with the declared sensitivities and the counts (K,) they rest on."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    counts: np.ndarray
    sensitivities: Sensitivities


def declared_sensitivities(n: int, counts: np.ndarray, d: int, release: str, prior: Prior) -> Sensitivities:
    """The authors' sensitivities under replacement of one row of norm at most 1. Claims, not bounds:

    - weights: 2 / n, in L1 (LLG) and L2 (GGG). Holds.
    - mean k: 2 / (w_k + kappa0) in L2 (GGG), times sqrt(d) in L1 (LLG). Its worst case is reached, but w_k is the count
      of the data at hand: the smaller of the two neighbours' counts would be needed, and the scale itself tells w_k.
    - covariance k: 1 / (w_k + nu0 + d + 2), Frobenius. Too small: the worst case is 4 / w_k (:func:`worst_case`).
    """
    root = math.sqrt(d) if release == "LLG" else 1.0
    return Sensitivities(2.0 / n, 2.0 * root / (counts + prior.kappa0), 1.0 / (counts + 2 * d + 3))


def statistics_of(x: np.ndarray, responsibilities: np.ndarray, n: int, release: str, prior: Prior) -> Released:
    """Weights, means and covariances of the M-step before the noise; ``n``: the number of rows that is used.

    The declared sensitivities are in :func:`declared_sensitivities`.
    """
    m = moments(x, responsibilities, SMALLEST_COUNT, COUNT_REPLACEMENT)
    p = map_m_step(m, prior)
    declared = declared_sensitivities(n, m.counts, x.shape[1], release, prior)
    return Released(p.weights, p.means, p.covariances, m.counts, declared)


def released_statistics(
    x: np.ndarray, parameters: MixtureParameters, release: str = "GGG", prior: Prior | None = None
) -> Released:
    """The release of the M-step after ``parameters``, before the noise; x (n, d) with norms at most 1."""
    prior = prior or Prior()
    g, _ = e_step(x, parameters.weights, parameters.means, parameters.covariances)
    return statistics_of(x, g, len(x), release, prior)


class Row(NamedTuple):
    """Declared against measured change of one statistic between neighbours; ``component`` is -1 for the weights."""

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
    """Change of every statistic between x and ``neighbour`` given equal earlier outputs, over the one declared on x.

    A ratio above 1 shows that the authors' code adds less noise than it charges for. Weights and means are measured in
    L1 for LLG and in L2 for GGG, covariances in the Frobenius norm.
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
    """n rows at a point u of norm 1, and the same with one of them moved to -u.

    With one component the mean moves by exactly 2 / (n + kappa0), the scatter by 4 - 4 / n, the covariance by nearly
    4 / n: 3.6 to 4 times the declared sensitivity.
    """
    x = np.zeros((n, d))
    x[:, 0] = 1.0
    neighbour = x.copy()
    neighbour[-1] = -neighbour[-1]
    return x, neighbour


# ----------------------------------------------------------------------------------------------------- post-processing
def repaired_weights(noisy: np.ndarray, n: int, prior: Prior) -> np.ndarray:
    """Clipped to [0, 1], normalised, times n plus dirichlet - 1, normalised again (the authors' code)."""
    clipped = np.clip(noisy, 0.0, 1.0)
    total = clipped.sum()
    # all weights at 0: the authors' code divides by 1 there, which leaves the prior
    counts = n * clipped / (total if total > 0 else 1.0) + prior.dirichlet - 1.0
    if not counts.sum() > 0:
        counts = np.ones_like(counts)
    return counts / counts.sum()


def repaired_mean(noisy: np.ndarray) -> np.ndarray:
    """A mean longer than 1 is scaled to the unit sphere (the authors' code)."""
    return noisy / max(1.0, float(np.linalg.norm(noisy)))


def symmetric(upper: np.ndarray, d: int) -> np.ndarray:
    """The symmetric (d, d) matrix whose upper triangle with the diagonal, row by row, is ``upper``."""
    out = np.zeros((d, d))
    out[np.triu_indices(d)] = upper
    return out + np.triu(out, 1).T


def repaired_covariance(noisy: np.ndarray, floor: float = EIGENVALUE_FLOOR) -> np.ndarray:
    """Eigenvalues of the symmetric matrix below ``floor`` are set to it."""
    values, vectors = np.linalg.eigh(noisy)
    return (vectors * np.maximum(values, floor)) @ vectors.T
