"""The order, colour, marker and line style of each method, which are the same in every figure.

Methods are ordered by family (their folder of ``methods/``), and within a family from no privacy to most privacy. A
family has one hue in a few shades and one line style, and each member has a marker. So even without colour, marker and
line style distinguish methods that fit the same kind of model (``tests/reports/test_palette.py``). Every colour has a
contrast of at least 3 to 1 on white, which is the background of every figure, even on a dark page.

    for method, look in looks(drawn).items():      # in the one order
        ax.plot(x, y, label=title(method), **look.line())

The listed members are those of committed figures, which keep their looks. A new method needs no entry: it comes at the
end of its family, a new family comes after the others, and :func:`_by_rule` derives its look from its name.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from methods import contract

SOLID = "-"
DASHED, DOTTED, DASHDOT, LONG = (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2))
Dashes = str | tuple[int, tuple[float, ...]]


@dataclass(frozen=True)
class Look:
    """The look of a method in every figure."""

    colour: str
    marker: str
    dashes: Dashes

    def dot(self, variant: int = 0) -> dict[str, Any]:
        """Arguments of a marker without a line. ``variant`` 1 is hollow, for another setting of the same method."""
        face = "white" if variant else self.colour
        return {"color": self.colour, "marker": self.marker, "markerfacecolor": face, "linestyle": "none"}

    def line(self, variant: int = 0) -> dict[str, Any]:
        """Arguments of a line with markers."""
        return self.dot(variant) | {"linestyle": self.dashes}


@dataclass(frozen=True)
class Family:
    """The looks of a family.

    ``members`` maps a method to its marker and the number of its shade, in order. ``levels`` has the line styles of
    members that most figures show as a level without markers.
    """

    shades: Sequence[str]
    dashes: Dashes
    members: dict[str, str]
    levels: Mapping[str, Dashes] = field(default_factory=dict)


#: family -> its looks, in order.
FAMILIES = {
    "ep": Family(
        ("#0072b2", "#00407a", "#4a90d9"),
        SOLID,
        {"ep": "o0", "adf": "82", "sep": "s1", "clipped_sep": "D2", "clipped_sep_authors": "d0", "dp_sep": "^0",
         "dp_sep_authors": "<1", "dp_sep_corrected": "v2"},
    ),
    "vi": Family(
        ("#d55e00", "#8a3a00", "#b8770a"),
        DASHED,
        {"vi": "o0", "vi_authors": "81", "dp_vi_vinaroz": "^2", "dp_vi_vinaroz_authors": "<1",
         "dp_vi_vinaroz_corrected": "v0"},
    ),
    "dpvi": Family(
        ("#009e73", "#00543d", "#719000", "#4d7c0f"),
        SOLID,
        {"dpvi": "p0", "dpvi_last_iterate": "X2", "dpvi_trace_average": ">3", "dpvim": "h0", "na_dpvi": "P1",
         "na_dpvi_laplace": "*3", "na_dpvi_nuts": "H2"},
    ),
    "em": Family(
        ("#cc4fa0", "#8e2464", "#a8327d"), DOTTED, {"em": "o2", "dp_em_authors": "<0", "dp_em_corrected": "v1"}
    ),
    "mcmc": Family(
        ("#7b4ab8", "#43247e", "#a879d6"),
        DASHED,
        {"nuts": "D1", "dp_sgld": "p0", "dp_sgnht": "X2", "dp_hmc": "P1", "dp_penalty": "*0"},
    ),
    "posterior_sampling": Family(
        ("#c8102e", "#7a0019", "#e05577"),
        DASHDOT,
        {"posterior_sampling_direct": "*1", "posterior_sampling_glm_direct": "*1", "posterior_sampling_diffused": "^2",
         "posterior_sampling_glm_diffused": "^2", "posterior_sampling_concentrated": "s0",
         "posterior_sampling_glm_concentrated": "s0", "posterior_sampling_ops": "p1", "posterior_sampling_query": "h0",
         "adaops": "P1", "ops_balanced": "<2", "ops_balanced_unshown": ">0"},
    ),
    "sufficient_statistics": Family(
        ("#0e8fa8", "#06525f", "#3f93a6"),
        LONG,
        {"sufficient_statistics_perturbation": "v0", "whitened_ssp": "d2", "adassp": "o1",
         "bernstein_sheldon_2018": "D0", "bernstein_sheldon_2018_authors": "X1",
         "bernstein_sheldon_2019_corrected": "D0", "bernstein_sheldon_2019_authors": "X1", "boosted_adassp": "s0"},
    ),
    "bayes_by_backprop": Family(
        ("#a07c00", "#5c4318"),
        DASHDOT,
        {"bayes_by_backprop": "D1", "dp_bayes_by_backprop": "^0", "dp_bayes_by_backprop_corrected": "v1"},
    ),
    "baselines": Family(
        ("#1a1a1a", "#6e6e6e", "#8a8a8a"),
        DOTTED,
        {"dp_sgd": "s0", "objpert": "H1", "output_perturbation": "d1", "dp_single_gaussian": "h0",
         "classifier_sgd": "*1", "deep_ensemble": "P0", "point_estimate": "X1", "logistic_regression_fit": ">1",
         "single_gaussian": "p1", "exact_posterior": "80", "ridge": "D1", "predict_mean": "^2"},
        {"exact_posterior": SOLID, "ridge": (0, (5, 2)), "predict_mean": DOTTED, "logistic_regression_fit": DASHDOT,
         "single_gaussian": (0, (5, 2)), "point_estimate": DASHDOT},
    ),
}  # fmt: skip
#: names in papers for methods that have another name here.
ALIASES = {
    "ssp": "sufficient_statistics_perturbation",
    "ops_diffused": "posterior_sampling_diffused",
    "ops_concentrated": "posterior_sampling_concentrated",
    "ops_worstcase": "posterior_sampling_ops",
    "trivial": "predict_mean",
    "non_private": "ridge",
    "dp_em": "dp_em_authors",
    "dp_vi": "dp_vi_vinaroz",
}
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "p", "h", "d", "*", "8", "H")
#: looks of methods of a new family, and of methods from outside.
OUTSIDE = Family(("#5f5f00", "#a03c3c", "#3c5fa0"), LONG, {})


def family_of(method: str) -> str:
    """The family of a method: where it is listed, else its folder of ``methods/``, else ""."""
    method = ALIASES.get(method, method)
    listed = next((name for name, f in FAMILIES.items() if method in f.members), "")
    if listed or method not in contract.names():
        return listed
    package, _, rest = type(contract.get(method)).__module__.partition(".")
    folder = rest.partition(".")[0]
    return folder if package == "methods" and folder != "outside" else ""  # else a file or package from elsewhere


@cache
def _listed() -> dict[str, Look]:
    """The look of every listed method, in order."""
    out = {}
    for f in FAMILIES.values():
        for method, (marker, shade) in f.members.items():
            out[method] = Look(f.shades[int(shade)], marker, f.levels.get(method, f.dashes))
    return out


def _by_rule(methods: Iterable[str]) -> dict[str, Look]:
    """The looks of methods that are not listed.

    A checksum of the name picks the shade and a marker among those that no listed member of the family has. If another
    method has that marker already, the next free one is taken. Methods of this suite come first, so that their looks
    are the same in every figure.
    """
    here = [m for m in contract.names() if m not in _listed()]
    names = [*here, *sorted({ALIASES.get(m, m) for m in methods} - {*_listed(), *here})]
    out: dict[str, Look] = {}
    for method in names:
        f, sum_ = FAMILIES.get(family_of(method), OUTSIDE), zlib.crc32(method.encode())
        free = [m for m in MARKERS if m not in {marker for marker, _ in f.members.values()}]
        first = sum_ % len(free)
        styles = (f.dashes, *(d for d in (SOLID, DASHED, DOTTED, DASHDOT, LONG) if d != f.dashes))
        taken = {(look.marker, look.dashes) for look in (*_listed().values(), *out.values())}
        markers = (*free[first:], *free[:first], *MARKERS)
        marker, dashes = next(((m, d) for d in styles for m in markers if (m, d) not in taken), ("o", SOLID))
        out[method] = Look(f.shades[sum_ % len(f.shades)], marker, dashes)
    return out


def _families() -> list[str]:
    """All families in order: the listed ones, new ones by name, and "" for methods without a family."""
    new = {family_of(m) for m in contract.names()} - {*FAMILIES, ""}
    return [*FAMILIES, *sorted(new), ""]


def place(method: str) -> tuple[int, int, str]:
    """The sort key of a method."""
    known = ALIASES.get(method, method)
    family = family_of(known)
    members = list(FAMILIES[family].members) if family in FAMILIES else []
    within = members.index(known) if known in members else len(members)
    return _families().index(family), within, method


def ordered(methods: Iterable[str]) -> list[str]:
    """The methods in order, each once."""
    return sorted(dict.fromkeys(methods), key=place)


def looks(methods: Iterable[str]) -> dict[str, Look]:
    """Method -> its look, in order."""
    names = ordered(methods)
    known = _listed() | _by_rule(names)
    return {m: known[ALIASES.get(m, m)] for m in names}


def look(method: str) -> Look:
    """The look of one method."""
    return looks([method])[method]
