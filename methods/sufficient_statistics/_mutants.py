"""Mutants of sufficient-statistics methods: one-line patches that break them. See ``privacy.mutants``."""

from __future__ import annotations

from methods._shared.mutants import DECLARED, NO_CLIPPING, PRIVATE_SCALING, UNCHARGED_FRAME, UNCHARGED_SCALING
from privacy.mutants import Mutant

# AdaSSP has one implementation for all scalings of the rows.
_ADASSP = Mutant(
    "no clipping",
    r"second_moments\(rows, math\.sqrt\(squared\)",
    "second_moments(rows, 1e9 * math.sqrt(squared)",
    module="methods._shared.adassp",
    what=NO_CLIPPING,
)

#: name: on the first kind of model that the method names; name:kind: on another.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "adassp": (_ADASSP, PRIVATE_SCALING),
    "sufficient_statistics_perturbation": (
        Mutant("no clipping", r"statistic_sum\(task\)\n", "task.x.sum(axis=0)\n", what=NO_CLIPPING),
        Mutant(
            "data-dependent clip",
            r"law, n = task\.model\.law, task\.public\.n",
            "from dataclasses import replace; task = replace(task, model=replace(task.model, "
            "clip=1e-9 + float(np.abs(task.x).max()))); law, n = task.model.law, task.public.n",
            what="the number to which rows are clipped, declared as used, is the largest of the private rows",
        ),
    ),
    "adassp:linear_regression": (_ADASSP, PRIVATE_SCALING),
    "adassp:bounded_linear_regression": (_ADASSP, UNCHARGED_FRAME),
    "sufficient_statistics_perturbation:bounded_linear_regression": (
        Mutant(
            "no clipping",
            r"clipped_site_sum\(task\.x, task\.y, squared\)",
            "clipped_site_sum(task.x, task.y, 1e9 * squared)",
            what=NO_CLIPPING,
        ),
        UNCHARGED_FRAME,
    ),
    "whitened_ssp": (
        _ADASSP,
        UNCHARGED_FRAME,
        Mutant(
            "private whitening",
            r"np\.linalg\.eigh\(moments\.gram / n\)\n\s+values = .*\n",
            "np.linalg.eigh((rows @ transform.T).T @ (rows @ transform.T) / n + 1e-6 * np.eye(p))\n",
            what="rows are whitened by their own moments instead of the released ones",
        ),
    ),
    "boosted_adassp": (
        Mutant(
            "no clipping",
            r"shortened\(with_bias\(task\.x\), task\.y, norm\)",
            "shortened(with_bias(task.x), task.y, 1e9 * norm)",
            what=NO_CLIPPING,
        ),
        Mutant(
            "no clipping of residuals",
            r"np\.clip\((rows\.target - rows\.inputs @ weights), -clip, clip\)",
            r"\1",
            what="residuals are not cut",
        ),
        UNCHARGED_FRAME,
    ),
    "bernstein_sheldon_2019_corrected:bounded_linear_regression": (
        Mutant(
            "no clipping",
            r"u = np\.clip\(",
            "u = 2.0 * np.clip(",
            module="methods.sufficient_statistics._bernstein_sheldon.box",
            what="rows reach twice as far as their bound",
        ),
        UNCHARGED_SCALING,
    ),
}
for _name, _value in (
    ("bernstein_sheldon_2018", r"value"),
    ("bernstein_sheldon_2019_corrected", r"regression\.clipped_moments\(task\.x, task\.y, bounds\)"),
):
    MUTANTS[_name] = (
        Mutant(
            "no clipping",
            rf"z = noise\.release\(({_value})\)",
            r"z = noise.release(\1 + task.x.sum())",
            what="a sum of the rows that nothing bounds is added",
        ),
        Mutant(
            "data-dependent clip",
            r"sensitivity=(\w+),",
            r"sensitivity=max(\1, 1.0 + float(np.abs(task.x).max())),",
            what=f"the sensitivity, {DECLARED}",
        ),
    )
MUTANTS["bernstein_sheldon_2019_corrected"] += (
    Mutant(
        "data-dependent standardisation",
        r"np\.full\(task\.x\.shape\[1\], s\.input_bound\)",
        "np.abs(task.x).max(axis=0)",
        what=f"the bound to which an input is clipped, {DECLARED}",
    ),
)
