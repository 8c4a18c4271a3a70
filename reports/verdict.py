"""THE rule of verdicts, version 3: could our implementation have given this number, and would we notice if not?

The functions are pure and the same for every number. Every paper passes its runs to :func:`judge`, which alone assigns
margin, level and word. The words of the first version are in the column ``verdict_v1`` of the committed verdicts. p is
the probability of such a difference if both implementations are the same. The kinds of evidence
(:mod:`reports.evidence`) bound it for a mean, a single run or a box plot.

**Words.**

    better, worse,  p <= 1 % / family. ``differs`` is for metrics without a direction, such as a posterior mean or a
    differs         chosen threshold. These three are refutations. family is the number of published cells of a reading
                    that are judged together. It is fixed at 290 for the first sources. A later source has its own.
                    So the probability of any false refutation among them is at most 1 %. By ``rank`` this holds for
                    any distribution, by ``t`` and ``normal`` for normal scores
    inconclusive    p <= 5 %, or nothing can be said (a single run of ours compared with a mean)
    reproduced      p > 5 %, and the two are shown to be equivalent: the one-sided 95 % bound of their distance is
                    within :func:`margin`
    compatible      p > 5 %, and they are not shown to be equivalent: the number is neither refuted nor reproduced

A cell of ours with splits without a score (diverged, failed, timed out) is at best ``inconclusive``, because the
remaining splits are a selection in its favour. ``worse`` is kept, because the missing splits would not have improved
it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evaluation.metrics import METRICS, NONE, UNJUDGED, UP, Metric
from reports.evidence import AGREE, Found, Printed, Runs, bound_of_means

ANY_FALSE = 0.01
#: number of published cells of the first sources (``reports.verdicts.judged_together``), by which ANY_FALSE is divided.
FAMILY = 290

VERDICTS = ("reproduced", "compatible", "inconclusive", "better", "worse", "differs")
#: verdicts on a number that our runs contradict.
REFUTED = ("better", "worse", "differs")
#: verdicts for a cell of ours without a score: its status, or that it was not run at this scale.
NO_SCORE = ("failed", "timeout", "diverged", "not_supported", "no_data", "not_run")


@dataclass(frozen=True)
class Verdict(Found):
    """One judged cell: the result of its evidence, and its word."""

    verdict: str = ""


@dataclass(frozen=True)
class Case:
    """A published number with our runs, and how it is judged.

    ``key``: its six keys (``reports.published.KEY``) and the reading. ``lost``, ``family``: as in :func:`judge`.
    """

    key: tuple[str, ...]
    runs: Runs
    family: int
    lost: int = 0


def margin(metric: str, published) -> np.ndarray:
    """The margin Delta, below which a difference counts as none.

    It is in units of the metric, or in nats for a norm or divergence (``bound_of_means``). Raises ValueError for a
    metric without a margin.
    """
    return _judged(metric).margin.of(published)


def _judged(metric: str) -> Metric:
    found = METRICS.get(metric)
    if found is None or found.margin is UNJUDGED:
        raise ValueError(f"metric '{metric}' has no margin; give it one in METRICS of evaluation/metrics.py")
    return found


def equivalent(mean, std, n: int, paper: Printed, metric: str) -> np.ndarray:
    """Whether the difference of two means is shown to be within the margin. Vectorised as ``bound_of_means``."""
    return bound_of_means(mean, std, n, paper, metric) <= margin(metric, paper.mean)


def word(p: float, higher: bool, same: bool, metric: str, lost: int = 0, family: int = FAMILY) -> str:
    """One of ``VERDICTS``.

    ``p`` is NaN if nothing can be said. ``higher``: whether ours is above the published number. ``same``: whether they
    are equivalent. ``lost``: number of our splits without a score.
    """
    if p <= ANY_FALSE / family:
        direction = METRICS[metric].direction
        found = "differs" if direction is NONE else "better" if higher == (direction is UP) else "worse"
    elif p <= AGREE or math.isnan(p):
        found = "inconclusive"
    else:
        found = "reproduced" if same else "compatible"
    return "inconclusive" if lost and found != "worse" else found


def refutable(verdict: str, detectable: float) -> str:
    """What a compatible number is worth, in words: the smallest shift that would have been refuted.

    "" for another verdict, and if that shift is not known (NaN). An infinite one means that nothing can be refuted.
    """
    if verdict != "compatible" or math.isnan(detectable):
        return ""
    return "no shift refuted" if math.isinf(detectable) else f"refuted from a shift of {detectable:.2g}"


def judge(runs: Runs, lost: int = 0, family: int = FAMILY) -> Verdict:
    """Judge one cell. ``lost``: number of our splits without a score.

    Raises ValueError for a metric without a margin, and for numbers that are missing or not finite, ours or published.
    """
    metric = _judged(runs.metric).name
    values = np.asarray(runs.values, dtype=np.float64)
    if not len(values) or not np.isfinite(values).all():
        raise ValueError(f"{len(values)} scores; a judged cell has at least one, all of them finite")
    theirs = [runs.published.number, runs.published.unit, *getattr(runs.published, "runs", ())]
    if not np.isfinite(theirs).all():
        raise ValueError(f"published {runs.published}: the number, its unit and its runs must be finite")
    found = runs.evidence(runs.published, values, metric, ANY_FALSE / family)
    same = found.bound <= float(margin(metric, runs.published.number))
    return Verdict(**vars(found), verdict=word(found.p, found.higher, same, metric, lost, family))
