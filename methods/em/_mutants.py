"""One-line patches that break the private methods of this family. See ``privacy.mutants``."""

from __future__ import annotations

from dataclasses import replace

from methods._shared.mutants import DECLARED, NO_CLIPPING
from privacy.mutants import Mutant

_UNCLIPPED = Mutant("no clipping", r"/ scale, 1\.0\)", "/ scale, 1e9)", what=NO_CLIPPING)
_SCALED = Mutant(
    "data-dependent standardisation",
    r"shift, scale = self\._frame\((.*)\)",
    r"self._frame(\1); shift, scale = task.x.mean(axis=0), 1e-9 + 3.0 * task.x.std(axis=0)",
    what="private moments standardise, not charged to the budget",
)
# The method's first class releases the moments. The ball of a scaled density is set in the class for that kind of
# model.
_HOME = "methods.em.dp_em_corrected"
#: "name" is a method on the first of its kinds of model, and "name:kind" is one on another kind.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_em_corrected": (_UNCLIPPED, _SCALED),
    "dp_em_corrected:bounded_linear_regression": (replace(_UNCLIPPED, module=_HOME), replace(_SCALED, module=_HOME)),
    "dp_em_corrected:bounded_mixture": (
        replace(_UNCLIPPED, module=_HOME),
        Mutant(
            "data-dependent clip",
            r"return ball\(task\.x\.shape\[1\], s\.radius\)",
            "return ball(task.x.shape[1], float(np.abs(task.x).max()))",
            what=f"the radius of the ball, {DECLARED}",
        ),
    ),
}
