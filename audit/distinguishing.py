"""The distinguishing game, once for each family of private methods: a lower bound on epsilon beside the ledger's.

    python -m audit.distinguishing --out results/extra/distinguishing.csv

``RUNS`` fits on each of two neighbours, the pair of the audit on which the releases move most for their noise; from the
posteriors alone a threshold is found on one half of the fits, and judged on the other
(``privacy.audit.distinguishing_game``). A lower bound above the ledger's epsilon would refute it. The same game is
played against a budget that adds 2/3 of the noise it declares, and ``power`` says how often the bound of ONE Gaussian
release with that fault exceeds the true epsilon: what the game can see at best. Needs no data.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from audit import cases
from datasets.files import write_sealed
from privacy import audit
from privacy.accountants import epsilon_of, gdp_epsilon
from privacy.budget import BudgetSpec
from privacy.faults import FaultySpec, of

_LOGISTIC, _LINEAR = "bounded_logistic_regression", "bounded_linear_regression"
#: family -> adapter and case, the cheapest of the family that is audited
GAMES = {
    "sites of expectation propagation": ("bounded_logistic_regression/dp_sep_corrected", "bounded_logistic_regression"),
    "sufficient statistics, Gaussian noise": (
        "bounded_linear_regression/adassp",
        "bounded_linear_regression",
    ),
    "sufficient statistics, Laplace noise": ("bernstein_sheldon_2018", "conjugate_simulator"),
    "expectation maximisation": ("dp_em_corrected", "mixture_of_gaussians"),
    "gradients, point": (f"{_LOGISTIC}/dp_sgd", _LOGISTIC),
    "gradients, variational": (f"{_LOGISTIC}/dp_vi_vinaroz_corrected", _LOGISTIC),
    "gradients, noise-aware": ("dpvi", "gamma_simulator"),
    "output perturbation": ("output_perturbation", _LOGISTIC),
    "posterior draw": ("posterior_sampling_diffused", "exponential_family"),
}
RUNS = 1000
#: of one lower bound: all games together raise a false alarm with probability .01 at most
CONFIDENCE = 1 - 0.01 / len(GAMES)
#: so much noise that a thousand fits can tell (mu is about 1), and so little that they are not always right
SPEC = BudgetSpec(epsilon=4.0, delta=cases.DELTA, noise_multiplier=1.0)
#: few steps: each is charged, and the posterior shows the last best
SHORT = {"steps": 2, "epochs": 1}
WEAK = "two thirds of the noise"
COLUMNS = ["family", "method", "kind", "case", "pair", "runs", "confidence", "delta", "epsilon", "lower", "lower_gdp"]
COLUMNS += ["weak_lower", "weak_lower_gdp", "power", "power_gdp"]


def settings_of(method):
    settings = cases.tiny_settings(method)
    names = {f.name for f in dataclasses.fields(settings)}
    return dataclasses.replace(settings, **{k: v for k, v in SHORT.items() if k in names})


def pair_of(name: str, case: str):
    """(its name, D, D'): of the audit's pairs that whose releases move most for their noise; of a draw, an outlier."""
    method, task = cases.get(name), cases.tiny_task(case)
    pairs = {n: (d, other) for n, d, other in audit.neighbours(task, method.privacy) if "n = 1" not in n}
    if method.releases_a_draw:
        return "outlier x 1e6", *pairs["outlier x 1e6"]

    def signal(d, other) -> float:
        r = audit.replay(method, d, other, settings_of(method), SPEC, 1)
        return sum(g.moved * (g.measured / e.noise_scale) ** 2 for g, e in zip(r.gaps, r.ledger, strict=True))

    best = max(pairs, key=lambda n: signal(*pairs[n]))
    return best, *pairs[best]


def play(family: str, runs: int = RUNS) -> dict:
    """One row of the table."""
    name, case = GAMES[family]
    method, settings = cases.get(name), settings_of(cases.get(name))
    spec = cases.DRAW_SPEC if method.releases_a_draw else SPEC
    pair, d, other = pair_of(name, case)
    exact = epsilon_of(audit.run(method, d, settings, spec, 0).ledger, cases.DELTA).epsilon

    def bound(budget):
        return audit.distinguishing_game(
            method, d, other, settings, budget, runs, 1, cases.DELTA, confidence=CONFIDENCE
        )

    found = bound(spec)
    row = {"family": family, "method": method.name, "kind": cases.MODELS[case].kind, "case": case, "pair": pair}
    row |= {"runs": runs, "confidence": CONFIDENCE, "delta": cases.DELTA, "epsilon": exact}
    row |= {"lower": found.epsilon, "lower_gdp": found.epsilon_gdp}
    if not method.releases_a_draw:  # it has no noise to weaken
        weak = bound(FaultySpec(spec, of(WEAK)))
        row |= {"weak_lower": weak.epsilon, "weak_lower_gdp": weak.epsilon_gdp}
    power, power_gdp = powers(round(exact, 6), runs)
    return row | {"power": power, "power_gdp": power_gdp}


@cache
def powers(epsilon: float, runs: int, repeats: int = 200) -> tuple[float, float]:
    """How often both lower bounds exceed ``epsilon`` for one Gaussian release of that epsilon with 2/3 of its noise."""
    low, high = 1e-3, 50.0
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gdp_epsilon(middle, cases.DELTA) < epsilon else (low, middle)
    rng = np.random.default_rng(0)
    found = [
        audit.epsilon_lower_bound(
            1.5 * low + rng.standard_normal(runs), rng.standard_normal(runs), cases.DELTA, CONFIDENCE
        )
        for _ in range(repeats)
    ]
    return float(np.mean([f.epsilon > epsilon for f in found])), float(
        np.mean([f.epsilon_gdp > epsilon for f in found])
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Lower bounds on epsilon from posteriors alone.")
    parser.add_argument("--out", required=True, type=Path, help="CSV, one row a family")
    args = parser.parse_args()
    rows = []
    for k, family in enumerate(GAMES, 1):
        rows.append(play(family))
        print(f"distinguishing game {k} of {len(GAMES)}: {family}", file=sys.stderr, flush=True)
    write_sealed(args.out, pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    main()
