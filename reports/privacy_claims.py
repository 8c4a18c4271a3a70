"""Published privacy claims: each with an upper and a lower bound on its epsilon, and the word that follows from both.

    python -m reports.privacy_claims

writes ``reports/reference/privacy_claims.csv`` from committed tables. A paper with such claims has the module
``privacy_claims`` with a function ``claims()``, which gives one :class:`PrivacyClaim` per published claim.

===================== =================================================================================================
word                  it means
===================== =================================================================================================
``holds``             an upper bound on epsilon is at most the claim
``refuted``           a lower bound on epsilon, or on delta at the claimed epsilon, is above the claim
``no finite epsilon`` it is proved that no epsilon holds at the claimed delta
``not shown``         none of these: the claim lies between the bounds
===================== =================================================================================================

A lower bound counts for what the paper releases. The bound of an observer who sees every noisy step is a column of its
own, ``all_steps``, and refutes no claim about the final parameters alone.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

import pandas as pd

from datasets.files import csv_text, write_text
from privacy.ledger import Event, Mechanism, Relation, Sampling
from reports.frames import bound
from workflow import committed, papers

NAME = "privacy_claims.csv"
HOLDS, REFUTED, NOT_SHOWN, NO_EPSILON = "holds", "refuted", "not shown", "no finite epsilon"
WORDS = (HOLDS, REFUTED, NO_EPSILON, NOT_SHOWN)
#: words that need a lower bound or a proof of their own.
AGAINST = frozenset({REFUTED, NO_EPSILON})
#: part of a claim by which rounding may move a bound: committed tables have six digits or more.
ROUNDING = 2e-5
#: rows of a ledger for all of its events, and the reason of the accountant that is taken.
_TOTAL, _TAKEN = "(total)", "taken as the answer"


@dataclass(frozen=True)
class PrivacyClaim:
    """One published claim on the epsilon of one method at one setting.

    Attributes
    ----------
    source, method, reading : key of the source, its name of the method, "printed" or "authors".
    dataset, setting : empty if the claim does not depend on them.
    claimed, delta : the claim. For a Renyi claim ``delta`` is NaN and ``order`` is its order.
    relation : neighbouring relation.
    released : what leaves a fit, according to the source.
    upper, accountants : an upper bound on epsilon, and the accountants that computed it, with their values.
    lower, pair, evidence : a lower bound for what is released, the pair of neighbours, and how it was computed.
    delta_at_least : a lower bound on delta at the claimed epsilon; NaN if there is none.
    all_steps, all_steps_pair : the lower bound of an observer who sees every noisy release, and its pair.
    proof : the proof that no finite epsilon holds; "" if there is none.
    ours : our method that the bounds are of; "" for a paper with its own code.
    """

    source: str
    method: str
    reading: str
    dataset: str
    setting: str
    claimed: float
    delta: float
    relation: str
    released: str
    upper: float = math.inf
    accountants: str = ""
    lower: float = 0.0
    pair: str = ""
    evidence: str = ""
    delta_at_least: float = math.nan
    all_steps: float = math.nan
    all_steps_pair: str = ""
    proof: str = ""
    order: float = math.nan
    ours: str = ""

    @property
    def word(self) -> str:
        """One of ``WORDS``. Raises ValueError if the bounds contradict each other."""
        against = self.lower > self.claimed * (1 + ROUNDING) or self.delta_at_least > self.delta * (1 + ROUNDING)
        holds = self.upper <= self.claimed * (1 + ROUNDING)
        if (
            (holds and against)
            or (self.proof and math.isfinite(self.upper))
            or self.lower > self.upper * (1 + ROUNDING)
        ):
            raise ValueError(f"{self.source}, {self.method}, {self.reading}: the bounds contradict each other: {self}")
        if self.proof:
            return NO_EPSILON
        return HOLDS if holds else REFUTED if against else NOT_SHOWN


COLUMNS = [*(f.name for f in fields(PrivacyClaim)), "word"]
#: columns that name a claim.
KEY = ["source", "method", "reading", "dataset", "setting"]


def of_experiment(
    experiment: str,
    ours: str,
    *,
    source: str,
    method: str,
    reading: str,
    released: str,
    proof: str = "",
    setting: Callable[[str], bool] = lambda _: True,
    evidence: Callable[[str, float], dict] = lambda dataset, claimed: {},
) -> Iterator[PrivacyClaim]:
    """The claims of a method of an experiment: one per data set and claimed epsilon, from scores and ledger.

    ``ours`` is our method, and ``setting`` chooses its settings. If several cells have one claim, that with the largest
    upper bound is taken. ``evidence`` gives further fields of a claim, by data set and claimed epsilon.
    """
    scores = committed.read(papers.REFERENCE, experiment)
    mine = scores[(scores["method"] == ours) & scores["setting"].map(setting) & (scores["epsilon"] != "")]
    ledger = _ledger()
    found: dict[tuple[str, float], PrivacyClaim] = {}
    for cell, rows in mine.groupby("cell", sort=True):
        of_cell = ledger.get_group(cell)
        claimed = float(of_cell["epsilon_claimed"].iloc[0] or "nan")
        if math.isnan(claimed):
            continue
        first, upper = rows.iloc[0], float(rows["epsilon"].astype(float).max())
        key = (first["dataset"], claimed)
        if key in found and found[key].upper >= upper:
            continue
        step, pair = _all_steps(of_cell, float(first["delta"]))
        bounds = {"upper": upper, "accountants": _accountants(of_cell), "all_steps": step, "all_steps_pair": pair}
        found[key] = PrivacyClaim(
            source, method, reading, first["dataset"], f"epsilon={claimed:g}", claimed, float(first["delta"]),
            first["relation"], released, ours=ours, **{**bounds, "proof": proof, **evidence(*key)},
        )  # fmt: skip
    yield from (found[key] for key in sorted(found))


@cache
def _ledger():
    """The committed ledgers by cell."""
    return committed.ledgers().groupby("cell")


def _accountants(of_cell: pd.DataFrame) -> str:
    """The accountants of a whole ledger with their epsilons, the one that is taken first."""
    rows = of_cell[(of_cell["event"] == _TOTAL) & (of_cell["epsilon"] != "")]
    told = sorted(
        (float(r["epsilon"]), _TAKEN not in r["reason"], r["accountant"])
        for r in rows.to_dict("records")
        if r["accountant"] != "prv"  # one direction of the relation only
    )
    return "; ".join(f"{name} {epsilon:.4g}" for epsilon, _, name in sorted(told, key=lambda t: (t[1], t[0])))


def _all_steps(of_cell: pd.DataFrame, delta: float) -> tuple[float, str]:
    """The lower bound if every noisy release is seen, from the Gaussian releases of a ledger, and its pair."""
    rows = of_cell[(of_cell["event"] != _TOTAL) & (of_cell["mechanism"] == Mechanism.GAUSSIAN)]
    keys = ["relation", "sampling", "steps", "noise_multiplier", "sampling_rate"]
    found = [_of_event(*key, delta) for key in set(rows[keys].itertuples(index=False, name=None))]
    return max(found, default=(math.nan, ""))


@cache
def _of_event(relation: str, sampling: str, steps: str, multiplier: str, rate: str, delta: float) -> tuple[float, str]:
    from privacy.accountants.lower import of_event

    event = Event(
        "a release", Mechanism.GAUSSIAN, Relation(relation), 1.0, float(multiplier), Sampling(sampling), float(rate),
        int(steps),
    )  # fmt: skip
    lower = of_event(event, delta)
    return (lower.epsilon, lower.pair) if lower.pair else (math.nan, "")


def claims() -> list[PrivacyClaim]:
    """All published privacy claims, by paper."""
    found = []
    for paper in papers.papers():
        if (paper.home / "privacy_claims.py").is_file():
            found += importlib.import_module(f"papers.{paper.key}.privacy_claims").claims()
    return found


def frame(found: list[PrivacyClaim]) -> pd.DataFrame:
    """The claims as a table with ``COLUMNS``."""
    return pd.DataFrame([asdict(c) | {"word": c.word} for c in found], columns=COLUMNS)


@cache
def read(folder: Path = papers.REFERENCE) -> pd.DataFrame:
    """The committed table, with every column as text."""
    return pd.read_csv(folder / NAME, dtype=str, keep_default_na=False)


def of(ours: str) -> pd.DataFrame:
    """The rows of the committed table on one of our methods."""
    table = read()
    return table[table["ours"] == ours]


def word_of(ours: str, dataset: str, claimed: float) -> str:
    """The word of our method's claim on a data set, or ``not shown`` if the committed table has none."""
    rows = of(ours)[of(ours)["dataset"] == dataset]
    words = {r["word"] for r in rows.to_dict("records") if math.isclose(float(r["claimed"]), claimed)}
    return words.pop() if len(words) == 1 else NOT_SHOWN


def summary() -> list[dict[str, str]]:
    """One row per source, method, reading and word of the committed table, with ranges as text.

    Keys: source, method, reading, word, claims, claimed, upper, lower, all_steps, released.
    """
    rows = []
    for (source, method, reading, word), part in read().groupby([*KEY[:3], "word"], sort=False):
        at_least = part["lower"].where(part["delta_at_least"] == "", "")
        delta = _range(part["delta_at_least"], up=False)
        rows.append(
            {"source": source, "method": method, "reading": reading, "word": word, "claims": str(len(part))}
            | {"claimed": _range(part["claimed"]), "upper": _range(part["upper"], up=True)}
            | {"released": part["released"].iloc[0], "all_steps": _range(part["all_steps"], up=False)}
            | {"lower": _range(at_least, up=False) or f"delta {delta}".removesuffix("delta ")}
        )
    return rows


def _range(values: pd.Series, up: bool | None = None) -> str:
    """The smallest and the largest positive number of a column of texts, with three digits; "" if there is none.

    ``up``: upper bounds are rounded up and lower bounds down. None: to the nearest.
    """
    found = sorted({float(v) for v in values if v and float(v) > 0})
    ends = dict.fromkeys(f"{v:.3g}" if up is None else bound(v, up) for v in (found[:1] + found[-1:]))
    return " to ".join(ends)


def text(found: list[PrivacyClaim]) -> str:
    """The committed table as CSV, numbers with nine digits."""
    table = frame(found)
    numbers = table.select_dtypes("number").columns
    table[numbers] = table[numbers].map(lambda x: "" if math.isnan(x) else f"{x:.9g}")
    return csv_text(table)


def main() -> None:
    found = claims()
    write_text(papers.REFERENCE / NAME, text(found))
    counts = frame(found)["word"].value_counts()
    print("; ".join(f"{word}: {counts.get(word, 0)}" for word in WORDS))


if __name__ == "__main__":
    main()
