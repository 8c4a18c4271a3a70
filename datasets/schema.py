"""The public schema of a table: everything that has to be known of it before a row is read.

``schema.yaml`` states the format of the file and the number of rows. For each column, it states kind, range, levels and
default. :mod:`datasets.records` maps each line to numbers by the schema alone, so that no row decides how another row
is read. Scalars of the file are texts as written: 010, NO and 08:30 stay what they are.
"""

from __future__ import annotations

import codecs
import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import yaml

from datasets import yaml_file
from datasets.base import Bounds, DataError

NUMBER, LEVELS, BOOLEAN, LEFT_OUT = "number", "levels", "true or false", "left out"
KINDS = (NUMBER, LEVELS, BOOLEAN, LEFT_OUT)
#: levels that a column has in addition to those that it lists: for a text that is not listed, and a missing value.
OTHER, ABSENT = "(other)", "(missing)"
#: a default: a field that does not fit makes its row an empty row.
EMPTY = "empty row"
#: a missing rule: a missing value is treated as any other field that does not fit.
DEFAULT = "default"
#: in place of a range: it is estimated from the budget.
ESTIMATE = "estimate"
#: what a draft has in place of a statement that only a person can make.
TO_STATE = "TO STATE"
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "vertical bar": "|", "blanks": " "}
_MANY = {
    "comma": "commas", "semicolon": "semicolons", "tab": "tabs", "vertical bar": "vertical bars", "blanks": "blanks",
}  # fmt: skip
DECIMALS = {"point": ".", "comma": ","}
TASKS = ("regression", "classification", "density")
_TRUTH = {"yes": True, "true": True, "no": False, "false": False}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: codecs of the standard library with one byte per character, by their names there.
_SINGLE_BYTE = re.compile(r"ascii|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|tis-620|kz1048|ptcp154|hp-roman8")
_TOP = ("encoding", "separator", "decimal", "header", "rows", "task", "target", "rate of class 1", "columns")
_OF_COLUMN = ("kind", "range", "levels", "default", "missing", "source")


class TableError(DataError, ValueError):
    """A table or schema that cannot be used as it is. The message says what is wrong and what to give."""


class Problems(TableError):
    """Everything that is wrong with a schema, its file's header line or the arguments, ``.all``, in one message."""

    def __init__(self, where: object, found: Sequence[str]):
        self.all = tuple(found)
        numbered = [f"({k}) {text}" for k, text in enumerate(found, start=1)] if len(found) > 1 else found
        super().__init__(f"{where}: {'; '.join(numbered)}")


@dataclass(frozen=True)
class Column:
    """A column of the file.

    Parameters
    ----------
    name : as in the header line.
    kind : one of ``KINDS``.
    range : (lower, upper) of a number, None if it is estimated from the budget. Values outside are set to its ends.
    levels : of the kind levels, as texts. The first one has no column of 0 and 1. The levels of a target are the
        classes.
    default : what a field that does not fit becomes: a number, "true" or "false", a level, ``OTHER`` (a level of its
        own), or ``EMPTY``. "" for a target, whose row is then empty.
    missing : what a missing level becomes: ``ABSENT`` (a level of its own) or ``DEFAULT``.
    source : where this is stated: a document, a code book, a section.
    """

    name: str
    kind: str
    range: Bounds = None
    levels: tuple[str, ...] = ()
    default: str = ""
    missing: str = DEFAULT
    source: str = ""

    @property
    def all_levels(self) -> tuple[str, ...]:
        """The levels with ``OTHER`` and ``ABSENT``, if they are levels here."""
        own = [word for word, rule in ((OTHER, self.default), (ABSENT, self.missing)) if word == rule]
        return (*self.levels, *own)

    @property
    def coded(self) -> tuple[str, ...]:
        """Names of the columns of numbers that this column becomes."""
        if self.kind == LEFT_OUT:
            return ()
        return tuple(f"{self.name}={v}" for v in self.all_levels[1:]) if self.kind == LEVELS else (self.name,)

    @property
    def bounds(self) -> tuple[Bounds, ...]:
        """The range of each column in :attr:`coded`, None if it is to be estimated."""
        return ((0.0, 1.0) if self.kind in (LEVELS, BOOLEAN) else self.range,) * len(self.coded)

    @property
    def words(self) -> str:
        """The treatment of the column, in words."""
        if self.kind == LEFT_OUT:
            return self.kind
        what = "makes an empty row" if self.default == EMPTY else f"becomes {shown(self.default)}"
        fill = f"; a field that does not fit {what}" if self.default else ""
        if self.kind == LEVELS:
            count, made = len(self.all_levels), len(self.coded)
            return (
                f"{count} levels; coded as {made} column{'s' if made != 1 else ''} of 0 and 1, all of them 0 for "
                f"'{shown(self.levels[0])}'{fill}"
            )
        if self.kind == BOOLEAN:
            return f"true or false, coded as 1 and 0{fill}"
        told = f"range [{self.range[0]:g}, {self.range[1]:g}]" if self.range else "range estimated from the budget"
        return f"number; {told}{fill}"


@dataclass(frozen=True)
class Schema:
    """A public schema. Fields are those of ``schema.yaml``.

    ``n``: the number of rows, public. ``columns``: all columns of the file in their order. ``rate``: the public share
    of class 1, or None. ``looked``: whether the schema was changed after a look at the rows.

    Raises :class:`Problems` with everything that is wrong.
    """

    n: int
    target: str | None
    task: str
    columns: tuple[Column, ...]
    encoding: str = "utf-8"
    separator: str = ","
    decimal: str = "."
    header: bool = True
    rate: float | None = None
    looked: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if found := _problems(self):
            raise Problems("schema", found)

    @staticmethod
    def read(path: Path) -> Schema:
        """The schema of a file. Raises TableError; :class:`Problems` has everything that is wrong."""
        if not path.is_file():
            raise TableError(f"no file {path}; draft one with ./bench schema")
        return Schema.of(yaml_file.read(path, TableError, yaml_file.TEXT), path)

    @staticmethod
    def of(document: Any, where: object = "schema") -> Schema:
        """The schema of what a YAML file says, with each scalar as text. Raises :class:`Problems`."""
        found: list[str] = []
        made = _made(document, found)
        if not found:
            found = [p for p in _problems(made)]
        if found:
            raise Problems(where, found)
        return Schema(**vars(made))

    def document(self) -> dict[str, Any]:
        """The content of a YAML file of this schema."""
        words = {sign: word for word, sign in SEPARATORS.items()}
        marks = {sign: word for word, sign in DECIMALS.items()}
        out: dict[str, Any] = {
            "encoding": self.encoding, "separator": words[self.separator], "decimal": marks[self.decimal],
            "header": "yes" if self.header else "no", "rows": str(self.n), "task": self.task,
        }  # fmt: skip
        out |= {"target": self.target} if self.target is not None else {}
        out |= {"rate of class 1": repr(self.rate)} if self.rate is not None else {}
        return out | {"columns": {c.name: _column_document(c, c.name == self.target) for c in self.columns}}

    def text(self) -> str:
        """The text of ``schema.yaml``. Equal schemas have equal texts."""
        return to_yaml(self.document())

    @property
    def sha256(self) -> str:
        """sha256 of :meth:`text` (hexadecimal): comments and line breaks of the file do not count."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    def column(self, name: str) -> Column:
        """The column of that name. Raises KeyError."""
        return {c.name: c for c in self.columns}[name]

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns that are neither the target nor left out."""
        return tuple(c for c in self.columns if c.kind != LEFT_OUT and c.name != self.target)

    @property
    def coded(self) -> tuple[str, ...]:
        """Names of the columns of numbers that a fit gets."""
        return tuple(name for c in self.inputs for name in c.coded)

    @property
    def bounds(self) -> tuple[Bounds, ...]:
        """Range of each column in :attr:`coded`, None if it is to be estimated."""
        return tuple(pair for c in self.inputs for pair in c.bounds)

    @property
    def y_bounds(self) -> Bounds:
        """Range of the target of a regression, None if it is to be estimated."""
        return self.column(self.target).range if self.target is not None and self.task == "regression" else None

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes 0, 1, ... of the target of a classification, else ()."""
        return self.column(self.target).levels if self.target is not None and self.task == "classification" else ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of the columns, each once, in their order."""
        return tuple(dict.fromkeys(c.source for c in self.columns if c.source and c.kind != LEFT_OUT))

    @property
    def words(self) -> str:
        """How the file is read, as one sentence."""
        by, mark = ({sign: word for word, sign in of.items()} for of in (SEPARATORS, DECIMALS))
        return (
            f"Read as {self.encoding.upper()}, separated by {_MANY[by[self.separator]]}, with a decimal "
            f"{mark[self.decimal]} and {'a' if self.header else 'no'} header line."
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """Sentences for the guarantee that follow from the schema."""
        per_line = (
            "A row is one line of the file. The guarantee is per line, so a field of the table may have no line break."
        )
        late = "The schema was changed after a look at the rows, so it is not public, and the guarantee does not hold."
        return (per_line, late) if self.looked else (per_line,)


class _Plain(yaml.SafeDumper):
    """Writes texts without quotes where YAML needs none, as ``yaml_file.TEXT`` reads them."""

    yaml_implicit_resolvers: ClassVar[dict] = {}


# a list is one line, and each statement about a column has a line of its own
_Plain.add_representer(list, lambda to, values: to.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=True))


def to_yaml(document: Any) -> str:
    """YAML of texts, lists and mappings, which reads back the same with ``yaml_file.TEXT``."""
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=1_000_000)


@cache
def codec(encoding: str) -> str:
    """The name of the codec of Python. Raises TableError unless it is UTF-8 or has one byte per character."""
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise TableError(f"nobody knows the encoding '{shown(encoding)}'; give utf-8, cp1252, cp1251, ...") from None
    ascii_bytes = bytes(range(128))
    single = _SINGLE_BYTE.fullmatch(name) and len(bytes(range(256)).decode(name, "replace")) == 256
    if name != "utf-8" and not (single and ascii_bytes.decode(name, "replace") == ascii_bytes.decode("ascii")):
        raise TableError(
            f"the encoding '{shown(encoding)}' is neither UTF-8 nor of one byte per character with the letters of "
            "ASCII; save the table as UTF-8"
        )
    return name


def shown(value: object) -> str:
    """A value for a message: one short line."""
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def number(text: str) -> float | None:
    """The finite number that a text with a decimal point states, else None."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


# ------------------------------------------------------------------------------------------------------ checks


def _problems(schema: Any) -> list[str]:
    """Everything that is wrong with a schema."""
    out: list[str] = []
    try:
        encoding = codec(schema.encoding)
    except TableError as e:
        encoding = ""
        out.append(str(e))
    if schema.separator not in SEPARATORS.values():
        out.append(f"separator: give one of {', '.join(SEPARATORS)}")
    if schema.decimal not in DECIMALS.values():
        out.append("decimal: give point or comma")
    if schema.n < 1:
        out.append("rows: give the public number of rows, at least 1")
    if schema.task not in TASKS:
        out.append(f"task: give one of {', '.join(TASKS)}")
    names = [c.name for c in schema.columns]
    if twice := [shown(n) for n, count in Counter(names).items() if count > 1]:
        out.append(f"columns of the same name: {', '.join(twice)}; give each a name of its own")
    target = [c for c in schema.columns if c.name == schema.target]
    if schema.target is None and schema.task != "density":
        out.append(f"target: {schema.task} needs one; give the column that is predicted")
    elif schema.target is not None and not target:
        out.append(f"target: there is no column '{shown(schema.target)}'; the columns are {some(names)}")
    elif target and schema.task == "density":
        out.append("target: density has none; leave the line out, and leave out the column")
    for column in schema.columns:
        out += [f"column '{shown(column.name)}': {text}" for text in _faults(column, schema, encoding)]
    made = Counter(name for c in schema.columns for name in c.coded if c.name != schema.target)
    if not made:
        out.append("columns: there is no input; give at least one that is not left out")
    if twice := [shown(n) for n, count in made.items() if count > 1]:
        out.append(f"a column and a level both become {', '.join(twice)}; rename the column")
    if schema.rate is not None and not (schema.task == "classification" and 0 < schema.rate < 1):
        out.append("rate of class 1: give a share between 0 and 1, of a classification only")
    return out


def _faults(column: Column, schema: Any, encoding: str) -> list[str]:
    """What is wrong with one column."""
    out = []
    is_target = column.name == schema.target and schema.task != "density"
    wanted = {"regression": NUMBER, "classification": LEVELS}.get(schema.task)
    if column.kind not in KINDS:
        return [f"kind: give one of {', '.join(KINDS)}"]
    if is_target and wanted and column.kind != wanted:
        return [f"kind: {column.kind}; the target of a {schema.task} has the kind {wanted}"]
    if column.range is not None:
        low, high = column.range
        if column.kind != NUMBER:
            out.append("range: only a number has one; leave it out")
        elif not (math.isfinite(low) and math.isfinite(high) and low < high):
            out.append(f"range: [{low:g}, {high:g}]; give lower < upper")
    if column.kind == LEFT_OUT:
        return out
    if column.kind == LEVELS:
        out += _level_faults(column, is_target, encoding)
    elif column.levels:
        out.append("levels: only a column of levels has them; leave them out")
    allowed = {NUMBER: f"a number or '{EMPTY}'", BOOLEAN: f"true, false or '{EMPTY}'"}.get(
        column.kind, f"'{OTHER}', a level or '{EMPTY}'"
    )
    fits = (
        column.default == EMPTY
        or {
            NUMBER: number(column.default) is not None,
            BOOLEAN: column.default in ("true", "false"),
            LEVELS: column.default in (OTHER, *column.levels),
        }[column.kind]
    )
    if is_target and column.default:
        out.append("default: a target has none, because a target that does not fit makes an empty row; leave it out")
    elif not is_target and not fits:
        out.append(f"default: state what a field that does not fit becomes: {allowed}")
    if column.missing not in (DEFAULT, ABSENT) or (column.missing == ABSENT and (column.kind != LEVELS or is_target)):
        out.append(f"missing: give '{DEFAULT}', or '{ABSENT}' for an input of levels")
    return out


def _level_faults(column: Column, is_target: bool, encoding: str) -> list[str]:
    out = []
    if not column.levels:
        out.append("levels: list them, as public knowledge and not from the rows")
    if twice := [shown(v) for v, count in Counter(column.levels).items() if count > 1]:
        out.append(f"levels: {', '.join(twice)} is listed twice; list each once")
    if {OTHER, ABSENT} & {*column.levels}:
        out.append(f"levels: {OTHER} and {ABSENT} are not listed; 'default' and 'missing' state them")
    if is_target and len(column.levels) == 1:
        out.append("levels: one class; a classification needs two")
    if encoding and (bad := [v for v in column.levels if not _writable(v, encoding)]):
        out.append(f"levels: {some(bad)} cannot be written in the encoding {encoding}")
    if bad := [v for v in column.levels if v != v.strip(" \t") or not v or "\n" in v or "\r" in v]:
        out.append(f"levels: '{shown(bad[0])}' is empty, begins or ends with a blank, or has a line break")
    return out


def _writable(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def some(names: Sequence[str]) -> str:
    """The first names of a list, for a message."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(map(shown, names[:8])) + more


# ---------------------------------------------------------------------------------------------------- documents


@dataclass
class _Made:
    """The fields of a schema before they are checked."""

    n: int
    target: str | None
    task: str
    columns: tuple[Column, ...]
    encoding: str
    separator: str
    decimal: str
    header: bool
    rate: float | None


def _made(document: Any, found: list[str]) -> _Made | None:
    """The fields of a document. Adds what cannot be read to ``found``."""
    if not isinstance(document, dict):
        found.append("give lines such as `rows: 300`; ./bench schema drafts them")
        return None
    found += [f"nobody knows '{shown(k)}'; a schema has {', '.join(_TOP)}" for k in document if k not in _TOP]
    found += [f"{name} is missing" for name in ("rows", "task", "columns") if name not in document]

    def one(name: str, default: str = "") -> str:
        value = document.get(name, default)
        if not isinstance(value, str):
            found.append(f"{name}: give one value")
            return default
        if value == TO_STATE:
            found.append(f"{name} is still to be stated")
            return default
        return value

    def word(name: str, known: Mapping[str, Any], default: str) -> Any:
        value = one(name, default)
        if value not in known:
            found.append(f"{name}: '{shown(value)}'; give one of {', '.join(known)}")
        return known.get(value, known[default])

    rows, rate = one("rows", "1"), one("rate of class 1")
    if not re.fullmatch("[1-9][0-9]{0,14}", rows):
        found.append(f"rows: '{shown(rows)}'; give the public number of rows, at least 1")
        rows = "1"
    if rate and number(rate) is None:
        found.append("rate of class 1: give a share between 0 and 1")
    given = document.get("columns", {})
    if not isinstance(given, dict):
        found.append("columns: give lines `name: {kind: number, ...}`")
        given = {}
    made = _Made(
        n=int(rows),
        target=one("target") or None,
        task=one("task", TASKS[0]),
        columns=tuple(_column(name, value, found) for name, value in given.items()),
        encoding=one("encoding", "utf-8"),
        separator=word("separator", SEPARATORS, "comma"),
        decimal=word("decimal", DECIMALS, "point"),
        header=word("header", _TRUTH, "yes"),
        rate=number(rate) if rate else None,
    )
    # faults of all kinds in one answer, where those that can be read are enough to look further
    found += [p for p in _problems(made) if p not in found and not _said(p, found)]
    return made


def _said(problem: str, found: Sequence[str]) -> bool:
    """Whether a fault of the same line of the document is listed already."""
    line = re.match(r"(?:column '.*?': )?[\w ]+:?", problem)
    return line is not None and any(f.startswith(line[0].removesuffix(":")) for f in found)


def _column(name: str, given: Any, found: list[str]) -> Column:
    where = f"column '{shown(name)}'"
    if isinstance(given, str):
        given = {"kind": given}
    if not isinstance(given, dict):
        found.append(f"{where}: give lines such as `kind: number`")
        return Column(name, LEFT_OUT)
    found += [f"{where}: nobody knows '{shown(k)}'; a column has {', '.join(_OF_COLUMN)}"
              for k in given if k not in _OF_COLUMN]  # fmt: skip
    for word, value in given.items():
        if TO_STATE in (value if isinstance(value, list) else [value]):
            found.append(f"{where}: {word} is still to be stated")
    text = {k: v for k, v in given.items() if isinstance(v, str) and v != TO_STATE}
    kind = text.get("kind", LEFT_OUT)
    if "kind" not in given:
        found.append(f"{where}: kind: give one of {', '.join(KINDS)}")
    low_high = _range(where, given.get("range"), kind, found)
    levels = given.get("levels", [])
    if levels != TO_STATE and not (isinstance(levels, list) and all(isinstance(v, str) for v in levels)):
        found.append(f"{where}: levels: give a list of levels, [level, level]")
        levels = []
    return Column(
        name, kind, low_high, () if levels == TO_STATE else tuple(levels), text.get("default", ""),
        text.get("missing", DEFAULT), text.get("source", ""),
    )  # fmt: skip


def _range(where: str, given: Any, kind: str, found: list[str]) -> Bounds:
    """The range that a document states, or None."""
    if given == TO_STATE or (given is None and kind != NUMBER):
        return None
    if given == ESTIMATE:
        return None
    pair = [number(v) if isinstance(v, str) else None for v in given] if isinstance(given, list) else []
    if len(pair) != 2 or None in pair:
        found.append(f"{where}: range: give [lower, upper], two numbers, or `{ESTIMATE}`, which costs budget")
        return None
    return float(pair[0] or 0.0), float(pair[1] or 0.0)


def _column_document(column: Column, is_target: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": column.kind}
    if column.kind == NUMBER:
        out["range"] = [repr(v) for v in column.range] if column.range else ESTIMATE
    if column.kind == LEVELS:
        out["levels"] = [*column.levels]
    if column.kind != LEFT_OUT and not is_target:
        out["default"] = column.default
        if column.kind == LEVELS:
            out["missing"] = column.missing
    return out | ({"source": column.source} if column.source else {})
