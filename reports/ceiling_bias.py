"""How far the ceiling is from the verdicts on true copies: a simulation with known distributions.

    python -m reports.ceiling_bias

writes ``reports/reference/ceiling_bias.csv``. Each row has a kind of evidence with n runs of ours and N published ones,
and both have the same known distribution. ``truth_<word>`` is the share of a verdict among 20,000 independent pairs of
N and n runs. ``ceiling_<word>`` is the mean share of :mod:`reports.ceiling` over 500 sets of runs with 40 draws each.
``error_<word>`` is the standard error of the difference of these two. Most of it is from the 500 sets.

The spreads of :data:`SETTINGS` make "reproduced" neither rare nor certain for n = N = 20, because a share near 0 or 1
leaves no room for a bias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from datasets.files import write_csv
from reports import ceiling, evidence, reference
from reports.evidence import Box, Printed, Runs, printed
from reports.verdict import FAMILY, Case
from workflow.program import stream

NAME = "ceiling_bias.csv"
PAIRS, SETS, DRAWS = 20_000, 500, 40
WORDS = ceiling.SHARES[:3]
COLUMNS = ["evidence", "runs", "n_published", *(f"{c}_{w}" for w in WORDS for c in ("truth", "ceiling", "error"))]
#: pairs that are judged at once, which bounds memory.
_AT_ONCE = 1000


@dataclass(frozen=True)
class Setting:
    """A kind of evidence with a distribution of runs.

    title : what is published, for readers.
    runs : a published number of N runs, whose values do not matter. It has no runs of ours.
    sizes : pairs (n, N).
    sample : (generator, shape) -> independent runs.
    """

    title: str
    runs: Callable[[int], Runs]
    sizes: tuple[tuple[int, int], ...]
    sample: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def _normal(sd: float) -> Callable[[np.random.Generator, tuple[int, int]], np.ndarray]:
    return lambda rng, shape: 0.3 * (1 + sd * rng.standard_normal(shape))


def _lognormal(sd: float) -> Callable[[np.random.Generator, tuple[int, int]], np.ndarray]:
    return lambda rng, shape: 0.3 * np.exp(sd * rng.standard_normal(shape))


def _box(count: int) -> Runs:
    """A box plot as Räisä (2021) has them: it is judged as the first of these is."""
    first = next(ceiling.cases("raisa2021thesis")).runs
    return replace(first, published=Box(0.3, 0.28, 0.32, 0.2, 0.4, 1, 1e-5, count), metric="mmd", values=())


_MANY = ((20, 20), (17, 20), (20, 10), (10, 10), (21, 10), (21, 5))
SETTINGS = (
    Setting("mean and spread, judged by t", lambda count: Runs(printed("0.300", count, "0.030", "sd"), (), "rmse"),
            _MANY, _normal(0.12)),
    Setting("norm, judged by ranks", lambda count: Runs(printed("0.300", count, "0.100", "sd"), (), "fnorm"),
            _MANY, _lognormal(0.6)),
    Setting("box plot", _box, ((20, 20),), _normal(0.1)),
    Setting("each run of a sampler", lambda count: Runs(Printed(0.3, 0.0, np.nan, count), (), "sampler_output",
                                                        evidence.chances),
            ((20, 100),), _normal(0.1)),
)  # fmt: skip


def _shares(case: Case, theirs: np.ndarray, ours: np.ndarray) -> dict[str, float]:
    parts = range(0, len(theirs), _AT_ONCE)
    said = [w for i in parts for w in ceiling.judged(case, theirs[i : i + _AT_ONCE], ours[i : i + _AT_ONCE])]
    return ceiling.shares_of(said)


def row(setting: Setting, n: int, count: int, pairs: int = PAIRS, sets: int = SETS) -> dict[str, object]:
    """One row of the table. ``count`` is N."""
    rng, runs = stream("ceiling_bias", setting.title, str(n), str(count)), setting.runs(count)
    case = Case(("",) * 7, runs, FAMILY)
    truth = _shares(case, setting.sample(rng, (pairs, count)), setting.sample(rng, (pairs, n)))
    found = []
    for theirs, ours in zip(setting.sample(rng, (sets, count)), setting.sample(rng, (sets, n)), strict=True):
        known = replace(runs, values=ours)
        if isinstance(runs.published, Printed):  # ours alone count unless the evidence takes each published run
            known = replace(known, published=replace(runs.published, runs=tuple(theirs)))
        found.append(_shares(case, *ceiling.draw(known, ceiling.way_of(known), rng, DRAWS)))
    out: dict[str, object] = {"evidence": setting.title, "runs": n, "n_published": count}
    for w in WORDS:
        shares = np.array([f[w] for f in found])
        error = np.hypot(shares.std(ddof=1) / np.sqrt(sets), np.sqrt(truth[w] * (1 - truth[w]) / pairs))
        out |= {f"truth_{w}": truth[w], f"ceiling_{w}": shares.mean(), f"error_{w}": error}
    return out


def build() -> pd.DataFrame:
    """The whole table, columns ``COLUMNS``."""
    return pd.DataFrame([row(s, *sizes) for s in SETTINGS for sizes in s.sizes], columns=COLUMNS)


def read() -> pd.DataFrame:
    """The committed table."""
    return pd.read_csv(reference.FOLDER / NAME)


if __name__ == "__main__":
    write_csv(reference.FOLDER / NAME, build().round(4))
