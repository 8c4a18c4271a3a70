"""THE rule, version 3: could this number have come from our implementation, and would we have noticed if not?

Pure functions, fixed once and never bent for a cell. The first version's words are kept in the column ``verdict_v1`` of
the committed verdicts, and are no longer computed. Every paper hands its runs to :func:`judge`, which alone assigns
margin, level and word. How p, the chance of what is seen if both are the same code, is bounded for a mean, a single run
or a box plot is a kind of evidence (:mod:`reports.evidence`).

**Words.**

    better, worse,  p <= 1 % / family; ``differs`` of a metric without a direction, such as a posterior mean or a chosen
    differs         threshold. The three are refutations. family: the published cells of a reading that are judged
                    together (290 for the first sources, fixed for good; a later source has its own), so the chance
                    of any false one among them is at most 1 % (``rank``: for any distribution; ``t`` and ``normal``:
                    for normal scores)
    inconclusive    p <= 5 %, or nothing can be said (a single run of ours against a mean)
    reproduced      p > 5 %, and the two are shown to be equivalent: the one-sided 95 % bound of their distance is
                    within :func:`margin`
    compatible      p > 5 %, and they are not: nothing refutes the number and nothing shows it

A cell of ours with splits without a score (diverged, failed, timed out) is at best ``inconclusive``: what survives is a
selection that flatters it. ``worse`` stands, because the others would not have made it better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evaluation.metrics import METRICS, NONE, UNJUDGED, UP, Metric
from reports.evidence import AGREE, Printed, Runs, bound_of_means

ANY_FALSE = 0.01
#: published cells of the first sources (``reports.verdicts.judged_together``), by which ANY_FALSE is divided.
FAMILY = 290

VERDICTS = ("reproduced", "compatible", "inconclusive", "better", "worse", "differs")
#: words of a number that our runs contradict.
REFUTED = ("better", "worse", "differs")
#: verdicts of a cell of ours that has no score: its status, or that it was not run at this scale.
NO_SCORE = ("failed", "timeout", "diverged", "not_supported", "no_data", "not_run")


@dataclass(frozen=True)
class Verdict:
    """One judged cell: its word, and what its evidence found (:class:`reports.evidence.Found`)."""

    verdict: str
    difference: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    p_kind: str = ""
    detectable: float = math.nan
    reason: str = ""


@dataclass(frozen=True)
class Case:
    """A published number beside our runs, and how it is judged.

    ``key``: its six keys (``reports.published.KEY``) and the reading. ``lost``, ``family``: as in :func:`judge`.
    """

    key: tuple[str, ...]
    runs: Runs
    family: int
    lost: int = 0


def margin(metric: str, published) -> np.ndarray:
    """Delta: what counts as the same. Units of the metric; of a norm or divergence nats (``bound_of_means``).

    Raises ValueError for a metric without a margin.
    """
    return _judged(metric).margin.of(published)


def _judged(metric: str) -> Metric:
    found = METRICS.get(metric)
    if found is None or found.margin is UNJUDGED:
        raise ValueError(f"metric '{metric}' has no margin; give it one in METRICS of evaluation/metrics.py")
    return found


def equivalent(mean, std, n: int, paper: Printed, metric: str) -> np.ndarray:
    """Is the difference of two means shown to be within the margin? Vectorised as ``bound_of_means``."""
    return bound_of_means(mean, std, n, paper, metric) <= margin(metric, paper.mean)


def word(p: float, higher: bool, same: bool, metric: str, lost: int = 0, family: int = FAMILY) -> str:
    """One of ``VERDICTS``. ``higher``: is ours above the published number? ``same``: are they equivalent?

    ``p``: NaN where nothing can be said. ``lost``: splits of ours without a score.
    """
    if p <= ANY_FALSE / family:
        direction = METRICS[metric].direction
        found = "differs" if direction is NONE else "better" if higher == (direction is UP) else "worse"
    elif p <= AGREE or math.isnan(p):
        found = "inconclusive"
    else:
        found = "reproduced" if same else "compatible"
    return "inconclusive" if lost and found != "worse" else found


def judge(runs: Runs, lost: int = 0, family: int = FAMILY) -> Verdict:
    """Judge one cell. ``lost``: how many splits of ours have no score.

    Raises ValueError for a metric without a margin and for scores that are none or not finite.
    """
    metric = _judged(runs.metric).name
    values = np.asarray(runs.values, dtype=np.float64)
    if not len(values) or not np.isfinite(values).all():
        raise ValueError(f"{len(values)} scores; a judged cell has at least one, all of them finite")
    found = runs.evidence(runs.published, values, metric, ANY_FALSE / family)
    same = found.bound <= float(margin(metric, runs.published.number))
    said = word(found.p, found.higher, same, metric, lost, family)
    return Verdict(said, found.difference, found.low, found.high, found.p, found.p_kind, found.detectable, found.reason)
