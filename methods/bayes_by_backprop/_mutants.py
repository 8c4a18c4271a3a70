"""One-line patches that break the private methods of this family. See ``privacy.mutants``."""

from __future__ import annotations

from methods._shared.mutants import POISSON_BACKPROP, PRIVATE_BACKPROP
from privacy.mutants import GENERIC, Mutant

#: name: on the first kind of model that the method names; name:kind: on another.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_bayes_by_backprop_corrected": POISSON_BACKPROP,
    "dp_bayes_by_backprop": (*PRIVATE_BACKPROP, GENERIC[1], GENERIC[2], GENERIC[4]),
}
