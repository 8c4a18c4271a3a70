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

#: name: on the first kind of model that the method names; name:kind: on another.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_vi_vinaroz": (UNCLIPPED,),
    "dp_vi_vinaroz_corrected": (
        Mutant("no clipping", r"s\.clip, scale=unit", "1e9 * s.clip, scale=unit", what=NO_CLIPPING),
        PRIVATE_SCALING,
    ),
    "dp_vi_vinaroz_corrected:bounded_linear_regression": LINEAR_DESCENT,
    "dp_vi_vinaroz_corrected:bounded_logistic_regression": LOGISTIC_DESCENT,
}
#: closes the private standardisation that a method names among its leaks, so that the rest of it can be checked.
CLOSED = {
    "dp_vi_vinaroz": Mutant("scaling closed", SCALING_LEAK, _SCALING_FIXED),
}
