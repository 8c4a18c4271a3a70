"""One-line patches that break the private methods of this family. See ``privacy.mutants``."""

from __future__ import annotations

from dataclasses import replace

from methods._shared.mutants import DECLARED, NO_CLIPPING, UNCHARGED_SCALING
from privacy.mutants import Mutant

_NOISE_AWARE = "methods.dpvi._noise_aware"
_SCALED_DPVI = "methods.dpvi._scaled_rows"
MUTANTS: dict[str, tuple[Mutant, ...]] = {}


def _unclipped(home: str, via: tuple[str, ...]) -> Mutant:
    """The mutant without clipping of an adapter whose steps are in ``home``."""
    return Mutant(
        "no clipping",
        r"(scale, )s\.clip(, s\.sampling_rate, key, t\b)",
        r"\g<1>1e9 * s.clip\2",
        module=home,
        what=NO_CLIPPING,
        via=via,
    )


def _noise_aware(home: str) -> tuple[tuple[Mutant, ...], tuple[Mutant, ...]]:
    """Mutants of an adapter whose steps are in ``home``: for simulated families, and for the two regressions."""
    shared = f"{_NOISE_AWARE}.training"
    # the methods that post-process one run import the training in their base class
    base = (f"{_NOISE_AWARE}.settings",) if home == shared else ()
    unclipped = _unclipped(home, base)
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
        r"rows = \{",
        'task = __import__("dataclasses").replace(task, x=(task.x - task.x.mean(axis=0)) / (1e-9 + task.x.std(axis=0)))'
        "; rows = {",
        module=shared,
        what="private moments standardise, not charged to the budget",
        via=base or (home,),
    )
    return (unclipped, clip), (unclipped, scaled)


for _name in ("dpvi", "dpvi_last_iterate", "dpvi_trace_average", "na_dpvi", "na_dpvi_laplace", "na_dpvi_nuts", "dpvim"):
    MUTANTS[_name], _regression = _noise_aware(f"{_NOISE_AWARE}.{'aligned' if _name == 'dpvim' else 'training'}")
    for _kind in ("linear_regression_unknown_noise", "logistic_regression_normal_prior"):
        MUTANTS[f"{_name}:{_kind}"] = _regression

for _name in ("dpvi", "dpvi_last_iterate", "dpvi_trace_average", "na_dpvi", "na_dpvi_laplace", "dpvim"):
    _home = f"{_NOISE_AWARE}.aligned" if _name == "dpvim" else _SCALED_DPVI
    for _kind in ("bounded_linear_regression", "bounded_logistic_regression"):
        MUTANTS[f"{_name}:{_kind}"] = (
            _unclipped(_home, (_SCALED_DPVI,)),
            replace(UNCHARGED_SCALING, via=(_SCALED_DPVI,)),
        )
