"""One-line patches that break the private methods of this family. See ``privacy.mutants``."""

from __future__ import annotations

from methods._shared.mutants import (
    BARE,
    DECLARED,
    DESCENT,
    NO_CLIPPING,
    POISSON_BACKPROP,
    UNPAID_CENTRE,
    descent_in_the_box,
    logistic,
)
from privacy.mutants import GENERIC, Mutant

#: name: on the first kind of model that the method names; name:kind: on another.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_sgd": POISSON_BACKPROP,
    "dp_sgd:bounded_linear_regression": DESCENT,
    "dp_sgd:bounded_logistic_regression": descent_in_the_box("clipped_gradient_sum"),
    # the bound holds for a row that pulls as hard as it can; the rows of the checks reach a third of it
    "output_perturbation": (
        logistic(
            "no noise",
            r"mechanism\.release\((minimise\([^()]+\))\)",
            BARE,
            "baselines._logistic_minimiser",
            GENERIC[0].what,
        ),
        logistic(
            "half noise",
            "sensitivity=bound,",
            "sensitivity=bound / 20,",
            "baselines._logistic_minimiser",
            "a twentieth of the sensitivity is declared",
        ),
        logistic(
            "no clipping",
            r"sensitivity\(length, ",
            "sensitivity(1e-3 * length, ",
            "baselines._logistic_minimiser",
            "rows are shortened to a thousand times the norm declared",
        ),
        logistic(*UNPAID_CENTRE[:3], "baselines._logistic_minimiser", UNPAID_CENTRE[3]),
    ),
    "dp_single_gaussian": (
        GENERIC[0],
        GENERIC[1],
        Mutant("no clipping", r"moment_sums\(in_ball\((.*)\)\)", r"moment_sums(1e3 * \1)", what=NO_CLIPPING),
        Mutant(
            "data-dependent clip",
            r"radius = settings\.radius \* ",
            "radius = float(np.abs(task.x).max()) * ",
            what=f"the radius of the ball, {DECLARED}",
        ),
    ),
}
