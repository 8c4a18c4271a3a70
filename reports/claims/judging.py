"""The verdict on a claim, from its comparisons.

The quantifier is that of the source. If its text has none, it means all. The claim holds if enough comparisons are
shown. It does not hold if so many are shown to contradict it that not enough are left. The levels keep the error of the
verdict at 5 %. Anything else is ``undecided``. Claims that one method is not worse than another, close to it, or worse
by an amount that matters have a stated margin (:func:`margin_of`).

:func:`judge` does this for one reading of the source, :func:`decide` makes the verdict from all readings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from scipy.stats import t as student

from evaluation.metrics import IN_NATS, OF_ERROR, OF_SHARE, judged
from evaluation.paired import Difference
from reports.claims.record import (
    AS_PRINTED,
    BEYOND,
    HOLDS,
    IN_CODE,
    INFINITE,
    NO_NOISE,
    PROVED,
    QUANTIFIERS,
    REFUTED,
    REPAIRED,
    UNDECIDED,
    UNTESTED,
    WITHIN,
    Outcome,
)

ALPHA = 0.05


@dataclass(frozen=True)
class Comparison:
    """One comparison of two cells, or one trend.

    ``at(alpha)``: the 1 - alpha interval of a difference that is positive according to the claim.
    ``margin``: how far below 0 it may be, and with ``close`` how far above. A negative margin says how far above 0 it
    must be.
    ``forfeit``: +1 if the other side diverged, -1 if this one did.
    ``paper``: the same difference of the printed means.
    ``margin_words``: the margin in words.
    """

    what: str
    at: Callable[[float], Difference] | None
    forfeit: int = 0
    paper: float | None = None
    margin: float = 0.0
    close: bool = False
    margin_words: str = ""

    def interval(self, alpha: float) -> Difference:
        """The interval of level 1 - alpha. Raises TypeError if one side diverged."""
        if self.at is None:
            raise TypeError(f"{self.what}: one side diverged, and there is no interval")
        return self.at(alpha)

    @property
    def mean_in_favour(self) -> bool:
        if self.forfeit:
            return self.forfeit > 0
        d = self.interval(ALPHA).difference
        return d > -self.margin and not (self.close and d >= self.margin)

    def shown(self, alpha: float) -> bool:
        """Whether the whole interval agrees with the claim."""
        if self.forfeit:
            return self.forfeit > 0
        d = self.interval(alpha)
        return d.low > -self.margin and not (self.close and not d.high < self.margin)

    def against(self, alpha: float) -> bool:
        """Whether the whole interval contradicts the claim."""
        if self.forfeit:
            return self.forfeit < 0
        d = self.interval(alpha)
        return d.high < -self.margin or (self.close and d.low > self.margin)

    def room(self) -> float:
        """The distance to what the claim rules out, in half widths of the interval."""
        if self.forfeit:
            return math.inf * self.forfeit
        d = self.interval(ALPHA)
        room = self.margin - abs(d.difference) if self.close else self.margin + d.difference
        half = (d.high - d.low) / 2
        return room / half if half > 0 else math.copysign(math.inf, room) if math.isfinite(half) else room

    def told(self, alpha: float) -> str:
        if self.forfeit:
            return f"{self.what}: the other diverged" if self.forfeit > 0 else f"{self.what}: diverged"
        d = self.interval(alpha)
        interval = f"[{d.low:.3g}, {d.high:.3g}]" if math.isfinite(d.low) else "(one run: no interval)"
        return f"{self.what}: {d.difference:.3g} {interval}" + (
            f", margin {abs(self.margin):.3g}" if self.margin else ""
        )


@dataclass
class Absent:
    """The numbers of comparisons that could not be made.

    ``single`` counts numbers that the paper has from one run. They have no interval in the paper either, so the claim
    is judged without them. ``other`` counts all others, which count as not shown.
    """

    other: int = 0
    single: int = 0

    def add(self, row: dict[str, Any] | None = None) -> None:
        if row is not None and not row["std"]:
            self.single += 1
        else:
            self.other += 1


def about(difference: float, error: float, n: int) -> Callable[[float], Difference]:
    """A function from level to the t interval of a difference with this standard error.

    It has n - 1 degrees of freedom, where ``n`` is the number of runs of the side with fewer runs.
    """
    return partial(_about, difference, error, n)


def _about(difference: float, error: float, n: int, alpha: float) -> Difference:
    half = float(student.isf(alpha / 2, n - 1)) * error if n > 1 else math.nan
    return Difference(difference, difference - half, difference + half, n)


def judge(made: list[Comparison], absent: Absent, quantifier: str | int | None, unit: str = "comparisons") -> Outcome:
    """The outcome of a claim in one reading, from its comparisons, with their numbers.

    The claim needs u of n comparisons, by its quantifier (an integer is u itself). It holds if u of them are shown at
    level 5 % / (n - u + 1). It does not hold if n - u + 1 of them are shown to contradict it at level 5 % / u. These
    are partial conjunctions (Benjamini and Heller 2008). For "all", the claim holds if each 95 % interval agrees, and
    fails if one interval of level 1 - 5 % / n contradicts it. Only one side of each two-sided interval counts, so the
    verdict is wrong with probability 5 % at most.
    """
    margin = "; ".join(dict.fromkeys(c.margin_words for c in made if c.margin))
    if not made:
        return Outcome(UNTESTED, "no scores for it")
    n = len(made) + absent.other
    need = quantifier if isinstance(quantifier, int) else QUANTIFIERS[quantifier or "all"](n)
    level = ALPHA / (n - need + 1)
    shown = [c for c in made if c.shown(level)]
    against = [c for c in made if c.against(ALPHA / need)]
    state = HOLDS if len(shown) >= need else REFUTED if len(against) >= n - need + 1 else UNDECIDED
    where = "in favour" if not margin else "beyond the margin" if made[0].margin < 0 else "within the margin"
    by_mean = sum(c.mean_in_favour for c in made)
    text = (
        f"{by_mean} of {len(made)} {unit} {where} by mean, {len(shown)} significantly, "
        f"{len(against)} significantly against"
    )
    if against:
        text += f" ({'; '.join(c.what for c in against[:4])}{'; ...' if len(against) > 4 else ''})"
    printed = [c.paper for c in made if c.paper is not None]
    if printed:
        text += f"; the paper's own numbers: {sum(p > 0 for p in printed)} of {len(printed)}"
    if absent.other:
        text += f"; {absent.other} without scores, not shown"
    if absent.single:
        text += f"; {absent.single} without scores, of one run in the paper, not judged"
    ranked = sorted(made, key=Comparison.room)
    named = ranked if len(made) <= 3 else [ranked[0], ranked[-1]]
    text += f"; {100 * (1 - level):.3g} % intervals" + (", least and most favourable" if len(made) > 3 else "")
    text += ": " + "; ".join(c.told(level) for c in named)
    return Outcome(state, text, margin)


def decide(states: Mapping[str, str], privacy: Mapping[str, str], proof: bool = False) -> str:
    """The verdict on a claim, one of ``VERDICTS``. No reading is chosen because the claim holds in it.

    Parameters
    ----------
    states : reading (printed, authors, corrected) -> HOLDS, REFUTED, UNDECIDED or UNTESTED.
    privacy : reading -> WITHIN, ABOVE or INFINITE. A reading that is left out is WITHIN.
    proof : whether the claim is proved, so that its test is a check of the proof.

    The paper's own readings, as printed and by the authors' code, judge the claim together. A reading with infinite
    epsilon is left out, because it is not a private method. The claim holds if it holds in all of them, and does not
    hold if all refute it. If all of them spend more than they claim, it must also hold as corrected, otherwise it only
    holds beyond the claimed epsilon. The corrected reading alone gives the paper no credit, and counts only if it is
    within its claim.
    """
    tested = {r: s for r, s in states.items() if s != UNTESTED}
    paper = [r for r in ("printed", "authors") if r in tested]
    noisy = [r for r in paper if privacy.get(r) != INFINITE]
    good = [r for r in noisy if tested[r] == HOLDS]
    corrected = tested.get("corrected") == HOLDS and privacy.get("corrected", WITHIN) == WITHIN
    if good and good == noisy:
        private = corrected or any(privacy.get(r, WITHIN) == WITHIN for r in noisy)
        return (PROVED if proof else HOLDS) if private else BEYOND
    if good:
        return AS_PRINTED if good == ["printed"] else IN_CODE
    if any(tested[r] == HOLDS for r in paper):
        return NO_NOISE
    if not paper or any(tested[r] == UNDECIDED for r in noisy or paper):
        return UNDECIDED if paper else UNTESTED
    return REPAIRED if corrected else REFUTED


def margin_of(metric: str, reference: float) -> tuple[float, str]:
    """The margin by which a method may be worse and still count as not worse, as a number and in words.

    It is the metric's own margin for nats and shares, and otherwise 10 % of ``reference``, the other method's mean.
    """
    margin = own if (own := judged(metric).margin) in (IN_NATS, OF_SHARE) else OF_ERROR
    return float(margin.of(reference)), margin.words
