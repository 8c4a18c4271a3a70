"""Pages of docs/ that are made from code and tables: commands, configuration, columns, the Python API, the glossary.

``python -m reports.build readme`` writes them together with README and the findings (:mod:`reports.readme`).
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
import yaml

import dpbayes_bench
from datasets.files import ROOT
from methods import contract
from reports import glossary
from reports.site.words import relation
from workflow import cli
from workflow.papers import papers

SCHEMA = ROOT / "workflow/schemas/experiment.schema.json"
NOTE = "<!-- made by `python -m reports.build readme` from {}; edit that -->\n"


def texts() -> dict[str, str]:
    """All pages: file relative to the root -> text."""
    return {file: page() for file, page in PAGES.items()}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """The lines of a table in Markdown, and an empty line."""
    for cells in (head := list(head), ["---"] * len(head), *rows):
        yield f"| {' | '.join(str(c).replace('|', chr(92) + '|') for c in cells)} |"
    yield ""


# ------------------------------------------------------------------------------------------------------------ commands


def commands() -> str:
    """The help text of ``bench``, and the options of each of its commands."""
    told = re.findall(r"^#   \./bench(.*?)  +(.*)$", (ROOT / "bench").read_text(encoding="utf-8"), re.MULTILINE)
    lines = [NOTE.format("`bench` and its commands"), "# Commands", ""]
    lines += ["`./bench` sets up its environment on the first call. The table lists its words.", ""]
    lines += table(("words", "what it does"), ((f"`./bench{words.rstrip()}`", text) for words, text in told))
    lines += ['Bash completes the words after `eval "$(_BENCH_COMPLETE=bash_source ./bench)"`.', ""]
    for word in cli.COMMANDS:
        made = cli.command(word)
        lines += [f"## ./bench {word}", "", sentence(made.help or ""), ""]
        if isinstance(made, click.Group):
            lines += table(("what", "options"), ((f"`{n}`", options(c)) for n, c in made.commands.items()))
        else:
            lines += table(("word or option", "meaning"), (parameter(p) for p in made.params))
    return "\n".join(lines).rstrip("\n") + "\n"


def parameter(p: click.Parameter) -> tuple[str, str]:
    """A parameter as the user types it, and its help."""
    typed = p.opts[0] if isinstance(p, click.Option) else p.make_metavar(click.Context(click.Command("bench")))
    return f"`{typed.strip('[]').removesuffix('...')}`", getattr(p, "help", "") or ""


def options(made: click.Command) -> str:
    return ", ".join(f"`{p.opts[0]}`" for p in made.params if isinstance(p, click.Option))


def sentence(text: str) -> str:
    """The first sentences of a help text on one line."""
    return " ".join(text.split("\n\n")[0].split())


# ------------------------------------------------------------------------------------------------------- configuration


def configuration() -> str:
    """The keys of ``config/config.yaml`` with their comments, and of an experiment by its schema."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    lines = [NOTE.format("`config/config.yaml` and `workflow/schemas/experiment.schema.json`"), "# Configuration", ""]
    lines += ["Settings of a run are in `config/config.yaml`, and an experiment is a YAML file of its own.", ""]
    lines += ["## A run", "", "Give a setting as `--config scale=quick`. An unknown key is refused with its name.", ""]
    lines += run_keys()
    lines += [
        "## Experiments",
        "",
        "An experiment is one YAML file. The schema refuses an unknown key with its name.",
        "",
    ]
    lines += keys(schema["properties"])
    lines += ["## A configuration of an experiment", ""]
    lines += ["Each entry of `arms` is a method with its settings and budget.", ""]
    lines += keys(schema["$defs"]["arm"]["properties"])
    lines += ["A value that depends on the data set is written as `{by_dataset: {wine: 1, default: 2}}`.", ""]
    lines += ["## Other files", ""]
    lines += table(
        ("file", "holds"),
        (
            ("`config/gates.yaml`", "tolerances of recomputed numbers"),
            ("`config/measured.yaml`", "sizes and times that texts quote; `python -m reports.measured` prints them"),
            ("`common_tasks/tuned/`", "settings that were chosen on synthetic surrogate data"),
            ("`profiles/`", "profiles of Snakemake, such as that of a cluster"),
        ),
    )
    return "\n".join(lines).rstrip("\n") + "\n"


def run_keys() -> Iterator[str]:
    """The keys of ``config/config.yaml`` with their defaults and comments."""
    text = (ROOT / "config/config.yaml").read_text(encoding="utf-8")
    told = re.findall(r"^(\w+): *(\S+) *# *(.*)$", text, re.MULTILINE)
    assert {key for key, _, _ in told} == set(yaml.safe_load(text))
    return table(("key", "default", "meaning"), ((f"`{k}`", f"`{v}`", words) for k, v, words in told))


def config_folder() -> str:
    """The content of ``config/``. The catalogue of Snakemake workflows shows this page."""
    lines = [NOTE.format("`config/config.yaml`"), "# Configuration", ""]
    lines += [
        "`config.yaml` holds the settings of a run. Give others on the command line, as `--config scale=quick`.",
        "",
    ]
    lines += run_keys()
    lines += [
        "The keys of an experiment are [explained in the docs](../docs/reference/configuration.md#experiments).",
        "",
    ]
    lines += ["* `gates.yaml` holds the tolerances of recomputed numbers."]
    lines += ["* `measured.yaml` holds sizes and times that texts quote. `python -m reports.measured` prints them."]
    return "\n".join(lines) + "\n"


def keys(properties: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    return table(("key", "meaning"), ((f"`{k}`", of["description"]) for k, of in properties.items()))


# ------------------------------------------------------------------------------------------------- columns, Python API


def columns() -> str:
    """The meaning of each column of the committed tables."""
    told = dpbayes_bench.columns()
    lines = [NOTE.format("`dpbayes_bench/columns.csv`"), "# Columns of the committed tables", ""]
    lines += ["The tables are those of the Python package and of the files to download.", ""]
    for name, of in told.groupby("table", sort=False):
        lines += [f"## {name}", ""]
        rows = ((f"`{r['column']}`", r["type"], r["unit"], r["meaning"]) for r in of.to_dict("records"))
        lines += table(("column", "type", "unit", "meaning"), rows)
    return "\n".join(lines).rstrip("\n") + "\n"


def python() -> str:
    """The functions of ``dpbayes_bench`` that read results, with their docstrings."""
    lines = [NOTE.format("the docstrings of `dpbayes_bench`"), "# Python API", ""]
    lines += ["`pip install .` installs the package `dpbayes_bench`, which reads the committed results with numpy and"]
    lines += ["pandas. [Fits in Python](python-fits.md) has the functions that fit. `evaluate`, `check_method` and"]
    lines += ["`judge` need a checkout.", ""]
    lines += [
        "```python",
        "import dpbayes_bench as bench",
        "",
        'rows = bench.task("wine-linear_regression", epsilon=1.0)',
    ]
    lines += ['print(rows[["method", "measure", "mean", "std"]].head())', "```", ""]
    return "\n".join([*lines, *documented({*dpbayes_bench.__all__} - {*FITTING, *STATED})]).rstrip("\n") + "\n"


def python_fits() -> str:
    """The functions and classes of ``dpbayes_bench`` that fit, with their docstrings."""
    lines = [NOTE.format("the docstrings of `dpbayes_bench`"), "# Fits in Python", ""]
    lines += ["A private fit needs the extra `fit`. See the [guide](../how-to/fit-a-private-posterior.md), and"]
    lines += ["[schemas, ranges and budgets](python-schemas.md), which are stated before a fit.", ""]
    return "\n".join([*lines, *documented(FITTING)]).rstrip("\n") + "\n"


def python_schemas() -> str:
    """The classes of ``dpbayes_bench`` that say what is known before a fit, with their docstrings."""
    lines = [NOTE.format("the docstrings of `dpbayes_bench`"), "# Schemas, ranges and budgets in Python", ""]
    lines += ["They are stated before a row is read. [Fits in Python](python-fits.md) take them.", ""]
    return "\n".join([*lines, *documented(STATED)]).rstrip("\n") + "\n"


#: public names that fit, and those that are stated before a fit.
STATED = ("Accountant", "Bounds", "BudgetFileError", "BudgetSpent", "Schema")
FITTING = (
    "fit", "HiddenRangeWarning", "list_methods", "Predictive", "Privacy", "PrivacyLeakWarning", "PrivateClassifier",
    "PrivateFit", "PrivateRegressor",
)  # fmt: skip


def documented(names: Iterable[str]) -> Iterator[str]:
    """Lines of public names."""
    for name in sorted(names, key=str.lower):
        made = getattr(dpbayes_bench, name)
        signature = "" if inspect.isclass(made) else str(inspect.signature(made)).replace("'", "")
        yield from [f"## {name}", "", f"`{name}{signature}`", "", markdown(inspect.getdoc(made) or ""), ""]
        if inspect.isclass(made):
            yield from members(made)


def members(made: type) -> list[str]:
    """The public methods and properties of a class, as one list entry each."""
    out = []
    for name, member in vars(made).items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        given = "" if isinstance(member, property) else str(inspect.signature(function)).replace("'", "")
        typed = name + given.replace("self, ", "").replace("self", "")
        out.append(f"* `{typed}`: {sentence(markdown(inspect.getdoc(function) or ''))}")
    return [*out, ""] if out else []


def markdown(doc: str) -> str:
    """A docstring as Markdown: literals and roles as code, sections in bold, entries of a list as a list."""
    text = re.sub(r":\w+:`~?\.?([^`]+)`", r"``\1``", doc).replace("``", "`")
    text = re.sub(r"^(\w+)\n-+$", r"**\1**\n", text, flags=re.MULTILINE)
    return re.sub(r"^(\w+(?:, \w+)*) : ", r"* `\1`: ", text, flags=re.MULTILINE)


# ---------------------------------------------------------------------------------------------------- papers, methods


def covered() -> str:
    """The papers with their numbers and findings, and the methods by family."""
    lines = [NOTE.format("the folders of papers/ and methods/"), "# Papers and methods", ""]
    rows = []
    for paper in papers():
        home = ROOT / "papers" / paper.key
        if (home / "reference").is_dir():
            made = sorted((home / "findings").glob("*.md"))
            rows.append((f"`{paper.key}`", paper.title, "; ".join(paper.sources.values()), len(made)))
    families: dict[str, list[str]] = {}
    for name in contract.names():
        families.setdefault(type(contract.get(name)).__module__.split(".")[1], []).append(name)
    lines += [f"The suite covers {len(rows)} papers and has {len(contract.names())} methods, baselines included.", ""]
    lines += ["## Which papers", ""]
    lines += [f"These are the {len(rows)} papers, theses and notes. A paper without published numbers is judged by its"]
    lines += ["claims.", ""]
    lines += table(("folder", "paper", "sources", "findings"), rows)
    lines += ["## Which methods", ""]
    lines += ["A family is a folder of `methods/`. The last column has the neighbours of the privacy claim. The page"]
    lines += ["of a method says whether its claim is refuted.", ""]
    for family, of in sorted(families.items()):
        lines += [f"### {family.replace('_', ' ')}", ""]
        found = [contract.get(name) for name in of]
        lines += table(
            ("method", "file", "claims privacy for"),
            ((m.title, f"`{m.name}`", relation(m.privacy.value) if m.privacy else "no") for m in found),
        )
    return "\n".join(lines).rstrip("\n") + "\n"


# ------------------------------------------------------------------------------------------------------------ glossary


def words() -> str:
    """The glossary: a heading per word, so that pages can link to it."""
    lines = [NOTE.format("`reports/glossary.csv`"), "# Glossary", ""]
    lines += ["Words of this suite, and words of the field that are used in one particular sense here.", ""]
    for w in glossary.load():
        lines += [f"## {w.word}", "", w.meaning, ""]
    return "\n".join(lines).rstrip("\n") + "\n"


PAGES = {
    "config/README.md": config_folder,
    "docs/reference/commands.md": commands,
    "docs/reference/configuration.md": configuration,
    "docs/reference/columns.md": columns,
    "docs/reference/python.md": python,
    "docs/reference/python-fits.md": python_fits,
    "docs/reference/python-schemas.md": python_schemas,
    "docs/reference/glossary.md": words,
    "docs/reference/papers-and-methods.md": covered,
}
