"""Theorem 4.1 of DP-SEP (Vinaroz & Park, TMLR 2023, and its first version of 2021), as printed and as it can be proved.

The theorem bounds KL(q || p) in nats. q is the posterior of SEP, and p the same after one noise draw
(:mod:`kl_gaussians`). :mod:`kl_proof_steps` measures the steps of the printed proofs. :mod:`kl_tables` makes the tables
with the Monte Carlo values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from papers.vinaroz2023dpsep.kl_gaussians import (
    matrix_variance,
    naturals,
    not_negative,
    positive,
    root_of,
    second_moment,
)

#: probability that the event of each theorem has at least; it sets M, the interval (tau, A) and the radius t.
CONFIDENCE = 0.99


@dataclass(frozen=True)
class Theorem2023:
    """Right side of theorem 4.1 (2023).

    ``terms`` are those inside the bracket; ``bound`` is half of their signed sum.
    """

    terms: dict[str, float]
    bound: float
    probability: float
    h_min: float

    @property
    def meaningful(self) -> bool:
        """Whether the probability is positive and all h > 0, as E[1/X] <= (H + h - E X) / (h H) requires."""
        return self.h_min > 0 and self.probability > 0


@dataclass(frozen=True)
class Theorem2021:
    """Right side of theorem 4.1 (2021). ``mean`` bounds E KL, and ``probability`` = mean / a bounds P(KL >= a)."""

    terms: dict[str, float]
    mean: float
    probability: float
    variance: float


@dataclass(frozen=True)
class Corrected:
    """A proved bound: ``bound`` on E[KL | |W| <= radius] in nats, and a lower bound ``probability`` on that event's."""

    bound: float
    probability: float
    radius: float


def radius_2023(d: int, sigma2: float, confidence: float = CONFIDENCE) -> float:
    """The M at which 1 - d exp(-M^2 / (2 v(E))) = confidence. At confidence 0 this is the infimum of the allowed M."""
    return math.sqrt(2 * matrix_variance(d, sigma2) * math.log(d / (1 - confidence)))


def theorem_2023(
    eta: np.ndarray,
    precision: np.ndarray,
    sigma1: float,
    sigma2: float,
    rho: float,
    m: float,
    pairing: str = "printed",
) -> Theorem2023:
    """The six terms of theorem 4.1 (TMLR 2023) as printed. The paper's a a' is taken as the scalar a'a, as in eq. 88.

    Parameters
    ----------
    eta, precision : natural parameters of q, (d,) and (d, d).
    sigma1, sigma2 : standard deviations of e and E.
    rho : smallest eigenvalue that definition 4.2 gives Lambda_p.
    m : M > 0 of the theorem.
    pairing : ``printed``: b_i is coordinate i of Lambda^-1/2 eta and lambda_1 >= lambda_2 >= ... (the paper fixes no
        order). ``eigenbasis``: b_i is the coordinate along the eigenvector of lambda_i, for which eq. 41 would hold for
        matrices that commute.

    Returns
    -------
    terms : keys term_1 ... term_6, the names of B.1. term_4 enters with a minus sign.
    bound : NaN if term_6 takes the log of a number that is not positive.
    probability : 1 - d exp(-M^2 / (2 v)).
    h_min : smallest h over i.

    Raises ValueError for a rho or M that is not positive, a negative sigma, or an unknown pairing.
    """
    eta, precision = naturals(eta, precision)
    positive(rho=rho, m=m)
    not_negative(sigma1=sigma1, sigma2=sigma2)
    d = eta.size
    values, vectors = np.linalg.eigh(precision)
    values, vectors = values[::-1], vectors[:, ::-1]
    if pairing == "printed":
        b = root_of(precision, -0.5) @ eta
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
    # term_3 - term_4 is computed as one sum, because they agree to many digits at small noise.
    gap = float(np.sum(b**2 * (ratio - 1)))
    bound = 0.5 * (terms["term_1"] + terms["term_2"] + gap + terms["term_5"] + terms["term_6"])
    tail = d * math.exp(-(m**2) / (2 * v)) if v > 0 else 0.0
    return Theorem2023(terms, bound, 1 - tail, float(np.min(low)))


def theorem_2021(
    precision: np.ndarray, sigma1: float, sigma2: float, tau: float, upper: float, a: float = 1.0
) -> Theorem2021:
    """Theorem 4.1 of the first version (2021), before and after Markov's inequality.

    It is rebuilt from its proof (eqs. 6 to 22).

    In that version, mu_p = mu_q + e and Sigma_p = Sigma_q + E. So the noise is on mean and covariance, not on natural
    parameters. With s = sqrt(2 v(Z) log 2d) and R = (A + tau + s - 1) / (A tau), the terms of the proof are

        d/2 log(1 + s)                        (eq. 11)
        sigma1^2/2 Tr(Sigma_q^-1) d R         (eqs. 16, 17, 20, 21)
        d/2 R                                 (eq. 22)
        - d/2                                 (eq. 7)

    Their sum over a is the printed display. All of its pieces occur in the damaged text, so nothing had to be guessed.

    For Z = Sigma_q^-1 E, v(Z) is |sum_k B_k B_k'| = d sigma2^2 lambda_max(Lambda)^2. Tropp's statistic for a matrix
    that is not symmetric has a second half, |sum_k B_k' B_k|. It is never larger here, because x'(Tr(B) I + B - diag B)
    x <= d lambda_max(B) for |x| = 1.

    Parameters
    ----------
    precision : (d, d) = Sigma_q^-1.
    tau, upper : the theorem's 0 < tau < 1 + lambda_min(Sigma_q^-1 E) < A.
    a : the level in P(KL >= a).

    Raises ValueError for tau, A or a that is not positive, or tau >= A.
    """
    _, precision = naturals(np.zeros(len(precision)), precision)
    positive(tau=tau, upper=upper, a=a)
    not_negative(sigma1=sigma1, sigma2=sigma2)
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
    """(tau, A) = (1 - m, 1 + m) for the m whose event fails with probability at most 1 - confidence.

        P(|Z| >= m) <= 2d exp(-m^2 / (2 v(Z))) = 1 - confidence

    If tau <= 0, the theorem has no instance at this noise.
    """
    d = len(precision)
    variance = matrix_variance(d, sigma2) * float(np.linalg.eigvalsh(precision)[-1]) ** 2
    m = math.sqrt(2 * variance * math.log(2 * d / (1 - confidence)))
    return 1 - m, 1 + m


def corrected_bound(
    eta: np.ndarray, precision: np.ndarray, sigma1: float, sigma2: float, confidence: float = CONFIDENCE
) -> Corrected:
    """A bound of the right order with a proof, without the shift of definition 4.2.

    So Lambda_p = Lambda + E on the event. Theorem. Let W = Lambda^-1/2 E Lambda^-1/2, S(B) = Tr(B) I + B - diag(B) and
    0 < t < 1. Let

        v_W = sigma2^2 |Lambda^-1/2 S(Sigma) Lambda^-1/2|,  G = {|W| <= t}.

    Then P(G) >= 1 - 2d exp(-t^2 / (2 v_W)), on G nothing is projected, and

        E[KL(q || p) | G] <= [ 1/2 E|W|_F^2 + sigma1^2 Tr(Sigma) + E|Lambda^-1/2 E mu|^2 ] / (2 (1 - t)).

    The expectations are exact:

        E|W|_F^2 = sigma2^2 (Tr(Sigma)^2 + Tr(Sigma^2) - sum_i Sigma_ii^2)
        E|Lambda^-1/2 E mu|^2 = sigma2^2 mu' S(Sigma) mu

    The bound is of order sigma1^2 + sigma2^2, which is 1/N^2 for fixed Lambda. It is as sharp as possible: its ratio to
    the truth tends to 1 as t tends to 0.

    Proof.

    1. E_e KL is half of sum_i (w_i - log(1 + w_i)) + sigma1^2 Tr(Lambda_p^-1) + mu' E Lambda_p^-1 E mu.
    2. For |w| <= r < 1: w - log(1 + w) <= sum_{k>=2} |w|^k / k <= w^2 / (2 (1 - r)).
    3. On |W| <= r, Lambda_p = Lambda^1/2 (I + W) Lambda^1/2 >= (1 - r) Lambda, so Lambda_p^-1 <= Sigma / (1 - r). So
       for each E with r = |W| (:func:`pointwise_bound`),

           E_e KL <= [1/2 |W|_F^2 + sigma1^2 Tr(Sigma) + |Lambda^-1/2 E mu|^2] / (2 (1 - r)).

    4. G is convex and symmetric in the Gaussian entries of E. A Gaussian restricted to a convex set has no larger
       variance in any direction (Brascamp & Lieb 1976). Its mean on G is zero by symmetry. So conditioning on G lowers
       each expected square.
    5. The probability is Tropp's (2015, theorem 4.6.1) for W and for -W, with E[W^2] = sigma2^2 Lambda^-1/2 S(Sigma)
       Lambda^-1/2. QED

    Returns the bound at the t whose event has probability at least ``confidence``. It is NaN if that t is 1 or more.
    """
    eta, precision = naturals(eta, precision)
    not_negative(sigma1=sigma1, sigma2=sigma2)
    d = eta.size
    squares, variance = corrected_parts(eta, precision, sigma1, sigma2)
    t = math.sqrt(2 * variance * math.log(2 * d / (1 - confidence)))
    return Corrected(squares / (2 * (1 - t)) if t < 1 else math.nan, confidence if t < 1 else 0.0, t)


def pointwise_bound(
    eta: np.ndarray, precision: np.ndarray, noise: np.ndarray, sigma1: float
) -> tuple[np.ndarray, np.ndarray]:
    """(bound on E_e KL for each E, |W|), both (draws,), by steps 1 to 3 of :func:`corrected_bound`.

    The bound is infinite if |W| >= 1.
    """
    eta, precision = naturals(eta, precision)
    root = root_of(precision, -0.5)
    w = root @ noise @ root
    radius = np.max(np.abs(np.linalg.eigvalsh(w)), axis=1)
    mean = np.linalg.solve(precision, eta)
    squares = 0.5 * np.sum(w**2, axis=(1, 2)) + sigma1**2 * np.sum(root**2) + np.sum((noise @ mean @ root) ** 2, axis=1)
    inside = radius < 1
    return np.where(inside, squares / (2 * np.where(inside, 1 - radius, 1.0)), np.inf), radius


def corrected_shift_bound(eta: np.ndarray, precision: np.ndarray, sigma1: float, sigma2: float) -> float:
    """A bound on E KL (nats) for definition 4.2 with rho = lambda_min(Lambda).

    It holds for EVERY noise level, without an event. Let l = lambda_min(Lambda), k = lambda_max(Lambda) / l,
    delta = l - lambda_min(Lambda + E), D = E + delta I and

        V = 2 d sigma2^2 (1 + log 2d).

    Then

        E KL <= 1/2 [ k (E|W|_F^2 + V Tr(Sigma^2)) + (sigma1^2 d + 2 d sigma2^2 |mu|^2 + 2 V |mu|^2) / l ].

    Proof. Let w_i be the eigenvalues of W' = Lambda^-1/2 D Lambda^-1/2.

    1. Lambda_p >= l I by definition, so Lambda_p^-1 <= I / l and 1 + w_i >= 1/k.
    2. f(w) = w - log(1 + w) is at most w^2 / (2 (1 - |w|)) for w < 0, and at most w^2/2 for w >= 0. So f(w_i) is at
       most k w_i^2 / 2.
    3. By Weyl |delta| <= |E|. So, with E|E mu|^2 = d sigma2^2 |mu|^2 for the expectation of the second line,

           |W'|_F^2 <= 2 |W|_F^2 + 2 |E|^2 Tr(Sigma^2)
           |D mu|^2 <= 2 |E mu|^2 + 2 |E|^2 |mu|^2

    4. Integrating P(|E|^2 > u) <= min(1, 2d exp(-u / (2 v))) gives E|E|^2 <= V. QED
    """
    eta, precision = naturals(eta, precision)
    not_negative(sigma1=sigma1, sigma2=sigma2)
    d = eta.size
    values = np.linalg.eigvalsh(precision)
    covariance = np.linalg.inv(precision)
    mean = covariance @ eta
    size = float(mean @ mean)
    operator = 2 * matrix_variance(d, sigma2) * (1 + math.log(2 * d))
    frobenius = sigma2**2 * float(np.sum(second_moment(covariance) * covariance))
    spread = float(values[-1] / values[0]) * (frobenius + operator * float(np.sum(covariance**2)))
    return 0.5 * (spread + (sigma1**2 * d + 2 * (matrix_variance(d, sigma2) + operator) * size) / float(values[0]))


def corrected_parts(eta, precision, sigma1, sigma2) -> tuple[float, float]:
    """(numerator of :func:`corrected_bound`, v_W). The numerator is E|W|_F^2 / 2 plus the other expected squares."""
    covariance = np.linalg.inv(precision)
    covariance = (covariance + covariance.T) / 2
    mean = covariance @ eta
    moment = second_moment(covariance)
    root = root_of(precision, -0.5)
    squares = 0.5 * sigma2**2 * float(np.sum(moment * covariance)) + sigma1**2 * float(np.trace(covariance))
    squares += sigma2**2 * float(mean @ moment @ mean)
    return squares, sigma2**2 * float(np.linalg.norm(root @ moment @ root, 2))
