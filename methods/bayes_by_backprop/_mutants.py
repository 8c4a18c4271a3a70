"""Mutants of private Bayes by backprop: one-line patches that break it. See ``privacy.mutants``."""

from __future__ import annotations

from methods._shared.mutants import POISSON_BACKPROP, UNCHARGED_INPUT_SCALE, UNCLIPPED
from privacy.mutants import Mutant

#: name: on the first kind of model that the method names; name:kind: on another.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_bayes_by_backprop_corrected": POISSON_BACKPROP,
    "dp_bayes_by_backprop": (UNCHARGED_INPUT_SCALE, UNCLIPPED),
}
