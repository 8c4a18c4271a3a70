"""Claims of DP-SEP's text about theorem 4.1, tested by the tables of ``kl_tables``.

    python -m workflow.extra vinaroz2023dpsep kl_bound.csv

This command writes the tables of ``kl_tables`` and ``kl_bound_claims.csv``, which has claim, reading, holds (yes, no,
unclear) and figure. With ``--from-tables`` it writes only the claims, from existing tables. "Scales with 1/N" is taken
as a bound. A divergence that falls faster does not refute it, and one that falls more slowly does.

Readings of the rule that keeps Lambda_p positive definite:

* ``printed``: definition 4.2 literally, with a small constant rho. In 2021: for all noise.
* ``authors``: the rule of the authors' code, which floors eigenvalues that are not positive.
* ``corrected``: rho = lambda_min(Lambda_q). Appendix B.1 uses it, and it depends on the private data. In 2021: given
  the event that the proof needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from papers.vinaroz2023dpsep import kl_bound, kl_tables
from papers.vinaroz2023dpsep.kl_gaussians import clipped_sep_kl, problem
from papers.vinaroz2023dpsep.kl_proof_steps import proof_steps_table
from workflow.extra import Request, text_of

Row = dict[str, object]
#: how far a fitted slope may exceed the claimed one.
SLOPE = 0.25
FAST = "falls at least as fast as 1/N"


def claims_table(rows: list[Row], slopes: list[Row], rng: np.random.Generator) -> list[Row]:
    """One row per claim and reading. ``rows``: of ``monte_carlo_table``. ``slopes``: of ``slopes_table``."""
    small, least = _where(slopes, rho_reading="small"), _where(slopes, rho_reading="lambda_min")
    first = "slope_expected_kl"
    out = [
        _slope("scales_1_over_n", "printed", small, first, "rho = 0.01", -1 + SLOPE, FAST),
        _slope("scales_1_over_n", "authors", least, f"{first}_floor", "floor", -1 + SLOPE, FAST),
        _slope("scales_1_over_n", "corrected", least, first, "rho = lambda_min", -1 + SLOPE, FAST),
        _slope("gap_closes", "printed", small, first, "rho = 0.01", -SLOPE, "falls"),
        _slope("gap_closes", "authors", least, f"{first}_floor", "floor", -SLOPE, "falls"),
        _slope("gap_closes", "corrected", least, first, "rho = lambda_min", -SLOPE, "falls"),
        _bound("bound_holds", "printed", _where(rows, rho_reading="small"), "holds_2023_least", "rho = 0.01"),
        _bound("bound_holds", "corrected", _where(rows, rho_reading="lambda_min"), "holds_2023_least",
               "rho = lambda_min, not proved"),
        _clipped(rng),
    ]  # fmt: skip
    one = _where(least, growth="fixed")
    out += [
        _no_value(rows),
        _slope("v1_scales_1_over_n", "corrected", one, f"{first}_2021", "given its event, Sigma_q fixed",
               -1 + SLOPE, FAST),
        _premise(rows),
        _bound("v1_bound_holds", "corrected", _where(rows, rho_reading="lambda_min", growth="fixed"), "holds_2021",
               "given that |Sigma^-1/2 E Sigma^-1/2| <= m < 1, Sigma_q fixed"),
        _uncertainty(),
    ]  # fmt: skip
    return out


def _where(rows: list[Row], **values: str) -> list[Row]:
    return [r for r in rows if all(r[k] == v for k, v in values.items())]


def _slope(claim: str, reading: str, slopes: list[Row], column: str, words: str, most: float, said: str) -> Row:
    """Whether the slope is at most ``most`` in every setting. ``said``: the words for that."""
    found = [float(r[column]) for r in slopes]
    found = [s for s in found if math.isfinite(s)]
    good = sum(s <= most for s in found)
    holds = "unclear" if not found else "yes" if good == len(found) else "no"
    figure = f"{words}: no slope could be fitted"
    if found:
        figure = (
            f"{words}: slope of log E KL against log N from {min(found):.2f} to {max(found):.2f} over {len(found)} "
            f"settings of d, sigma and growth of the precision; it {said} (slope at most {most:g}) in {good}"
        )
    return {"claim": claim, "reading": reading, "holds": holds, "figure": figure}


def _bound(claim: str, reading: str, rows: list[Row], column: str, words: str) -> Row:
    counts = {w: sum(r[column] == w for r in rows) for w in ("yes", "no", "undecided", "meaningless")}
    told = counts["yes"] + counts["no"]
    figure = (
        f"{words}: of {len(rows)} settings of N, d, sigma the bound holds in {counts['yes']}, is exceeded in "
        f"{counts['no']} and means nothing in {counts['meaningless']}"
    )
    holds = "no" if counts["no"] else "yes" if told else "unclear"
    return {"claim": claim, "reading": reading, "holds": holds, "figure": figure}


def _clipped(rng: np.random.Generator) -> Row:
    """Appendix A's printed KL against the closed form, over random q that clipping reaches."""
    n, gaps = 200, []
    for _ in range(n):
        d = int(rng.integers(1, 6))
        root = rng.standard_normal((d, d + 2))
        eta, precision = 2 * rng.standard_normal(d), root @ root.T
        found = clipped_sep_kl(eta, (precision + precision.T) / 2, 1.0)
        gaps.append(abs(found.printed - found.corrected))
    wrong = sum(g > 1e-6 for g in gaps)
    figure = f"printed and true KL differ in {wrong} of {n} random cases, at the median by {np.median(gaps):.3g} nats"
    return {"claim": "clipped_kl", "reading": "printed", "holds": "no" if wrong else "yes", "figure": figure}


def _premise(rows: list[Row]) -> Row:
    """Whether the premise of 2021 holds: 0 < tau < 1 + lambda_min(Sigma^-1 E) for all noise.

    It fails in a draw for which Sigma_q + E is not a covariance. Without such a draw, nothing is shown.
    """
    shares = [float(r["positive_share_2021"]) for r in rows]
    figure = (
        f"Sigma_q + E is a covariance, as the premise 0 < tau < 1 + lambda_min(Sigma^-1 E) has it for all E, in "
        f"{min(shares):.0%} to {max(shares):.0%} of the draws, in all of them in {sum(s == 1 for s in shares)} of "
        f"{len(shares)} settings; where it is not, E KL has no value"
    )
    holds = "no" if min(shares) < 1 else "unclear"
    return {"claim": "v1_bound_holds", "reading": "printed", "holds": holds, "figure": figure}


def _no_value(rows: list[Row]) -> Row:
    """Whether the divergence of 2021, as printed, has a value in every draw at the largest N.

    It has none in a draw for which Sigma_q + E is not a covariance. If every draw has one, nothing is shown here.
    """
    largest = max(float(r["n"]) for r in rows)
    shares = {k: float(r["positive_share_2021"]) for k, r in enumerate(rows) if float(r["n"]) == largest}
    without = [1 - s for s in shares.values() if s < 1]
    growth = sorted({str(rows[k]["growth"]) for k, s in shares.items() if s < 1})
    figure = f"at N = {largest:.0f} the divergence has a value in every draw, in all {len(shares)} settings"
    if without:
        figure = (
            f"at N = {largest:.0f} the divergence has no value in {min(without):.0%} to {max(without):.0%} of the "
            f"draws in {len(without)} of {len(shares)} settings (growth of the precision: {', '.join(growth)})"
        )
    return {
        "claim": "v1_scales_1_over_n",
        "reading": "printed",
        "holds": "no" if without else "unclear",
        "figure": figure,
    }


def _uncertainty() -> Row:
    """Ratio of the bound of 2021, before Markov's inequality, at half the precision to that at the whole, per d."""
    ratios = []
    for d in (2, 4, 10, 30):
        _, precision = problem(d, 1.0)
        sigma2 = 1e-3
        tau, upper = kl_bound.interval_2021(precision, sigma2)
        sharp = kl_bound.theorem_2021(precision, sigma2, sigma2, tau, upper).mean
        tau, upper = kl_bound.interval_2021(precision / 2, sigma2)
        ratios.append(kl_bound.theorem_2021(precision / 2, sigma2, sigma2, tau, upper).mean / sharp)
    figure = f"halving the precision of q multiplies the bound by {min(ratios):.2f} to {max(ratios):.2f} (d = 2 to 30)"
    holds = "yes" if max(ratios) < 1 else "no"
    return {"claim": "v1_uncertainty", "reading": "printed", "holds": holds, "figure": figure}


def tables(request: Request) -> dict[str, str]:
    """The four tables as text. With ``from_tables``, only the claims, from existing tables."""
    if request.from_tables:
        rows, slopes = (
            pd.read_csv(request.out / f"kl_bound{suffix}.csv").to_dict("records") for suffix in ("", "_slopes")
        )
        said = claims_table(rows, slopes, np.random.default_rng(kl_tables.SEED + 2))
        return {"kl_bound_claims.csv": _csv(said)}
    rows = kl_tables.monte_carlo_table(np.random.default_rng(kl_tables.SEED))
    slopes = kl_tables.slopes_table(rows)
    steps = proof_steps_table(np.random.default_rng(kl_tables.SEED + 1))
    said = claims_table(rows, slopes, np.random.default_rng(kl_tables.SEED + 2))
    made = (("", rows), ("_slopes", slopes), ("_steps", steps), ("_claims", said))
    return {f"kl_bound{suffix}.csv": _csv(table) for suffix, table in made}


def _csv(rows: Sequence[Row]) -> str:
    return text_of(list(rows[0]), rows, 6)
