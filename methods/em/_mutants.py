"""One-line patches that break the private methods of this family. See ``privacy.mutants``."""

from __future__ import annotations

from dataclasses import replace

from methods._shared.mutants import DECLARED, NO_CLIPPING
from privacy.mutants import GENERIC, Mutant

#: name: on the first kind of model that the method names; name:kind: on another.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_em_corrected": (
        GENERIC[0],
        GENERIC[1],
        Mutant("no clipping", r"/ scale, 1\.0\)", "/ scale, 1e9)", what=NO_CLIPPING),
        Mutant(
            "wrong count of steps",
            r"steps=s\.iterations,\n",
            "steps=max(1, s.iterations // 3), releases=s.iterations,\n",
            what="a third of the releases is declared",
        ),
        Mutant(
            "data-dependent standardisation",
            r"shift, scale = self\._frame\((.*)\)",
            r"self._frame(\1); shift, scale = task.x.mean(axis=0), 1e-9 + 3.0 * task.x.std(axis=0)",
            what="private moments standardise, unpaid",
        ),
    ),
}
# The moments are released by the method's own class; the ball of a density in the box is that of its class.
_joint = tuple(replace(m, module="methods.em.dp_em_corrected") for m in MUTANTS["dp_em_corrected"])
# of few rows the regression makes one release, which cannot be counted wrongly
MUTANTS["dp_em_corrected:bounded_linear_regression"] = tuple(m for m in _joint if m.name != "wrong count of steps")
MUTANTS["dp_em_corrected:bounded_mixture"] = (
    *_joint[:-1],
    Mutant(
        "data-dependent clip",
        r"return ball\(task\.x\.shape\[1\], s\.radius\)",
        "return ball(task.x.shape[1], float(np.abs(task.x).max()))",
        what=f"the radius of the ball, {DECLARED}",
    ),
)
