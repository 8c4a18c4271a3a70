"""One-line patches that break the private chains. See ``privacy.mutants``."""

from __future__ import annotations

from dataclasses import replace

from methods._shared.mutants import NO_CLIPPING, PRIVATE_SCALING, UNCHARGED_CENTRE
from privacy.mutants import Mutant

# the file that charges gradients and ratios; another file clips them
_HOME = "methods.mcmc._release"
_UNCLIPPED = Mutant(
    "no clipping", r"scale, rows, clip\)\n", "scale, rows, 1e9 * clip)\n", module=_HOME, what=NO_CLIPPING
)
_UNCLIPPED_RATIOS = Mutant(
    "no clipping",
    r"clipped_ratio_sum\(energy, proposed, bound\)",
    "float((proposed - energy).sum()) / bound",
    module=_HOME,
    what="the ratios of the rows are not clipped",
)
# a broken budget breaks the releases of gradients and ratios alike, so breaking only that of the ratios takes a patch
_BARE_RATIO = Mutant(
    "no noise",
    r"float\(mechanism\.release\(total\)\[0\]\)",
    "float((mechanism.release(total), total)[1][0])",
    module=_HOME,
    what="the ratio's release is drawn and thrown away, the bare value goes on",
)
_HALF_RATIO = Mutant(
    "half noise",
    r"sensitivity=1\.0,",
    "sensitivity=0.5,",
    module=_HOME,
    what="half the sensitivity of a ratio is declared",
)
_CENTRED = replace(UNCHARGED_CENTRE, module=_HOME)

#: "name" is a method on the first of its kinds of model, and "name:kind" is one on another kind.
MUTANTS: dict[str, tuple[Mutant, ...]] = {}
for _name in ("dp_sgld", "dp_sgnht"):
    MUTANTS[_name] = (_UNCLIPPED, _CENTRED)
    MUTANTS[f"{_name}:bounded_logistic_regression"] = MUTANTS[_name]
    MUTANTS[f"{_name}:bnn_regression"] = (_UNCLIPPED, replace(PRIVATE_SCALING, module=_HOME))
for _name in ("dp_penalty", "dp_hmc"):
    MUTANTS[_name] = (_UNCLIPPED, _BARE_RATIO, _UNCLIPPED_RATIOS, _HALF_RATIO, _CENTRED)
    MUTANTS[f"{_name}:bounded_logistic_regression"] = MUTANTS[_name]

#: method -> why more privacy noise keeps its chain near the start, instead of making its results more variable.
STAY = {
    **dict.fromkeys(("dp_sgld", "dp_sgnht"), "its noise is its temperature: the louder, the smaller its steps"),
    **dict.fromkeys(("dp_penalty", "dp_hmc"), "noise in the log acceptance ratio is held, by the smaller proposals"),
}
