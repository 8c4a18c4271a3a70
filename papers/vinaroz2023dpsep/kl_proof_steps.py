"""Every inequality in the proofs of theorem 4.1 of DP-SEP, measured. :mod:`kl_bound` has the theorem."""

from __future__ import annotations

import math

import numpy as np

from papers.vinaroz2023dpsep.kl_bound import interval_2021, radius_2023, theorem_2021, theorem_2023
from papers.vinaroz2023dpsep.kl_gaussians import (
    DECISION,
    kl_given_covariance_noise,
    kl_given_noise,
    matrix_variance,
    naturals,
    problem,
    root_of,
    symmetric_noise,
)  # fmt: skip

#: equation -> (verdict, argument). Verdicts "as stated" do not depend on the numbers of one case.
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
    """Every inequality of the 2023 proof (appendix B) measured for one q, one row each in the order of equation
    numbers.

    Returns
    -------
    version, equation, claim : the claim has the form left <= right. An equality is measured by |difference| <= 0.
    left, right : the two sides. A pointwise claim shows its worst draw.
    standard_error : of left - right, 0 for a pointwise claim.
    violated_share : share of draws that violate a pointwise claim.
    holds : the result for this q. A claim that is wrong in general may hold for one q.
    verdict, argument : the general verdict and its reason.

    lambda_1 is the largest eigenvalue throughout. "[opposite]" pairs lambda_i(P) with lambda_(d+1-i)(Lambda).
    """
    eta, precision = naturals(eta, precision)
    d = eta.size
    noise = sigma2 * symmetric_noise(rng, d, draws)
    root = root_of(precision, -0.5)
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
    """Every inequality of the 2021 proof (supplement, section 8), as in :func:`proof_steps`.

    Means are over the event |W| <= m = 1 - tau. Raises ValueError if m >= 1, because the theorem then has no instance.
    """
    _, precision = naturals(np.zeros(len(precision)), precision)
    d = len(precision)
    tau, upper = interval_2021(precision, sigma2, confidence)
    if tau <= 0:
        raise ValueError(f"tau={tau:.3g} is not positive; take a smaller sigma2 or confidence")
    theorem = theorem_2021(precision, sigma1, sigma2, tau, upper)
    s = math.sqrt(2 * theorem.variance * math.log(2 * d))
    root = root_of(precision, 0.5)
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
    """Rows of claims left <= right, as a mean over draws (``mean``) or for every draw (``point``)."""

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
            # 1e-9 of the size allows for rounding in equalities whose two sides agree draw by draw.
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
    """The index i whose mean of ``draws`` exceeds right[i] most, among finite right[i]."""
    return int(np.argmax(np.where(np.isfinite(right), draws.mean(axis=0) - right, -np.inf)))


def step_cases() -> list[tuple[str, np.ndarray, np.ndarray, float, float, float]]:
    """Small inputs, each made to show one failure: (name, eta, Lambda, sigma1 = sigma2, rho, confidence of M)."""
    turn = np.array([[math.cos(0.5), -math.sin(0.5)], [math.sin(0.5), math.cos(0.5)]])
    tilted = turn @ np.diag([4.0, 1.0]) @ turn.T
    # At 45 degrees both coordinates of b are equal, so no order of the eigenvalues makes term 3 valid.
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
