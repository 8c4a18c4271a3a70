"""Papers and the common tasks. Each is a folder that describes itself in one object ``PAPER``.

``papers/<key>/__init__.py`` (and ``common_tasks/__init__.py``) sets ``PAPER = Paper(key=..., ...)``. The folder also
has ``experiments/*.yaml`` (or the paper's own code), ``published.csv`` with ``annotations.csv``, ``findings/`` and
``reference/``. To remove a paper, remove its folder. Code is named as "module:function" and imported when it is called,
so that listing the papers imports nothing heavy.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

#: as in ``datasets.files``, whose package would import NumPy.
ROOT = Path(__file__).resolve().parents[1]
#: the folder of the tables that belong to all papers.
REFERENCE = ROOT / "reports" / "reference"


@dataclass(frozen=True)
class Extra:
    """Tables that are not scores and that one call makes.

    ``make``: "module:function", called with a :class:`workflow.extra.Request`; it returns the text of each table by
    file name. ``experiment``: its config is read. ``datasets``: their rows are read; None for the data of all cells of
    the experiment at the scale of the run. ``fits``: methods of the experiment whose stored fits on these data sets are
    read, "*" for all. ``reads``: other modules, imported by name, whose code the tables depend on.
    """

    tables: tuple[str, ...]
    make: str
    experiment: str = ""
    datasets: tuple[str, ...] | None = ()
    fits: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its rule: that of its first table."""
        return self.tables[0].partition(".")[0]

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules from which all its code is reached."""
        return self.make.partition(":")[0], *self.reads


def _code(place: str) -> Any:
    """A property: "module:function" below the package of a :class:`Program`."""
    return property(lambda program: f"{program.package}.{place}")


@dataclass(frozen=True)
class Program:
    """The own code of a paper, which has no experiments. It runs each published number many times.

    ``package``: "papers.KEY", whose modules have the names below. ``scores``: names of its score files. ``checks``:
    names of small tables that findings use. ``samples``: pattern of cell ids that the gate recomputes
    (``workflow.recompute``) -> CPU seconds per method and reading. ``measures``: name of a number -> column of a score
    row, or "1 - column". ``{metric}`` in a name is the metric of the row. ``judged``: how its numbers are judged,
    without the full stop. ``chunks``: score file -> number of ranges of its cells that are run at once, for a file that
    takes more than a sixteenth of a run of the paper.
    """

    package: str
    scores: tuple[str, ...]
    checks: tuple[str, ...]
    samples: Mapping[str, float]
    measures: Mapping[str, str]
    judged: str
    chunks: Mapping[str, int] = field(default_factory=dict)

    #: called with (name, scale, mirror, folder of raw files, wanted); returns the rows of one score file. ``wanted``:
    #: None for all rows, or a function that selects rows by their keys (dataset, method, reading, setting or epsilon,
    #: and table if there is one).
    rows = _code("run:rows")
    #: name of a small table -> function of the mirror that returns it.
    check = _code("checks:CHECKS")
    #: its single fits in the form that the audit takes, a tuple of ``audit.programs.OwnFit``.
    fits = _code("fits:FITS")
    #: (score rows, folder of the checks) -> table by file name, verdicts included.
    tables = _code("tables:build")
    #: headings of its methods, and of its tables.
    titles = _code("tables:METHODS")
    #: (folder of the tables, folder to draw into) -> figures.
    figures = _code("figures:build")
    #: (folder of the reference) -> runs by key of a published number and reading.
    runs = _code("verdicts:runs")
    #: (folder of the reference) -> ``reports.verdict.Case`` of every number that was run.
    cases = _code("verdicts:cases")

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules from which all that is made from the scores is reached."""
        return tuple(dict.fromkeys(n.partition(":")[0] for n in (self.tables, self.figures, self.runs)))


@dataclass(frozen=True)
class Paper:
    """The description of a folder. ``key``: its name and that of its target rule; ``aliases``: older names of the rule.

    ``sources``: key of each source of published numbers -> its heading in tables. ``family``: size of its multiplicity
    family (``reports.verdict``). ``methods``: published method -> its column heading; ``private``: those that claim
    differential privacy.

    ``tables``, ``figures``, ``page`` and ``derived`` name functions, as "module:function". The report calls ``tables``
    and ``figures`` per experiment, and ``page`` once for all of them. ``derived`` makes committed tables that follow
    from committed scores. ``reports.contents`` gives the arguments.

    ``extra``: its tables that are not scores. ``program``: its own code, if it has no experiments.
    """

    key: str
    title: str
    sources: Mapping[str, str] = field(default_factory=dict)
    family: int = 0
    methods: Mapping[str, str] = field(default_factory=dict)
    private: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    tables: str = ""
    figures: str = ""
    page: str = ""
    derived: str = ""
    extra: tuple[Extra, ...] = ()
    program: Program | None = None

    @property
    def home(self) -> Path:
        return _homes()[self.key]

    @property
    def reference(self) -> Path:
        """Its committed tables."""
        return self.home / "reference"

    @property
    def inputs(self) -> list[Path]:
        """Data and settings in its folder, which its own code reads."""
        return sorted([*self.home.glob("*.csv"), *self.home.glob("*.yaml")])

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules that the report calls."""
        named = (self.tables, self.figures, self.page, self.derived)
        own = self.program.modules if self.program else ()
        return tuple(dict.fromkeys([*(n.partition(":")[0] for n in named if n), *own]))

    @property
    def experiments(self) -> dict[str, Path]:
        """Name -> file, sorted by name."""
        return {p.stem: p for p in sorted((self.home / "experiments").glob("*.yaml"))}


@cache
def _homes() -> dict[str, Path]:
    """Key -> folder of everything that may be a paper."""
    inits = [*sorted((ROOT / "papers").glob("*/__init__.py")), *ROOT.glob("common_tasks/__init__.py")]
    return {path.parent.name: path.parent for path in inits}


@cache
def papers() -> tuple[Paper, ...]:
    """All folders with a ``PAPER`` by key, the common tasks last. Raises ValueError if key and folder differ."""
    records = []
    for key, home in _homes().items():
        module = importlib.import_module(".".join(home.relative_to(ROOT).parts))
        paper = vars(module).get("PAPER")
        if paper is None:
            raise ValueError(f"{home}: its __init__.py sets no PAPER; `./bench new paper KEY` writes one")
        if paper.key != key:
            raise ValueError(f"{home}: PAPER.key is '{paper.key}'; name it like the folder, '{key}'")
        records.append(paper)
    return tuple(records)


@cache
def of_experiments() -> tuple[Paper, ...]:
    """Papers with experiments. Their scores, tables and findings form one reference."""
    return tuple(p for p in papers() if not p.program)


@cache
def programs() -> dict[str, tuple[Paper, Program]]:
    """Key -> paper and program of papers with their own code. Each has its own reference."""
    return {p.key: (p, p.program) for p in papers() if p.program}


@cache
def experiments() -> dict[str, Path]:
    """Name of each experiment -> its file, sorted by name. Raises ValueError if a name occurs twice."""
    paths: dict[str, Path] = {}
    for paper in papers():
        for name, path in paper.experiments.items():
            if name in paths:
                raise ValueError(f"{path}: {paths[name]} is an experiment of the same name")
            paths[name] = path
    return dict(sorted(paths.items()))


@cache
def paper_of(experiment: str) -> Paper | None:
    """The paper of an experiment; None for an experiment of none (in tests)."""
    return next((p for p in papers() if experiment in p.experiments), None)


def key_of(experiment: str) -> str:
    """Key of the paper that an experiment belongs to; empty for an experiment of none."""
    paper = paper_of(experiment)
    return paper.key if paper else ""


def resolve(named: str) -> Any:
    """The function or table that "module:name" names."""
    module, _, name = named.partition(":")
    return vars(importlib.import_module(module))[name]


def homes(folder: Path = REFERENCE) -> list[Path]:
    """Folders of the reference ``folder``: itself and, if it is the committed one, those of papers with experiments."""
    folder = Path(folder).resolve()
    return [folder, *(p.reference for p in of_experiments())] if folder == REFERENCE else [folder]


def find(name: str, folder: Path = REFERENCE) -> Path | None:
    """The file with this name (``kl_bound.csv``, ``scores/x.csv.gz``) in a reference, or None."""
    return next((path for home in homes(folder) if (path := home / name).is_file()), None)


def place(experiment: str, folder: Path = REFERENCE) -> Path:
    """The folder for an experiment's tables: its paper's for the committed reference, otherwise ``folder``."""
    paper = paper_of(experiment)
    return paper.reference if paper and Path(folder).resolve() == REFERENCE else Path(folder)
