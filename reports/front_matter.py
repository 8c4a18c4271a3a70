"""Texts whose numbers are read from tables when they are rendered: a front matter of queries, then prose.

    ---
    queries:        # what several numbers, or the cells of a table, share
      rmse: {table: scores/x.csv, where: {metric: rmse, dataset: "{data}"}, take: mean(value), format: .3f}
      spread: {from: rmse, take: sd(value)}
    numbers:        # the text says {{ wine }}
      wine: {from: rmse, where: {dataset: wine}}
    tables:         # the text says {{ errors }}, alone on a line
      errors:
        head: Method
        columns: [{title: Wine, data: wine}, {title: Power, data: power}]
        rows: [{title: SEP, method: sep}, {title: EP, method: ep}]
        cell: "{{ rmse }} ± {{ spread }}"
    ---
    On Wine the error is {{ wine }}.

    {{ errors }}

A query has the fields of :class:`reports.queries.Query`. ``from`` names one of ``queries``, which gives what is not
said (``where`` and ``below`` are merged).

A table is a loop over its rows and columns. Each has a ``title`` and values by name; a value fills the holes ``{name}``
of the queries that the cell names, and may stand in the cell itself. Values of all cells stand under ``values``.
``head`` and the title of a row may be several columns, with "|" between. A column or a row may have a ``cell`` of its
own (the row's goes before), or a row ``cells``, one for each column; an empty one is a blank.

All of the front matter is read as text (``1e-5`` stays so), and nothing in it may be unused. The prose is Jinja.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

import jinja2
import jinja2.meta
import yaml

from reports.queries import Query, QueryError, Tables

_SECTIONS = ("queries", "numbers", "tables")
#: what a finding says of its title; read by ``reports.titles``.
_TITLE = "title_holds"
_QUERY = ("from", "table", "where", "below", "take", "format")
_TABLE = ("head", "values", "columns", "rows", "cell")
#: what a row or a column has besides values
_OWN = {"title", "cell", "cells"}
_HOLE = re.compile(r"\{(\w+)\}")


class _Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
    """Every scalar is text; a key that stands twice is an error."""

    def construct_mapping(self, node, deep=False):
        keys = [str(key.value) for key, _ in node.value]
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
    if not isinstance(front, dict) or set(front) - {*_SECTIONS, _TITLE}:
        raise QueryError(f"front matter: sections are {', '.join((*_SECTIONS, _TITLE))}")
    for section, entries in ((s, e) for s, e in front.items() if s != _TITLE):
        for name, entry in entries.items() if isinstance(entries, dict) else [(section, None)]:
            if not isinstance(entry, dict):
                raise QueryError(f"front matter: '{name}' of {section}: write name: {{key: value}}")
    return front, body


def render(source: str, tables: Tables, **names: object) -> str:
    """The text with every number and table in its place. ``names``: what it may use besides.

    Raises :class:`QueryError` for a query that is not answered, and for a name that is unknown, unused or there twice.
    """
    front, body = split(source)
    shared, numbers, grids = (front.get(section) or {} for section in _SECTIONS)
    taken = [*shared, *numbers, *grids, *names]
    for name in taken:
        if taken.count(name) > 1:
            raise QueryError(f"'{name}' stands twice; queries, numbers and tables need names of their own")
    wanted = _names_in(body)
    _all_known(wanted, [*numbers, *grids, *names], "the text")
    _all_used(set(numbers) | set(grids), wanted, "in the text")
    queries = _Queries(shared, tables)
    values = {name: queries.answer(f"number '{name}'", query, {}) for name, query in numbers.items()}
    values |= {name: _Grid(name, told, queries).text() for name, told in grids.items()}
    _all_used(set(shared), queries.used, "by a number or a table")
    return _template(body).render(**values, **names)


class _Queries:
    """The queries of a front matter; ``used`` are the names of those that something asked for."""

    def __init__(self, shared: Mapping[str, dict], tables: Tables):
        self.shared, self.tables, self.used = shared, tables, set()

    def answer(self, where: str, query: dict, values: Mapping[str, str]) -> str:
        """``where``: what asks, for errors. ``values`` fill the holes."""

        def fill(text: str) -> str:
            _all_known(set(_HOLE.findall(text)), values, f"{where}: hole")
            return _HOLE.sub(lambda hole: values[hole[1]], text)

        told = self._whole(where, query)
        if not {"table", "take"} <= set(told):
            raise QueryError(f"{where}: a query needs a table and what to take")
        filled = {k: {c: fill(t) for c, t in v.items()} if isinstance(v, dict) else fill(v) for k, v in told.items()}
        try:
            return self.tables.answer(Query(**filled))
        except ValueError as e:
            raise QueryError(f"{where}: {e}") from None

    def _whole(self, where: str, query: dict, above: tuple[str, ...] = ()) -> dict:
        """The query with what ``from`` gives it."""
        if set(query) - set(_QUERY) or not all(isinstance(query.get(k, {}), dict) for k in ("where", "below")):
            raise QueryError(f"{where}: a query has {', '.join(_QUERY)}; where and below are {{column: value}}")
        if "from" not in query:
            return query
        name = query["from"]
        _all_known({name}, self.shared, f"{where}: from")
        if name in above:
            raise QueryError(f"{where}: from: '{name}' leads back to itself")
        self.used.add(name)
        given = self._whole(f"query '{name}'", self.shared[name], (*above, name))
        merged = {k: given.get(k, {}) | query.get(k, {}) for k in ("where", "below") if k in given or k in query}
        return given | {k: v for k, v in query.items() if k != "from"} | merged


class _Values(dict):
    """Values by name that note in ``asked`` which of them were read."""

    def __init__(self, values: Mapping[str, str], asked: set[str]):
        super().__init__(values)
        self.asked = asked

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


class _Grid:
    """One table of a front matter."""

    def __init__(self, name: str, told: dict, queries: _Queries):
        self.where, self.queries, self.asked = f"table '{name}'", queries, set()
        if set(told) - set(_TABLE) or not {"columns", "rows"} <= set(told):
            raise QueryError(f"{self.where}: a table has {', '.join(_TABLE)}")
        self.head, self.cell, self.values = told.get("head", ""), told.get("cell"), told.get("values", {})
        self.columns, self.rows = told["columns"], told["rows"]
        for part in (*self.columns, *self.rows):
            if not isinstance(part, dict) or "title" not in part:
                raise QueryError(f"{self.where}: a row or column is {{title: ..., name: value}}; '{part}' is not")

    def text(self) -> str:
        """Markdown, without a line feed at its end."""
        head = [*_cells(self.head), *(c["title"] for c in self.columns)]
        lines = [_line(head), "|" + "---|" * len(head), *(self._row(row) for row in self.rows)]
        _all_used(set(self.values), self.asked, f"in {self.where}")
        for part in (*self.columns, *self.rows):
            _all_used(set(part) - _OWN, self.asked, f"in {self.where}, '{part['title']}'")
        return "\n".join(lines)

    def _row(self, row: dict) -> str:
        own = row.get("cells", [None] * len(self.columns))
        if not isinstance(own, list) or len(own) != len(self.columns):
            raise QueryError(f"{self.where}, row '{row['title']}': cells needs one for each column")
        cells = [self._value(row, c, text) for c, text in zip(self.columns, own, strict=True)]
        return _line([*_cells(row["title"]), *cells])

    def _value(self, row: dict, column: dict, own: str | None) -> str:
        where = f"{self.where}, row '{row['title']}', column '{column['title']}'"
        cell = next((c for c in (own, row.get("cell"), column.get("cell"), self.cell) if c is not None), None)
        if cell is None:
            raise QueryError(f"{where}: no cell; give the table or the column one")
        told = self.values | {k: v for part in (column, row) for k, v in part.items() if k not in _OWN}
        values, names = _Values(told, self.asked), _names_in(cell)
        _all_known(names, [*values, *self.queries.shared], where)
        for name in names & set(values) & set(self.queries.shared):
            raise QueryError(f"{where}: '{name}' is a value and a query")
        return _template(cell).render(
            {n: values[n] if n in values else self.queries.answer(f"{where}, {n}", {"from": n}, values) for n in names}
        )


def _cells(text: str) -> list[str]:
    return [c.strip() for c in text.split("|")]


def _line(cells: list[str]) -> str:
    return "|" + "|".join(f" {c} " if c else " " for c in cells) + "|"


def _all_known(names: set[str], known: Iterable[str], where: str) -> None:
    for name in sorted(names - set(known)):
        raise QueryError(f"{where}: unknown name '{name}'; known are {', '.join(known) or 'none'}")


def _all_used(names: set[str], used: set[str], where: str) -> None:
    for name in sorted(names - used):
        raise QueryError(f"'{name}' is not used {where}")


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    made.filters["to"] = lambda text, form: format(float(text), form)  # a number of a row that a text loops over
    return made


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
