"""One-line patches that break the private methods of this family. See ``privacy.mutants``."""

from __future__ import annotations

from dataclasses import replace

from methods._shared.mutants import DECLARED, NO_CLIPPING, UNPAID_BOX
from privacy.mutants import GENERIC, Mutant

_NOISE_AWARE = "methods.dpvi._noise_aware"
_BOX_DPVI = "methods.dpvi._box"
MUTANTS: dict[str, tuple[Mutant, ...]] = {}


def _noise_aware(home: str) -> tuple[tuple[Mutant, ...], tuple[Mutant, ...]]:
    """Mutants of an adapter whose steps are made in ``home``: for simulated families, and for the two regressions."""
    shared = f"{_NOISE_AWARE}.training"
    # The readings of one run import the training in their base class.
    base = (f"{_NOISE_AWARE}.settings",) if home == shared else ()
    via = base or (home,)
    common = (
        Mutant(
            "no noise",
            r"released = noise\.release\((.*)\)\n",
            r"released = (noise.release(\1), \1)[1]\n",
            module=home,
            what=GENERIC[0].what,
            via=base,
        ),
        Mutant(
            "half noise",
            r"sensitivity=settings\.clip,",
            "sensitivity=settings.clip / 2,",
            module=shared,
            what=GENERIC[1].what,
            via=via,
        ),
        Mutant(
            "no clipping",
            r"(scale, )s\.clip(, s\.sampling_rate, key, t\b)",
            r"\g<1>1e9 * s.clip\2",
            module=home,
            what=NO_CLIPPING,
            via=base,
        ),
        replace(GENERIC[3], module=shared, via=via),
    )
    clip = Mutant(
        "data-dependent clip",
        r"(rows = )(training\.)?prepare_rows\(",
        r's = type(s)(**{**vars(s), "clip": float(np.abs(task.x).max()) + 1.0}); \1\2prepare_rows(',
        module=home,
        what=f"the norm to which rows are clipped, {DECLARED}",
        via=base,
    )
    scaled = Mutant(
        "data-dependent standardisation",
        r"design = likelihood\.design\(task\.x\)",
        "design = likelihood.design((task.x - task.x.mean(axis=0)) / (1e-9 + task.x.std(axis=0)))",
        module=shared,
        what="private moments standardise, unpaid",
        via=via,
    )
    return (*common, clip), (*common, scaled)


for _name in ("dpvi", "dpvi_last_iterate", "dpvi_trace_average", "na_dpvi", "na_dpvi_laplace", "na_dpvi_nuts", "dpvim"):
    MUTANTS[_name], _regression = _noise_aware(f"{_NOISE_AWARE}.{'aligned' if _name == 'dpvim' else 'training'}")
    for _kind in ("linear_regression_unknown_noise", "logistic_regression_normal_prior"):
        MUTANTS[f"{_name}:{_kind}"] = _regression


def _box_dpvi(home: str) -> tuple[Mutant, ...]:
    """Mutants of an adapter whose steps are made in ``home``: ``_box``, or a module that it imports."""
    _, half, clipped, count = _noise_aware(home)[0][:4]
    bare = Mutant(
        "no noise",
        r"(?s)noise\.audited:(.*)noise\.release\((value[^()]*)\)",
        r"True:\1(noise.release(\2), \2)[1]",
        module=home,
        what=f"{GENERIC[0].what}; with or without an audit",
    )
    made = (bare, replace(half, via=(home,)), clipped, replace(count, via=(home,)))
    return (*(replace(m, via=(*m.via, _BOX_DPVI)) for m in made), replace(UNPAID_BOX, via=(_BOX_DPVI,)))


for _name in ("dpvi", "dpvi_last_iterate", "dpvi_trace_average", "na_dpvi", "na_dpvi_laplace", "dpvim"):
    for _kind in ("bounded_linear_regression", "bounded_logistic_regression"):
        MUTANTS[f"{_name}:{_kind}"] = _box_dpvi(f"{_NOISE_AWARE}.aligned" if _name == "dpvim" else _BOX_DPVI)
