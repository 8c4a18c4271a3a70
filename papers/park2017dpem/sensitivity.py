"""DP-EM's declared sensitivities compared with changes between neighbours, and the epsilon of its noise.

    python -m workflow.extra park2017dpem dpem_sensitivity.csv

``dpem_sensitivity.csv`` has the change of every statistic of one M-step between two neighbours, which differ in one
replaced row, given equal earlier outputs. It is divided by the change that the authors' code declares. Above 1, the
noise is too small for the charged epsilon.

``dpem_epsilon.csv`` has the epsilon of the authors' noise at its claimed epsilon, by this suite's accountants, in three
steps:

1. As declared.
2. With the 11 M-steps that run instead of the 10 that are charged.
3. Also with the worst case of the covariance, 4 times the declared sensitivity.

Each step assumes that rows have norm at most 1 independently of the data, and that the counts behind the noise scales
are public. Neither is true, so the ledger of ``dp_em_authors`` has an infinite epsilon.
"""

from __future__ import annotations

import numpy as np

from methods.em import _dp_em as dp_em
from methods.em import _em as em
from models.mixture_of_gaussians import MixtureParameters
from privacy.accountants import epsilon_of
from privacy.ledger import Event, Ledger, Mechanism, Relation
from workflow.extra import Request, text_of

COLUMNS = ("case", "n", "d", "components", "iteration", "statistic", "component", "declared", "measured", "ratio")
EPSILON_COLUMNS = ("release", "composition", "claimed", "delta", "noise_multiplier", "reading", "epsilon", "accountant")
#: sizes of DP-EM's experiment.
COMPONENTS, ITERATIONS, DELTA = 3, 10, 1e-4
EPSILONS = (0.1, 0.5, 1.0, 5.0)
COVARIANCE_FACTOR = 4.0


def worst_cases() -> list[dict]:
    """Changes for one component, n - 1 rows at a point and one at the opposite point (``dp_em.worst_case``), d = 10."""
    rows = []
    for n in (20, 100, 1000, 10_000):
        x, neighbour = dp_em.worst_case(n, 10)
        start = MixtureParameters(np.ones(1), np.zeros((1, 10)), np.eye(10)[None])
        rows += _rows("opposite point", x, neighbour, start, 0)
    return rows


def on_data(x: np.ndarray, seed: int = 0) -> list[dict]:
    """Changes for neighbours of a real table along a run of EM without noise. x (n, d) is in original units.

    The replaced row is one of the largest component's. It is put at the opposite point, at zero, or at the end of an
    axis. "longest row": the row of largest norm is replaced by zeros. The authors' rescaling by the largest norm then
    moves every row.
    """
    norms = np.linalg.norm(x, axis=1)
    scaled = x / norms.max()
    rng = np.random.default_rng(seed)
    current = em.initial(x.shape[1], COMPONENTS, rng, 1.0 / norms.max())
    longest = int(norms.argmax())
    shorter = x.copy()
    shorter[longest] = 0.0
    shorter /= np.linalg.norm(shorter, axis=1).max()
    rows = []
    for iteration in range(1, ITERATIONS + 1):
        if iteration in (1, 2, 5, 10):
            responsibilities, _ = em.e_step(scaled, current.weights, current.means, current.covariances)
            largest = int(responsibilities.sum(axis=0).argmax())
            chosen = int((responsibilities[:, largest] * np.linalg.norm(scaled, axis=1)).argmax())
            for case, value in (
                ("row negated", -scaled[chosen]),
                ("row at zero", np.zeros(x.shape[1])),
                ("row at the end of an axis", np.eye(x.shape[1])[0]),
            ):
                neighbour = scaled.copy()
                neighbour[chosen] = value
                rows += _rows(case, scaled, neighbour, current, iteration)
            rows += _rows("longest row at zero, rescaled", scaled, shorter, current, iteration)
        released = dp_em.released_statistics(scaled, current)
        current = MixtureParameters(released.weights, released.means, released.covariances)
    return rows


def _rows(case: str, x: np.ndarray, neighbour: np.ndarray, parameters: MixtureParameters, iteration: int) -> list[dict]:
    found = dp_em.sensitivity_replay(x, neighbour, parameters)
    facts = {"case": case, "n": len(x), "d": x.shape[1], "components": len(parameters.weights), "iteration": iteration}
    return [facts | r._asdict() for r in found]


def epsilons() -> list[dict]:
    """Epsilon of the authors' noise in the three steps. delta is the authors' total."""
    rows = []
    for release in dp_em.RELEASES:
        for composition in dp_em.COMPOSITIONS:
            for claimed in EPSILONS:
                try:
                    one = dp_em.per_release_epsilon(claimed, DELTA, COMPONENTS, ITERATIONS, release, composition)
                except ValueError:
                    continue  # the authors' code stops there
                for reading, steps, factor in (
                    ("as declared", ITERATIONS, 1.0),
                    ("11 M-steps", ITERATIONS + 1, 1.0),
                    ("11 M-steps, covariance x 4", ITERATIONS + 1, COVARIANCE_FACTOR),
                ):
                    cost = epsilon_of(_ledger(release, one, steps, factor), DELTA)
                    rows.append({"release": release, "composition": composition, "claimed": claimed, "delta": DELTA,
                                 "noise_multiplier": one.noise_multiplier, "reading": reading, "epsilon": cost.epsilon,
                                 "accountant": cost.accountant})  # fmt: skip
    return rows


def _ledger(release: str, one: dp_em.PerRelease, steps: int, factor: float) -> Ledger:
    z, k = one.noise_multiplier, COMPONENTS
    first = steps * (1 + k)
    if release == "LLG":
        pure = Event("weights and means", Mechanism.LAPLACE, Relation.REPLACE_ONE, 1.0, 1 / one.epsilon, steps=first)
    else:
        pure = Event("weights and means", Mechanism.GAUSSIAN, Relation.REPLACE_ONE, 1.0, z, steps=first)
    covariances = Event("covariances", Mechanism.GAUSSIAN, Relation.REPLACE_ONE, factor, z, steps=steps * k)
    return Ledger([pure, covariances])


def tables(request: Request) -> dict[str, str]:
    """``dpem_sensitivity.csv`` and ``dpem_epsilon.csv``, as text."""
    data = request.data()
    rows = worst_cases() + (on_data(data.x) if data.ok else [])
    return {
        "dpem_sensitivity.csv": text_of(COLUMNS, rows, 9),
        "dpem_epsilon.csv": text_of(EPSILON_COLUMNS, epsilons(), 9),
    }
