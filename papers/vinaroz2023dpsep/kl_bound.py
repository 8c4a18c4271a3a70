"""Theorem 4.1 of DP-SEP (Vinaroz & Park, TMLR 2023, and the first version of 2021) beside the Monte Carlo truth.

The theorem bounds KL(q || p) where q = N(mu, Sigma) is the posterior of SEP in natural parameters eta = Lambda mu,
Lambda = Sigma^-1, and p the same after one noise draw: e ~ N(0, sigma1^2 I) on the first, E (symmetric, upper
triangle iid N(0, sigma2^2)) on the second natural parameter. Everything is in nats. ``kl_claims`` makes of it
the Monte Carlo table, ``kl_bound_steps.csv`` (each inequality of the proofs, measured) and
``kl_bound_slopes.csv`` (the order in N).

Two facts carry most of the verdicts. For D = Lambda_p - Lambda and w_i the eigenvalues of Lambda^-1/2 D Lambda^-1/2,

    E_e KL = 1/2 [ sum_i (w_i - log(1 + w_i)) + sigma1^2 Tr Lambda_p^-1 + mu' D Lambda_p^-1 D mu ],

which is of SECOND order in D, while the theorem bounds term by term and keeps the first order. And
E[E B E] = sigma2^2 (Tr(B) I + B - diag(B)) for symmetric B, so v(E) = d sigma2^2.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.integrate import quad

#: The "small positive constant" rho of definition 4.2; the paper gives no number.
SMALL_RHO = 1e-2
#: Replaces eigenvalues that are not positive (algorithm 3, step 10); the paper gives no number.
FLOOR = 1e-4
#: M, the interval (tau, A) and the radius t are set so that the stated event has at least this probability.
CONFIDENCE = 0.99
#: A measured mean counts as above a bound from this many standard errors on (one-sided normal tail 3e-5).
DECISION = 4.0
SEED = 20230401

Naturals = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class ClippedKl:
    """KL(SEP || clipped SEP) as ``printed`` in appendix A and ``corrected``, nats."""

    printed: float
    corrected: float


@dataclass(frozen=True)
class Theorem2023:
    """Right side of theorem 4.1 (2023). ``terms`` are inside the bracket: bound = (their signed sum) / 2."""

    terms: dict[str, float]
    bound: float
    probability: float
    h_min: float

    @property
    def meaningful(self) -> bool:
        """Is 0 < h for every i (needed by E[1/X] <= (H + h - E X) / (h H)) and the probability positive?"""
        return self.h_min > 0 and self.probability > 0


@dataclass(frozen=True)
class Theorem2021:
    """Right side of theorem 4.1 (2021): ``mean`` bounds E KL, ``probability`` = mean / a bounds P(KL >= a)."""

    terms: dict[str, float]
    mean: float
    probability: float
    variance: float


@dataclass(frozen=True)
class Estimate:
    """Monte Carlo mean with its standard error over ``draws``, of which ``share`` met the condition."""

    mean: float
    standard_error: float
    draws: int
    share: float


@dataclass(frozen=True)
class Corrected:
    """``bound`` on E[KL | |W| <= radius], nats, and a lower bound on the ``probability`` of that event."""

    bound: float
    probability: float
    radius: float


# ---------------------------------------------------------------------------------------------- Gaussian algebra


def gaussian_kl(q: Naturals, p: Naturals) -> float:
    """KL(q || p) of two Gaussians in natural parameters, nats (eq. 19 of the 2023 version).

    Parameters
    ----------
    q, p : (eta, Lambda), eta of shape (d,) = Lambda mu, Lambda of shape (d, d) = precision, symmetric.

    Raises
    ------
    ValueError : shapes that do not fit, or a precision that is not positive definite.
    """
    eta_q, precision_q = _naturals(*q)
    eta_p, precision_p = _naturals(*p)
    if eta_q.shape != eta_p.shape:
        raise ValueError(f"q has {eta_q.size} dimensions, p has {eta_p.size}; compare Gaussians of one space")
    root = _root(precision_q, -0.5)
    change = precision_p - precision_q
    mean = np.linalg.solve(precision_q, eta_q)
    w = np.linalg.eigvalsh(root @ change @ root)
    shift = (eta_p - eta_q) - change @ mean
    return 0.5 * float(np.sum(_excess(w)) + shift @ np.linalg.solve(precision_p, shift))


def clipped_sep_kl(eta: np.ndarray, precision: np.ndarray, clip: float) -> ClippedKl:
    """KL between SEP and SEP with both natural parameters scaled down to norm ``clip`` (2023, appendix A).

    The printed result has d max(1, |Lambda|_F / C) where Tr(Lambda_p Lambda_q^-1) = d / max(1, |Lambda|_F / C) is due,
    and |Sigma|_F in the log determinant where |Lambda|_F is due. ``corrected`` is exact.

    Raises ValueError for a clip that is not positive or a precision that is not positive definite.
    """
    eta, precision = _naturals(eta, precision)
    _positive(clip=clip)
    d = eta.size
    k_precision = max(1.0, float(np.linalg.norm(precision)) / clip)
    k_eta = max(1.0, float(np.linalg.norm(eta)) / clip)
    k_covariance = max(1.0, float(np.linalg.norm(np.linalg.inv(precision))) / clip)
    b = k_precision / k_eta - 1.0
    quadratic = b**2 / k_precision * float(eta @ np.linalg.solve(precision, eta))
    return ClippedKl(
        printed=0.5 * (d * k_precision + quadratic - d + d * math.log(k_covariance)),
        corrected=0.5 * (d / k_precision + quadratic - d + d * math.log(k_precision)),
    )


def symmetric_noise(rng: np.random.Generator, d: int, draws: int) -> np.ndarray:
    """(draws, d, d): upper triangle with diagonal iid N(0, 1), mirrored to the lower one (definition 4.2)."""
    upper = np.triu(rng.standard_normal((draws, d, d)))
    return upper + np.swapaxes(np.triu(upper, 1), 1, 2)


def second_moment(inner: np.ndarray) -> np.ndarray:
    """E[E B E] / sigma2^2 for a symmetric (d, d) matrix B = ``inner``: Tr(B) I + B - diag(B).

    B = I gives d I: the sum of B_k B_k' over e_i e_i' and e_i e_j' + e_j e_i' that defines v(E).
    """
    return np.trace(inner) * np.eye(len(inner)) + inner - np.diag(np.diag(inner))


def matrix_variance(d: int, sigma2: float) -> float:
    """v(E) = |sum_k sigma2^2 B_k B_k'| = d sigma2^2, exactly (2023, theorem 4.1)."""
    return d * sigma2**2


def radius_2023(d: int, sigma2: float, confidence: float = CONFIDENCE) -> float:
    """The M with 1 - d exp(-M^2 / (2 v(E))) = confidence. At confidence 0 this is the infimum of the allowed M."""
    return math.sqrt(2 * matrix_variance(d, sigma2) * math.log(d / (1 - confidence)))


# ------------------------------------------------------------------------------------------- the printed theorems


def theorem_2023(
    eta: np.ndarray,
    precision: np.ndarray,
    sigma1: float,
    sigma2: float,
    rho: float,
    m: float,
    pairing: str = "printed",
) -> Theorem2023:
    """The six terms of theorem 4.1 (TMLR 2023), as printed; a a' is read as the scalar a'a (as in eq. 88).

    Parameters
    ----------
    eta, precision : natural parameters of q, (d,) and (d, d).
    sigma1, sigma2 : standard deviations of e and E.
    rho : smallest eigenvalue that definition 4.2 gives Lambda_p.
    m : M > 0 of the theorem.
    pairing : ``printed``: b_i is coordinate i of Lambda^-1/2 eta and lambda_1 >= lambda_2 >= ... (the paper fixes no
        order). ``eigenbasis``: b_i is the coordinate along the eigenvector of lambda_i, where eq. 41 would hold for
        matrices that commute.

    Returns
    -------
    ``terms`` with keys term_1 ... term_6 (names of B.1; term_4 enters with a minus sign), ``bound`` (NaN where
    term_6 takes the log of a number that is not positive), ``probability`` = 1 - d exp(-M^2 / (2 v)), ``h_min``.

    Raises ValueError for a rho or M that is not positive, a negative sigma, or an unknown pairing.
    """
    eta, precision = _naturals(eta, precision)
    _positive(rho=rho, m=m)
    _not_negative(sigma1=sigma1, sigma2=sigma2)
    d = eta.size
    values, vectors = np.linalg.eigh(precision)
    values, vectors = values[::-1], vectors[:, ::-1]
    if pairing == "printed":
        b = _root(precision, -0.5) @ eta
    elif pairing == "eigenbasis":
        b = vectors.T @ eta / np.sqrt(values)
    else:
        raise ValueError(f"pairing={pairing!r}; give 'printed' or 'eigenbasis'")
    smallest = values[-1]
    v = matrix_variance(d, sigma2)
    s = math.sqrt(2 * v * math.log(d))
    a = np.linalg.solve(precision, eta)
    low = 1 + (-2 * m - smallest + rho) / values
    high = 1 + (2 * m - smallest + rho) / values
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (low + high - 1 + (smallest + s - rho) / values) / (low * high)
        logs = np.where(ratio > 0, np.log(np.abs(ratio)), np.nan)
    terms = {
        "term_1": float((-smallest + s + rho) * np.sum(1 / values)),
        "term_2": float(sigma1**2 / smallest * np.sum(ratio)),
        "term_3": float(np.sum(b**2 * ratio)),
        "term_4": float(eta @ a),
        "term_5": float(a @ a * (-smallest + s + rho)),
        "term_6": float(np.sum(logs)),
    }
    # term_3 - term_4 in one go: they agree to many digits in the limit of no noise.
    gap = float(np.sum(b**2 * (ratio - 1)))
    bound = 0.5 * (terms["term_1"] + terms["term_2"] + gap + terms["term_5"] + terms["term_6"])
    tail = d * math.exp(-(m**2) / (2 * v)) if v > 0 else 0.0
    return Theorem2023(terms, bound, 1 - tail, float(np.min(low)))


def theorem_2021(
    precision: np.ndarray, sigma1: float, sigma2: float, tau: float, upper: float, a: float = 1.0
) -> Theorem2021:
    """Theorem 4.1 of the first version (2021), rebuilt from its proof (eqs. 6 to 22), before and after Markov.

    There mu_p = mu_q + e and Sigma_p = Sigma_q + E: the noise is on mean and covariance, not on natural parameters.
    The terms of the proof are d/2 log(1 + s) (eq. 11), sigma1^2/2 Tr(Sigma_q^-1) d R (eqs. 16, 17, 20, 21),
    d/2 R (eq. 22) and - d/2 (eq. 7), with R = (A + tau + s - 1) / (A tau), s = sqrt(2 v(Z) log 2d). Their sum over a is
    the printed display; its pieces all occur in the damaged text, so nothing had to be guessed.

    v(Z) with Z = Sigma_q^-1 E is |sum_k B_k B_k'| = d sigma2^2 lambda_max(Lambda)^2. The other half of Tropp's
    statistic for a matrix that is not symmetric, |sum_k B_k' B_k|, is never larger here: x'(Tr(B) I + B - diag B) x <=
    d lambda_max(B) for |x| = 1.

    Parameters
    ----------
    precision : (d, d) = Sigma_q^-1.
    tau, upper : the theorem's 0 < tau < 1 + lambda_min(Sigma_q^-1 E) < A.
    a : the level in P(KL >= a).

    Raises ValueError for tau, A or a that is not positive, or tau >= A.
    """
    _, precision = _naturals(np.zeros(len(precision)), precision)
    _positive(tau=tau, upper=upper, a=a)
    _not_negative(sigma1=sigma1, sigma2=sigma2)
    if tau >= upper:
        raise ValueError(f"tau={tau} is not below A={upper}; give an interval that holds 1")
    d = len(precision)
    values = np.linalg.eigvalsh(precision)
    variance = matrix_variance(d, sigma2) * float(values[-1]) ** 2
    s = math.sqrt(2 * variance * math.log(2 * d))
    ratio = (upper + tau + s - 1) / (upper * tau)
    terms = {
        "log_determinant": 0.5 * d * math.log1p(s),
        "mean": 0.5 * d * sigma1**2 * float(np.sum(values)) * ratio,
        "trace_minus_d": 0.5 * d * (ratio - 1),
    }
    mean = math.fsum(terms.values())
    return Theorem2021(terms, mean, mean / a, variance)


def interval_2021(precision: np.ndarray, sigma2: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """(tau, A) = (1 - m, 1 + m) with m from P(|Z| >= m) <= 2d exp(-m^2 / (2 v(Z))) = 1 - confidence.

    tau <= 0 means that the theorem has no instance at this noise.
    """
    d = len(precision)
    variance = matrix_variance(d, sigma2) * float(np.linalg.eigvalsh(precision)[-1]) ** 2
    m = math.sqrt(2 * variance * math.log(2 * d / (1 - confidence)))
    return 1 - m, 1 + m


# ------------------------------------------------------------------------------------------------ Monte Carlo truth


def kl_given_noise(eta: np.ndarray, precision: np.ndarray, change: np.ndarray, sigma1: float) -> np.ndarray:
    """E_e KL(q || p) for each Lambda_p = Lambda + D, with the Gaussian e integrated exactly; nats, shape (draws,).

    ``change`` = D of shape (draws, d, d). Where Lambda + D is not positive definite the result is infinite.
    """
    eta, precision = _naturals(eta, precision)
    root = _root(precision, -0.5)
    w, u = np.linalg.eigh(root @ change @ root)
    proper = w[:, 0] > -1
    w = np.where(proper[:, None], w, 0.0)
    mean = np.linalg.solve(precision, eta)
    turned = np.swapaxes(u, 1, 2) @ root
    noise = sigma1**2 * np.sum(turned**2, axis=2)
    bias = np.einsum("nij,nj->ni", turned, change @ mean) ** 2
    return np.where(proper, 0.5 * np.sum(_excess(w) + (noise + bias) / (1 + w), axis=1), np.inf)


def change_of(precision: np.ndarray, noise: np.ndarray, rule: str, rho: float, floor: float = FLOOR) -> np.ndarray:
    """D = Lambda_p - Lambda for each E of ``noise`` (draws, d, d) under a rule that restores positive eigenvalues.

    ``shift``: definition 4.2, every eigenvalue moves by rho - lambda_min(Lambda + E), ALSO where Lambda + E is positive
    definite. ``floor``: algorithm 3, step 10: eigenvalues that are not positive become ``floor``. ``none``: D = E.
    """
    if rule == "none":
        return noise
    if rule == "shift":
        smallest = np.linalg.eigvalsh(precision + noise)[:, 0]
        return noise + (rho - smallest)[:, None, None] * np.eye(len(precision))
    if rule == "floor":
        values, vectors = np.linalg.eigh(precision + noise)
        lift = np.where(values > 0, 0.0, floor - values)
        return noise + (vectors * lift[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    raise ValueError(f"rule={rule!r}; give 'shift', 'floor' or 'none'")


def expected_kl(
    eta: np.ndarray,
    precision: np.ndarray,
    sigma1: float,
    sigma2: float,
    rho: float,
    rng: np.random.Generator,
    draws: int,
    rule: str = "shift",
    floor: float = FLOOR,
) -> Estimate:
    """Monte Carlo of E_e E_E KL(q || p), nats; e is integrated exactly, only E is drawn.

    ``rule`` as in :func:`change_of`. With ``none`` the mean is over the draws with Lambda + E positive definite
    (``share``); that expectation is infinite for sigma1, sigma2 > 0, because the density of lambda_min(Lambda + E) at 0
    is positive and E[1/lambda_min] diverges like a logarithm. A finite sample shows it where the share is below 1.

    Raises ValueError for fewer than 2 draws or an unknown rule.
    """
    eta, precision = _naturals(eta, precision)
    _positive(rho=rho, floor=floor)
    _not_negative(sigma1=sigma1, sigma2=sigma2)
    if draws < 2:
        raise ValueError(f"draws={draws}; a standard error needs at least 2")
    noise = sigma2 * symmetric_noise(rng, eta.size, draws)
    return _estimate(kl_given_noise(eta, precision, change_of(precision, noise, rule, rho, floor), sigma1))


def kl_given_covariance_noise(precision: np.ndarray, noise: np.ndarray, sigma1: float) -> tuple[np.ndarray, np.ndarray]:
    """(E_e KL(q || p), |Sigma^-1/2 E Sigma^-1/2|) for each E of the 2021 model: Sigma_p = Sigma + E, mu_p = mu + e."""
    root = _root(precision, 0.5)
    w, u = np.linalg.eigh(root @ noise @ root)
    proper = w[:, 0] > -1
    radius = np.max(np.abs(w), axis=1)
    w = np.where(proper[:, None], w, 0.0)
    spread = np.sum((np.swapaxes(u, 1, 2) @ root) ** 2, axis=2)
    # log(1 + w) + 1/(1 + w) - 1 = x - log(1 + x) at x = -w/(1 + w).
    kl = 0.5 * np.sum(_excess(-w / (1 + w)) + sigma1**2 * spread / (1 + w), axis=1)
    return np.where(proper, kl, np.inf), radius


def inverse_mean_above(deviation: float, cut: float) -> float:
    """E[1/X; X > cut] for X ~ N(1, deviation^2), by quadrature: grows like -log(cut), so E[1/X; X > 0] is infinite.

    X is 1 + E / Lambda in one dimension without a shift. Both versions put E[1/X] <= (H + h - E X)/(h H) on it.
    """
    _positive(deviation=deviation, cut=cut)
    top = 1 + 12 * deviation

    def density(u: float) -> float:
        return math.exp(-0.5 * ((math.exp(u) - 1) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))

    middle = [math.log(x) for x in (1e-3, max(1 - 3 * deviation, 2e-3), 1.0) if x > cut]
    edges = [math.log(cut), *middle, math.log(top)]
    return math.fsum(quad(density, a, b, limit=200)[0] for a, b in pairwise(edges))


# ------------------------------------------------------------------------------------------------ corrected bounds


def corrected_bound(
    eta: np.ndarray, precision: np.ndarray, sigma1: float, sigma2: float, confidence: float = CONFIDENCE
) -> Corrected:
    """A bound of the right order that can be proved; no shift, so Lambda_p = Lambda + E on the event.

    Theorem. Let W = Lambda^-1/2 E Lambda^-1/2, S(B) = Tr(B) I + B - diag(B), v_W = sigma2^2 |Lambda^-1/2 S(Sigma)
    Lambda^-1/2|, 0 < t < 1 and G = {|W| <= t}. Then P(G) >= 1 - 2d exp(-t^2 / (2 v_W)), on G nothing is projected, and

        E[KL(q || p) | G] <= [ 1/2 E|W|_F^2 + sigma1^2 Tr(Sigma) + E|Lambda^-1/2 E mu|^2 ] / (2 (1 - t)),

    where E|W|_F^2 = sigma2^2 (Tr(Sigma)^2 + Tr(Sigma^2) - sum_i Sigma_ii^2) and E|Lambda^-1/2 E mu|^2 =
    sigma2^2 mu' S(Sigma) mu are exact. This is of order sigma1^2 + sigma2^2, so 1/N^2 for fixed Lambda, and as sharp as
    can be: the ratio to the truth tends to 1 with t.

    Proof. (1) E_e KL is half of sum_i (w_i - log(1 + w_i)) + sigma1^2 Tr(Lambda_p^-1) + mu' E Lambda_p^-1 E mu.
    (2) For |w| <= r < 1: w - log(1 + w) <= sum_{k>=2} |w|^k / k <= w^2 / (2 (1 - r)). (3) On |W| <= r,
    Lambda_p = Lambda^1/2 (I + W) Lambda^1/2 >= (1 - r) Lambda, so Lambda_p^-1 <= Sigma / (1 - r). So for each E with
    r = |W|: E_e KL <= [1/2 |W|_F^2 + sigma1^2 Tr(Sigma) + |Lambda^-1/2 E mu|^2] / (2 (1 - r)), :func:`pointwise_bound`.
    (4) G is convex and symmetric in the Gaussian entries of E. A Gaussian restricted to a convex set has no larger
    variance in any direction (Brascamp & Lieb 1976), and the mean on G is zero by symmetry, so conditioning on G lowers
    each expected square. (5) The probability is Tropp's (2015, theorem 4.6.1) for W and for -W, and E[W^2] =
    sigma2^2 Lambda^-1/2 S(Sigma) Lambda^-1/2.

    Returns the bound at the t whose event has probability at least ``confidence``; NaN where that t is 1 or more.
    """
    eta, precision = _naturals(eta, precision)
    _not_negative(sigma1=sigma1, sigma2=sigma2)
    d = eta.size
    squares, variance = _corrected_parts(eta, precision, sigma1, sigma2)
    t = math.sqrt(2 * variance * math.log(2 * d / (1 - confidence)))
    return Corrected(squares / (2 * (1 - t)) if t < 1 else math.nan, confidence if t < 1 else 0.0, t)


def pointwise_bound(
    eta: np.ndarray, precision: np.ndarray, noise: np.ndarray, sigma1: float
) -> tuple[np.ndarray, np.ndarray]:
    """(bound on E_e KL for each E, |W|), both (draws,): steps 1 to 3 of :func:`corrected_bound`; inf where |W| >= 1."""
    eta, precision = _naturals(eta, precision)
    root = _root(precision, -0.5)
    w = root @ noise @ root
    radius = np.max(np.abs(np.linalg.eigvalsh(w)), axis=1)
    mean = np.linalg.solve(precision, eta)
    squares = 0.5 * np.sum(w**2, axis=(1, 2)) + sigma1**2 * np.sum(root**2) + np.sum((noise @ mean @ root) ** 2, axis=1)
    inside = radius < 1
    return np.where(inside, squares / (2 * np.where(inside, 1 - radius, 1.0)), np.inf), radius


def corrected_shift_bound(eta: np.ndarray, precision: np.ndarray, sigma1: float, sigma2: float) -> float:
    """A bound on E KL for definition 4.2 with rho = lambda_min(Lambda), for EVERY noise level and with no event, nats.

    Let l = lambda_min(Lambda), k = lambda_max(Lambda) / l, delta = l - lambda_min(Lambda + E), D = E + delta I. Then

        E KL <= 1/2 [ k (E|W|_F^2 + V Tr(Sigma^2)) + (sigma1^2 d + 2 d sigma2^2 |mu|^2 + 2 V |mu|^2) / l ],
        V = 2 d sigma2^2 (1 + log 2d).

    Proof. Lambda_p >= l I by definition, so Lambda_p^-1 <= I / l and 1 + w_i >= 1/k for W' = Lambda^-1/2 D Lambda^-1/2.
    From f(w) = w - log(1 + w) <= w^2 / (2 (1 - |w|)) for w < 0 and <= w^2/2 for w >= 0, f(w_i) <= k w_i^2 / 2. By Weyl
    |delta| <= |E|, so |W'|_F^2 <= 2 |W|_F^2 + 2 |E|^2 Tr(Sigma^2) and |D mu|^2 <= 2 |E mu|^2 + 2 |E|^2 |mu|^2, with
    E|E mu|^2 = d sigma2^2 |mu|^2. Integrating P(|E|^2 > u) <= min(1, 2d exp(-u / (2 v))) gives E|E|^2 <= V.
    """
    eta, precision = _naturals(eta, precision)
    _not_negative(sigma1=sigma1, sigma2=sigma2)
    d = eta.size
    values = np.linalg.eigvalsh(precision)
    covariance = np.linalg.inv(precision)
    mean = covariance @ eta
    size = float(mean @ mean)
    operator = 2 * matrix_variance(d, sigma2) * (1 + math.log(2 * d))
    frobenius = sigma2**2 * float(np.sum(second_moment(covariance) * covariance))
    spread = float(values[-1] / values[0]) * (frobenius + operator * float(np.sum(covariance**2)))
    return 0.5 * (spread + (sigma1**2 * d + 2 * (matrix_variance(d, sigma2) + operator) * size) / float(values[0]))


# ------------------------------------------------------------------------------------------ the steps of the proofs

#: equation -> (verdict, argument). "as stated" verdicts do not depend on the numbers of one case.
ARGUMENTS_2023 = {
    "23": ("right", "Tropp 2015, 4.6.1, with v(E) = d sigma2^2"),
    "24": ("right", "E and -E have one law"),
    "25": ("right", "Tropp 2015, 4.6.1; the text after the theorem prints it with <= for >="),
    "25+26": ("not proved", "H needs lambda_max(E) <= M AND lambda_min(E) >= -M: the union bound gives 1 - 2d exp(.)"),
    "33": ("right", "Weyl, pointwise"),
    "35": ("right", "23 and 33"),
    "41": ("wrong", "an equality only if b is written in the eigenbasis of P(E), which moves with E"),
    "43": ("premise missing", "needs 0 < h <= X <= H surely; 51 and 60 hold with a probability below 1 at best"),
    "44a": ("wrong", "lambda_i(P) is not lambda_i(E + A) / lambda_i(Lambda) unless Lambda and E commute"),
    "44b": (
        "wrong for rho = lambda_min",
        "P <= c Sigma gives it in the same order if c <= 0, in the opposite one if c >= 0; rho = lambda_min has c >= 0",
    ),
    "48": ("right", "Weyl, pointwise"),
    "49": ("wrong", "lambda_max(-E) and lambda_max(E) have one law; they are not ordered"),
    "50": ("wrong", "on {lambda_max(E) <= M}; right on {lambda_min(E) >= -M}"),
    "51": ("wrong for rho = lambda_min", "as 44b: in the same order only if 2M + rho <= lambda_min"),
    "55": ("right", "Weyl, pointwise"),
    "56": ("wrong", "as 49"),
    "59": (
        "right in the same order",
        "for rho <= lambda_min: P >= c Sigma with c <= 0. For rho = lambda_min that is the order that 44b has not: "
        "h and H never bound the same lambda_i(P)",
    ),
    "60": ("wrong", "h_i <= 1 + lambda_i(P) follows from 59; h_i <= 1 + lambda_min(P) does not"),
    "h>0": ("condition missing", "h <= 0 as soon as 2M >= lambda_i - lambda_min + rho; 43 then says nothing"),
    "63": ("wrong", "from 43, 51, 60"),
    "65": ("wrong", "as 44a, in the mean"),
    "69": ("right, argument wrong", "65 is wrong; follows from 59 in the mean for rho <= lambda_min"),
    "72": ("right", "-lambda_min is convex: E[-lambda_min(X)] >= -lambda_min(E X), the direction that is used"),
    "77": ("right", "von Neumann, if both lists are put in the order that pairs large with large"),
    "78": ("right", "lambda_i(Sigma) <= lambda_max(Sigma), all terms positive"),
    "80": ("wrong", "from 63 and 69; the algebra from 79 to 80 and to the theorem's h + H - 1 + ... is right"),
    "88": ("right", "Weyl and 23; the theorem prints a a' for a'a"),
    "91": ("right", "determinant of a product"),
    "93": ("right", "log is concave"),
    "94": ("not proved", "from 63; no counterexample with h > 0 found"),
    "98": ("wrong", "B.1 sets A = 0 in the limit; definition 4.2 with a constant rho gives |A| = |rho - lambda_min|"),
    "text": ("wrong", "P(lambda_max(E) <= M) <= 1 - d exp(.) below the theorem: eq. 25 has >="),
    "theorem": (
        "wrong unless rho = lambda_min",
        "term 3 pairs coordinates of b with eigenvalues (41); for rho = lambda_min not proved, no counterexample with "
        "h > 0 found. And E KL is a number, true or false: every M with a positive probability would do",
    ),
}
ARGUMENTS_2021 = {
    "assumption": (
        "wrong",
        "Sigma_q + E is positive definite with probability below 1 for every N: E KL is not defined, and given that it "
        "is, it is infinite (E[1/lambda_min] diverges at 0)",
    ),
    "9": (
        "right",
        "1 + lambda_i <= 1 + lambda_max; eigenvalues of Sigma^-1 E are real (similar to a symmetric matrix)",
    ),
    "10": ("right", "log is concave; on the event"),
    "14": ("right", "spectral radius <= operator norm, and Tropp's 2d for a matrix that is not symmetric"),
    "15": ("right", "E and -E have one law"),
    "17": ("right", "Tr((I+W)^-1 Sigma^-1) with both positive definite on the event"),
    "20": ("right", "pointwise on the event"),
    "21": ("right on the event", "0 < tau <= X <= A; E X is over all E in 15: needs an event that is symmetric in E"),
    "27": ("wrong", "0 <= lambda_min(Sigma^-1 E) for every E: has probability at most 1/2 (8.2, reverse KL)"),
    "theorem": ("right on the event", "|Sigma^-1/2 E Sigma^-1/2| <= m; Markov then needs + P(not the event)"),
}


def proof_steps(
    eta: np.ndarray,
    precision: np.ndarray,
    sigma1: float,
    sigma2: float,
    rho: float,
    m: float,
    rng: np.random.Generator,
    draws: int,
) -> list[dict[str, object]]:
    """Every inequality of the 2023 proof (appendix B) measured for one q, in the order of its equation numbers.

    Returns
    -------
    Rows with ``version``, ``equation``, ``claim`` (left <= right throughout; an equality is measured by |difference|
    <= 0), ``left``, ``right``, ``standard_error`` (of left - right; 0 for a pointwise claim, shown at its worst draw),
    ``violated_share`` (draws that break a pointwise claim), ``holds`` and the general ``verdict`` and ``argument``.
    A claim that is wrong in general may hold for one q. lambda_1 is the largest eigenvalue throughout; "[opposite]"
    pairs lambda_i(P) with lambda_(d+1-i)(Lambda).
    """
    eta, precision = _naturals(eta, precision)
    d = eta.size
    noise = sigma2 * symmetric_noise(rng, d, draws)
    root = _root(precision, -0.5)
    covariance = np.linalg.inv(precision)
    values = np.linalg.eigvalsh(precision)[::-1]
    smallest = values[-1]
    v = matrix_variance(d, sigma2)
    s = math.sqrt(2 * v * math.log(d))
    of_noise = np.linalg.eigvalsh(noise)[:, ::-1]
    low_e, high_e = of_noise[:, -1], of_noise[:, 0]
    shift = rho - np.linalg.eigvalsh(precision + noise)[:, 0]
    change = noise + shift[:, None, None] * np.eye(d)
    p = root @ change @ root
    of_p = np.linalg.eigvalsh(p)[:, ::-1]
    of_change = of_noise + shift[:, None]
    low = 1 + (-2 * m - smallest + rho) / values
    high = 1 + (2 * m - smallest + rho) / values
    b = root @ eta
    a = covariance @ eta
    inverse = np.linalg.inv(np.eye(d) + p)
    x = 1 + of_p
    theorem = theorem_2023(eta, precision, sigma1, sigma2, rho, m)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (1 + (rho - smallest + s) / values) / (low * high)
        lemma = (low + high - x.mean(axis=0)) / (low * high)
    printed = theorem.terms
    kl = kl_given_noise(eta, precision, change, sigma1)
    below = high_e <= m
    above = low_e >= -m
    q = _Steps("2023", ARGUMENTS_2023)

    q.mean("23", "E lambda_max(E) <= sqrt(2 v log d)", high_e, s)
    q.mean("24", "- E lambda_min(E) <= sqrt(2 v log d)", -low_e, s)
    q.mean("25", "1 - d exp(-M^2/2v) <= P(lambda_max(E) <= M)", theorem.probability - below, 0.0)
    q.mean("text", "P(lambda_max(E) <= M) <= 1 - d exp(-M^2/2v)", below, theorem.probability)
    q.mean("25+26", "1 - d exp(-M^2/2v) <= P(|E| <= M)", theorem.probability - (below & above), 0.0)
    q.point("33", "-lambda_min(Lambda+E) <= -lambda_min(Lambda) - lambda_min(E)", shift - rho, -smallest - low_e)
    q.mean("35", "E Tr(A Lambda^-1) <= (s + rho - lambda_min) Tr(Sigma)", shift * np.sum(1 / values), printed["term_1"])
    quadratic = np.einsum("i,nij,j->n", b, inverse, b)
    q.mean(
        "41", "|E b'(I+P)^-1 b - E sum_i b_i^2/(1+lambda_i(P))| <= 0", quadratic - np.sum(b**2 / x, axis=1), 0.0, True
    )
    q.point("44a", "|lambda_i(P) - lambda_i(E+A)/lambda_i(Lambda)| <= 0", np.abs(of_p - of_change / values), 0.0)
    top = (high_e + shift)[:, None]
    q.point("44b", "lambda_i(P) <= (lambda_max(E)+lambda(A))/lambda_i(Lambda)", of_p, top / values)
    q.point("44b", "the same [opposite]", of_p, top / values[::-1])
    q.point("48", "lambda(A) <= -lambda_min(Lambda) - lambda_min(E) + rho", shift, rho - smallest - low_e)
    q.point("49", "lambda_max(-E) <= lambda_max(E)", -low_e, high_e)
    q.point("50", "lambda(A) <= -lambda_min(Lambda) + M + rho, on lambda_max(E) <= M", shift[below], rho + m - smallest)
    q.point("51", "1 + lambda_i(P) <= H_i, on |E| <= M", x[below & above], high)
    q.point("51", "the same [opposite]", x[below & above], high[::-1])
    q.point("55", "-lambda_max(E) - lambda_min(Lambda) + rho <= lambda(A)", rho - smallest - high_e, shift)
    q.point("56", "lambda_min(E) <= -lambda_max(E)", low_e, -high_e)
    bottom = (low_e + shift)[:, None]
    q.point("59", "(lambda_min(E)+lambda(A))/lambda_i(Lambda) <= lambda_i(P)", bottom / values, of_p)
    q.point("59", "the same [opposite]", bottom / values[::-1], of_p)
    q.point("60", "h_i <= 1 + lambda_min(P), on |E| <= M", low + 0 * x[below & above], x[below & above][:, -1:])
    q.point("h>0", "0 <= min h_i", np.zeros(1), theorem.h_min)
    worst = _worst_index(1 / x, lemma)
    q.mean("43", f"E[1/X] <= (H + h - E X)/(h H), X = 1 + lambda_{worst + 1}(P)", 1 / x[:, worst], lemma[worst])
    worst = _worst_index(1 / x, ratio)
    q.mean("63", f"E[1/(1+lambda_{worst + 1}(P))] <= eq. 80's fraction", 1 / x[:, worst], ratio[worst])
    flipped = 1 / x[:, ::-1]
    worst = _worst_index(flipped, ratio)
    q.mean("63", f"the same [opposite], lambda_{worst + 1}(Lambda)", flipped[:, worst], ratio[worst])
    gap = of_p - of_change / values
    i = int(np.argmax(np.abs(gap.mean(axis=0))))
    q.mean("65", f"|E lambda_{i + 1}(P) - E lambda_{i + 1}(E+A)/lambda_{i + 1}(Lambda)| <= 0", gap[:, i], 0.0, True)
    lower = (rho - smallest - s) / values
    i = int(np.argmax(lower - of_p.mean(axis=0)))
    q.mean("69", f"(rho - lambda_min - s)/lambda_{i + 1} <= E lambda_{i + 1}(P)", lower[i] - of_p[:, i], 0.0)
    q.mean("72", "rho - lambda_min(Lambda) <= E lambda(A)", rho - smallest - shift, 0.0)
    traces = np.einsum("nij,ji->n", inverse, covariance)
    q.point("77", "Tr((I+P)^-1 Sigma) <= sum, large with large", traces, np.sum(1 / (values * x), axis=1), total=True)
    paired = np.sum(1 / (values[::-1] * x), axis=1)
    q.point("77", "the same, small with large", traces, paired, total=True)
    q.point("78", "that sum <= lambda_max(Sigma) sum_i 1/(1+lambda_i(P))", paired, np.sum(1 / x, axis=1) / smallest)
    q.mean("80", "sigma1^2 E Tr(Lambda_p^-1) <= term 2", sigma1**2 * traces, printed["term_2"])
    q.mean("80", "E eta' Lambda_p^-1 eta <= term 3", quadratic, printed["term_3"])
    q.mean("88", "E a'Aa <= term 5", float(a @ a) * shift, printed["term_5"])
    logs = -np.sum(np.log(x), axis=1)
    q.mean("91", "|E log(|Lambda|/|Lambda_p|) - E sum_i log 1/(1+lambda_i(P))| <= 0",
           np.linalg.slogdet(precision)[1] - np.linalg.slogdet(precision + change)[1] - logs, 0.0, True)  # fmt: skip
    q.mean("93", "E sum_i log 1/X_i <= sum_i log E[1/X_i]", logs, float(np.sum(np.log(np.mean(1 / x, axis=0)))))
    q.mean("94", "E log(|Lambda|/|Lambda_p|) <= term 6", logs, printed["term_6"])
    q.point("98", "lim |A| = |rho - lambda_min(Lambda)| <= 0", np.array([abs(rho - smallest)]), 0.0)
    q.mean("theorem", "E KL <= bound", kl, theorem.bound)
    return q.rows


def proof_steps_2021(
    precision: np.ndarray, sigma1: float, sigma2: float, confidence: float, rng: np.random.Generator, draws: int
) -> list[dict[str, object]]:
    """The same for the proof of 2021 (supplement, section 8); means are over the event |W| <= m = 1 - tau.

    Raises ValueError where m >= 1: the theorem has no instance there.
    """
    _, precision = _naturals(np.zeros(len(precision)), precision)
    d = len(precision)
    tau, upper = interval_2021(precision, sigma2, confidence)
    if tau <= 0:
        raise ValueError(f"tau={tau:.3g} is not positive; take a smaller sigma2 or confidence")
    theorem = theorem_2021(precision, sigma1, sigma2, tau, upper)
    s = math.sqrt(2 * theorem.variance * math.log(2 * d))
    root = _root(precision, 0.5)
    noise = sigma2 * symmetric_noise(rng, d, draws)
    w = np.linalg.eigvalsh(root @ noise @ root)
    kl, radius = kl_given_covariance_noise(precision, noise, sigma1)
    inside = radius <= upper - 1
    x = 1 + w[inside]
    traces = np.einsum("nij,ji->n", np.linalg.inv(np.eye(d) + (root @ noise @ root)[inside]), precision)
    total = np.sum(1 / x, axis=1)
    q = _Steps("2021", ARGUMENTS_2021)
    q.point("assumption", "-lambda_min(Sigma^-1 E) <= 1 for every E", -w[:, 0], 1.0)
    q.point("9", "sum_i log(1+lambda_i) <= d log(1+lambda_max)", np.sum(np.log(x), axis=1), d * np.log(x[:, -1]))
    q.mean("10", "E log(1+lambda_max) <= log(1 + E lambda_max)", np.log(x[:, -1]), math.log(float(np.mean(x[:, -1]))))
    q.mean("14", "E lambda_max(Sigma^-1 E) <= sqrt(2 v(Z) log 2d)", w[:, -1], s)
    q.mean("15", "- E lambda_min(Sigma^-1 E) <= sqrt(2 v(Z) log 2d)", -w[:, 0], s)
    q.point("17", "Tr((I+W)^-1 Lambda) <= Tr((I+W)^-1) Tr(Lambda)", traces, total * np.trace(precision))
    q.point("20", "Tr((I+W)^-1) <= d / lambda_min(I+W)", total, d / x[:, 0])
    lemma = (upper + tau + s - 1) / (upper * tau)
    q.mean("21", "E[1/lambda_min(I+W)] <= (A + tau + s - 1)/(A tau)", 1 / x[:, 0], lemma)
    q.point("27", "0 <= lambda_min(Sigma^-1 E) for every E", np.zeros(draws), w[:, 0])
    q.mean("theorem", "E KL <= a P-bound, on |W| <= m", kl[inside], theorem.mean)
    return q.rows


class _Steps:
    """Collects rows; ``left <= right`` is a mean over draws (``mean``) or must hold for every draw (``point``)."""

    def __init__(self, version: str, arguments: dict[str, tuple[str, str]]) -> None:
        self.version, self.arguments, self.rows = version, arguments, []

    def _add(self, equation, claim, left, right, error, share, holds) -> None:
        verdict, argument = self.arguments[equation]
        self.rows.append(
            {
                "version": self.version,
                "equation": equation,
                "claim": claim,
                "left": float(left),
                "right": float(right),
                "standard_error": float(error),
                "violated_share": float(share),
                "holds": holds,
                "verdict": verdict,
                "argument": argument,
            }
        )

    def mean(self, equation: str, claim: str, left: np.ndarray, right: float, equality: bool = False) -> None:
        left = np.asarray(left, dtype=np.float64)
        value, error = float(np.mean(left)), float(np.std(left, ddof=1) / math.sqrt(len(left)))
        value = abs(value) if equality else value
        if not math.isfinite(right):
            holds = "meaningless"
        else:
            # 1e-9 of the size: rounding, for equalities whose two sides agree draw by draw.
            size = 1e-9 * (1 + float(np.max(np.abs(left))))
            holds = "no" if value > right + DECISION * error + size else "yes"
        self._add(equation, claim, value, right, error, 0.0, holds)

    def point(self, equation: str, claim: str, left: np.ndarray, right, total: bool = False) -> None:
        left = np.asarray(left, dtype=np.float64)
        left, right = np.broadcast_arrays(left, right)
        if left.size == 0:
            return
        scale = 1e-9 * (1 + np.abs(left) + np.abs(right))
        broken = left > right + scale
        worst = np.unravel_index(int(np.argmax(left - right)), left.shape)
        by_draw = broken.reshape(len(broken), -1).any(axis=1)
        holds = "no" if by_draw.any() else "yes"
        self._add(equation, claim, left[worst], right[worst], 0.0, by_draw.mean(), holds)


def _worst_index(draws: np.ndarray, right: np.ndarray) -> int:
    """The i whose mean of ``draws`` is furthest above right[i], where right is a number."""
    return int(np.argmax(np.where(np.isfinite(right), draws.mean(axis=0) - right, -np.inf)))


def step_cases() -> list[tuple[str, np.ndarray, np.ndarray, float, float, float]]:
    """(name, eta, Lambda, sigma1 = sigma2, rho, confidence of M): small inputs, each made to show one failure."""
    turn = np.array([[math.cos(0.5), -math.sin(0.5)], [math.sin(0.5), math.cos(0.5)]])
    tilted = turn @ np.diag([4.0, 1.0]) @ turn.T
    # At 45 degrees both coordinates of b are equal, so that no order of the eigenvalues saves term 3.
    half = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2)
    half_turned = half @ np.diag([4.0, 1.0]) @ half.T
    five = problem(5, 1.0)
    d30 = problem(30, 1.0)
    return [
        ("diagonal, sorted", np.array([1.0, 1.0]), np.diag([4.0, 1.0]), 0.05, 1.0, 0.99),
        ("tilted, rho = lambda_min", np.array([1.0, 2.0]), tilted, 0.05, 1.0, 0.99),
        (
            "diagonal, increasing, rho small, almost no noise",
            np.array([1.0, 0.0]),
            np.diag([1.0, 4.0]),
            1e-5,
            0.01,
            0.99,
        ),
        ("half turned, rho small, almost no noise", half @ np.array([0.0, 1.0]), half_turned, 1e-5, 0.01, 0.99),
        ("tilted, rho small, noise", np.array([1.0, 2.0]), tilted, 0.05, 0.01, 0.99),
        ("tilted, rho = lambda_min, M of probability .01", np.array([1.0, 2.0]), tilted, 0.05, 1.0, 0.01),
        ("five dimensions, rho = lambda_min", *five, 0.005, float(np.linalg.eigvalsh(five[1])[0]), 0.99),
        ("thirty dimensions, rho = lambda_min", *d30, 0.02, float(np.linalg.eigvalsh(d30[1])[0]), 0.99),
    ]


def proof_steps_table(rng: np.random.Generator, draws: int = 4000) -> list[dict[str, object]]:
    """:func:`proof_steps` and :func:`proof_steps_2021` over :func:`step_cases`, each row with its ``case``."""
    rows: list[dict[str, object]] = []
    for name, eta, precision, sigma, rho, confidence in step_cases():
        m = radius_2023(len(eta), sigma, confidence)
        setting = {"case": name, "d": len(eta), "sigma2": sigma, "rho": rho, "m": m}
        found = proof_steps(eta, precision, sigma, sigma, rho, m, rng, draws)
        rows.extend({**setting, **row} for row in found)
    for name, eta, precision, sigma in (
        ("diagonal", np.zeros(2), np.diag([4.0, 1.0]), 0.01),
        ("five dimensions", *problem(5, 1.0), 0.02),
        ("one dimension, much noise", np.zeros(1), np.array([[1.0]]), 0.3),
    ):
        setting = {"case": name, "d": len(eta), "sigma2": sigma, "rho": math.nan, "m": math.nan}
        found = proof_steps_2021(precision, sigma, sigma, 0.99, rng, draws)
        rows.extend({**setting, **row} for row in found)
    return rows


# ---------------------------------------------------------------------------------------------------------- tables


def problem(d: int, clip: float, seed: int = 0) -> Naturals:
    """One q: eigenvalues of Lambda spread evenly on a log scale over 1 : 4, a random basis, and |(eta, Lambda)| = C.

    Both natural parameters have norm C / sqrt(2), what one clipped site may contribute.
    """
    rng = np.random.default_rng((seed, d))
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    values = np.geomspace(4.0, 1.0, d)
    values *= clip / math.sqrt(2) / np.linalg.norm(values)
    eta = rng.standard_normal(d)
    precision = (basis * values) @ basis.T
    return eta * clip / math.sqrt(2) / np.linalg.norm(eta), (precision + precision.T) / 2


def monte_carlo_table(
    rng: np.random.Generator,
    sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10000, 100000),
    dimensions: tuple[int, ...] = (2, 4, 10, 30),
    sigmas: tuple[float, ...] = (1.0, 4.0),
    clip: float = 1.0,
    draws: int = 400,
    small_rho: float = SMALL_RHO,
) -> list[dict[str, object]]:
    """The truth beside both theorems and the corrected bounds, one row per (n, d, sigma, reading of rho, growth).

    sigma1 = sigma2 = 2 C sigma / n as in the paper (damping 1). Readings of rho: ``lambda_min`` (B.1: rho =
    lambda_min(Lambda), known from the private data) and ``small`` (definition 4.2: a small constant). Growth:
    ``fixed`` (Lambda does not depend on n, the paper's argument) and ``rows`` (Lambda = n Lambda_0, eta = n eta_0: a
    posterior of n rows at the clip; the mean stays). The same standard noise serves all rows of one d.

    Columns: ``expected_kl``, ``standard_error`` (definition 4.2); ``expected_kl_floor``, ``standard_error_floor``
    (algorithm 3: only eigenvalues that are not positive change), ``positive_share`` (draws with Lambda + E positive
    definite); ``bound_2023`` at the M of probability .99, ``bound_2023_eigenbasis``, ``h_min``, ``holds_2023``
    ("yes", "no", "undecided" within 4 standard errors, "meaningless" where h_min <= 0), ``bound_2023_least`` and
    ``holds_2023_least`` at the least M with a positive probability; ``bound_2021_mean``, ``expected_kl_2021`` (given
    its event; where tau <= 0, given only that Sigma + E is positive definite, ``positive_share_2021``), ``holds_2021``;
    ``corrected_bound``, ``corrected_probability``, ``expected_kl_event`` (no shift, given |W| <= t; an upper estimate,
    by a control variate), ``holds_corrected``, ``pointwise_violations`` (draws above :func:`pointwise_bound`);
    ``corrected_shift_bound`` (for the reading ``lambda_min``). NaN: no such number.
    """
    rows = []
    for d in dimensions:
        eta_0, precision_0 = problem(d, clip)
        standard = symmetric_noise(rng, d, draws)
        for n in sizes:
            for sigma in sigmas:
                for growth in ("fixed", "rows"):
                    scale = 1.0 if growth == "fixed" else float(n)
                    rows.extend(_rows(eta_0 * scale, precision_0 * scale, standard, n, sigma, clip, growth, small_rho))
    return rows


def _rows(eta, precision, standard, n, sigma, clip, growth, small_rho) -> list[dict[str, object]]:
    d = len(eta)
    deviation = 2 * clip * sigma / n
    noise = deviation * standard
    smallest = float(np.linalg.eigvalsh(precision)[0])
    plain = kl_given_noise(eta, precision, noise, deviation)
    positive = np.isfinite(plain)
    floored = plain
    if not positive.all():
        floored = kl_given_noise(eta, precision, change_of(precision, noise, "floor", smallest), deviation)
    floor = _estimate(floored)
    corrected = corrected_bound(eta, precision, deviation, deviation)
    pointwise, size = pointwise_bound(eta, precision, noise, deviation)
    inside = size <= corrected.radius
    event = _nothing()
    if corrected.radius < 1 and inside.sum() > 1:
        # E_e KL is nearly the square Q that the bound keeps, and E[Q | G] <= E Q is known exactly: drawing only the
        # difference leaves no doubt which side of a sharp bound the mean is on.
        square = pointwise[inside] * (1 - size[inside])
        known = _corrected_parts(eta, precision, deviation, deviation)[0] / 2
        event = _estimate(plain[inside] - square + known)
    tau, upper = interval_2021(precision, deviation)
    kl, radius = kl_given_covariance_noise(precision, noise, deviation)
    first, first_bound = _estimate(kl), math.nan
    if tau > 0:
        first = _estimate(kl[radius <= upper - 1])
        first_bound = theorem_2021(precision, deviation, deviation, tau, upper).mean
    m = radius_2023(d, deviation)
    # Above the root itself by rounding: its probability is 0.
    least_m = radius_2023(d, deviation, 1e-9)
    rows = []
    for reading, rho in (("lambda_min", smallest), ("small", small_rho)):
        truth = _estimate(kl_given_noise(eta, precision, change_of(precision, noise, "shift", rho), deviation))
        theorem = theorem_2023(eta, precision, deviation, deviation, rho, m)
        eigen = theorem_2023(eta, precision, deviation, deviation, rho, m, "eigenbasis")
        least = theorem_2023(eta, precision, deviation, deviation, rho, least_m)
        rows.append(
            {
                "n": n,
                "d": d,
                "sigma": sigma,
                "clip": clip,
                "rho_reading": reading,
                "rho": rho,
                "growth": growth,
                "sigma2": deviation,
                "lambda_min": smallest,
                "expected_kl": truth.mean,
                "standard_error": truth.standard_error,
                "expected_kl_floor": floor.mean,
                "standard_error_floor": floor.standard_error,
                "positive_share": float(positive.mean()),
                "bound_2023": theorem.bound,
                "bound_2023_probability": theorem.probability,
                "h_min": theorem.h_min,
                "holds_2023": _verdict(truth, theorem.bound, theorem.meaningful),
                "bound_2023_eigenbasis": eigen.bound,
                "holds_2023_eigenbasis": _verdict(truth, eigen.bound, eigen.meaningful),
                "bound_2023_least": least.bound,
                "h_min_least": least.h_min,
                "holds_2023_least": _verdict(truth, least.bound, least.meaningful),
                "bound_2021_mean": first_bound,
                "expected_kl_2021": first.mean,
                "positive_share_2021": float(np.isfinite(kl).mean()),
                "holds_2021": _verdict(first, first_bound, tau > 0),
                "corrected_bound": corrected.bound,
                "corrected_probability": corrected.probability,
                "corrected_radius": corrected.radius,
                "expected_kl_event": event.mean,
                "event_share": float(inside.mean()),
                "pointwise_violations": int(np.sum(plain[size < 1] > pointwise[size < 1] * (1 + 1e-9))),
                "holds_corrected": _verdict(event, corrected.bound, corrected.radius < 1),
                "corrected_shift_bound": (
                    corrected_shift_bound(eta, precision, deviation, deviation) if reading == "lambda_min" else math.nan
                ),
            }
        )
    return rows


def slopes_table(rows: list[dict[str, object]], from_n: int = 1000) -> list[dict[str, object]]:
    """Least-squares slope of log value on log n for n >= ``from_n`` per (d, sigma, reading, growth) and column.

    A slope of -1 is "scales with 1/N". NaN where fewer than two rows have a positive number (or, for the bound of
    2023, a meaningful one).
    """
    columns = (
        "expected_kl", "expected_kl_floor", "bound_2023", "expected_kl_2021", "bound_2021_mean", "corrected_bound",
    )  # fmt: skip
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault(tuple(row[k] for k in ("d", "sigma", "rho_reading", "growth")), []).append(row)
    table = []
    for key, members in groups.items():
        line: dict[str, object] = dict(zip(("d", "sigma", "rho_reading", "growth"), key, strict=True))
        for column in columns:
            points = [
                (math.log(r["n"]), math.log(r[column]))
                for r in members
                if r["n"] >= from_n and r[column] > 0 and (column != "bound_2023" or r["h_min"] > 0)
            ]
            line["slope_" + column] = (
                float(np.polyfit(*zip(*points, strict=True), 1)[0]) if len(points) > 1 else math.nan
            )
        table.append(line)
    return table


def write_csv(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows to a temporary file beside ``path``, then rename it, so that no reader sees half a table."""
    temporary = path.with_name(path.name + ".part")
    with temporary.open("w", newline="") as f:
        writer = csv.DictWriter(f, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    os.replace(temporary, path)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Theorem 4.1 of DP-SEP beside the Monte Carlo truth.")
    parser.add_argument("out", type=Path, help="CSV to write; OUT_steps.csv and OUT_slopes.csv go beside it")
    parser.add_argument("--draws", type=int, default=400)
    args = parser.parse_args(argv)
    table = monte_carlo_table(np.random.default_rng(SEED), draws=args.draws)
    write_csv(args.out, table)
    write_csv(args.out.with_name(args.out.stem + "_slopes.csv"), slopes_table(table))
    steps = proof_steps_table(np.random.default_rng(SEED + 1), draws=10 * args.draws)
    write_csv(args.out.with_name(args.out.stem + "_steps.csv"), steps)


# --------------------------------------------------------------------------------------------------------- helpers


def _excess(w: np.ndarray) -> np.ndarray:
    """w - log(1 + w), by its series near 0, where the difference would lose every digit."""
    series = w**2 * (1 / 2 - w * (1 / 3 - w * (1 / 4 - w * (1 / 5 - w / 6))))
    near = np.abs(w) < 1e-3
    return np.where(near, series, w - np.log1p(np.where(near, 0.0, w)))


def _root(matrix: np.ndarray, power: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * values**power) @ vectors.T


def _corrected_parts(eta, precision, sigma1, sigma2) -> tuple[float, float]:
    covariance = np.linalg.inv(precision)
    covariance = (covariance + covariance.T) / 2
    mean = covariance @ eta
    moment = second_moment(covariance)
    root = _root(precision, -0.5)
    squares = 0.5 * sigma2**2 * float(np.sum(moment * covariance)) + sigma1**2 * float(np.trace(covariance))
    squares += sigma2**2 * float(mean @ moment @ mean)
    return squares, sigma2**2 * float(np.linalg.norm(root @ moment @ root, 2))


def _estimate(kl: np.ndarray) -> Estimate:
    kept = kl[np.isfinite(kl)]
    share = len(kept) / len(kl) if len(kl) else 0.0
    if len(kept) < 2:
        return Estimate(math.nan, math.nan, len(kl), share)
    return Estimate(float(np.mean(kept)), float(np.std(kept, ddof=1) / math.sqrt(len(kept))), len(kl), share)


def _nothing() -> Estimate:
    return Estimate(math.nan, math.nan, 0, 0.0)


def _verdict(truth: Estimate, bound: float, meaningful: bool) -> str:
    if not meaningful or not (math.isfinite(bound) and math.isfinite(truth.mean)):
        return "meaningless"
    if truth.mean - DECISION * truth.standard_error > bound:
        return "no"
    return "yes" if truth.mean <= bound else "undecided"


def _naturals(eta: np.ndarray, precision: np.ndarray) -> Naturals:
    eta = np.asarray(eta, dtype=np.float64)
    precision = np.asarray(precision, dtype=np.float64)
    if eta.ndim != 1 or precision.shape != (eta.size, eta.size):
        raise ValueError(f"eta has shape {eta.shape}, the precision {precision.shape}; give (d,) and (d, d)")
    if not np.allclose(precision, precision.T, rtol=1e-10, atol=0):
        raise ValueError("the precision is not symmetric; give (Lambda + Lambda') / 2")
    if not np.linalg.eigvalsh(precision)[0] > 0:
        raise ValueError("the precision is not positive definite; q and p must be proper Gaussians")
    return eta, precision


def _positive(**settings: float) -> None:
    for name, value in settings.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name}={value}; give a positive number")


def _not_negative(**settings: float) -> None:
    for name, value in settings.items():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name}={value}; give a standard deviation, 0 or more")


if __name__ == "__main__":
    main()
