"""``check --changed``: recompute the pairs whose code changed since it was verified, and move their rows on."""

from __future__ import annotations

import ast
import atexit
import contextlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from datasets.files import ROOT
from workflow import changes, closure, verified
from workflow.check import Checker, report, say
from workflow.compare import Outcome, bands
from workflow.experiments import Cell
from workflow.imports import code_hash, file_of
from workflow.verified import Pair, Row


def check_changed(checker: Checker, wanted: Sequence[Pair], rows_path: Path = verified.FILE) -> int:
    """Recompute the pairs among ``wanted`` whose code changed, and write their rows; number of pairs not verified."""
    now = {p: closure.closure(checker.pairs[p]) for p in wanted}
    rows = {pair: row for pair, row in verified.read(rows_path).items() if pair in checker.pairs}
    back = {p for p in wanted if verified.state(rows.get(p), now[p], closure.versions()) == verified.VERIFIED}
    for pair in back:
        rows[pair] |= {"status": verified.VERIFIED, "reason": ""}
    todo = [p for p in wanted if p not in back]
    say(f"{len(todo)} of {len(wanted)} pairs have changed since they were verified")
    bad = recompute(checker, todo, rows, now) if todo else 0
    verified.write(rows, rows_path)
    return bad


def recompute(checker: Checker, todo: Sequence[Pair], rows: dict[Pair, Row], now: Mapping[Pair, str]) -> int:
    """Recompute samples of the pairs and put their new rows into ``rows``; number of pairs not verified."""
    difference = {p: changed_lines(rows.get(p), checker.pairs[p]) for p in todo}
    traced = sorted({ROOT / one.path for found, _ in difference.values() for one in found})
    chosen = checker.samples(todo, {p: int(now[p], 16) for p in todo})
    executed: dict[Pair, dict[str, set[int]]] = {}
    for found in checker.recompute(chosen, traced, checker.data.parent / "check"):
        checker.compare(found)
        for method in found.sample.methods:
            mine = executed.setdefault((found.sample.experiment, method), {})
            for path, lines in found.executed.items():
                mine.setdefault(path, set()).update(lines)
    for pair in todo:
        checker.outcome(pair).compare_events(rows.get(pair, {}).get("ledger", ""))
    report(checker, todo)
    sound = {p for p in todo if not checker.outcome(p).wrong and checker.outcome(p).compared}
    seen: dict[str, set[int]] = {}
    for pair in sound:
        for path, lines in executed.get(pair, {}).items():
            seen.setdefault(path, set()).update(lines)
    for pair in todo:
        about, (lines, reason) = checker.outcome(pair), difference[pair]
        if pair not in sound:
            status, reason = verified.STALE, "; ".join(about.wrong[:3]) or "no number was compared"
        elif reason := reason or blind_spot(lines, seen):
            status = verified.UNVERIFIED
            say(f"{'/'.join(pair)}: agrees, but is not verified: {reason}")
        else:
            status = verified.VERIFIED
        rows[pair] = row_of(about, status, reason, now[pair], rows.get(pair), checker.pairs[pair])
    lost = sum(rows[p]["status"] != verified.VERIFIED for p in todo)
    say(f"{len(todo) - lost} pairs verified, {lost} not")
    return lost


def changed_lines(row: Row | None, of: Sequence[Cell]) -> tuple[list[changes.Changed], str]:
    """Changed functions in the code of a pair since it was verified, and why that cannot be told (or an empty text)."""
    if row is None or not row["closure"]:
        return [], ""
    commit = row["commit"] if changes.known(row["commit"]) else base_commit(row["closure"], tuple(of))
    if not commit:
        return [], (
            "the commit that was verified is not in this repository, so what changed since is not known: "
            "take a clone with its history, or run the pair in full"
        )
    mine = {str(file_of(m).relative_to(ROOT)) for m in closure.modules(of)}
    return [one for path, found in changes.since(commit).items() if path in mine for one in found], ""


@cache
def base_commit(digest: str, of: tuple[Cell, ...]) -> str:
    """The newest commit whose code of these cells has that digest; empty where there is none."""
    for commit in changes.recent():
        if digest == digest_at(commit, closure.roots(of)):
            return commit
    return ""


def digest_at(commit: str, roots: tuple[str, ...]) -> str:
    """The digest that :func:`workflow.closure.closure` gave at a commit."""
    return code_hash(*roots, root=code_at(commit))


#: folders that are removed when this process ends.
_STAY = contextlib.ExitStack()
atexit.register(_STAY.close)


@cache
def code_at(commit: str) -> Path:
    """The code of a commit, in a folder that stays until this process ends."""
    return _STAY.enter_context(changes.checkout(commit))


def blind_spot(lines: Sequence[changes.Changed], executed: Mapping[str, set[int]]) -> str:
    """Changed lines of a pair's code that no sample executed, in words; empty where there is none.

    ``executed``: file -> lines that the samples of all pairs executed whose numbers agree.
    """
    missing = []
    for one in lines:
        statements, seen = executable(one.path), executed.get(str(ROOT / one.path), set())
        owners = {statements[k] for k in one.lines & statements.keys()}
        if left := sorted(first for first, heads in owners if first not in seen and not exempt(one, heads)):
            missing.append(f"{one.path}:{','.join(map(str, left[:5]))} ({one.function})")
    return f"changed lines that no sample executes: {'; '.join(missing)}" if missing else ""


@cache
def executable(path: str) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Line -> first line of the statement that it belongs to, and the heads of that one and of those around it.

    Lines inside functions only. A definition is no statement here: it runs with what is around it.
    """
    source = (ROOT / path).read_text(encoding="utf-8")
    lines, out = source.splitlines(), {}
    definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    silent = definition | ast.Pass | ast.Global | ast.Nonlocal

    def walk(node: ast.AST, around: tuple[str, ...], inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            block = isinstance(child, ast.stmt | ast.ExceptHandler)
            heads = (lines[child.lineno - 1].strip(), *around) if block else around
            if inside and isinstance(child, ast.stmt):
                for line in range(child.lineno, (child.end_lineno or child.lineno) + 1):
                    out.pop(line, None)
                    if not isinstance(child, silent):
                        out[line] = child.lineno, heads
            walk(child, heads, inside or isinstance(child, definition))

    walk(ast.parse(source), (), False)
    return out


def exempt(one: changes.Changed, heads: tuple[str, ...]) -> bool:
    """Does config/gates.yaml say why no sample needs to execute a statement with these heads?"""
    return any(e["file"] == one.path and any(e["text"] in head for head in heads) for e in bands()["not_executed"])


def row_of(about: Outcome, status: str, reason: str, now: str, old: Row | None, of: Sequence[Cell]) -> Row:
    """The row of verified.csv. Where the pair is not verified, the last verified code stays in it."""
    row = dict.fromkeys(verified.COLUMNS, "") | (old or {})
    row |= {"experiment": about.pair[0], "method": about.pair[1], "status": status, "reason": reason}
    if status != verified.VERIFIED:
        return row
    paths = [str(file_of(m).relative_to(ROOT)) for m in closure.modules(of)]
    shift, allowed, where = about.nearest
    return row | {
        "how": "short run" if about.short and len(about.splits) == 1 else "sample",
        "closure": now,
        "commit": changes.clean(paths),
        "dataset": " ".join(sorted(about.datasets)),
        "splits": str(len(about.splits)),
        "cells": str(len(about.cells)),
        "compared": str(about.compared),
        "largest_shift": f"{shift:.2g}",
        "band": f"{allowed:.2g}" if where else "",
        "where": where,
        "ledger": about.ledger,
        "seconds": f"{about.seconds:.1f}",
        "versions": closure.versions(),
    }
