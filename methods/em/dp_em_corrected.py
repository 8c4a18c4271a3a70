"""The corrected DP-EM: each M-step makes one joint release of all moments, whose sensitivity is proved here."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from methods._shared import row_blocks
from methods._shared.framed_mixture import RADIUS, RegressionInFrame, ball
from methods._shared.frames import InFrame, left_for
from methods._shared.settings_checks import positive, whole, within
from methods.contract import Apart, Constants, Counterpart, Fit, Method
from models.mixture_of_gaussians import MixtureOfGaussians, MixtureParameters
from models.task import PublicKnowledge, Task
from privacy.budget import Budget
from privacy.ledger import Event, Mechanism, Relation

_WHAT = "counts, first and second moments of all components"
_PROOF = "methods.em.dp_em_corrected.joint_moments"


class DPEMCorrected(Method):
    """EM whose M-step reads one noisy vector: the counts, sums and second moments of all components together.

    It differs from the authors' code of Park et al. 2017 in five ways. There is one release per M-step instead of 2 K +
    1, because a row's responsibilities add up to 1. Raw moments are released, which have a bounded sensitivity. Means
    and covariances have none that is free of private counts. Rows are clipped to a ball that is public or charged to
    the budget. Every M-step is charged. The run does not stop by the private likelihood.

    Weights, means and covariances are estimated even if the task knows the noise. That knowledge, with the prior, then
    sets the radius of the ball and nothing else.
    """

    name = "dp_em_corrected"
    title = "DP-EM (one joint release)"
    seed_name = "dp_em_joint"
    reference = "after park2017dpem; the joint release and its proof are this suite's"
    models = ("mixture_of_gaussians",)
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart(
            apart=Apart.MODES, reason="EM from another start ends in another optimum; rows outside its ball are clipped"
        ),
    )
    reads_ranges = True

    @dataclass(frozen=True)
    class Settings:
        """The constants were chosen on synthetic mixtures, none on a data set of the suite."""

        #: J, full-batch M-steps, all charged (authors' code: 10).
        iterations: int = 10
        #: part of the budget (of mu^2, Gaussian DP) for ranges and scales; not used if the task knows the noise.
        scaling_share: float = 0.1
        #: radius of the ball over sqrt(d) standard deviations, if the scales were estimated privately.
        radius: float = 1.5
        #: variance of the components at the start, squared units of the unit ball (authors' code: 1).
        start_variance: float = 0.1
        #: smallest eigenvalue of a covariance, squared units of the unit ball (authors' code: 1e-3).
        eigenvalue_floor: float = 1e-3

        def __post_init__(self) -> None:
            whole("dp_em_corrected", self, "iterations")
            within("dp_em_corrected", self, "(0, 1)", "scaling_share")
            positive("dp_em_corrected", self, "radius", "start_variance", "eigenvalue_floor")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget is (epsilon, delta), or a noise multiplier: then that of each release of moments.

        Raises ValueError for a public number of rows below 1, and for a budget that states neither.
        """
        from methods.em import _em as em

        s, n, d = settings, task.public.n, task.x.shape[1]
        if n < 1:
            raise ValueError(f"{task.name}: dp_em_corrected needs a public number of rows of at least 1")
        components = task.model.components
        self._check(budget)
        shift, scale = self._frame(task, s, budget)
        bound = joint_sensitivity(d, components)
        mechanism = budget.gaussian(
            _WHAT,
            sensitivity=bound,
            noise_multiplier=self._noise_multiplier(s, budget),
            relation=self.privacy,
            steps=s.iterations,
            proof=_PROOF,
        )

        def moments(p: MixtureParameters, x: np.ndarray) -> np.ndarray:
            return expected_moments(p, clipped((x - shift) / scale, 1.0))  # anew in each pass: no copy of all rows

        start = em.initial(d, components, rng)
        p = MixtureParameters(start.weights, start.means, s.start_variance * start.covariances)
        for _ in range(s.iterations):
            vector = row_blocks.total(partial(moments, p), task.x, rows=row_blocks.CACHED)
            released = mechanism.release(vector)
            p = m_step(released, n, d, components, mechanism.noise_scale, s.eigenvalue_floor)
        found = MixtureParameters(p.weights, shift + scale * p.means, scale[:, None] * p.covariances * scale)
        return Fit(
            found,
            budget.ledger,
            {
                "noise_multiplier": mechanism.event.noise_multiplier,
                "noise_scale": mechanism.noise_scale,
                "radius": float(np.sqrt(np.mean(scale**2))),
            },
        )

    def _check(self, budget: Budget) -> None:
        stated = budget.epsilon is not None and budget.delta is not None
        if not stated and (budget.noise_multiplier is None or not budget.noise_multiplier > 0):
            raise ValueError("dp_em_corrected: the budget states no (epsilon, delta) and no noise_multiplier above 0")

    def _noise_multiplier(self, s: Settings, budget: Budget) -> float:
        """The noise multiplier per release of moments: what the budget leaves after the scaling, or what it states."""
        from privacy.scaling import remaining_noise_multiplier

        if budget.epsilon is None or budget.delta is None:
            return budget.noise_multiplier
        planned = Event(_WHAT, Mechanism.GAUSSIAN, self.privacy, 1.0, 1.0, steps=s.iterations, proof=_PROOF)
        return remaining_noise_multiplier(budget.ledger, planned, budget.epsilon, budget.delta)

    def _frame(self, task: Task, s: Settings, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
        """The ball |(x - shift) / scale| <= 1 as (shift, scale), each (d,): public, or estimated privately."""
        d = task.x.shape[1]
        if task.model.noise_sd is not None:
            return np.zeros(d), np.full(d, prior_radius(task.model, d))
        from privacy.scaling import scaling_noise_multiplier

        if budget.epsilon is not None and budget.delta is not None:
            multiplier = scaling_noise_multiplier(budget.epsilon, budget.delta, s.scaling_share)
        else:  # the same share of the whole budget, which follows from the noise multiplier of the moments
            share = s.scaling_share
            multiplier = budget.noise_multiplier * math.sqrt((1.0 - share) / (share * s.iterations))
        mean, sd = column_scales(task.x, task.public, budget, multiplier)
        return mean, s.radius * math.sqrt(d) * sd


def prior_radius(model: MixtureOfGaussians, d: int) -> float:
    """The radius R of the ball around 0, in data units, from the model's prior alone.

        R^2 = d (prior_variance + noise_sd^2) + max_j |m_j|^2

    with m_j the prior mean of component j. For every component, R is at least the root mean squared norm of its rows
    under the prior.
    """
    largest = float((model.prior_means(d) ** 2).sum(axis=1).max())
    return math.sqrt(d * (model.prior_variance + model.noise_sd**2) + largest)


def column_scales(
    x: np.ndarray, public: PublicKnowledge, budget: Budget, noise_multiplier: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every column, each (d,), estimated privately.

    A column without a documented range first gets an estimated one. The moments are then released within the ranges.
    All releases compose exactly to one full-batch Gaussian release with ``noise_multiplier``. Their sensitivities are
    proved in ``privacy.scaling.range_counts`` and ``privacy.scaling.moment_sums``.

    If the noise hides the range of a column, it gets the symmetric range that is as wide as the widest of the other
    columns, because columns of one space have similar sizes. The last column without a documented range gets its bin
    with the largest noisy count instead. Raises ValueError for documented ranges that are empty, not finite or of the
    wrong number.
    """
    from privacy.scaling import EXPONENTS, private_moments, private_ranges

    d = x.shape[1]
    widest = 2.0 ** EXPONENTS[1]
    ranges = list(public.x_bounds) or [None] * d
    if len(ranges) != d:
        raise ValueError(f"public.x_bounds has {len(ranges)} entries for {d} columns; give one pair or None for each")
    for j, r in enumerate(ranges):
        if r is not None and not (math.isfinite(r[0]) and math.isfinite(r[1]) and r[0] < r[1]):
            raise ValueError(f"public.x_bounds[{j}] = {r}; give finite numbers (lower, upper) with lower < upper")
    missing = [j for j, r in enumerate(ranges) if r is None]
    multiplier = noise_multiplier * math.sqrt(2.0) if missing else noise_multiplier
    if missing:
        for j, found in zip(missing, private_ranges(x[:, missing], public.n, budget, multiplier, True), strict=True):
            ranges[j] = found
        seen = max((max(abs(a), abs(b)) for a, b in ranges if max(abs(a), abs(b)) < widest), default=widest)
        ranges = [r if max(abs(r[0]), abs(r[1])) < widest else (-seen, seen) for r in ranges]
    low, high = np.array(ranges, dtype=np.float64).T
    return private_moments(x, low, high, public.n, budget, multiplier)


def clipped(rows: np.ndarray, norm: float) -> np.ndarray:
    """The rows clipped to Euclidean norm ``norm``. Overflow and NaN become finite numbers: +-1e300 and 0."""
    rows = np.nan_to_num(rows, nan=0.0, posinf=1e300, neginf=-1e300)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    direction = rows / np.where(largest > 0, largest, 1.0)  # so that squares cannot overflow
    length = np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1.0)  # below 1 only for a row of zeros
    return direction * np.minimum(largest, norm / length)


def joint_sensitivity(d: int, components: int) -> float:
    """The L2 sensitivity sqrt(3 - 1 / d - 1 / K) of :func:`joint_moments` under add/remove, proved there."""
    return math.sqrt(3.0 - 1.0 / d - 1.0 / components)


def joint_moments(u: np.ndarray, responsibilities: np.ndarray) -> np.ndarray:
    """Centred counts, first and second moments of all components, summed over the rows, as one vector.

    The sums over the rows, for every component k, are those of (g_k - 1 / K, g_k u, g_k (u u' - I / d)). ``u`` has
    shape (n, d) and norms at most 1. ``responsibilities`` g has shape (n, K). A symmetric matrix is given by its upper
    triangle, with off-diagonal entries times sqrt(2), so that its norm is the Frobenius norm. The result has shape
    (K (1 + d + d (d + 1) / 2),).

    L2 sensitivity under add/remove: sqrt(3 - 1 / d - 1 / K). Proof: The responsibilities come from parameters that were
    released, so the row added or removed changes no other row's term. Its own term has the squared norm

        |g|^2 h(r) - 1 / K,  where  r = |u|^2  and
        h(r) = 1 + r + |u u' - I / d|^2 = 1 + r + r^2 - 2 r / d + 1 / d,

    since sum_k (g_k - 1 / K)^2 = |g|^2 - 1 / K, because the g_k add up to 1. The g_k are not negative, so |g|^2 <= 1.
    The function h is convex, so on [0, 1] it is at most

        max(h(0), h(1)) = h(1) = 3 - 1 / d,  with  h(0) = 1 + 1 / d.

    The bound is reached by |u| = 1 and g a unit vector. If counts and second moments were not centred, it would be
    sqrt(3). The centring loses no information. The subtracted n / K is public, and the subtracted multiple of I follows
    from the count, which is in the vector.
    """
    n, d = u.shape
    k = responsibilities.shape[1]
    upper = np.triu_indices(d)
    root = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
    counts = responsibilities.sum(axis=0)
    squares = np.stack([((u * g[:, None]).T @ u)[upper] * root for g in responsibilities.T])
    squares -= (counts / d)[:, None] * (upper[0] == upper[1])
    return np.concatenate([counts - n / k, (responsibilities.T @ u).ravel(), squares.ravel()])


def expected_moments(p: MixtureParameters, u: np.ndarray) -> np.ndarray:
    """The :func:`joint_moments` of rows u (n, d), with the responsibilities that released parameters ``p`` give."""
    from methods.em import _em as em

    responsibilities, _ = em.e_step(u, p.weights, p.means, p.covariances)
    return joint_moments(u, responsibilities)


def m_step(
    released: np.ndarray, n: int, d: int, components: int, noise: float, eigenvalue_floor: float
) -> MixtureParameters:
    """Weights, means and covariances from the noisy vector, by post-processing with public numbers.

    ``noise``: standard deviation of every entry. ``n``: public number of rows. With s_k and M_k the noisy first and
    second moments of component k, the rules are:

    - A count n_k that divides is at least n / (3 K) and at least six standard deviations of the noise. Otherwise the
      noise would place a component without rows.
    - The weights are the noisy counts clipped to [0, n], plus 1, normalised.
    - mean_k = s_k / n_k, clipped to the unit ball.
    - covariance_k = M_k / n_k - (s_k / n_k)(s_k / n_k)' + (noise / n_k)^2 I. The last term restores what the noise of
      s_k subtracts in expectation.
    - The covariance's departure from a multiple of I is shrunk by the positive-part James-Stein factor, which is
      1 - noise^2 (d (d + 1) / 2 - 1) / n_k^2 / (squared Frobenius norm of the departure).
    - Its eigenvalues are clipped to [floor, 1], because no row of the unit ball varies by more than 1.
    - The floor is the larger of ``eigenvalue_floor`` and noise / (2 min(n_k, n / K) sqrt(d)), and at most 1. The second
      number is half a standard deviation of the noise in the mean eigenvalue if n_k is at most n / K. If the noise
      hides a covariance, the result is therefore the covariance of the whole ball.
    """
    raw = released[:components] + n / components
    sums = released[components : components * (1 + d)].reshape(components, d)
    triangles = released[components * (1 + d) :].reshape(components, -1)
    counts = np.maximum(raw, max(n / (3.0 * components), 6.0 * noise))
    weights = np.clip(raw, 0.0, n) + 1.0
    upper = np.triu_indices(d)
    diagonal = upper[0] == upper[1]
    means, covariances = np.empty((components, d)), np.empty((components, d, d))
    for k, count in enumerate(counts):
        mean = sums[k] / count
        second = np.zeros((d, d))
        second[upper] = triangles[k] / np.where(diagonal, 1.0, math.sqrt(2.0)) + raw[k] / d * diagonal
        second = second + np.triu(second, 1).T
        covariance = second / count - np.outer(mean, mean) + (noise / count) ** 2 * np.eye(d)
        floor = max(eigenvalue_floor, noise / (2.0 * min(count, n / components) * math.sqrt(d)))
        covariances[k] = _shrunk(covariance, noise / count, min(floor, 1.0))
        means[k] = mean / max(1.0, float(np.linalg.norm(mean)))
    return MixtureParameters(weights / weights.sum(), means, covariances)


def _shrunk(covariance: np.ndarray, noise: float, floor: float) -> np.ndarray:
    """Shrinkage and clipping of :func:`m_step`, with ``noise`` the standard deviation of a diagonal entry."""
    d = len(covariance)
    centre = np.trace(covariance) / d * np.eye(d)
    rest = covariance - centre
    energy = noise**2 * (d * (d + 1) / 2 - 1)
    factor = max(0.0, 1.0 - energy / max(float((rest**2).sum()), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(centre + factor * rest)
    return (vectors * np.clip(values, floor, 1.0)) @ vectors.T


# The corrected DP-EM for a mixture of Gaussians, on inputs scaled to [-1, 1].
class DPEMCorrectedMixture(InFrame, DPEMCorrected):
    """EM with one noisy vector of all moments per M-step, on columns scaled to [-1, 1] and rows clipped to a ball.

    The ball is public and has its centre at 0. Its radius is ``radius`` sqrt(d), in units in which the corners of [-1,
    1]^d are at 3 sqrt(d). A column then has a standard deviation near 1, and the noise grows with the square of the
    radius. The noise of the M-steps uses up what the scaling has left of the budget.
    """

    models = ("bounded_mixture",)
    constants = (Constants.DEVELOPED, Constants.PROGRAM)
    name = "dp_em_corrected"
    seed_name = "dp_em_joint"
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart(
            apart=Apart.MODES, reason="EM from another start ends in another optimum; the default's ball cuts rows, too"
        ),
    )
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"iterations": 5}, {"iterations": 20}, {"iterations": 40}, {"radius": 2.0}, {"radius": 3.0},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        """The constants were chosen on synthetic mixtures, none on a data set of the suite."""

        iterations: int = 10  #: J, full-batch M-steps, all charged (code of Park et al.: 10)
        radius: float = RADIUS  #: radius of the ball over sqrt(d), in units of the scaled columns
        start_variance: float = 0.1  #: variance of the components at the start, squared units of the unit ball
        eigenvalue_floor: float = 1e-5  #: smallest eigenvalue of a covariance, squared units of the unit ball

        def __post_init__(self) -> None:
            whole("dp_em_corrected", self, "iterations")
            positive("dp_em_corrected", self, "radius", "start_variance", "eigenvalue_floor")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return DPEMCorrected.fit(self, task, settings, budget, rng)

    def _frame(self, task: Task, s: Settings, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
        return ball(task.x.shape[1], s.radius)


# The corrected DP-EM as Gaussian-mixture regression, on inputs scaled to [-1, 1].

#: K and J if the noise is small enough (Park et al. 2017: 3 and 10).
COMPONENTS, STEPS = 3, 10
#: largest eigenvalue of the noise in a covariance, over the variance of a column, up to which three components are
#: fitted. It was set on 16 synthetic regressions (n = 1500 and 10,000, d = 4 and 11, epsilon 0.1, 1 and 8). In the 14
#: above it, one component predicts better (log-likelihood, mean of 3 seeds). In the 2 below it, the mean of three
#: components is at least as high.
LARGEST_EDGE = 0.1


class DPEMCorrectedLinear(RegressionInFrame, DPEMCorrectedMixture):
    """EM with one noisy vector per M-step on the joint distribution of inputs and target.

    The prediction is the target given the inputs. Ball and noise are as for a density, and a row is [x, y]. A
    covariance that serves for a density may still have directions of the inputs that are smaller than its noise, and a
    regression divides by them. So each component's input block gets a ``ridge``, as in AdaSSP (Wang 2018). It follows
    from the releases and falls to 0 with the noise.
    """

    models = ("bounded_linear_regression",)
    constants = (Constants.FORMULA, Constants.DEVELOPED)
    name = "dp_em_corrected"
    seed_name = "dp_em_joint"
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart(
            "ridge",
            0.05,
            "one component in a ball around the whole box is ridge by noisy moments; .01 seen",
            settings={"components": 1, "iterations": 1, "radius": 3.0},
        ),
    )
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"components": 1, "iterations": 1}, {"components": 3, "iterations": 10}, {"ridge": 0.0}, {"ridge": 1.0},
        {"radius": 2.0},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(DPEMCorrectedMixture.Settings):
        components: int | None = None  #: K; None: by :func:`size`
        iterations: int | None = None  #: J, full-batch M-steps, all charged; None: by :func:`size`
        ridge: float = 0.3  #: added to the input block, over the noise's largest eigenvalue; see :func:`with_ridge`

        def __post_init__(self) -> None:
            whole("dp_em_corrected", self, "components", "iterations", optional=True)
            positive("dp_em_corrected", self, "radius", "start_variance", "eigenvalue_floor")
            within("dp_em_corrected", self, "[0, inf)", "ridge")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Choose K and J and fit. Raises ValueError for a budget without (epsilon, delta) or a noise multiplier."""
        noise = left_for(budget, "moments of a whole run", self.privacy)
        components, iterations = size(task.public.n, task.x.shape[1], noise, settings.radius)
        components = settings.components or components
        iterations = settings.iterations or iterations
        chosen = replace(settings, components=components, iterations=iterations)
        return super().fit_unit(task, chosen, budget, rng)

    def fit_joint(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        fit = DPEMCorrected.fit(self, task, settings, budget, rng)
        noise, radius = fit.diagnostics["noise_scale"], fit.diagnostics["radius"]
        found = with_ridge(fit.posterior, task.public.n, noise, radius, settings.ridge)
        return Fit(found, fit.ledger, fit.diagnostics)


def edge(n: float, d: int, noise: float, radius: float) -> float:
    """The largest eigenvalue of the noise in a covariance of d + 1 columns of n rows, in units of a row squared.

    The noise in the sum of second moments is a symmetric Gaussian matrix, in units of a ball of the given ``radius``.
    Its entries have variance noise^2 on the diagonal and noise^2 / 2 elsewhere. Its largest eigenvalue is near
    noise sqrt(2 (d + 1)) (Wigner).
    """
    return radius**2 * noise * math.sqrt(2.0 * (d + 1)) / n


def size(n: int, d: int, noise_multiplier: float, radius: float) -> tuple[int, int]:
    """The number of components and of M-steps (K, J), from sizes and noise alone: (3, 10) or (1, 1).

    ``noise_multiplier`` is that of one release that uses up the budget, so each of ten releases gets sqrt(10) times as
    much noise. Three components are fitted if the noise in the covariance of a third of the rows stays below
    ``LARGEST_EDGE`` of the variance of a column. One component is linear regression by noisy moments, which needs one
    release only.
    """
    noise = math.sqrt(STEPS) * noise_multiplier * joint_sensitivity(d + 1, COMPONENTS)
    wide = edge(n / COMPONENTS, d, noise, radius * math.sqrt(d + 1)) > LARGEST_EDGE
    return (1, 1) if wide else (COMPONENTS, STEPS)


def with_ridge(p: MixtureParameters, n: int, noise: float, radius: float, ridge: float) -> MixtureParameters:
    """The joint distribution of d inputs and the target, with a multiple of I added to every covariance's input block.

    The multiple is ``ridge`` times :func:`edge` for the number of rows of the component. This number is the largest of
    n w_k, n / (3 K) and 6 ``noise``, as in the M-step. The covariances stay positive definite.
    """
    d = p.means.shape[1] - 1
    counts = np.maximum(p.weights * n, max(n / (3.0 * len(p.weights)), 6.0 * noise))
    added = np.array([ridge * edge(c, d, noise, radius) for c in counts])
    covariances = p.covariances + added[:, None, None] * np.diag([1.0] * d + [0.0])
    return MixtureParameters(p.weights, p.means, covariances)
