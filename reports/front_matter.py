"""Texts whose numbers are read from tables when they are rendered: front matter of queries, then prose that names them.

    ---
    queries:                   # patterns: what several numbers, or the cells of a table, share
      rmse: {table: scores/x.csv, where: {metric: rmse, dataset: "{data}", method: sep}, take: mean(value), format: .3f}
      spread: {from: rmse, take: sd(value)}
    numbers:                   # what the text names: {{ wine }}
      wine: {from: rmse, where: {dataset: wine}}
    tables:                    # {{ errors }} is a whole table; every row and column fills the holes of the cell's queries
      errors:
        head: Method
        columns: [{title: Wine, data: wine}, {title: Power, data: power}]
        rows: [{title: SEP}]
        cell: "{{ rmse }} ± {{ spread }}"
    ---
    On Wine the error is {{ wine }}.

    {{ errors }}

A query is the fields of :class:`reports.queries.Query`; ``from`` names a pattern that gives what the query does not say
(``where`` and ``below`` are merged). ``{hole}`` in a query of a cell is filled by the value of that name of the row or
the column. ``head`` and the ``title`` of a row may hold several columns, divided by "|". A column may have a ``cell`` of
its own, and a row ``cells: {title of a column: cell}``; a cell names values, too. Everything in the front matter is text
(``1e-5`` stays so) and nothing in it may be unused. The text is Jinja.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

import jinja2
import jinja2.meta
import yaml

from reports.queries import Query, QueryError, Tables

_SECTIONS = ("queries", "numbers", "tables")
_QUERY = {"from", "table", "where", "below", "take", "format"}
_TABLE = {"head", "values", "columns", "rows", "cell"}
_HOLE = re.compile(r"\{(\w+)\}")


class _Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
    """Every scalar is text; a key that stands twice is an error."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        twice = sorted({k for k in keys if keys.count(k) > 1})
        if twice:
            raise QueryError(f"front matter: '{twice[0]}' stands twice in {', '.join(keys)}")
        return super().construct_mapping(node, deep)


def split(source: str) -> tuple[dict, str]:
    """Front matter (empty where there is none) and the text below it. Raises :class:`QueryError`."""
    if not source.startswith("---\n"):
        return {}, source
    head, found, body = source[4:].partition("\n---\n")
    if not found:
        raise QueryError("front matter has no end; write a line '---' below it")
    try:
        front = yaml.load(head, _Loader) or {}
    except yaml.YAMLError as e:
        raise QueryError(f"front matter: {e}") from None
    if not isinstance(front, dict) or set(front) - set(_SECTIONS):
        raise QueryError(f"front matter: sections are {', '.join(_SECTIONS)}")
    for section, entries in front.items():
        for name, entry in entries.items() if isinstance(entries, dict) else [(section, None)]:
            if not isinstance(entry, dict):
                raise QueryError(f"front matter: '{name}' of {section}: write name: {{key: value}}")
    return front, body


def render(source: str, tables: Tables, **names: object) -> str:
    """The text with every number and table in its place. ``names``: what it may use besides.

    Raises :class:`QueryError` for a query that is not answered, and for a name that is unknown, unused or there twice.
    """
    front, body = split(source)
    patterns, numbers, grids = (front.get(section) or {} for section in _SECTIONS)
    taken = [*numbers, *grids, *names]
    for name in taken:
        if taken.count(name) > 1 or name in patterns:
            raise QueryError(f"'{name}' stands twice; numbers, tables and queries need names of their own")
    wanted = _names_in(body)
    _all_known(wanted, taken, "the text")
    _all_used(set(numbers) | set(grids), wanted, "in the text")
    used: set[str] = set()
    values = {n: _answer(tables, f"number '{n}'", q, patterns, {}, used) for n, q in numbers.items()}
    values |= {n: _Grid(n, g, patterns, tables, used).text() for n, g in grids.items()}
    _all_used(set(patterns), used, "by a number or a table")
    return _template(body).render(**values, **names)


class _Grid:
    """One table of the front matter."""

    def __init__(self, name: str, told: dict, patterns: Mapping[str, dict], tables: Tables, used: set[str]):
        self.where, self.patterns, self.tables, self.used = f"table '{name}'", patterns, tables, used
        if set(told) - _TABLE or not {"columns", "rows"} <= set(told):
            raise QueryError(f"{self.where}: write head, values, columns, rows and cell")
        self.head, self.cell, self.values = told.get("head", ""), told.get("cell"), told.get("values", {})
        self.columns, self.rows = told["columns"], told["rows"]
        for part in (*self.columns, *self.rows):
            if not isinstance(part, dict) or "title" not in part:
                raise QueryError(f"{self.where}: a row and a column is {{title: ..., name: value}}; '{part}' is not")
        self.filled: set[str] = set()

    def text(self) -> str:
        head = [*_cells(self.head), *(c["title"] for c in self.columns)]
        lines = [head, ["---"] * len(head), *(self._line(row) for row in self.rows)]
        _all_used(set(self.values), self.filled, f"in {self.where}")
        for part in (*self.columns, *self.rows):
            _all_used(set(part) - {"title", "cell", "cells"}, self.filled, f"in {self.where}, '{part['title']}'")
        rule = "|" + "---|" * len(head)
        return "\n".join([_line(head), rule, *(_line(line) for line in lines[2:])])

    def _line(self, row: dict) -> list[str]:
        own = row.get("cells", [None] * len(self.columns))
        if not isinstance(own, list) or len(own) != len(self.columns):
            raise QueryError(f"{self.where}, row '{row['title']}': cells needs one for each of the columns")
        return _cells(row["title"]) + [self._value(row, c, cell) for c, cell in zip(self.columns, own, strict=True)]

    def _value(self, row: dict, column: dict, own: str | None) -> str:
        where = f"{self.where}, row '{row['title']}', column '{column['title']}'"
        cell = next((c for c in (own, row.get("cell"), column.get("cell"), self.cell) if c is not None), None)
        if cell is None:
            raise QueryError(f"{where}: no cell; give the table or the column one")
        values = {
            k: v for part in (self.values, column, row) for k, v in part.items() if k not in {"title", "cell", "cells"}
        }
        names = _names_in(cell)
        _all_known(names, [*values, *self.patterns], where)
        self.filled |= names
        told = {n: values[n] if n in values else self._answer(where, n, values) for n in names}
        return _template(cell).render(told)

    def _answer(self, where: str, name: str, values: dict[str, str]) -> str:
        return _answer(self.tables, f"{where}, '{name}'", {"from": name}, self.patterns, values, self.used, self.filled)


def _answer(
    tables: Tables,
    where: str,
    query: dict,
    patterns: Mapping[str, dict],
    values: Mapping[str, str],
    used: set[str],
    filled: set[str] | None = None,
) -> str:
    """The answer to a query of the front matter; adds to ``used`` its patterns, to ``filled`` the holes it has."""
    told = _resolved(where, query, patterns, used)

    def fill(text: str) -> str:
        holes = set(_HOLE.findall(text))
        _all_known(holes, values, f"{where}: hole")
        if filled is not None:
            filled.update(holes)
        return _HOLE.sub(lambda m: values[m[1]], text)

    whole = {k: {c: fill(v) for c, v in told[k].items()} if isinstance(told[k], dict) else fill(told[k]) for k in told}
    if not {"table", "take"} <= set(whole):
        raise QueryError(f"{where}: a query needs a table and what to take")
    try:
        return tables.answer(Query(**whole))
    except ValueError as e:
        raise QueryError(f"{where}: {e}") from None


def _resolved(where: str, query: dict, patterns: Mapping[str, dict], used: set[str]) -> dict:
    """The query with what ``from`` gives it."""
    if set(query) - _QUERY or not all(isinstance(query.get(k, {}), dict) for k in ("where", "below")):
        raise QueryError(f"{where}: a query is {', '.join(sorted(_QUERY))}; where and below are column: value")
    if "from" not in query:
        return query
    name = query["from"]
    _all_known({name}, patterns, f"{where}: from")
    given = _resolved(f"query '{name}'", patterns[name], {k: v for k, v in patterns.items() if k != name}, used)
    used.add(name)
    merged = {k: given.get(k, {}) | query.get(k, {}) for k in ("where", "below") if k in given or k in query}
    return given | {k: v for k, v in query.items() if k != "from"} | merged


def _cells(text: str) -> list[str]:
    return [c.strip() for c in text.split("|")]


def _line(cells: list[str]) -> str:
    return "|" + "|".join(f" {c} " if c else " " for c in cells) + "|"


def _all_known(names: set[str], known, where: str) -> None:
    for name in sorted(names - set(known)):
        raise QueryError(f"{where}: unknown name '{name}'; known are {', '.join(known) or 'none'}")


def _all_used(names: set[str], used: set[str], where: str) -> None:
    for name in sorted(names - used):
        raise QueryError(f"'{name}' is not used {where}")


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )


@cache
def _template(text: str) -> jinja2.Template:
    return _checked(_environment().from_string, text)


@cache
def _names_in(text: str) -> set[str]:
    return jinja2.meta.find_undeclared_variables(_checked(_environment().parse, text))


def _checked(read: Callable, text: str):
    try:
        return read(text)
    except jinja2.TemplateSyntaxError as e:
        raise QueryError(f"line {e.lineno} of the text: {e.message}") from None
