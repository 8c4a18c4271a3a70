"""Mutants of the private baselines: one-line patches that break them. See ``privacy.mutants``."""

from __future__ import annotations

from dataclasses import replace

from methods._shared.mutants import (
    DECLARED,
    LINEAR_DESCENT,
    LOGISTIC_DESCENT,
    NO_CLIPPING,
    POISSON_BACKPROP,
    UNCHARGED_CENTRE,
)
from privacy.mutants import Mutant

_MINIMISER = "methods.baselines._logistic_minimiser"
#: name: on the first kind of model that the method names; name:kind: on another.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_sgd": POISSON_BACKPROP,
    "dp_sgd:bounded_linear_regression": LINEAR_DESCENT,
    "dp_sgd:bounded_logistic_regression": LOGISTIC_DESCENT,
    "output_perturbation": (
        # the bound holds for the worst-case row; the rows of the checks reach a third of it
        Mutant(
            "no clipping",
            r"sensitivity\(length, ",
            "sensitivity(1e-3 * length, ",
            module=_MINIMISER,
            what="rows are shortened to a thousand times the norm declared",
        ),
        replace(UNCHARGED_CENTRE, module=_MINIMISER),
    ),
    "dp_single_gaussian": (
        Mutant("no clipping", r"moment_sums\(in_ball\((.*)\)\)", r"moment_sums(1e3 * \1)", what=NO_CLIPPING),
        Mutant(
            "data-dependent clip",
            r"radius = settings\.radius \* ",
            "radius = float(np.abs(task.x).max()) * ",
            what=f"the radius of the ball, {DECLARED}",
        ),
    ),
}
