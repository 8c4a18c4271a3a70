"""Write the skeleton of something new, which runs as it is.

    ./bench new method NAME --kind KIND [--family FAMILY] [--private]
    ./bench new dataset NAME [FILE.csv --target COLUMN --task TASK]
    ./bench new kind NAME
    ./bench new paper KEY
    ./bench new experiment NAME

The texts are in ``workflow/templates``: Jinja2 files, and ``starts.yaml`` with the lines that depend on the kind of
model. A maker is one entry of ``MAKERS``: what may be given to it, and the function that writes the files.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import keyword
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
import numpy as np
import yaml

import datasets
from datasets.base import DataError, read_delimited
from methods import contract
from models import kind as model_kinds
from workflow import papers
from workflow.files import write_text
from workflow.imports import ROOT

TEMPLATES = Path(__file__).parent / "templates"
#: kind of model -> code of its simplest posterior; the file says what the keys are.
STARTS: dict[str, dict[str, str]] = yaml.safe_load((TEMPLATES / "starts.yaml").read_text(encoding="utf-8"))
TASKS = ("regression", "classification", "density")


class Refused(ValueError):
    """The skeleton cannot be written; the message says why and what to give instead."""


@dataclass(frozen=True)
class Maker:
    """``arguments`` adds to a parser; ``make`` writes below a root and gives what to say: files, what comes next."""

    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    make: Callable[[argparse.Namespace, Path], str]


# ---------------------------------------------------------------------------------------------- names, texts, files


def check_name(what: str, word: str) -> None:
    """Raises Refused for a word that cannot name a module."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", word) or keyword.iskeyword(word):
        raise Refused(f"{what} '{word}': give lower-case letters, digits and underscores, a letter first")


def nearest(word: str, known: Iterable[str]) -> str:
    """The question whether the known word that is nearest was meant; "" where none is near."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{found[0]}'?" if found else ""


def class_name(name: str) -> str:
    """``my_method`` -> ``MyMethod``."""
    return "".join(word.capitalize() for word in name.split("_"))


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters["sorted_lines"] = lambda text: "".join(sorted(f"{line}\n" for line in text.splitlines() if line))
    return made


def render(template: str, name: str, **values: object) -> str:
    """The text of a template for something called ``name``."""
    words = {"name": name, "cls": class_name(name), "title": name.replace("_", " ").capitalize()}
    return _environment().get_template(f"{template}.j2").render(words | values)


def write_new(root: Path, files: Mapping[str, str]) -> None:
    """Write texts by path below ``root``. Raises Refused, before anything is written, where one is there."""
    for name in files:
        if (root / name).exists():
            raise Refused(f"{name} exists")
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(root / name, text)


# --------------------------------------------------------------------------------------------------------- a method


def families() -> list[str]:
    """Names of the folders that hold methods."""
    return sorted({contract.module_of(name).split(".")[1] for name in contract.names()})


def method_text(name: str, kind: str, private: bool) -> str:
    """The text of the file. Raises Refused where there is no skeleton of a private method for that kind."""
    start = STARTS.get(kind, {})
    if private and "statistic" not in start:
        known = ", ".join(sorted(k for k, s in STARTS.items() if "statistic" in s))
        raise Refused(f"--private has a skeleton for {known}; for {kind} write it without and add the release")
    scaled = hasattr(model_kinds.kind(kind).model, "inner")
    return render("method.py", name, kind=kind, private=private, start=start, scaled=scaled)


def method_arguments(parser: argparse.ArgumentParser) -> None:
    """Of ``new method``."""
    parser.add_argument("name", help="of the method and its file: lower case, digits, underscores")
    parser.add_argument("--kind", required=True, help=f"kind of model that it fits: {', '.join(model_kinds.kinds())}")
    parser.add_argument("--family", help="folder of methods/; default: a new one of the method's name")
    parser.add_argument("--private", action="store_true", help="one with a release through the budget")


def make_method(args: argparse.Namespace, root: Path) -> str:
    """Write ``methods/<family>/<name>.py`` and say what comes next. Raises Refused."""
    name, kind, family = args.name, args.kind, args.family or args.name
    for what, word in (("name", name), ("family", family)):
        check_name(what, word)
    if kind not in model_kinds.kinds():
        known = model_kinds.kinds()
        raise Refused(f"unknown kind of model '{kind}'{nearest(kind, known)}\nknown: {', '.join(known)}")
    home = f"{contract.module_of(name).replace('.', '/')}.py" if name in contract.names() else contract.left_out(name)
    if home:
        raise Refused(f"there is a method '{name}' already ({home}); to teach it {kind}, add a class to that file")
    close = difflib.get_close_matches(family, families(), n=1, cutoff=0.8)
    if args.family and family not in families() and close:
        raise Refused(f"no family '{family}'; did you mean '{close[0]}'? (a new family needs a name less like it)")
    path = f"methods/{family}/{name}.py"
    write_new(root, {path: method_text(name, kind, args.private)})
    return (
        f"{path}: it runs as it is; experiments with `include_unlisted_methods` take it in\n"
        f"next: fill in what says TODO and the fit; `./bench try {name}` checks it and shows its scores"
    )


# ------------------------------------------------------------------------------------------------------- a data set


def dataset_arguments(parser: argparse.ArgumentParser) -> None:
    """Of ``new dataset``."""
    parser.add_argument("name", help="of the data set and its file: lower case, digits, underscores")
    parser.add_argument("file", nargs="?", type=Path, help="its table: CSV of numbers with a header; default: made up")
    parser.add_argument("--target", help="name of the target's column; default: the last one")
    parser.add_argument(
        "--task", choices=TASKS, default="regression", help="classes are 0, 1, ... (default: regression)"
    )


def check_word(what: str, word: str) -> None:
    """Raises Refused for the name of a file or column that would end a text or docstring of the skeleton."""
    if not word.isprintable() or set(word) & set('"\\$'):
        raise Refused(f"rename the {what} {word!r}: no double quotes, backslashes, dollar signs or control characters")


def described(path: Path, target: str | None, task: str) -> dict:
    """The facts of a table at hand that the skeleton needs. Raises Refused."""
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


def made_up(name: str) -> dict:
    """The facts of a made-up table, for a skeleton without one."""
    told = {"file": f"{name}.csv", "columns": ("first", "second"), "target": "target", "rows": 100, "sha256": "0" * 64}
    return told | {"task": "regression", "labels": (), "delimiter": ","}


def make_dataset(args: argparse.Namespace, root: Path) -> str:
    """Write ``datasets/<name>.py`` and say what comes next. Raises Refused."""
    name = args.name
    check_name("name", name)
    if name in datasets.names():
        raise Refused(f"there is a data set '{name}' already (datasets/{name}.py)")
    if not args.file and (args.target or args.task != "regression"):
        raise Refused("--target and --task speak of a table: name its file")
    told = described(args.file, args.target, args.task) if args.file else made_up(name)
    path = f"datasets/{name}.py"
    write_new(root, {path: render("dataset.py", name, **told)})
    after = "" if args.file else "name, columns, rows and sha256 of its file, "
    return (
        f"{path}: {told['rows']} rows, {len(told['columns'])} inputs; an experiment names it under `datasets`\n"
        f"next: {after}its licence and documented ranges; put the table at DPBAYES_MIRROR/{name}/{told['file']} or "
        "give its address as a Source; `./bench test tests/datasets/test_registry.py`"
    )


# ------------------------------------------------------------------------ a kind of model, a paper, an experiment


def name_argument(help: str) -> Callable[[argparse.ArgumentParser], None]:
    """Of a maker that takes a name and nothing else."""
    return lambda parser: parser.add_argument("name", metavar="NAME", help=help)  # type: ignore[return-value]


def make_kind(args: argparse.Namespace, root: Path) -> str:
    """Write ``models/<name>.py`` and say what comes next. Raises Refused."""
    name = args.name
    check_name("name", name)
    if name in model_kinds.kinds():
        raise Refused(f"there is a kind of model '{name}' already ({model_kinds.kind(name).model.__module__})")
    path = f"models/{name}.py"
    write_new(root, {path: render("kind.py", name)})
    return (
        f"{path}: a kind of model that runs as it is; an experiment names it under `model`\n"
        f'next: a method whose `models` name "{name}" and that returns {class_name(name)}Posterior; '
        "`./bench test tests/models/test_kind.py`"
    )


def make_paper(args: argparse.Namespace, root: Path) -> str:
    """Write ``papers/<key>/`` and its test, and say what comes next. Raises Refused."""
    key = args.name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
        raise Refused(f"'{key}': a key has small letters, digits and underscores, and begins with a letter")
    home, tests = f"papers/{key}", f"tests/papers/{key}"
    if (root / home).exists() or (root / tests).exists():
        raise Refused(f"{home} or {tests} is there")
    places = {"experiment.yaml": f"{home}/experiments/{key}.yaml", "test_paper.py": f"{tests}/test_paper.py"}
    templates = [path.stem for path in sorted((TEMPLATES / "paper").glob("*.j2"))]
    write_new(root, {places.get(t, f"{home}/{t}"): render(f"paper/{t}", key) for t in templates})
    return (
        f"{home}/: one cheap cell stands in for the paper's own; `./bench {key}` runs it\n"
        f"next: published.csv, experiments/{key}.yaml, claims.py; `./bench test {tests}`"
    )


def make_experiment(args: argparse.Namespace, root: Path) -> str:
    """Write ``experiments/<name>.yaml`` and say what comes next. Raises Refused."""
    name = args.name
    check_name("name", name)
    if name in papers.experiments():
        raise Refused(
            f"there is an experiment '{name}' already ({papers.experiments()[name].relative_to(ROOT)}); "
            "give another name: scores are filed under it"
        )
    path = f"experiments/{name}.yaml"
    write_new(root, {path: render("experiment.yaml", name, path=path)})
    return (
        f"{path}: two methods on one table; it runs as it is:\n"
        f"./bench --cores 2 results/scores/{name}/wine.csv --config experiments={path}\n"
        "next: its data sets, methods and budgets; the comments say what each key is"
    )


MAKERS = {
    "method": Maker("a method: one file, methods/<family>/<name>.py", method_arguments, make_method),
    "dataset": Maker("a data set: one file, datasets/<name>.py", dataset_arguments, make_dataset),
    "kind": Maker(
        "a kind of model: one file, models/<name>.py",
        name_argument("of the kind of model and its file: lower case, digits, underscores"),
        make_kind,
    ),
    "paper": Maker(
        "a paper: one folder, papers/<key>/", name_argument("its bibliography key, such as park2017dpem"), make_paper
    ),
    "experiment": Maker(
        "an experiment of one's own: one file, experiments/<name>.yaml",
        name_argument("of the experiment and its file: lower case, digits, underscores"),
        make_experiment,
    ),
}


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Exit code: 0, or 2 with the reason on the error stream."""
    parser = argparse.ArgumentParser(prog="./bench new", description="Write the skeleton of something new.")
    parts = parser.add_subparsers(dest="what", required=True, metavar=f"{{{','.join(MAKERS)}}}")
    for word, maker in MAKERS.items():
        maker.arguments(parts.add_parser(word, help=maker.help, description=f"Write {maker.help}."))
    given = sys.argv[1:] if arguments is None else arguments
    if given and not given[0].startswith("-") and given[0] not in MAKERS:
        print(f"bench new: nothing to make called '{given[0]}'{nearest(given[0], MAKERS)}", file=sys.stderr)
        print(f"known: {', '.join(MAKERS)}", file=sys.stderr)
        return 2
    args = parser.parse_args(given)
    try:
        print(MAKERS[args.what].make(args, root))
    except Refused as error:
        print(f"bench new: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
