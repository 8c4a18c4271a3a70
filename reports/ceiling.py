"""The ceiling: the verdicts that a perfect copy of our implementation would earn in place of the published runs.

    python -m reports.ceiling [KEY ...]

writes ``papers/KEY/reference/ceiling.csv.gz`` of these papers (default: of all with published numbers), from committed
scores. Published runs are noisy, so even a perfect copy is not ``reproduced`` for every number. Counts of verdicts have
to be compared with this ceiling.

For each published number of N runs, N runs take the place of the published ones and are rounded as the source prints
them. The rule of :mod:`reports.verdict` then judges them by others of ours. This is repeated 400 times, from a stream
that the number's name seeds. The column ``way`` says how both are drawn from our n runs:

    both sides            N > 1 and n >= 5: theirs (N) and ours (n) are two sets drawn with replacement from our n runs
    one run each          N = 1 and n >= 5: each of our runs takes the place of the published one, the other n - 1 judge
    random split          single runs of a sampler, each of which is published (``evidence.chances``): the N + n runs of
                          both are put together, and split at random into theirs and ours
    streams               randomness that is known up to a few streams: the copy takes one of them per part
    normal                a number of a whole batch of data sets, where both are drawn from the normal distribution of
                          its evidence; or chains compared with exact values, whose errors are normal
    no noise              the authors' code has no noise, so a copy gives the number itself
    none                  fewer than five of our runs, or a kind of evidence that this module does not draw

Both sides have to be drawn. If theirs were drawn from the very runs that judge them, the two would vary together. For
n = N the Mann-Whitney count would then have half the variance that it has between independent sets, and a test of 5 %
would have p <= 5 % with probability 2 Phi(-1.96 sqrt 2), .6 %. If theirs were drawn without replacement and the n - N
other runs judged, these would be fewer than the n of the verdict. "Reproduced" would be too rare, unless N = 1.

**The bias that remains.** Both sides are drawn from n runs, and not from the distribution of these. The variance of a
run that is drawn from them is (n - 1) / n of the distribution's, on average, so deviations from their mean are first
multiplied by sqrt(n / (n - 1)). The spread is known only from n runs, and a share is not linear in it. So shares near
0 come out too large. A run in both sets is a tie. :mod:`reports.ceiling_bias` measures the bias.

A random split has no such bias. If theirs are a copy, all N + n runs are exchangeable, and each split is as probable as
the one that was published. It is used only if ranks alone decide: without ties, their distribution is the same for all
runs, so it does not matter if theirs are no copy. For a mean it would matter.

A number with ``none`` has no ceiling and is counted as such. If the source prints a spread, it is the standard
deviation of the N drawn runs, with N - 1. Runs of ours without a score count as in the verdict itself. ``corrected``
methods are other algorithms, and have no ceiling.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.metrics import METRICS
from reports import evidence, published, verdicts
from reports.evidence import Box, Kind, Printed, Runs
from reports.published import KEY
from reports.verdict import REFUTED, Case, margin, word
from workflow import committed, papers
from workflow.experiments import load as load_config
from workflow.program import stream, write

NAME = "ceiling.csv.gz"
DRAWS = 400
#: fewest runs of ours that have a ceiling.
FEWEST = 5
SHARES = ("reproduced", "compatible", "inconclusive", "refuted")
COLUMNS = [*KEY, "reading", "runs", "n_published", "way", "draws", *SHARES]
BOTH, EACH, SPLIT, STREAMS = "both sides", "one run each", "random split", "streams"
NORMAL, NO_NOISE, NONE = "normal", "no noise", "none"


@dataclass(frozen=True)
class Drawn:
    """The evidence of several draws: p, whether ours is above, and the bound, (draws,) each."""

    p: np.ndarray
    higher: np.ndarray
    bound: np.ndarray


def kind_of(runs: Runs) -> tuple[Kind, dict]:
    """The function of :mod:`reports.evidence` and its options."""
    kind = runs.evidence
    return (kind.func, dict(kind.keywords)) if isinstance(kind, partial) else (kind, {})


def way_of(runs: Runs) -> str:
    """The way in which a perfect copy of these runs is drawn."""
    kind, _ = kind_of(runs)
    if kind is evidence.exact:
        return NO_NOISE
    if kind in (evidence.batch, evidence.run_by_run):
        return NORMAL
    if kind is evidence.streams:
        return NONE if METRICS[runs.metric].margin.logarithmic else STREAMS
    if kind is evidence.chances:
        return SPLIT
    if len(runs.values) < FEWEST or kind not in JUDGES:
        return NONE
    return EACH if runs.published.n == 1 else BOTH


def draw(runs: Runs, way: str, rng: np.random.Generator, draws: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw theirs (draws, N) and ours (draws, n, or n - 1 for one run each) for one number, by default DRAWS times."""
    values, count, draws = np.asarray(runs.values, dtype=np.float64), int(runs.published.n), draws or DRAWS
    if way == BOTH:
        n, wide = len(values), widened(values, runs.metric)
        return wide[rng.integers(n, size=(draws, count))], wide[rng.integers(n, size=(draws, n))]
    if way == SPLIT:
        values = np.concatenate([runs.published.runs, values])
    n = len(values)
    if way == EACH and n <= draws:
        order = np.stack([np.r_[i, np.delete(np.arange(n), i)] for i in range(n)])
    else:
        order = rng.permuted(np.tile(np.arange(n), (draws, 1)), axis=1)
    shuffled = values[order]
    return shuffled[:, :count], shuffled[:, count:]


def widened(values: np.ndarray, metric: str) -> np.ndarray:
    """``values`` (n,) with the variance (divided by n) that runs of their distribution have. None crosses 0.

    Values of a metric that is never negative stay so.
    """
    n, mean = len(values), values.mean()
    wide = mean + (values - mean) * np.sqrt(n / (n - 1))
    return np.maximum(wide, 0.0) if METRICS[metric].scale == "positive" else wide


def as_printed(theirs: np.ndarray, like: Printed) -> Printed:
    """The runs (draws, N) as the source would print them, with the digits, spread and count of ``like``; arrays."""
    mean = np.round(theirs.mean(axis=1) / like.unit) * like.unit
    spread = np.full(len(theirs), np.nan)
    if not np.isnan(like.spread):
        unit = like.spread_unit
        spread = np.round(theirs.std(axis=1, ddof=1) / unit) * unit + unit
    return replace(like, mean=mean, spread=spread, runs=())


def _bound(ours: np.ndarray, paper: Printed, metric: str) -> np.ndarray:
    return evidence.bound_of_means(ours.mean(axis=1), ours.std(axis=1, ddof=1), ours.shape[1], paper, metric)


def _means(theirs: np.ndarray, ours: np.ndarray, like: Printed, metric: str) -> tuple[Drawn, np.ndarray]:
    paper = as_printed(theirs, like)
    mean, std, n = ours.mean(axis=1), ours.std(axis=1, ddof=1), ours.shape[1]
    tame = evidence.tame(ours, paper, metric)
    one_sided = np.stack(evidence.p_rank(ours, paper, metric))
    if like.n > 1 and np.isnan(like.spread):
        for i in np.flatnonzero(~tame):
            one = replace(paper, mean=float(paper.mean[i]), spread=np.nan)
            by_means = evidence.p_resampled(evidence.resampled_means(ours[i], like.n), n, one)
            if min(by_means) <= one_sided[:, i].min():
                one_sided[:, i] = by_means
    p = np.where(tame, evidence.p_t(mean, std, n, paper), np.minimum(1.0, 2 * one_sided.min(axis=0)))
    higher = np.where(tame, mean > paper.mean, one_sided[0] < one_sided[1])
    return Drawn(p, higher, _bound(ours, paper, metric)), paper.mean


def _single(
    theirs: np.ndarray, ours: np.ndarray, like: Printed, metric: str, heavy: bool = False
) -> tuple[Drawn, np.ndarray]:
    paper = as_printed(theirs, like)
    p, _, higher = evidence.p_single(ours, paper.mean, paper.unit, heavy)
    return Drawn(p, higher, _bound(ours, paper, metric)), paper.mean


def _all_runs(theirs: np.ndarray, ours: np.ndarray, like: Printed, metric: str) -> tuple[Drawn, np.ndarray]:
    paper = as_printed(theirs, like)
    p, z = np.array([evidence.rank_test(o, t) for o, t in zip(ours, theirs, strict=True)]).T
    return Drawn(p, z < 0, _bound(ours, paper, metric)), paper.mean


def _box(
    theirs: np.ndarray, ours: np.ndarray, like: Box, metric: str, calibration: Sequence[tuple[float, float]] = ()
) -> tuple[Drawn, np.ndarray]:
    paper = evidence.box_plot(theirs, like.unit)
    above, below = evidence.p_box(ours, paper)
    p = [evidence.calibrated(b, calibration) for b in np.minimum(1.0, 2 * np.minimum(above, below))]
    return Drawn(np.array(p), above < below, evidence.medians(ours, paper)[2][:, 0]), np.asarray(paper.median)[:, 0]


def _chances(theirs: np.ndarray, ours: np.ndarray, like: Printed, metric: str) -> tuple[Drawn, np.ndarray]:
    p, w, half = evidence.chance_above(ours, theirs)
    return Drawn(p, w > 0.5, np.abs(w - 0.5) + half), theirs.mean(axis=1)


#: kind of evidence -> its function for many draws at once.
JUDGES = {
    evidence.means: _means, evidence.single: _single, evidence.all_runs: _all_runs, evidence.box: _box,
    evidence.chances: _chances,
}  # fmt: skip


def words(case: Case) -> list[str]:
    """The verdicts of a perfect copy, one per draw. There are none for a number without a ceiling."""
    runs, rng, way = case.runs, stream("ceiling", *case.key), way_of(case.runs)
    kind, options = kind_of(runs)
    if way == NONE:
        return []
    if way == NO_NOISE:
        return [word(1.0, False, True, runs.metric, case.lost, case.family)]
    if way == NORMAL and kind is evidence.run_by_run:
        p, w, half = evidence.chance_of_chains(rng.standard_normal((DRAWS, len(runs.values))))
        found, numbers = Drawn(p, w > 0.5, np.abs(w - 0.5) + half), np.full(DRAWS, runs.published.number)
    elif way == NORMAL:
        found, numbers = _batches(runs, options["sd"], rng)
    elif way == STREAMS:
        found, numbers = _streams(runs, rng)
    else:
        return judged(case, *draw(runs, way, rng))
    return _words(case, found, numbers)


def judged(case: Case, theirs: np.ndarray, ours: np.ndarray) -> list[str]:
    """The verdicts of draws of runs, theirs (draws, N) and ours (draws, n), by the evidence of ``case``."""
    kind, options = kind_of(case.runs)
    return _words(case, *JUDGES[kind](theirs, ours, case.runs.published, case.runs.metric, **options))


def _words(case: Case, found: Drawn, numbers: np.ndarray) -> list[str]:
    same = found.bound <= margin(case.runs.metric, numbers)
    return [
        word(float(p), bool(h), bool(s), case.runs.metric, case.lost, case.family)
        for p, h, s in zip(found.p, found.higher, same, strict=True)
    ]


def _batches(runs: Runs, sd: float, rng: np.random.Generator) -> tuple[Drawn, np.ndarray]:
    unit = runs.published.unit
    theirs, ours = runs.values[0] + sd * rng.standard_normal((2, DRAWS))
    theirs = np.round(theirs / unit) * unit
    found = [
        evidence.batch(replace(runs.published, mean=float(t)), [float(o)], runs.metric, 1.0, sd=sd)
        for t, o in zip(theirs, ours, strict=True)
    ]
    return Drawn(*(np.array([getattr(f, name) for f in found]) for name in ("p", "higher", "bound"))), theirs


def _streams(runs: Runs, rng: np.random.Generator) -> tuple[Drawn, np.ndarray]:
    values, unit = np.asarray(runs.values, dtype=np.float64), runs.published.unit
    parts, streams = values.shape
    theirs = values[np.arange(parts), rng.integers(streams, size=(DRAWS, parts))].mean(axis=1)
    theirs = np.round(theirs / unit) * unit
    centre, steps = values.mean(), (values - values.mean(axis=1, keepdims=True)) / parts
    gaps = evidence.gap_of(centre, theirs, unit)
    p = [
        min(1.0, 2 * evidence.chernoff(steps if t > centre else -steps, g)) if g > 0 else 1.0
        for t, g in zip(theirs, gaps, strict=True)
    ]
    # the bound of a number at the centre, to which a gap is added
    still = evidence.streams(replace(runs.published, mean=float(centre)), values, runs.metric, 1.0).bound
    return Drawn(np.array(p), centre > theirs, gaps + still), theirs


def shares_of(said: Sequence[str]) -> dict[str, float]:
    """The share of each of ``SHARES`` among verdicts."""
    counts = {w: sum(x == w for x in said) for w in SHARES[:-1]} | {"refuted": sum(x in REFUTED for x in said)}
    return {w: count / len(said) for w, count in counts.items()}


def row(case: Case) -> dict[str, object]:
    """One row of the table: the share of each verdict, NaN without a ceiling."""
    said = words(case)
    shares = shares_of(said) if said else dict.fromkeys(SHARES, np.nan)
    about = {"runs": len(case.runs.values), "n_published": int(case.runs.published.n), "way": way_of(case.runs)}
    return dict(zip([*KEY, "reading"], case.key, strict=True)) | about | {"draws": len(said)} | shares


def table(cases: Iterable[Case]) -> pd.DataFrame:
    """One row per case, columns ``COLUMNS``."""
    return pd.DataFrame([row(case) for case in cases], columns=COLUMNS)


def cases(key: str) -> Iterator[Case]:
    """The numbers of a paper that were run in a reading that can be a reproduction, from its committed scores."""
    paper = {p.key: p for p in papers.papers()}[key]
    if paper.program:
        yield from papers.resolve(paper.program.cases)(paper.reference)
        return
    numbers, there = published.load(), committed.experiments(papers.REFERENCE)
    for name in paper.experiments:
        config = load_config(papers.experiments()[name])
        if config["answers"] and name in there:
            yield from verdicts.cases(config, committed.read(papers.REFERENCE, name), numbers)


def read() -> pd.DataFrame:
    """The committed ceilings of all papers, columns ``COLUMNS``. Runs and shares are numbers."""
    found = [path for p in papers.papers() if (path := p.reference / NAME).is_file()]
    frames = [pd.read_csv(path, dtype=dict.fromkeys([*KEY, "reading", "way"], str)) for path in found]
    out = pd.concat([pd.DataFrame(columns=COLUMNS), *frames], ignore_index=True) if frames else None
    return pd.DataFrame(columns=COLUMNS) if out is None else out.fillna(dict.fromkeys([*KEY, "reading"], ""))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m reports.ceiling", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("keys", nargs="*", metavar="KEY", help="folders of papers (default: all with numbers)")
    parser.add_argument("--out", type=Path, help="folder of the tables KEY.csv.gz (default: the committed ones)")
    options = parser.parse_args(argv)
    known = {p.key: p for p in papers.papers()}
    for key in options.keys or known:
        made = table(cases(key))
        if made.empty:  # no number of the paper is compared
            continue
        write(options.out / f"{key}.csv.gz" if options.out else known[key].reference / NAME, made)
        print(f"{key}: {len(made):,} numbers, {int((made['way'] == NONE).sum())} of them without ceiling")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
