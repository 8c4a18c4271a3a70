"""Tables of Geumlek, Song & Chaudhuri 2017, section 5.1 and appendix A.2. No data set is needed.

    python -m workflow.extra geumlek2017rdp rdp_figure1.csv

All parameters are in ``extra_settings`` of the config. Divergences and log-likelihoods are in nats.

``rdp_figure1.csv``: Renyi epsilon of one draw at every order below the asymptote (figure 1). ``kind`` is "curve"
(dense) or "grid" (the orders of the config).

``rdp_figure2_kl.csv``: KL(posterior || distribution of the release), figure 2 a, b. Epsilon 0 and inf are limits.

``rdp_figure2_heldout.csv``: minus log-likelihood of held-out trials (figure 2 c, d, appendix A.2). It has exact mean
and standard deviation, and those of independent repetitions, which draw by the functions of the methods. ``reading`` is
the variance of the Gaussian mechanism's noise. It is order / (2 epsilon) by a proof, or order / epsilon, which the
paper's code may have used. Rows with epsilon 0 and inf are limits and have no repetitions.

``rdp_claims.csv``: sentences of the paper that these numbers decide (``figure_claims``).

``rdp_suprema.csv``: bounds ``stated``, the ``exact`` supremum and a ``brute_force`` one. The stated bounds are
corollary 2 read literally, corner pairs only for d categories, and theorem 16 on the pair of theorem 18 (without brute
force).
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluation import posterior_sampling as exact
from methods._shared.exponential_family import guarantee
from methods._shared.exponential_family.release import gaussian_multiplier, posterior
from methods.posterior_sampling._logistic.guarantee import renyi_bound
from models.exponential_family import BetaBernoulli, DirichletCategorical
from papers.geumlek2017rdp.figure_claims import COLUMNS as CLAIM_COLUMNS
from papers.geumlek2017rdp.figure_claims import claims_table
from workflow.experiments import ConfigError, load
from workflow.extra import Request, text_of

COLUMNS = {
    "rdp_figure1.csv": ("panel", "r_or_m", "order", "epsilon", "asymptote", "kind"),
    "rdp_figure2_kl.csv": ("order", "method", "reading", "epsilon", "r_or_m", "kl"),
    "rdp_figure2_heldout.csv": (
        *("prior", "rho", "order", "method", "reading", "epsilon", "r_or_m", "exact_mean", "exact_sd"),
        *("mean", "sd", "repetitions", "standard_error"),
    ),
    "rdp_suprema.csv": (
        *("check", "concentrations", "n", "r", "tau2", "order", "stated", "exact", "brute_force", "ratio"),
    ),
}
DIRECT, DIFFUSED, CONCENTRATED, GAUSSIAN = (
    *(f"posterior_sampling_{word}" for word in ("direct", "diffused", "concentrated")),
    "sufficient_statistics_perturbation",
)
#: reading of the Gaussian mechanism -> its variance divided by order / (2 epsilon).
READINGS = {"order / (2 epsilon)": 1.0, "order / epsilon": 2.0}
BETA = BetaBernoulli()
#: factor on a prior's weight at which it is a point mass, to 12 digits of a mean log-likelihood.
_POINT = 1e14


@dataclass(frozen=True)
class Release:
    """One mechanism at one budget: ``r_or_m`` (NaN if it has neither), and the parameters of its distribution."""

    method: str
    reading: str
    epsilon: float
    r_or_m: float
    data_weight: float = 1.0
    prior_weight: float = 1.0
    sigma: float = 0.0  # standard deviation of the noise on the sum

    def law(self, prior: tuple[float, float], k: float, n: int) -> exact.Mixture:
        """Distribution of the released rho given k successes."""
        if self.method == GAUSSIAN:
            return exact.gaussian_mechanism_law(prior, k, n, self.sigma)
        return exact.posterior_law(prior, np.array([float(k)]), n, self.data_weight, self.prior_weight)


def releases(prior: tuple[float, float], n: int, order: float, epsilons: np.ndarray) -> Iterator[Release]:
    """Every mechanism at every epsilon of the grid. The posterior itself occurs once, at its own epsilon."""
    yield Release(DIRECT, "", guarantee.supremum(BETA, prior, n, order), math.nan)
    for epsilon in map(float, epsilons):
        r = guarantee.diffused_weight(BETA, prior, n, order, epsilon)
        m = guarantee.concentrated_weight(BETA, prior, n, order, epsilon)
        yield Release(DIFFUSED, "", epsilon, r, data_weight=r)
        yield Release(CONCENTRATED, "", epsilon, m, prior_weight=1 / m)
        for reading, factor in READINGS.items():
            sigma = gaussian_multiplier(order, epsilon) * BETA.diameter * math.sqrt(factor)
            yield Release(GAUSSIAN, reading, epsilon, math.nan, sigma=sigma)


def limits(prior: tuple[float, float], order: float) -> Iterator[Release]:
    """The mechanisms in the limits of epsilon: 0 and inf."""
    yield Release(DIFFUSED, "", 0.0, 0.0, data_weight=0.0)
    yield Release(CONCENTRATED, "", 0.0, 0.0, prior_weight=_POINT)
    # above this weight the order is beyond the asymptote at every epsilon
    most = 1.0 if order == 1 else min(1.0, (guarantee.critical_order(BETA, prior) - 1) / (order - 1))
    yield Release(DIFFUSED, "", math.inf, most, data_weight=most)
    yield Release(CONCENTRATED, "", math.inf, most, prior_weight=1 / most)
    for reading in READINGS:
        yield Release(GAUSSIAN, reading, 0.0, math.nan, sigma=math.inf)
        yield Release(GAUSSIAN, reading, math.inf, math.nan, sigma=0.0)


# ------------------------------------------------------------------------------------------------------ the tables


def figure1(s: dict[str, Any]) -> list[dict]:
    """Both panels: every weight at the orders of the grid and on a dense curve up to its asymptote."""
    prior, n = tuple(s["prior"]), s["n"]
    rows = []
    # dense towards the asymptote, where the curve is steep
    shares = np.sin(np.linspace(0.0, math.pi / 2, s["curve_points"] + 1))[:-1]
    for panel in ("diffused", "concentrated"):
        for weight in s["weights"]:
            tempered = {"data_weight": weight} if panel == "diffused" else {"prior_weight": 1 / weight}
            top = guarantee.critical_order(BETA, prior, **tempered)
            for kind, orders in (("curve", 1 + (top - 1) * shares), ("grid", np.array(s["orders"], dtype=float))):
                orders = orders[orders < top]
                found = guarantee.supremum(BETA, prior, n, orders, **tempered)
                rows += [
                    dict(zip(COLUMNS["rdp_figure1.csv"], (panel, weight, *pair, top, kind), strict=True))
                    for pair in zip(orders.tolist(), found.tolist(), strict=True)
                ]
    return rows


def figure2_kl(s: dict[str, Any]) -> list[dict]:
    """KL(posterior || distribution of the release) given the data set of the figure."""
    prior, n, k = tuple(s["prior"]), s["n"], s["successes"]
    rows = []
    for order in s["figure2_orders"]:
        for one in (*releases(prior, n, order, grid(s["epsilons"])), *limits(prior, order)):
            # no distribution has a finite divergence from a point mass
            point = one.prior_weight >= _POINT
            kl = math.inf if point else exact.kl_from_posterior(prior, k, n, one.law(prior, k, n))
            rows.append(_told(one) | {"order": order, "kl": kl})
    return rows


def figure2_heldout(s: dict[str, Any]) -> list[dict]:
    """Held-out score of every mechanism, for each prior, rho and order of the config."""
    n, repetitions, rows = s["n"], s["repetitions"], []
    for p, panel in enumerate(s["heldout"]):
        prior, rho = tuple(panel["prior"]), float(panel["rho"])
        for order in panel["orders"]:
            found = list(releases(prior, n, order, grid(s["epsilons"])))
            for i, one in enumerate((*found, *limits(prior, order))):
                law = exact.over_data((one.law(prior, k, n) for k in range(n + 1)), rho, n)
                mean, sd = exact.heldout_moments(law, rho, n)
                row = _told(one) | {"prior": _words(prior), "rho": rho, "order": order}
                row |= {"exact_mean": mean, "exact_sd": sd}
                if i < len(found):
                    rng = np.random.default_rng([s["seed"], p, int(1000 * order), i])
                    scores = heldout_draws(one, prior, rho, n, repetitions, rng)
                    spread = float(scores.std(ddof=1))
                    row |= {"mean": float(scores.mean()), "sd": spread, "repetitions": repetitions}
                    row["standard_error"] = spread / math.sqrt(repetitions)
                rows.append(row)
    return rows


def heldout_draws(
    one: Release, prior: tuple[float, float], rho: float, n: int, repetitions: int, rng: np.random.Generator
) -> np.ndarray:
    """Minus log-likelihood (repetitions,) of n held-out trials, with new data and a new draw each time."""
    total = rng.binomial(n, rho, (repetitions, 1)).astype(np.float64)
    held_out = rng.binomial(n, rho, repetitions)
    if one.method == GAUSSIAN:
        total = BETA.project(total + rng.normal(0.0, one.sigma, total.shape), n)
    theta = BETA.sample(rng, posterior(np.array(prior), total, n, one.data_weight, one.prior_weight))[:, 0]
    return n * np.logaddexp(0.0, theta) - held_out * theta


def suprema(s: dict[str, Any]) -> list[dict]:
    """The bounds of three shortcuts, the exact supremum, and the supremum by brute force over all neighbours."""
    rows = []
    for check, stated in (("corollary_2", exact.corollary_2), ("corners_only", exact.corners_only)):
        for case in s["suprema"][check]:
            prior, n = tuple(map(float, case["prior"])), case["n"]
            law = BETA if len(prior) == 2 else DirichletCategorical(len(prior))
            for r in case.get("weights", [1.0]):
                for order in case["orders"]:
                    numbers = [
                        float(f(law, np.array(prior), n, order, r))
                        for f in (stated, guarantee.supremum, exact.brute_force)
                    ]
                    row = dict(zip(("stated", "exact", "brute_force"), numbers, strict=True))
                    row |= {"check": check, "concentrations": _words(law.concentrations(np.array(prior))), "n": n}
                    rows.append(row | {"r": r, "order": order, "ratio": numbers[0] / numbers[1]})
    for tau2 in s["suprema"]["theorem_16"]["tau2"]:
        for order in s["suprema"]["theorem_16"]["orders"]:
            bound, value = renyi_bound(order, 1.0, 1.0 / tau2, 1.0), exact.flip_divergence(order, tau2)
            row = {"check": "theorem_16", "tau2": tau2, "order": order, "stated": bound, "exact": value}
            rows.append(row | {"ratio": bound / value})
    return rows


MAKERS = dict(zip(COLUMNS, (figure1, figure2_kl, figure2_heldout, suprema), strict=True))


def grid(s: dict[str, Any]) -> np.ndarray:
    """Epsilons from ``low`` to ``high``, ``per_decade`` per factor of ten, rounded so that 0.1 is 0.1."""
    count = round(s["per_decade"] * math.log10(s["high"] / s["low"])) + 1
    return np.array([float(f"{v:.12g}") for v in np.geomspace(s["low"], s["high"], count)])


def settings(path: str | Path) -> dict[str, Any]:
    """``extra_settings`` of the config. Raises ConfigError, which names a missing or unknown key."""
    found = load(path).get("extra_settings", {})
    known = {
        *("prior", "n", "weights", "orders", "curve_points", "successes", "figure2_orders", "epsilons", "heldout"),
        *("repetitions", "seed", "suprema"),
    }
    for word, keys in (("missing", known - set(found)), ("unknown", set(found) - known)):
        if keys:
            raise ConfigError(f"{path}: extra_settings: {word} key '{min(keys)}'; it has {', '.join(sorted(known))}")
    return found


def _told(one: Release) -> dict:
    return {"method": one.method, "reading": one.reading, "epsilon": one.epsilon, "r_or_m": one.r_or_m}


def _words(numbers) -> str:
    return " ".join(f"{v:g}" for v in numbers)


def table(columns: tuple[str, ...], rows: list[dict]) -> str:
    """The text of a CSV: numbers with 12 digits, and nothing for NaN or a missing value."""
    return text_of(columns, ({k: v for k, v in row.items() if v == v} for row in rows), 12)


def tables(request: Request) -> dict[str, str]:
    """The tables of ``MAKERS`` and ``rdp_claims.csv``, as text. With ``from_tables``, only the claims."""
    chosen = settings(request.config)
    made: dict[str, str] = {}
    if not request.from_tables:
        made = {name: table(COLUMNS[name], make(chosen)) for name, make in MAKERS.items()}

    def read(name: str) -> pd.DataFrame:
        return pd.read_csv(io.StringIO(made[name]) if made else request.out / name)

    read_back = [read(f"rdp_{word}.csv") for word in ("figure1", "figure2_kl", "suprema")]
    said = claims_table(*read_back, tuple(chosen["prior"]), chosen["n"], chosen["successes"])
    return {**made, "rdp_claims.csv": table(CLAIM_COLUMNS, said)}
