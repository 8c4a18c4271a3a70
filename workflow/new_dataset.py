"""``./bench new dataset NAME [FILE --target COLUMN]``: a data set, one file, described from its table."""

from __future__ import annotations

import argparse
import hashlib
import string
from pathlib import Path

import numpy as np

import datasets
from datasets.base import DataError, read_delimited
from workflow.new_files import Refused, check_name, write_new

TEXT = string.Template('''"""$title: one sentence on what its rows are, and where they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.base import DataSet, RawFile, Table, read_delimited

COLUMNS = (
$columns
)


def parse(path: Path) -> Table:
    """$file: a header line, columns separated by $separator."""
    rows = read_delimited(Path(path), "$delimiter", (*COLUMNS, $target))
    return Table(np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), COLUMNS)


# Ranges go into x_bounds and y_bounds where a document states them, with bounds_citation and `extremes`; never those of
# the rows at hand.
DATASET = DataSet(
    name="$name",
    title="$title",
    n_rows=$rows,
    n_inputs=$inputs,
    columns=COLUMNS,
    target=$target,
    unit="",
    licence="TODO: as the source states it",
    doi="",
    # name, sha256, addresses: Source("https://..."); without one the file is taken from the mirror alone
    raw=(RawFile($raw, "$sha256", ()),),
    parse=parse,
    task="$task",
    labels=$labels,
)
''')
TASKS = ("regression", "classification", "density")
#: what stands in the skeleton where no file is given.
NO_FILE = {"file": "{name}.csv", "columns": ("first", "second"), "target": "target", "rows": 100, "sha256": "0" * 64}


def dataset_text(
    name: str, file: str, columns: tuple[str, ...], target: str, rows: int, sha256: str, task: str = "regression",
    labels: tuple[str, ...] = (), delimiter: str = ",",
) -> str:  # fmt: skip
    """The text of ``datasets/<name>.py``. ``file``, ``columns`` and ``target`` have passed :func:`check_word`."""
    return TEXT.substitute(
        name=name,
        title=name.replace("_", " ").capitalize(),
        file=file,
        raw=_quoted(file),
        columns="\n".join(f"    {_quoted(c)}," for c in columns),
        target=_quoted(target),
        rows=rows,
        inputs=len(columns),
        sha256=sha256,
        task=task,
        labels="()" if not labels else f"({', '.join(map(_quoted, labels))})",
        delimiter=delimiter,
        separator={",": "commas", ";": "semicolons"}[delimiter],
    )


def check_word(what: str, word: str) -> None:
    """Raises Refused for the name of a file or column that cannot stand in a program's text and docstring."""
    if not word.isprintable() or set(word) & set('"\\$'):
        raise Refused(f"rename the {what} {word!r}: no double quotes, backslashes, dollar signs or control characters")


def _quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def arguments(parser: argparse.ArgumentParser) -> None:
    """Of ``new dataset``."""
    parser.add_argument("name", help="of the data set and its file: lower case, digits, underscores")
    parser.add_argument("file", nargs="?", type=Path, help="its table: CSV of numbers with a header; default: made up")
    parser.add_argument("--target", help="name of the target's column; default: the last one")
    parser.add_argument(
        "--task", choices=TASKS, default="regression", help="classes are 0, 1, ... (default: regression)"
    )


def described(path: Path, target: str | None, task: str) -> dict:
    """What the skeleton needs to know of a table at hand. Raises Refused."""
    check_word("file", path.name)
    if not path.is_file():
        raise Refused(f"no file {path}")
    try:
        head = path.read_text(encoding="utf-8").partition("\n")[0]
    except UnicodeDecodeError as error:
        raise Refused(f"{path.name} is not UTF-8 ({error}); save it as UTF-8") from None
    if head.startswith("\ufeff"):
        raise Refused(f"{path.name} begins with a byte-order mark; save it as UTF-8 without one")
    delimiter = ";" if head.count(";") > head.count(",") else ","
    header = [h.strip().strip('"') for h in head.split(delimiter)]
    if len(header) < 2 or len(set(header)) < len(header) or not all(header):
        raise Refused(f"{path.name}: the first line is no header of two or more different names: {head[:80]}")
    for name in header:
        check_word(f"column of {path.name},", name)
    target = target or header[-1]
    if target not in header:
        raise Refused(f"{path.name} has no column '{target}'; its header: {', '.join(header)}")
    columns = tuple(h for h in header if h != target)
    try:
        rows = read_delimited(path, delimiter, (*columns, target))
    except DataError as error:
        # its advice is for a file that was fetched
        raise Refused(f"{error}".replace("; delete the file and fetch it again", "; correct the table")) from None
    if not np.isfinite(rows).all():
        raise Refused(
            f"{path.name}: row {int(np.argwhere(~np.isfinite(rows))[0][0]) + 1} has a number that is not finite"
        )
    labels: tuple[str, ...] = ()
    if task == "classification":
        found = np.unique(rows[:, -1])
        if not np.array_equal(found, np.arange(len(found))) or len(found) < 2:
            raise Refused(
                f"{path.name}: '{target}' has {', '.join(f'{v:g}' for v in found[:5])}; give classes 0, 1, ..."
            )
        labels = tuple(f"{v:g}" for v in found)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    told = {"file": path.name, "columns": columns, "target": target, "rows": len(rows), "sha256": digest}
    return told | {"task": task, "labels": labels, "delimiter": delimiter}


def make(args: argparse.Namespace, root: Path) -> str:
    """Write ``datasets/<name>.py`` and say what comes next. Raises Refused."""
    name = args.name
    check_name("name", name)
    if name in datasets.names():
        raise Refused(f"there is a data set '{name}' already (datasets/{name}.py)")
    if args.file:
        told = described(args.file, args.target, args.task)
    elif args.target or args.task != "regression":
        raise Refused("--target and --task speak of a table: name its file")
    else:
        told = NO_FILE | {"file": NO_FILE["file"].format(name=name)}
    path = f"datasets/{name}.py"
    write_new(root, {path: dataset_text(name, **told)})
    after = "" if args.file else "name, columns, rows and sha256 of its file, "
    return (
        f"{path}: {told['rows']} rows, {len(told['columns'])} inputs; an experiment names it under `datasets`\n"
        f"next: {after}its licence and documented ranges; put the table at DPBAYES_MIRROR/{name}/{told['file']} or "
        "give its address as a Source; `./bench test tests/datasets/test_registry.py`"
    )
