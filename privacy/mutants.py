"""One-line patches of real adapters and engines that break privacy, to show that the checks catch them.

A mutant is the source text of a module with one pattern replaced, loaded under another name from a temporary folder.
Nothing that is already imported changes. The unpatched module is loaded the same way, so that a check that passes
there and fails here was failed by the patch alone.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType


@dataclass(frozen=True)
class Mutant:
    """A patch: in ``module`` (None: the adapter itself) the regular expression ``pattern`` -> ``replacement``.

    ``count`` : how many matches are replaced (0: all). ``unless`` : lines that match it are left alone.
    ``via`` : modules between the adapter and ``module`` that must be loaded anew to see the patched one.
    """

    name: str
    pattern: str
    replacement: str
    module: str | None = None
    count: int = 1
    unless: str = r"(?!)"
    what: str = ""
    via: tuple[str, ...] = ()


class DoesNotApply(ValueError):
    """The pattern does not occur in the source."""


#: Patches that fit any adapter which asks a budget for its mechanisms by keyword and calls ``release``.
GENERIC: tuple[Mutant, ...] = (
    Mutant(
        "no noise",
        r"(\w+)\.release\(([^()]+)\)",
        r"(\1.release(\2), \2)[1]",
        count=0,
        what="the release is drawn and thrown away, the bare value goes on",
    ),
    Mutant("half noise", r"sensitivity=([^,\n]+),", r"sensitivity=(\1) / 2,", what="half the sensitivity is declared"),
    Mutant(
        "no clipping",
        r"\b(s|settings)\.clip\b",
        r"(1e9 * \1.clip)",
        count=0,
        unless=r"sensitivity",
        what="the norm to which rows are clipped is a billion times the one declared",
    ),
    Mutant(
        "wrong count of steps",
        r"(?<![\w.])steps=([^,\n]+),",
        r"steps=max(1, (\1) // 3), releases=(\1),",
        what="a third of the releases is declared",
    ),
    Mutant(
        "wrong count of steps",
        r"(?<![\w.])steps=([^,\n]+),(\s*releases=)",
        r"steps=max(1, (\1) // 3),\2",
        what="a third of the releases is declared",
    ),
)


_SCALING_LEAK = r"Standardiser\.from_moments\(task\.x, task\.y\)"
_SCALING_FIXED = "Standardiser(np.zeros(task.x.shape[1]), np.ones(task.x.shape[1]), 0.0, 1.0)"
_PBP = "methods.ep._pbp"
_MIXTURE = "methods.ep._mixture"

#: Adapters that name private standardisation among their leaks: the patch that closes this leak, so that the rest of
#: the adapter can be checked.
CLOSED: dict[str, Mutant] = {
    "dp_vi": Mutant("scaling closed", _SCALING_LEAK, _SCALING_FIXED),
    "dp_sep": Mutant(
        "scaling closed",
        _SCALING_LEAK,
        "Standardiser(*[f(task.x.shape[1]) for f in (np.zeros, np.ones)], 0.0, 1.0)",
        module=f"{_PBP}.training",
    ),
}

_PRIVATE_SCALING = Mutant(
    "data-dependent standardisation",
    r"Standardiser\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)",
    "Standardiser.from_moments(task.x, task.y)",
    what="private moments standardise, unpaid",
)
_NO_CLIPPING = "the norm to which rows are clipped is a billion times the one declared"
_BACKPROP = "methods._shared.bayes_by_backprop.training"
_PRIVATE_BACKPROP = (
    replace(GENERIC[0], module=_BACKPROP),
    Mutant(
        "half noise",
        r"torch\.from_numpy\(noise\.noise\(",
        "0.5 * torch.from_numpy(noise.noise(",
        module=_BACKPROP,
        what="the fast path adds half the noise",
    ),
    Mutant(
        "data-dependent standardisation",
        r"labels, model\.input_scale,",
        "labels, float(np.abs(task.x).max()),",
        module=_BACKPROP,
        what="inputs are divided by the largest number of the private rows, unpaid",
    ),
)
_POISSON_BACKPROP = (*_PRIVATE_BACKPROP, *(replace(GENERIC[k], module=_BACKPROP) for k in (1, 2, 3)))

# One numerics of AdaSSP, whatever scale its rows come in.
_ADASSP = tuple(
    replace(m, module="methods._shared.adassp")
    for m in (
        Mutant(
            "no noise",
            r"mechanism\.release\((second_moments\(.*\))\)",
            r"(mechanism.release(\1), \1)[1]",
            what=GENERIC[0].what,
        ),
        GENERIC[1],
        Mutant(
            "no clipping",
            r"second_moments\(rows, math\.sqrt\(squared\)\)",
            "second_moments(rows, 1e9 * math.sqrt(squared))",
            what=_NO_CLIPPING,
        ),
    )
)

_LOGISTIC = "methods._shared.logistic_gaussian"
#: the release is drawn and thrown away; its argument, which draws a batch, is computed once.
_BARE = r"(lambda value: (mechanism.release(value), value)[1])(\1)"
_UNPAID_CENTRE = (
    "data-dependent standardisation",
    r"centre = centred\.bought\(task, budget\)",
    "centre = centred.Centre(task.x.mean(axis=0), task.x.std(axis=0))",
    "rows are centred by their own moments, unpaid",
)


def _logistic(name: str, pattern: str, replacement: str, module: str, what: str, count: int = 1) -> Mutant:
    return Mutant(name, pattern, replacement, module=f"{_LOGISTIC}.{module}", what=what, count=count)


#: One-line patches of each private adapter, on the first kind of model that it names; the generic ones where they fit.
#: For another kind of model: under "adapter:kind".
MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "dp_vi": GENERIC[:4],
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
            what=_NO_CLIPPING,
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
        Mutant("no clipping", r"clip=settings\.clip,", "clip=1e9 * settings.clip,", count=0, what=_NO_CLIPPING),
        Mutant("wrong count of steps", r"steps=settings\.epochs,", "steps=1,", what="one epoch is declared"),
        Mutant(
            "data-dependent clip",
            r"n = task\.n\n",
            'n = task.n; settings = type(settings)(**{**vars(settings), "clip": float(np.abs(task.x).max())})\n',
            what="the norm to which rows are clipped, declared as used, is the largest number of the private rows",
        ),
    ),
    "dp_sep_honest:bounded_logistic_regression": (
        _logistic("no noise", r"mechanism\.release\((clipped_site_sum\([^()]+\))\)", _BARE, "honest", GENERIC[0].what),
        replace(GENERIC[1], module=f"{_LOGISTIC}.honest"),
        _logistic("no clipping", r"weight, clip\)\)", "weight, 1e9 * clip))", "honest", _NO_CLIPPING),
        _logistic(
            "wrong count of steps",
            r"relation=relation, steps=settings\.steps,",
            "relation=relation, steps=max(1, settings.steps // 3), releases=settings.steps,",
            "honest",
            GENERIC[3].what,
        ),
        _logistic(*_UNPAID_CENTRE[:3], "honest", _UNPAID_CENTRE[3]),
    ),
    **{
        f"{name}:bounded_logistic_regression": (
            _logistic(
                "no noise",
                rf"mechanism\.release\(({total}\(z\[batches\.draw\(step\)\], [^()]+\))\)",
                _BARE,
                "gradients",
                GENERIC[0].what,
            ),
            replace(GENERIC[1], module=f"{_LOGISTIC}.gradients"),
            _logistic("no clipping", r"plan\.clip\)\)", "1e9 * plan.clip))", "gradients", _NO_CLIPPING, 0),
            replace(GENERIC[3], module=f"{_LOGISTIC}.gradients"),
            _logistic(*_UNPAID_CENTRE[:3], "gradients", _UNPAID_CENTRE[3], 0),
        )
        for name, total in (("dp_sgd", "clipped_gradient_sum"), ("dp_vi", "clipped_bound_sum"))
    },
    # the bound holds for a row that pulls as hard as it can; the rows of the checks reach a third of it
    "output_perturbation": (
        _logistic("no noise", r"mechanism\.release\((minimise\([^()]+\))\)", _BARE, "minimiser", GENERIC[0].what),
        _logistic(
            "half noise",
            "sensitivity=bound,",
            "sensitivity=bound / 20,",
            "minimiser",
            "a twentieth of the sensitivity is declared",
        ),
        _logistic(
            "no clipping",
            r"sensitivity\(length, ",
            "sensitivity(1e-3 * length, ",
            "minimiser",
            "rows are shortened to a thousand times the norm declared",
        ),
        _logistic(*_UNPAID_CENTRE[:3], "minimiser", _UNPAID_CENTRE[3]),
    ),
    "dp_sep_honest:mixture_of_gaussians": (
        replace(GENERIC[0], module=f"{_MIXTURE}.honest"),
        replace(GENERIC[1], module=f"{_MIXTURE}.honest"),
        Mutant(
            "no clipping",
            r"model\.noise_sd\*\*2, plan\.clip\)",
            "model.noise_sd**2, 1e9 * plan.clip)",
            module=f"{_MIXTURE}.honest",
            what=_NO_CLIPPING,
        ),
        replace(GENERIC[3], module=f"{_MIXTURE}.honest"),
        Mutant(
            "data-dependent clip",
            r"clip=settings\.clip\)",
            "clip=float(np.abs(task.x).max()))",
            module=f"{_MIXTURE}.honest",
            what="the norm to which rows are clipped, declared as used, is the largest number of the private rows",
        ),
    ),
    "dp_sep_honest": (
        GENERIC[0],
        Mutant(
            "half noise",
            r"sensitivity=sites\.sensitivity\((.*)\),",
            r"sensitivity=sites.sensitivity(\1) / 2,",
            what=GENERIC[1].what,
        ),
        Mutant("no clipping", r"np\.array\(plan\.caps\)", "1e9 * np.array(plan.caps)", what=_NO_CLIPPING),
        GENERIC[3],
        _PRIVATE_SCALING,
    ),
    "dp_vi_honest": (
        GENERIC[0],
        GENERIC[1],
        Mutant("no clipping", r"s\.clip, scale=unit", "1e9 * s.clip, scale=unit", what=_NO_CLIPPING),
        GENERIC[3],
        _PRIVATE_SCALING,
    ),
    "dp_em_joint": (
        GENERIC[0],
        GENERIC[1],
        Mutant("no clipping", r"/ scale, 1\.0\)", "/ scale, 1e9)", what=_NO_CLIPPING),
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
    "dp_linear_regression": (*_ADASSP, _PRIVATE_SCALING),
    "sufficient_statistics_perturbation": (
        GENERIC[0],
        GENERIC[1],
        Mutant("no clipping", r"statistic_sum\(task\)\n", "task.x.sum(axis=0)\n", what=_NO_CLIPPING),
        Mutant(
            "data-dependent clip",
            r"law, n = task\.model\.law, task\.public\.n",
            "from dataclasses import replace; task = replace(task, model=replace(task.model, "
            "clip=1e-9 + float(np.abs(task.x).max()))); law, n = task.model.law, task.public.n",
            what="the number to which rows are clipped, declared as used, is the largest of the private rows",
        ),
    ),
    "dp_bayes_by_backprop": _POISSON_BACKPROP,
    "dp_bayes_by_backprop_note": (*_PRIVATE_BACKPROP, GENERIC[1], GENERIC[2], GENERIC[4]),
    "dp_sgd": _POISSON_BACKPROP,
}
MUTANTS["dp_linear_regression:linear_regression"] = MUTANTS["dp_linear_regression"]

_NOISE_AWARE = "methods.dpvi._noise_aware"
_DECLARED = "declared as used, is the largest number of the private rows"


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
            what=_NO_CLIPPING,
            via=base,
        ),
        replace(GENERIC[3], module=shared, via=via),
    )
    clip = Mutant(
        "data-dependent clip",
        r"(rows = )(training\.)?prepare_rows\(",
        r's = type(s)(**{**vars(s), "clip": float(np.abs(task.x).max()) + 1.0}); \1\2prepare_rows(',
        module=home,
        what=f"the norm to which rows are clipped, {_DECLARED}",
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

for _name, _value in (
    ("bernstein_sheldon_2018", r"value"),
    ("bernstein_sheldon_2019", r"regression\.clipped_moments\(task\.x, task\.y, bounds\)"),
):
    MUTANTS[_name] = (
        Mutant(
            "no noise",
            rf"z = noise\.release\(({_value})\)",
            r"z = (noise.release(\1), \1)[1]",
            what=GENERIC[0].what,
        ),
        Mutant(
            "half noise",
            rf"z = noise\.release\(({_value})\)",
            r"z = 0.5 * (\1 + noise.release(\1))",
            what="half of the noise that is declared reaches the sampler",
        ),
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
            what=f"the sensitivity, {_DECLARED}",
        ),
    )
MUTANTS["bernstein_sheldon_2019"] += (
    Mutant(
        "data-dependent standardisation",
        r"np\.full\(task\.x\.shape\[1\], s\.input_bound\)",
        "np.abs(task.x).max(axis=0)",
        what=f"the bound to which an input is clipped, {_DECLARED}",
    ),
)

# Mixtures in the box: the steps are made in the method's own file or its engine, the ball in the kind's file.
MUTANTS["dp_sep_honest:bounded_mixture"] = tuple(
    replace(m, via=("methods.ep.dp_sep_honest",)) for m in MUTANTS["dp_sep_honest:mixture_of_gaussians"]
)
_joint = tuple(replace(m, module="methods.em.dp_em_joint") for m in MUTANTS["dp_em_joint"])
# of few rows the regression makes one release, which cannot be counted wrongly
MUTANTS["dp_em_joint:bounded_linear_regression"] = tuple(m for m in _joint if m.name != "wrong count of steps")
MUTANTS["dp_em_joint:bounded_mixture"] = (
    *_joint[:-1],
    Mutant(
        "data-dependent clip",
        r"return ball\(task\.x\.shape\[1\], s\.radius\)",
        "return ball(task.x.shape[1], float(np.abs(task.x).max()))",
        what=f"the radius of the ball, {_DECLARED}",
    ),
)
MUTANTS["dp_single_gaussian"] = (
    GENERIC[0],
    GENERIC[1],
    Mutant("no clipping", r"moment_sums\(in_ball\((.*)\)\)", r"moment_sums(1e3 * \1)", what=_NO_CLIPPING),
    Mutant(
        "data-dependent clip",
        r"radius = settings\.radius \* ",
        "radius = float(np.abs(task.x).max()) * ",
        what=f"the radius of the ball, {_DECLARED}",
    ),
)

# Linear regression in the box: releases and descents share an engine, and the box is made there.
_LINEAR = "methods._shared.conjugate_linear"
_UNPAID_FRAME = Mutant(
    "data-dependent standardisation",
    r"make_frame\(task, budget, self\.share\)",
    "make_frame(__import__('dataclasses').replace(task, public=PublicKnowledge(task.public.n)), None, self.share)",
    module=f"{_LINEAR}.release",
    what="the box is made from private moments, unpaid",
)
_SITES = (
    Mutant(
        "no noise",
        r"released = mechanism\.release\((.*)\)\n",
        r"released = (mechanism.release(\1), \1)[1]\n",
        what=GENERIC[0].what,
    ),
    GENERIC[1],
    Mutant(
        "no clipping",
        r"clipped_site_sum\(task\.x, task\.y, squared\)",
        "clipped_site_sum(task.x, task.y, 1e9 * squared)",
        what=_NO_CLIPPING,
    ),
    _UNPAID_FRAME,
)
_DESCENT = (
    Mutant(
        "no noise",
        r"noise\.release\((total\[released\])\)",
        r"(noise.release(\1), \1)[1]",
        module=f"{_LINEAR}.descent",
        what=GENERIC[0].what,
    ),
    replace(GENERIC[1], module=f"{_LINEAR}.descent"),
    Mutant(
        "no clipping",
        r"plan\.clips, MOST, middle",
        "1e9 * plan.clips, MOST, middle",
        module=f"{_LINEAR}.descent",
        what=_NO_CLIPPING,
    ),
    Mutant(
        "wrong count of steps",
        r"steps=s\.steps, proof=_PROOF,\n",
        "steps=max(1, s.steps // 3), releases=s.steps, proof=_PROOF,\n",
        module=f"{_LINEAR}.descent",
        what=GENERIC[3].what,
    ),
    replace(_UNPAID_FRAME, via=(f"{_LINEAR}.descent",)),
)
MUTANTS["dp_sep_honest:bounded_linear_regression"] = _SITES
MUTANTS["dp_linear_regression:bounded_linear_regression"] = (*_ADASSP, _UNPAID_FRAME)
MUTANTS |= {f"{name}:bounded_linear_regression": _DESCENT for name in ("dp_vi", "dp_sgd")}

# DPVI and Bernstein & Sheldon in the box, which ``InFrame`` makes
_BOX_DPVI = "methods.dpvi._box"
_UNPAID_BOX = Mutant(
    "data-dependent standardisation",
    r"make_frame\(task, None if self\.privacy is None else budget, self\.share\)",
    "(lambda new: make_frame(new(task, public=new(task.public, x_bounds=(), y_bounds=None)), None, self.share))"
    "(__import__('dataclasses').replace)",
    module="methods._shared.frames",
    what="the box is made from private moments, unpaid",
)


def _box_dpvi(home: str) -> tuple[Mutant, ...]:
    """Mutants of an adapter whose steps are made in ``home``: ``box_dpvi``, or an engine that it imports."""
    _, half, clipped, count = _noise_aware(home)[0][:4]
    bare = Mutant(
        "no noise",
        r"(?s)noise\.audited:(.*)noise\.release\((value[^()]*)\)",
        r"True:\1(noise.release(\2), \2)[1]",
        module=home,
        what=f"{GENERIC[0].what}; with or without an audit",
    )
    made = (bare, replace(half, via=(home,)), clipped, replace(count, via=(home,)))
    return (*(replace(m, via=(*m.via, _BOX_DPVI)) for m in made), replace(_UNPAID_BOX, via=(_BOX_DPVI,)))


for _name in ("dpvi", "dpvi_last_iterate", "dpvi_trace_average", "na_dpvi", "na_dpvi_laplace", "dpvim"):
    for _kind in ("bounded_linear_regression", "bounded_logistic_regression"):
        MUTANTS[f"{_name}:{_kind}"] = _box_dpvi(f"{_NOISE_AWARE}.aligned" if _name == "dpvim" else _BOX_DPVI)
MUTANTS["bernstein_sheldon_2019:bounded_linear_regression"] = (
    Mutant(
        "no noise",
        r"noise\.release\((np\.array\(\[v\]\))\)\[0\]",
        r"(noise.release(\1), \1)[1][0]",
        what=GENERIC[0].what,
    ),
    GENERIC[1],
    Mutant(
        "no clipping",
        r"u = np\.clip\(",
        "u = 2.0 * np.clip(",
        module="methods.sufficient_statistics._bernstein_sheldon.box",
        what="rows reach twice as far as the box",
    ),
    _UNPAID_BOX,
)


def patched(source: str, mutant: Mutant) -> str:
    """The source with the patch. Raises :class:`DoesNotApply`."""
    left, out = (mutant.count or len(source)), source
    pieces, position = [], 0
    for match in re.finditer(mutant.pattern, source):
        start = source.rfind("\n", 0, match.start()) + 1
        end = source.find("\n", match.end())
        if left == 0 or re.search(mutant.unless, source[start : end if end >= 0 else None]):
            continue
        pieces += [source[position : match.start()], match.expand(mutant.replacement)]
        position, left = match.end(), left - 1
    if not pieces:
        raise DoesNotApply(f"mutant '{mutant.name}': /{mutant.pattern}/ does not occur")
    out = "".join(pieces) + source[position:]
    compile(out, mutant.name, "exec")
    return out


@contextmanager
def loaded(adapter: str, mutant: Mutant | Sequence[Mutant] | None, alias: str = "mutant") -> Iterator[ModuleType]:
    """The module ``adapter`` (dotted name) with the patches applied, under another name, for the time of the block.

    Where a patch is for another module, that one is loaded under an alias too and the adapter's text refers to it.
    None loads the unpatched source the same way.
    """
    mutants = [] if mutant is None else [mutant] if isinstance(mutant, Mutant) else list(mutant)
    sources: dict[str, str] = {adapter: _source(adapter)}
    for m in mutants:
        home = m.module or adapter
        for between in (home, *m.via):
            sources.setdefault(between, _source(between))
        sources[home] = patched(sources[home], m)
    names = {module: f"{alias}_{abs(hash((module, sources[module]))):x}" for module in sources}
    before = set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        try:
            for module, text in sources.items():
                for other, new in names.items():
                    text = _redirect(text, other, new)
                path = Path(folder) / f"{names[module]}.py"
                path.write_text(text, encoding="utf-8")
            sys.path.insert(0, folder)
            yield _load(names[adapter], Path(folder) / f"{names[adapter]}.py")
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if name.startswith(f"{alias}_"):
                    del sys.modules[name]


def method_of(module: ModuleType):
    """The one adapter object of a loaded module."""
    classes = [
        c
        for c in vars(module).values()
        if isinstance(c, type) and c.__module__ == module.__name__ and "name" in vars(c)
    ]
    if len(classes) != 1:
        raise TypeError(f"{module.__name__} holds {len(classes)} adapters; one is needed")
    return classes[0]()


def kills(
    adapter: str, mutant: Mutant | Sequence[Mutant] | None, check: Callable[[object], Mapping[str, str]]
) -> dict[str, str]:
    """Checks that the mutant fails: name -> what was found. Empty: the mutant survives.

    ``check`` takes the adapter object and returns, for each check, "" or what was found (``privacy.audit.checks``).
    """
    with loaded(adapter, mutant) as module:
        return {name: text for name, text in check(method_of(module)).items() if text}


def _source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.origin:
        raise ModuleNotFoundError(f"no source file for module '{module}'")
    return Path(spec.origin).read_text(encoding="utf-8")


def _redirect(text: str, old: str, new: str) -> str:
    """Let imports of module ``old`` load ``new``: ``import a.b``, ``from a.b import``, ``from a import b``."""
    package, _, leaf = old.rpartition(".")
    text = re.sub(rf"\bfrom {re.escape(old)} import\b", f"from {new} import", text)
    text = re.sub(rf"\bimport {re.escape(old)} as\b", f"import {new} as", text)
    if not package:
        return text

    def one_line(match: re.Match) -> str:
        names = [n.strip() for n in match[2].split(",")]
        mine = [n for n in names if n.split(" as ")[0] == leaf]
        rest = [n for n in names if n not in mine]
        lines = [f"from {package} import {', '.join(rest)}"] if rest else []
        lines += [f"import {new} as {n.split(' as ')[-1]}" for n in mine]
        return "\n".join(match[1] + line for line in lines)

    return re.sub(rf"^([ \t]*)from {re.escape(package)} import ([\w ,]+)$", one_line, text, flags=re.M)


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
