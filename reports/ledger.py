"""The privacy ledger of the runs: every event of every private cell by every accountant, and the privacy table.

The committed rows are stored with the experiment's scores (``workflow.committed``). An event's row holds everything
that its epsilon depends on, so any accountant can compute it again from the file alone.
``tests/reports/test_ledger_rows.py`` does so with dp-accounting.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import datasets
from datasets.store import Damaged, set_aside
from models.kind import kind as kind_of
from privacy.ledger import Event, Ledger, Mechanism
from reports import privacy_claims
from reports.blocks import Block, Entry, Footnotes, Table, entry
from reports.config import READING_TITLES
from reports.published import METHOD_TITLES, PRIVATE, SOURCE_TITLES
from reports.tables import dataset_title, natural
from reports.verdict import NO_SCORE
from workflow import committed

COLUMNS = committed.LEDGER_COLUMNS
TOTAL = "(total)"
#: words in the reason of the total that the suite takes as its answer.
ANSWER = "taken as the answer"
#: words for a data set whose ranges are not public.
CONDITIONAL = "conditional on ranges that are the minimum and maximum of the table itself"
#: delta of the papers, for budgets without a delta.
DELTA = 1e-5

#: ``privacy.accountants.epsilon_of``: (ledger, delta) -> Cost(epsilon, delta, relation, accountant, all).
Accountant = Callable[[Ledger, float], Any]


def _accountant() -> Accountant:
    from privacy.accountants import epsilon_of  # heavy: autodp, dp-accounting

    return epsilon_of


def build(
    fits: Path,
    cells: set[str] | None = None,
    epsilon_of: Accountant | None = None,
    known: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The ledger of all cells in ``fits`` (``<cell>.json``), or of the named ones, columns ``COLUMNS``.

    There is one row per event and accountant, and a ``(total)`` row per accountant for all events. The total that the
    suite takes as its answer says so. ``epsilon`` is empty, with a reason, if an accountant does not cover the event.
    Splits of a cell may differ by a row and so in their sampling rate. Then every distinct ledger is computed, the one
    with the largest epsilon is shown, and the reason says so. A cell that was restored from the reference keeps its
    rows of ``known``. If only part of it was restored, the rows with the larger epsilon are kept. Cells without claim
    and without event are left out.
    """
    account = epsilon_of or _accountant()
    memory: dict[str, Any] = {}

    def cost(events: list[dict], delta: float):
        key = json.dumps([events, delta], sort_keys=True, default=str)
        if key not in memory:
            memory[key] = account(_ledger(events), delta)
        return memory[key]

    rows: list[dict[str, Any]] = []
    for path in sorted(Path(fits).glob("*.json")):
        record = _record(path)
        if cells is not None and record["cell"] not in cells:
            continue
        restored = {r["cell"] for r in record.get("reused", ())}
        before = [] if known is None else known[known["cell"].isin(restored)].to_dict("records")
        fresh = _rows_of(record, cost) if record["splits"] else []
        rows += [{**r, "cell": record["cell"]} for r in before] if _total(before) > _total(fresh) else fresh
    return pd.DataFrame(rows, columns=COLUMNS)


def _record(path: Path) -> dict[str, Any]:
    """The content of a fit's file. A damaged file is set aside with the scores made from it, then Damaged is raised."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        experiment, dataset, *_ = path.stem.split("-")
        scores = path.parent.parent / "scores" / experiment / f"{dataset}.csv"
        for part in (path, scores):
            if part.is_file():
                set_aside(part)
        raise Damaged(f"{path} is damaged and was set aside; run the same command again: it is made anew") from error


def _total(rows: list[dict[str, Any]]) -> float:
    """The suite's epsilon of a whole ledger, to nine digits, or minus infinity if there is none."""
    told = [float(r["epsilon"]) for r in rows if r["event"] == TOTAL and ANSWER in r["reason"]]
    return float(f"{max(told):.9g}") if told else (0.0 if rows else -math.inf)


def _ledger(events: list[dict]) -> Ledger:
    numbers = ("sensitivity", "noise_scale", "sampling_rate")
    return Ledger.from_json([{**e, **{k: float(e[k]) for k in numbers if k in e}} for e in events])


def _rows_of(record: dict[str, Any], cost) -> list[dict[str, Any]]:
    budget = record.get("budget") or {}
    claimed = budget.get("claimed_epsilon")
    if claimed is None and _is_private(record["method"], (record.get("model") or {}).get("kind")):
        claimed = budget.get("epsilon")
    delta = DELTA if budget.get("delta") is None else budget["delta"]
    base = {"cell": record["cell"], "method": record["method"], "epsilon_claimed": claimed, "delta": delta}
    done = [s for s in record["splits"] if s["status"] == "ok"]
    distinct = list({json.dumps(s["ledger"], sort_keys=True): s["ledger"] for s in done if s["ledger"]}.values())
    if not distinct:
        if claimed is None or not done:
            return []
        missing = {"event": TOTAL, "accountant": "", "epsilon": math.nan, "relation": "", "sampling": "", "steps": ""}
        return [{**base, **missing, "reason": "the run claims epsilon but recorded no release"}]
    chosen = max(distinct, key=lambda events: cost(events, delta).epsilon)
    note = f"dearest of {len(distinct)} ledgers of its splits" if len(distinct) > 1 else ""
    chosen = _merged(chosen)
    rows = []
    for event in [*chosen, None]:
        part = chosen if event is None else [event]
        facts = {
            "event": TOTAL if event is None else event["what"],
            "relation": " + ".join(dict.fromkeys(str(e["relation"]) for e in part)),
            "sampling": " + ".join(dict.fromkeys(str(e["sampling"]) for e in part)),
            "steps": "" if event is None else event["steps"],
            **({} if event is None else terms(*_ledger([event]))),
        }
        whole = cost(part, delta)
        for accountant, value in whole.all.items():
            says = isinstance(value, str)
            taken = ANSWER if event is None and accountant == whole.accountant else ""
            reason = "; ".join(t for t in (value if says else "", taken, note) if t)
            epsilon = math.nan if says else float(value)
            rows.append({**base, **facts, "accountant": accountant, "epsilon": epsilon, "reason": reason})
    return rows


def terms(event: Event) -> dict[str, Any]:
    """The columns that determine the event's epsilon, together with relation, sampling and steps.

    A written bound has no multiplier. Its ``renyi_curve`` is a JSON list [[order, divergence of one release], ...]. A
    ``contribution`` is a part of the sensitivity, or empty if it is not stated.
    """
    stated = event.relative_contribution
    written = event.mechanism is Mechanism.WRITTEN_BOUND
    return {
        "mechanism": str(event.mechanism),
        "noise_multiplier": "" if written else event.noise_multiplier,
        "sampling_rate": event.sampling_rate,
        "renyi_curve": json.dumps(event.renyi_curve) if written else "",
        "contribution": "" if stated is None else stated,
    }


def _merged(events: list[dict]) -> list[dict]:
    """Merge events of unbounded sensitivity, one per quantity. Noise scales may differ, but epsilon is infinite."""
    out: dict[Any, dict] = {}
    for k, e in enumerate(events):
        unbounded = math.isinf(float(e["sensitivity"]))
        key = (e["what"], e["mechanism"], e["relation"], e["sampling"]) if unbounded else k
        out[key] = {**e, "steps": e["steps"] + (out[key]["steps"] if key in out else 0)}
    return list(out.values())


def privacy_frame(
    verdicts: pd.DataFrame, scores: pd.DataFrame, ledger: pd.DataFrame, model: Mapping[str, Any]
) -> pd.DataFrame:
    """The claimed epsilon and that of the ledger, for each published private column and each method of ours for it.

    ``model`` is that of the experiment's config.

    There is one row per source, published column, reading, data set and method of ours with its setting. If there are
    several protocols, the one with the largest epsilon is taken. Columns: source, method, setting, reading, dataset,
    our_method, our_setting, protocol, epsilon_published, epsilon_claimed, epsilon, delta, relation, accountant,
    sampling, leaks, claim, reason. ``claim`` is "holds", "holds except for named leaks", "no ledger", or, if the
    epsilon by the ledger is above the claim, the word of :mod:`reports.privacy_claims`. For a cell without scores it is
    the status ("no data", "failed", ...) with its reason. "epsilon ~ 1" holds if the ledger's epsilon rounds to it. If
    a table prints no epsilon (``epsilon_published`` is empty), the claim is that of our run.
    """
    rows = []
    one = ["source", "method", "setting", "reading", "dataset", "our_method", "our_setting"]
    private = verdicts[verdicts["method"].isin(PRIVATE) & (verdicts["cell"] != "")]
    unique = private.drop_duplicates(["source", "method", "setting", "reading", "dataset", "cell"])
    epsilons = scores[scores["epsilon"] != ""]
    for r in unique.to_dict("records"):
        of_cell = ledger[ledger["cell"] == r["cell"]]
        costs = epsilons[epsilons["cell"] == r["cell"]]
        worst = max(costs.to_dict("records"), key=lambda s: float(s["epsilon"]), default=None)
        # Leaks stated by the adapter are shown beside the number: the ledger does not count them.
        leaks = leaks_under(model, r["our_method"], r["dataset"])
        printed, rounded = _printed_epsilon(r["setting"])
        epsilon = float(worst["epsilon"]) if worst else math.nan
        events = of_cell[of_cell["event"] != TOTAL]
        missing = worst is None and r["verdict"] in NO_SCORE
        claimed = of_cell["epsilon_claimed"].iloc[0] if len(of_cell) else math.nan
        rows.append(
            {k: r[k] for k in [*one, "protocol"]}
            | {
                "epsilon_published": printed,
                "epsilon_claimed": claimed,
                "epsilon": epsilon,
                "delta": worst["delta"] if worst else "",
                "relation": worst["relation"] if worst else "",
                "accountant": worst["accountant"] if worst else "",
                "sampling": " + ".join(dict.fromkeys(events["sampling"])),
                "leaks": "; ".join(leaks),
                "claim": r["verdict"].replace("_", " ")
                if missing
                else _claim(
                    epsilon,
                    printed or f"{float(claimed):.12g}",
                    rounded,
                    bool(leaks),
                    privacy_claims.word_of(r["our_method"], r["dataset"], float(claimed)),
                ),
                "reason": r["reason"] if missing else "",
            }
        )
    facts = "epsilon_published epsilon_claimed epsilon delta relation accountant sampling leaks claim reason"
    frame = pd.DataFrame(rows, columns=[*one, "protocol", *facts.split()])
    dearest_first = frame.sort_values("epsilon", ascending=False, na_position="last", kind="stable")
    return dearest_first.drop_duplicates(one).sort_index(ignore_index=True)


def _printed_epsilon(setting: str) -> tuple[str, bool]:
    for part in setting.split(";"):
        for sign in ("=", "~"):
            if part.startswith(f"epsilon{sign}"):
                return part.removeprefix(f"epsilon{sign}"), sign == "~"
    return "", False


def _claim(epsilon: float, printed: str, rounded: bool, leaks: bool, word: str) -> str:
    """The word on a claim. ``word``: if the upper bound ``epsilon`` is above it."""
    if math.isnan(epsilon) or math.isnan(float(printed)):
        return "no ledger"
    slack = 0.5 * 10.0 ** -len(printed.partition(".")[2]) if rounded else 1e-9 * float(printed)
    if epsilon > float(printed) + slack:
        return word
    return "holds except for named leaks" if leaks else "holds"


def _is_private(method: str, kind: str | None = None) -> bool:
    from methods import contract

    try:
        return contract.get(method, kind).privacy is not None
    except KeyError:
        return False


def leaks_of(method: str, dataset: str, kind: str, scaling: str | None = None) -> tuple[str, ...]:
    """The leaks of a method on that data set. There are none for a method that does not exist.

    These are the leaks that it declares, and ranges that it takes for public although the data set says that they are
    the extremes of its own rows. ``kind`` is that of the model. ``scaling`` is how the model scales its inputs, or
    None.
    """
    from methods import contract

    try:
        found = contract.get(method, kind)
    except KeyError:
        return ()
    named = tuple(leak.sentence for leak in found.leaks if leak.applies(dataset, kind, scaling))
    reads = found.reads_ranges and scaling in (None, "public")
    tuned = guards((dataset,)) if guarded(found) else ()
    return named + (range_leaks(dataset, kind) if reads else ()) + tuned


def guards(names: Iterable[str]) -> tuple[str, ...]:
    """The leak of every method that estimates ranges by ``privacy.scaling``, on each data set with a ``range_guard``.

    A name that is not that of a data set has none.
    """
    told = [datasets.get(n) for n in names if n in datasets.names()]
    return tuple(f"on {d.name} only: {d.range_guard}" for d in told if d.range_guard)


def guarded(method) -> bool:
    """Whether the method estimates ranges that are not documented by the release that has the guard.

    Methods that declare code or settings chosen on those data sets among their own leaks are left out.
    """
    from methods._shared.frames import InFrame
    from methods.contract import LeakKind

    own = any(leak.kind is LeakKind.TUNED and guards(leak.datasets) for leak in method.leaks)
    return isinstance(method, InFrame) and method.privacy is not None and not own


def conditional(dataset: str, kind: str) -> tuple[str, ...]:
    """The columns whose range, in a task of that kind, is the extremes of the table itself; () for most data sets.

    The target counts if the task is a regression.
    """
    if dataset not in datasets.names():
        return ()
    return datasets.get(dataset).conditional(kind_of(kind).target == "regression")


def range_leaks(dataset: str, kind: str) -> tuple[str, ...]:
    """The leak of every method that takes such ranges for public knowledge."""
    columns = conditional(dataset, kind)
    where = f"on {dataset_title(dataset)} only: the guarantee is {CONDITIONAL} ({', '.join(columns)})"
    return (f"{where}. These follow from the private rows, which is not counted",) if columns else ()


def leaks_under(model: Mapping[str, Any], method: str, dataset: str) -> tuple[str, ...]:
    """:func:`leaks_of` for the ``model`` of a config, which says how inputs are scaled, else its class's default."""
    from models import kind

    default = getattr(kind.kind(model["kind"]).model, "scaling", None)
    return leaks_of(method, dataset, model["kind"], model.get("scaling", default))


def privacy_table(frame: pd.DataFrame, name: str, banner: str, model: Mapping[str, Any]) -> tuple[Table, pd.DataFrame]:
    """The privacy table: one block per published private method, rows are readings, columns data sets.

    ``frame``, ``model``: of :func:`privacy_frame`.

    A cell of ours for several published tables or sources is listed once. Settings whose rows agree in everything shown
    share one row. Leaks, accountants' notes and reasons are footnotes.
    """
    footnotes = Footnotes()
    blocks = []
    for method, group in frame.groupby("method", sort=False):
        datasets = list(dict.fromkeys(group["dataset"]))
        group = group.drop_duplicates(["reading", "dataset", "our_method", "our_setting", "epsilon_published"])
        merged: dict[tuple, list[str]] = {}
        keys = ["reading", "our_method", "epsilon_published", "our_setting"]
        for (reading, ours, printed, setting), part in group.groupby(keys, sort=False):
            at = {r["dataset"]: r for r in part.to_dict("records")}
            ours_is = sorted({f"{float(r['epsilon_claimed']):g}" for r in part.to_dict("records")})
            entries = [entry(printed or f"none printed; ours {' or '.join(ours_is)}")]
            entries += [_privacy_entry(at.get(d), footnotes) for d in datasets]
            entries += [entry(" + ".join(dict.fromkeys(_words(t) for t in part[k] if t)) or "-") for k in _FACTS]
            leaks = footnotes(*dict.fromkeys(leak for d in datasets for leak in leaks_under(model, ours, d)))
            entries.append(entry("" if leaks else "none named", marks=leaks))
            merged.setdefault((reading, ours, *entries), []).append(setting)
        rows = []
        for (reading, ours, *entries), settings in merged.items():
            label = " or ".join(sorted(filter(None, settings), key=natural))
            rows.append((f"{READING_TITLES[reading]}: {ours}" + (f" [{label}]" if label else ""), entries))
        sources = ", ".join(
            SOURCE_TITLES.get(s, s) for s in dict.fromkeys(frame.loc[frame["method"] == method, "source"])
        )
        heads = ["Claimed epsilon", *map(dataset_title, datasets), "Relation", "Sampling", "Leaks outside the ledger"]
        blocks.append(Block(f"{METHOD_TITLES.get(method, method)} ({sources})", "Reading: our method", heads, rows))
    deltas = ", ".join(dict.fromkeys(d for d in frame["delta"] if d))
    notes = (
        f"Under each data set: the epsilon by the ledger of our runs at delta {deltas or 'of the budget'}, its "
        "accountant, and whether the claimed epsilon covers it. The epsilon by the ledger is the smallest bound of "
        "several accountants. Leaks are ways around the ledger that no epsilon counts.",
    )
    title = "Privacy: claimed epsilon, and epsilon by the ledger"
    return Table(name, title, banner, blocks, notes, footnotes.texts), frame


#: columns of the frame that are shown once per row.
_FACTS = ("relation", "sampling")


def _words(name: str) -> str:
    """A relation or a sampling scheme for readers: "add/remove", "full batch"."""
    return name.replace("add_remove", "add/remove").replace("_", " ")


def _privacy_entry(r: dict[str, Any] | None, footnotes: Footnotes) -> Entry:
    if r is None:
        return entry("-")
    if math.isnan(r["epsilon"]):
        return entry(verdict=r["claim"], marks=footnotes(r["reason"]))
    real = "inf" if math.isinf(r["epsilon"]) else f"{r['epsilon']:.4g}"
    name, _, remark = r["accountant"].partition(": ")
    if remark == "private numbers are released without noise":
        remark += ", or with noise on what nothing bounds"
    if remark:  # no accountant, and why
        return entry(real, verdict=r["claim"], marks=footnotes(remark))
    return entry(real, verdict=r["claim"], after=(f"by {name.replace('_', ' ')}",) if name else ())
