"""The corrected DP-SEP on a mixture of Gaussians with known noise: clipped sites of a batch, one release a step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods.contract import Diverged, Fit
from methods.ep._mixture import sites
from models.mixture_of_gaussians import MixtureMeans, MixtureOfGaussians
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Event, Mechanism, Relation, Sampling

_WHAT = "sum of the clipped sites of a batch"
_PROOF = "methods.ep._mixture.sites.clipped_site_sum"

#: e-folds of the whole run: 1 - exp(-1.5) = 78 % of the data are absorbed, and the last reading makes up for the rest.
E_FOLDS = 1.5
#: noise left in a precision at the end, over the precision that all rows give to a component of average size.
NOISE_OVER_DATA = 0.0075


@dataclass(frozen=True)
class Schedule:
    """The plan of a run: K releases, rate q, damping rho, clipping norm C, noise multiplier sigma."""

    steps: int
    rate: float
    damping: float
    clip: float
    noise_multiplier: float

    def absorbed(self, step: int) -> float:
        """Share of the data in N theta_f after ``step`` steps: 1 - (1 - rho)^step."""
        return -math.expm1(step * math.log1p(-self.damping)) if self.damping < 1 else float(step > 0)

    def noise_sd(self, step: int) -> float:
        """Standard deviation of the noise in each coordinate of N theta_f after ``step`` steps (a geometric sum)."""
        left = (1.0 - self.damping) ** (2 * step)
        r2 = self.damping * (1.0 - left) / (2.0 - self.damping)
        return self.clip * self.noise_multiplier / self.rate * math.sqrt(r2)


def schedule(
    steps: int,
    rate: float,
    noise_multiplier: float,
    n: int,
    d: int,
    model: MixtureOfGaussians,
    *,
    damping: float | None = None,
    clip: float | None = None,
) -> Schedule:
    """Damping and clipping norm from the sizes, the prior and the noise alone: no data come in.

    Parameters
    ----------
    steps : K; rate : probability q that a row is in a batch; noise_multiplier : sigma of one release.
    n, d : public number of rows, number of columns.
    damping, clip : override rho and C.

    Derivation. As on the network (``methods.ep.dp_sep_corrected.schedule``), N theta_f <- (1 - rho) N theta_f
    + rho (S + C sigma z) / q absorbs a share 1 - (1 - rho)^K of the data, so rho = 1 - exp(-E_FOLDS / K), and leaves
    noise of standard deviation tau = C (sigma / q) r with r^2 = rho (1 - (1 - rho)^(2K)) / (2 - rho). Relative to
    what is absorbed the noise is least for few e-folds, but the first sites, of a bad start, must be forgotten.

    The site of a row that surely belongs to one component is (x / s2, I / s2). Under the prior predictive
    E|x|^2 = D (prior_variance + s2) + mean_j |m_j|^2, so a typical row has a site of norm

        C_1 = sqrt(E|x|^2 + D) / s2

    and is not clipped at C = C_1. All rows give a component of average size the precision n / (J s2). C is such that
    the noise tau in a precision is NOISE_OVER_DATA times that, and at most C_1:

        C = min(C_1, NOISE_OVER_DATA (n / (J s2)) q / (sigma r)).

    Below C_1 noise and clipped sites shrink alike, so a smaller C costs little, while a larger one only adds noise.
    (A clipped site keeps its means, but rows far from the origin then count less.)

    Looked at, on 40 synthetic mixtures of other seeds than the suite's (N = 1000, J = D = 4, noise_sd .5, K = 120):
    squared error of the means, median over the mixtures, before step (iii) of :func:`reading`, which changes them by
    less than .003 from epsilon = 1 up.

        NOISE_OVER_DATA   .004    .0075   .015    .03     .06
        epsilon = 1       .133    .135    .133    .145    .344
        epsilon = 5       .0133   .0122   .0157   .0267   .0267
        epsilon = 10      .0090   .0076   .0115

    1 to 2.5 e-folds differ little (.157, .145 and .170 at epsilon = 1 and .03). 12 % of the mixtures at epsilon = 1 and
    3 % without noise settle on a wrong clustering, with errors above 1. Without noise few steps are worse in this
    (20 % at K = 60, 30 % at K = 30, and as many where C is a quarter): components commit themselves in the first,
    too large steps. No bound on rho C as on the network follows from that, but K should not be below the default.
    A plain reading of N theta_f (see :func:`reading`) diverged at epsilon = 10 and below.

    Raises ValueError for an argument out of range.
    """
    if steps < 1 or not (0 < rate <= 1) or not (noise_multiplier > 0) or n < 1 or d < 1:
        raise ValueError(
            f"dp_sep_corrected: steps = {steps}, rate = {rate}, noise_multiplier = {noise_multiplier}, {n} rows, "
            f"{d} columns; all must be above 0, and the rate at most 1"
        )
    rho = -math.expm1(-E_FOLDS / steps) if damping is None else damping
    if not (0 < rho <= 1):
        raise ValueError(f"dp_sep_corrected: damping = {rho}; give a number in (0, 1]")
    s2 = model.noise_sd**2
    squares = d * (model.prior_variance + s2) + float(np.square(model.prior_means(d)).sum(axis=1).mean())
    typical = math.sqrt(squares + d) / s2
    unit = Schedule(steps, rate, rho, 1.0, noise_multiplier).noise_sd(steps)
    c = min(typical, NOISE_OVER_DATA * n / (model.components * s2 * unit)) if clip is None else clip
    if not (0 < c < math.inf):
        raise ValueError(f"dp_sep_corrected: clip = {c}; give a finite number above 0")
    return Schedule(steps, rate, rho, c, noise_multiplier)


def fit(task: Task, settings, budget: Budget, *, method: str, relation: Relation) -> Fit:
    """K steps of Poisson batch, sites from the common cavity, clipped sum, one Gaussian release, damped move.

    ``settings``: ``methods.ep.dp_sep_corrected.DPSEPCorrected.Settings``; its ``scaling_share`` is not used: rows keep
    their own units. The budget is (epsilon, delta), or the noise multiplier of one release. Every release is made,
    also of an empty batch, and none is undone: what follows a release is a function of releases and public numbers.

    Starts at N theta_f = 0; the prior means break the symmetry between components. Cavities and the final q are read
    from the released N theta_f by :func:`reading`, which knows how much noise it carries; the final q also divides by
    the share of the data that was absorbed.

    Raises ValueError for a task without rows, an unknown noise_sd, or a budget that states neither; Diverged for
    numbers that overflow.
    """
    model, n, d = task.model, task.public.n, task.x.shape[1]
    if task.n < 1 or n < 1:
        raise ValueError(f"{task.name}: {method} needs at least 1 training row, got {task.n} (public: {n})")
    if model.noise_sd is None:
        raise ValueError(f"{task.name}: {method} needs a mixture with a known noise_sd")
    rate = min(1.0, settings.batch_rows / n)
    sampling = Sampling.FULL_BATCH if rate == 1.0 else Sampling.POISSON
    planned = Event(_WHAT, Mechanism.GAUSSIAN, relation, 1.0, 1.0, sampling, rate, settings.steps, proof=_PROOF)
    sigma = _noise_multiplier(budget, planned, method)
    plan = schedule(settings.steps, rate, sigma, n, d, model, damping=settings.damping, clip=settings.clip)
    mechanism = budget.gaussian(
        _WHAT,
        sensitivity=plan.clip,
        noise_multiplier=sigma,
        relation=relation,
        sampling=sampling,
        sampling_rate=rate,
        steps=plan.steps,
        proof=_PROOF,
    )
    batches = mechanism.batches(task.n)
    absorbed = np.zeros(sites.size(model.components, d))  # N theta_f
    for step in range(plan.steps):
        means, precisions = reading(
            absorbed, plan.noise_sd(step), model, d, fraction=1.0 - 1.0 / n, final=False
        )  # the cavity
        total = sites.clipped_site_sum(task.x, batches.draw(step), means, precisions, model.noise_sd**2, plan.clip)
        released = mechanism.release(total)
        absorbed = (1.0 - plan.damping) * absorbed + plan.damping * (released / rate)
        if not np.isfinite(absorbed).all():  # a function of releases alone: stopping here tells nothing more
            raise Diverged(f"{task.name}: {method} left the finite range in step {step + 1}; lower clip")
    share, noise_sd = plan.absorbed(plan.steps), plan.noise_sd(plan.steps)
    means, precisions = reading(absorbed / share, noise_sd / share, model, d)
    covariances = np.linalg.inv(precisions)
    covariances = 0.5 * (covariances + covariances.transpose(0, 2, 1))
    if not (np.isfinite(means).all() and np.isfinite(covariances).all()):
        raise Diverged(f"{task.name}: {method} ended outside the finite range; lower clip")
    return Fit(
        MixtureMeans(means, covariances, model.noise_sd),
        budget.ledger,
        {
            "noise_multiplier": sigma,
            "sampling_rate": rate,
            "clip": plan.clip,
            "damping": plan.damping,
            "absorbed": share,
            "noise_in_naturals": noise_sd / share,
        },
    )


def reading(
    data: np.ndarray, noise_sd: float, model: MixtureOfGaussians, d: int, *, fraction: float = 1.0, final: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Prior plus ``fraction`` of what is known of the data part: means (J, D), precisions (J, D, D). Post-processing.

    ``data``: (h, L), N theta_f in the layout of ``methods.ep._mixture.sites``, with noise of standard deviation
    ``noise_sd`` (tau) in every coordinate.

    (i) The noise in a D x D precision is a matrix of the Gaussian orthogonal ensemble with variances tau^2 (diagonal)
    and tau^2 / 2, whose largest eigenvalue is close to t = tau sqrt(2 D) (Wigner). An eigenvalue of L below t may be
    noise, and dividing by it would throw the mean far away, where no row belongs to the component any more; so
    eigenvalues are raised to t, and without noise to 0. (ii) Without noise the data part is the likelihood of a mean m
    with h ~ N(L m, L). With noise e in h and E in L, h - L m has the covariance L + tau^2 (I + (|m|^2 I + m m') / 2)
    given m. In the eigenbasis of L, with eigenvalues l and m taken at h / l,

        v_i = l_i + tau^2 (1 + |m|^2 / 2 + m_i^2 / 2),   precision l_i^2 / v_i,   mean natural l_i h_i / v_i.

    (iii) For the ``final`` q both are multiplied by 1 - (t / l_i)^2, so that an eigenvalue that noise alone can
    explain tells nothing, and q is the prior where there is only noise. Not so for a cavity: components would stay at
    their prior means until all data stand out of the noise (error of the means at epsilon = .3: 6 instead of 2).

    The covariance of q so holds the privacy noise as well as the sampling of rows (prior + N theta_f as it is would
    be several times too narrow at a small budget), and cavities stay wide while there is more noise than data.
    The precision is at least the prior's; without noise it is the prior's plus ``fraction`` of L.
    """
    h, precision = sites.unpack(data, model.components, d)
    eigenvalues, vectors = np.linalg.eigh(precision)
    edge = noise_sd * math.sqrt(2.0 * d)
    eigenvalues = np.maximum(eigenvalues, edge)
    given = eigenvalues > 0
    h = np.einsum("jde,jd->je", vectors, h)
    m2 = np.square(np.divide(h, eigenvalues, out=np.zeros_like(h), where=given))
    v = eigenvalues + noise_sd * noise_sd * (1.0 + 0.5 * m2.sum(axis=1, keepdims=True) + 0.5 * m2)
    kept = fraction * np.divide(eigenvalues, v, out=np.ones_like(v), where=given)
    if final:
        kept *= 1.0 - np.square(np.divide(edge, eigenvalues, out=np.zeros_like(h), where=given))
    p = 1.0 / model.prior_variance
    prior = np.einsum("jde,jd->je", vectors, model.prior_means(d))
    total = p + kept * eigenvalues
    means = np.einsum("jde,je->jd", vectors, (p * prior + kept * h) / total)
    precisions = np.einsum("jde,je,jce->jdc", vectors, total, vectors)
    return means, 0.5 * (precisions + precisions.transpose(0, 2, 1))


def _noise_multiplier(budget: Budget, planned: Event, method: str) -> float:
    """The noise multiplier of one release: what (epsilon, delta) leaves for K releases, or what the budget states."""
    from privacy.scaling import remaining_noise_multiplier

    if budget.epsilon is not None and budget.delta is not None:
        return remaining_noise_multiplier(budget.ledger, planned, budget.epsilon, budget.delta)
    if budget.noise_multiplier is None or not budget.noise_multiplier > 0:
        raise ValueError(f"{method}: the budget states no (epsilon, delta) and no noise_multiplier above 0; give one")
    return budget.noise_multiplier
