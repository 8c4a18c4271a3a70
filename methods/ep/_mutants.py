"""One-line patches that break the private methods of this family. See ``privacy.mutants``."""

from __future__ import annotations

from dataclasses import replace

from methods._shared.mutants import (
    BARE,
    NO_CLIPPING,
    PRIVATE_SCALING,
    SCALING_LEAK,
    UNPAID_CENTRE,
    logistic,
)
from privacy.mutants import GENERIC, Mutant

_PBP = "methods.ep._pbp"
_MIXTURE = "methods.ep._mixture"

#: name: on the first kind of model that the method names; name:kind: on another.
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_sep": (
        Mutant(
            "no noise",
            r"(mechanism\.release\((vector[^()]*)\))",
            r"(\1, \2)[1]",
            module=f"{_PBP}.natural_training",
            count=0,
            what=GENERIC[0].what,
        ),
        Mutant(
            "half noise",
            r"mechanism\.noise\(len\(chosen\), size\)",
            "0.5 * mechanism.noise(len(chosen), size)",
            module=f"{_PBP}.natural_training",
            what="the fast path adds half the noise",
        ),
        Mutant(
            "no clipping",
            r"clip=settings\.clip,",
            "clip=1e9 * settings.clip,",
            count=0,
            unless="require",
            what=NO_CLIPPING,
        ),
        Mutant("wrong count of steps", r"steps=settings\.epochs,", "steps=1,", what="one epoch is declared"),
    ),
    "dp_sep:mixture_of_gaussians": (
        replace(GENERIC[0], module=f"{_MIXTURE}.training"),
        Mutant(
            "half noise",
            r"m\.noise\(len\(chosen\), size\)",
            "0.5 * m.noise(len(chosen), size)",
            module=f"{_MIXTURE}.training",
            what="the fast path adds half the noise",
        ),
        Mutant("no clipping", r"clip=settings\.clip,", "clip=1e9 * settings.clip,", count=0, what=NO_CLIPPING),
        Mutant("wrong count of steps", r"steps=settings\.epochs,", "steps=1,", what="one epoch is declared"),
        Mutant(
            "data-dependent clip",
            r"n = task\.n\n",
            'n = task.n; settings = type(settings)(**{**vars(settings), "clip": float(np.abs(task.x).max())})\n',
            what="the norm to which rows are clipped, declared as used, is the largest number of the private rows",
        ),
    ),
    "dp_sep_corrected:bounded_logistic_regression": (
        logistic(
            "no noise",
            r"mechanism\.release\((clipped_site_sum\([^()]+\))\)",
            BARE,
            "ep._logistic_corrected",
            GENERIC[0].what,
        ),
        replace(GENERIC[1], module="methods.ep._logistic_corrected"),
        logistic("no clipping", r"weight, clip\)\)", "weight, 1e9 * clip))", "ep._logistic_corrected", NO_CLIPPING),
        logistic(
            "wrong count of steps",
            r"relation=relation, steps=settings\.steps,",
            "relation=relation, steps=max(1, settings.steps // 3), releases=settings.steps,",
            "ep._logistic_corrected",
            GENERIC[3].what,
        ),
        logistic(*UNPAID_CENTRE[:3], "ep._logistic_corrected", UNPAID_CENTRE[3]),
    ),
    "dp_sep_corrected:mixture_of_gaussians": (
        replace(GENERIC[0], module=f"{_MIXTURE}.corrected"),
        replace(GENERIC[1], module=f"{_MIXTURE}.corrected"),
        Mutant(
            "no clipping",
            r"model\.noise_sd\*\*2, plan\.clip\)",
            "model.noise_sd**2, 1e9 * plan.clip)",
            module=f"{_MIXTURE}.corrected",
            what=NO_CLIPPING,
        ),
        replace(GENERIC[3], module=f"{_MIXTURE}.corrected"),
        Mutant(
            "data-dependent clip",
            r"clip=settings\.clip\)",
            "clip=float(np.abs(task.x).max()))",
            module=f"{_MIXTURE}.corrected",
            what="the norm to which rows are clipped, declared as used, is the largest number of the private rows",
        ),
    ),
    "dp_sep_corrected": (
        GENERIC[0],
        Mutant(
            "half noise",
            r"sensitivity=sites\.sensitivity\((.*)\),",
            r"sensitivity=sites.sensitivity(\1) / 2,",
            what=GENERIC[1].what,
        ),
        Mutant("no clipping", r"np\.array\(plan\.caps\)", "1e9 * np.array(plan.caps)", what=NO_CLIPPING),
        GENERIC[3],
        PRIVATE_SCALING,
    ),
}
MUTANTS["dp_sep_corrected:bounded_mixture"] = MUTANTS["dp_sep_corrected:mixture_of_gaussians"]
#: closes the private standardisation that a method names among its leaks, so that the rest of it can be checked.
CLOSED = {
    "dp_sep": Mutant(
        "scaling closed",
        SCALING_LEAK,
        "Standardiser(*[f(task.x.shape[1]) for f in (np.zeros, np.ones)], 0.0, 1.0)",
        module=f"{_PBP}.training",
    ),
}
