"""Mutants of the private methods of the EP family: one-line patches that break them. See ``privacy.mutants``."""

from __future__ import annotations

from dataclasses import replace

from methods._shared.mutants import DECLARED, NO_CLIPPING, PRIVATE_SCALING, SCALING_LEAK, UNCHARGED_CENTRE
from privacy.mutants import Mutant

_PBP = "methods.ep._pbp"
_MIXTURE = "methods.ep._mixture.corrected"
_LOGISTIC = "methods.ep._logistic_corrected"
_CLIP = f"the norm to which rows are clipped, {DECLARED}"

#: name: on the first kind of model that the method names; name:kind: on another.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_sep": (
        Mutant(
            "no clipping",
            r"clip=settings\.clip,",
            "clip=1e9 * settings.clip,",
            count=0,
            unless="require",
            what=NO_CLIPPING,
        ),
    ),
    "dp_sep:mixture_of_gaussians": (
        Mutant("no clipping", r"clip=settings\.clip,", "clip=1e9 * settings.clip,", count=0, what=NO_CLIPPING),
        Mutant(
            "data-dependent clip",
            r"n = task\.n\n",
            'n = task.n; settings = type(settings)(**{**vars(settings), "clip": float(np.abs(task.x).max())})\n',
            what=_CLIP,
        ),
    ),
    "dp_sep_corrected:bounded_logistic_regression": (
        Mutant("no clipping", r"weight, clip\)\)", "weight, 1e9 * clip))", module=_LOGISTIC, what=NO_CLIPPING),
        replace(UNCHARGED_CENTRE, module=_LOGISTIC),
    ),
    "dp_sep_corrected:mixture_of_gaussians": (
        Mutant(
            "no clipping",
            r"model\.noise_sd\*\*2, plan\.clip\)",
            "model.noise_sd**2, 1e9 * plan.clip)",
            module=_MIXTURE,
            what=NO_CLIPPING,
        ),
        Mutant(
            "data-dependent clip",
            r"clip=settings\.clip\)",
            "clip=float(np.abs(task.x).max()))",
            module=_MIXTURE,
            what=_CLIP,
        ),
    ),
    "dp_sep_corrected": (
        Mutant("no clipping", r"np\.array\(plan\.caps\)", "1e9 * np.array(plan.caps)", what=NO_CLIPPING),
        PRIVATE_SCALING,
    ),
}
MUTANTS["dp_sep_corrected:bounded_mixture"] = MUTANTS["dp_sep_corrected:mixture_of_gaussians"]
#: removes the leak of private standardisation that a method states, so that the rest of it can be checked.
CLOSED = {
    "dp_sep": Mutant(
        "scaling closed",
        SCALING_LEAK,
        "Standardiser(*[f(task.x.shape[1]) for f in (np.zeros, np.ones)], 0.0, 1.0)",
        module=f"{_PBP}.training",
    ),
}
