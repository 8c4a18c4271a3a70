"""Tables of theorem 4.1 of DP-SEP compared with Monte Carlo values.

``python -m workflow.extra vinaroz2023dpsep kl_bound.csv`` writes the Monte Carlo table and two more.
``kl_bound_steps.csv`` has each inequality of the proofs, measured (``kl_proof_steps``). ``kl_bound_slopes.csv`` has the
order in N.
"""

from __future__ import annotations

import math

import numpy as np

from papers.vinaroz2023dpsep.kl_bound import (
    corrected_bound,
    corrected_parts,
    corrected_shift_bound,
    interval_2021,
    pointwise_bound,
    radius_2023,
    theorem_2021,
    theorem_2023,
)  # fmt: skip
from papers.vinaroz2023dpsep.kl_gaussians import (
    DECISION,
    Estimate,
    change_of,
    estimate,
    kl_given_covariance_noise,
    kl_given_noise,
    nothing,
    problem,
    symmetric_noise,
)  # fmt: skip

#: the "small positive constant" rho of definition 4.2. The paper gives no number.
SMALL_RHO = 1e-2
SEED = 20230401


def monte_carlo_table(
    rng: np.random.Generator,
    sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10000, 100000),
    dimensions: tuple[int, ...] = (2, 4, 10, 30),
    sigmas: tuple[float, ...] = (1.0, 4.0),
    clip: float = 1.0,
    draws: int = 400,
    small_rho: float = SMALL_RHO,
) -> list[dict[str, object]]:
    """Monte Carlo KL compared with both theorems and the corrected bounds.

    There is one row per (n, d, sigma, reading of rho, growth). sigma1 = sigma2 = 2 C sigma / n as in the paper (damping
    1). The same standard noise is used for all rows of one d.

    * Readings of rho: ``lambda_min`` (B.1: rho = lambda_min(Lambda), known from the private data) and ``small``
      (definition 4.2: a small constant).
    * Growth: ``fixed`` (Lambda does not depend on n, the paper's argument) and ``rows`` (a posterior of n rows at the
      clip, with Lambda = n Lambda_0 and eta = n eta_0; its mean is constant).

    Columns, with NaN if a number does not exist:

    * ``expected_kl``, ``standard_error``: by definition 4.2.
    * ``expected_kl_floor``, ``standard_error_floor``: by algorithm 3, where only eigenvalues that are not positive
      change.
    * ``positive_share``: share of draws with Lambda + E positive definite.
    * ``bound_2023``, ``bound_2023_eigenbasis``, ``h_min``: at the M of probability .99.
    * ``holds_2023``: "yes", "no", "undecided" (within 4 standard errors) or "meaningless" (h_min <= 0).
    * ``bound_2023_least``, ``holds_2023_least``: at the least M with a positive probability.
    * ``bound_2021_mean``, ``expected_kl_2021``, ``holds_2021``: given the event of the theorem. If tau <= 0, the
      divergence is only given that Sigma + E is positive definite, whose share is ``positive_share_2021``.
    * ``corrected_bound``, ``corrected_probability``, ``holds_corrected``: without shift, given |W| <= t.
    * ``expected_kl_event``: the divergence given that event, an upper estimate by a control variate.
    * ``pointwise_violations``: draws above :func:`pointwise_bound`.
    * ``corrected_shift_bound``: for the reading ``lambda_min``.
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
    floor = estimate(floored)
    corrected = corrected_bound(eta, precision, deviation, deviation)
    pointwise, size = pointwise_bound(eta, precision, noise, deviation)
    inside = size <= corrected.radius
    event = nothing()
    if corrected.radius < 1 and inside.sum() > 1:
        # E_e KL is nearly the square Q that the bound keeps, and E[Q | G] <= E Q is known exactly. So only the
        # difference is simulated, which shows on which side of a sharp bound the mean lies.
        square = pointwise[inside] * (1 - size[inside])
        known = corrected_parts(eta, precision, deviation, deviation)[0] / 2
        event = estimate(plain[inside] - square + known)
    tau, upper = interval_2021(precision, deviation)
    kl, radius = kl_given_covariance_noise(precision, noise, deviation)
    first, first_bound = estimate(kl), math.nan
    if tau > 0:
        first = estimate(kl[radius <= upper - 1])
        first_bound = theorem_2021(precision, deviation, deviation, tau, upper).mean
    m = radius_2023(d, deviation)
    # Slightly above the root, where the probability is 0.
    least_m = radius_2023(d, deviation, 1e-9)
    rows = []
    for reading, rho in (("lambda_min", smallest), ("small", small_rho)):
        truth = estimate(kl_given_noise(eta, precision, change_of(precision, noise, "shift", rho), deviation))
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
    """Least-squares slope of log value on log n for n >= ``from_n``, per (d, sigma, reading, growth) and column.

    A slope of -1 is "scales with 1/N". It is NaN if fewer than two rows have a positive number. For the bound of 2023,
    a row must also have h_min > 0.
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


def _verdict(truth: Estimate, bound: float, meaningful: bool) -> str:
    if not meaningful or not (math.isfinite(bound) and math.isfinite(truth.mean)):
        return "meaningless"
    if truth.mean - DECISION * truth.standard_error > bound:
        return "no"
    return "yes" if truth.mean <= bound else "undecided"
