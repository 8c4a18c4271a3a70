"""One-line patches that break the private methods of this family. See ``privacy.mutants``."""

from __future__ import annotations

from methods._shared.mutants import (
    LINEAR_DESCENT,
    LOGISTIC_DESCENT,
    NO_CLIPPING,
    PRIVATE_SCALING,
    SCALING_LEAK,
    UNCLIPPED,
)
from privacy.mutants import Mutant

_SCALING_FIXED = "Standardiser(np.zeros(task.x.shape[1]), np.ones(task.x.shape[1]), 0.0, 1.0)"

#: "name" is a method on the first of its kinds of model, and "name:kind" is one on another kind.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_vi_vinaroz": (UNCLIPPED,),
    "dp_vi_vinaroz_corrected": (
        Mutant("no clipping", r"s\.clip, scale=unit", "1e9 * s.clip, scale=unit", what=NO_CLIPPING),
        PRIVATE_SCALING,
    ),
    "dp_vi_vinaroz_corrected:bounded_linear_regression": LINEAR_DESCENT,
    "dp_vi_vinaroz_corrected:bounded_logistic_regression": LOGISTIC_DESCENT,
}
#: patches that remove the private standardisation that a method names among its leaks, so that its rest can be checked.
CLOSED = {
    "dp_vi_vinaroz": Mutant("scaling closed", SCALING_LEAK, _SCALING_FIXED),
}
