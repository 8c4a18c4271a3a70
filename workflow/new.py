"""Write the skeleton of something new, which runs as it is.

    ./bench new method NAME --kind KIND [--family FAMILY] [--private]
    ./bench new dataset NAME [FILE.csv --target COLUMN --task TASK]
    ./bench new kind NAME
    ./bench new paper KEY

A maker is one entry of ``MAKERS``: what may be given to it, and the function that writes the files.
"""

from __future__ import annotations

import argparse
import difflib
import re
import string
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from datasets.files import ROOT, write_text
from methods import contract
from models import kind as model_kinds
from workflow import new_dataset, new_kind
from workflow.new_files import Refused, check_name, class_name, write_new


@dataclass(frozen=True)
class Maker:
    """``arguments`` adds to a parser; ``make`` writes below a root and gives what to say: files, what comes next."""

    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    make: Callable[[argparse.Namespace, Path], str]


@dataclass(frozen=True)
class Start:
    """The simplest posterior of a kind of model: what it imports, and how it is made of ``task``.

    ``made`` : lines, the last one an expression. ``released`` : the same from ``mean``, the private mean of
    ``statistic`` (one row a training row, numbers cut to ``settings.clip``); "" where there is no private skeleton.
    """

    imports: str
    made: str
    statistic: str = ""
    released: str = ""


_TARGETS = Start(
    "from models.linear_regression import ConstantGaussian",
    "ConstantGaussian(float(task.y.mean()), float(task.y.var()) + 1e-6)",
    "task.y[:, None]",
    "ConstantGaussian(float(mean[0]), settings.clip**2)",
)
_MIXTURE = Start(
    "from models.mixture_of_gaussians import MixtureParameters",
    """k, mean = task.model.components, task.x.mean(axis=0)
covariance = (1e-6 + float(task.x.var())) * np.eye(len(mean))
MixtureParameters(np.ones(k) / k, np.tile(mean, (k, 1)), np.tile(covariance, (k, 1, 1)))""",
)
#: a kind that is not here gets a skeleton that says what is missing.
STARTS = {
    "bnn_regression": _TARGETS,
    "linear_regression": _TARGETS,
    "bounded_linear_regression": _TARGETS,
    "bounded_logistic_regression": Start(
        "from models.bounded_logistic import LogisticPoint",
        "LogisticPoint(np.append(np.zeros(task.x.shape[1]), 4.0 * task.y.mean() - 2.0))",
        "task.y[:, None] - 0.5",
        "LogisticPoint(np.append(np.zeros(task.x.shape[1]), 4.0 * mean))",
    ),
    "bounded_mixture": Start(
        _MIXTURE.imports,
        _MIXTURE.made,
        "task.x",
        """k = task.model.components
MixtureParameters(np.ones(k) / k, np.tile(mean, (k, 1)), np.tile(np.eye(len(mean)), (k, 1, 1)))""",
    ),
    "mixture_of_gaussians": _MIXTURE,
    "bnn_classification": Start(
        "from models.bnn_classification import ClassifierPoint, size",
        """widths = task.model.widths(task.x.shape[1])
weights = rng.standard_normal(size(widths)).astype(np.float32)
ClassifierPoint(weights, widths, task.model.input_scale)""",
    ),
    "conjugate_simulator": Start("", "task.model.exact_posterior(task.x)"),
    "linear_regression_unknown_noise": Start("", "task.model.exact_posterior(task.x, task.y)"),
    "logistic_regression_normal_prior": Start(
        "from models.unconstrained import UnconstrainedGaussian",
        """d = task.model.likelihood.design(task.x).shape[1]
UnconstrainedGaussian(np.zeros(d), np.ones(d), task.model.likelihood)""",
    ),
    "logistic_regression": Start(
        "from models.logistic_regression import LogisticSample, row_scaling",
        "LogisticSample(np.zeros(task.x.shape[1]), row_scaling(task.model, task.x, task.public))",
    ),
    "exponential_family": Start(
        "from methods._shared.exponential_family import release\n"
        "from models.exponential_family import ParameterSample, statistic_of",
        """law, total = task.model.law, statistic_of(task).sum(axis=0)
natural = release.posterior(task.model.natural, total, task.public.n, 1.0, 1.0)
ParameterSample(law.sample(rng, natural), law)""",
    ),
}

PLAIN = string.Template('''"""One sentence: what $name is, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

$imports


class $cls($base):
    """What it does, in the source's terms, and where it departs from the source."""

    name = "$name"
    title = "$title"  # column heading
    reference = "TODO: authors and year, and the place in the paper"
    models = ("$kind",)
    constants = (Constants.GUESSED,)  # where the defaults come from

    @dataclass(frozen=True)
    class Settings:
        """Every hyper-parameter, with unit, default and source."""

    def $fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows."""
        if task.n < 1:
            raise ValueError(f"{task.name}: {self.name} needs at least 1 training row, got {task.n}")
        $body
''')
PRIVATE = string.Template('''"""One sentence: what $name is, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

$imports


class $cls($base):
    """What it does, in the source's terms, and where it departs from the source."""

    name = "$name"
    title = "$title"  # column heading
    reference = "TODO: authors and year, and the place in the paper"
    models = ("$kind",)
    privacy = Relation.ADD_REMOVE  # the neighbours of the guarantee
    constants = (Constants.GUESSED,)  # where the defaults come from
    leaks = ()  # what no epsilon counts
    # at epsilon = 1e6: a method without privacy, and how near; or why none
    counterparts = (Counterpart(apart=Apart.CLIPPING, reason="rows are cut at a clip that no budget widens"),)

    @dataclass(frozen=True)
    class Settings:
        clip: float = 0.5  #: to which each number of a row's statistic is cut (unit of the statistic)

    def $fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows, or a budget that states no privacy."""
        if task.n < 1:
            raise ValueError(f"{task.name}: {self.name} needs at least 1 training row, got {task.n}")
        total = clipped_sum($statistic, settings.clip)
        noise = budget.gaussian(
            "sum of the clipped rows",
            sensitivity=settings.clip * len(total) ** 0.5,
            noise_multiplier=left_for(budget, "sum of the clipped rows", self.privacy),
            relation=self.privacy,
            proof=f"{__name__}.clipped_sum",
        )
        mean = noise.release(total) / task.public.n
        # diagnostics are released too: functions of released and public numbers alone
        $body
        return Fit(posterior, budget.ledger, {"noise_scale": noise.noise_scale})


def clipped_sum(rows: np.ndarray, clip: float) -> np.ndarray:
    """Sum of rows (n, k) whose numbers are cut to [-clip, clip], (k,).

    One row more or less moves each number by at most ``clip``: the L2 sensitivity is clip sqrt(k).
    """
    return np.clip(rows, -clip, clip).sum(axis=0)


#: copies of this file, broken by one pattern each, that the privacy suite has to catch
MUTANTS = {
    "$kind": (
        Mutant("no clipping", r"np\\.clip\\(rows, -clip, clip\\)", "rows", what="rows are not cut"),
        Mutant(
            "data-dependent standardisation",
            r"task\\.public\\.n\\b",
            "task.n",
            what="the private number of rows is read, unpaid",
        ),
    ),
}
''')


def nearest(word: str, known: Iterable[str]) -> str:
    """The question whether the known word that is nearest was meant; "" where none is near."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{found[0]}'?" if found else ""


def families() -> list[str]:
    """Names of the folders that hold methods."""
    return sorted({contract.module_of(name).split(".")[1] for name in contract.names()})


def method_text(name: str, kind: str, private: bool) -> str:
    """The text of the file. Raises Refused where there is no skeleton of a private method for that kind."""
    start, boxed = STARTS.get(kind), hasattr(model_kinds.kind(kind).model, "inner")
    if private and not (start and start.released):
        known = ", ".join(sorted(k for k, s in STARTS.items() if s.released))
        raise Refused(f"--private has a skeleton for {known}; for {kind} write it without and add the release")
    imports = ["from models.task import Task", "from privacy.budget import Budget"]
    imports += [line for line in (start.imports if start else "").splitlines() if line]
    shared = ["InFrame"] * boxed + ["left_for"] * private
    words = ["Apart"] * private + ["Constants"] + ["Counterpart"] * private + ["Fit"]
    words += ["Method"] * (not boxed) + ["MethodError"] * (start is None)
    imports += [f"from methods._shared.frames import {', '.join(shared)}"] * bool(shared)
    imports += [f"from methods.contract import {', '.join(words)}"]
    imports += ["from privacy.ledger import Relation", "from privacy.mutants import Mutant"] * private
    if start:
        *before, made = (start.released if private else start.made).splitlines()
        body = [*before, f"posterior = {made}"] + ["return Fit(posterior, budget.ledger)"] * (not private)
    else:
        body = [f'raise MethodError("{name} gives no posterior yet: return one that models/ has for {kind}")']
    return (PRIVATE if private else PLAIN).substitute(
        name=name,
        cls=class_name(name),
        title=name.replace("_", " ").capitalize(),
        kind=kind,
        imports="\n".join(sorted(imports)),
        base="InFrame" if boxed else "Method",
        fit="fit_unit" if boxed else "fit",
        body="\n        ".join(body),
        statistic=start.statistic if start else "",
    )


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


#: file below papers/KEY -> text; @KEY@ stands for the key.
PAPER_FILES = {
    "__init__.py": '''"""@KEY@: authors, year, title."""

from workflow.papers import Paper

PAPER = Paper(
    key="@KEY@",
    title="@KEY@",
    sources={"@KEY@": "Authors year"},  # as tables head its numbers
)
''',
    # one cheap cell, so that everything runs before the paper's own cells stand here
    "experiments/@KEY@.yaml": """experiment: @KEY@
title: "@KEY@"
sources: [@KEY@]
model: {kind: bnn_regression, hidden: 50}
datasets: [wine]
protocols:
  literature: {splits: 20, title: random splits 90/10}
arms:
  - {method: ridge, protocols: [literature]}
scales:
  full: {}
  tiny: {splits: 1}
answers: []   # a published cell of published.csv -> the cell of ours that answers it
""",
    "published.csv": "source,table,dataset,method,setting,metric,mean,std,n_runs\n",
    "annotations.csv": "source,table,dataset,method,setting,metric,digits,n_published,std_kind,same_as,note\n",
    "claims.py": '''"""What @KEY@ says in words, as tests of our scores."""

SOURCE = "@KEY@"

CLAIMS = ()
''',
}
PAPER_TEST = '''"""The folder of @KEY@ is found, and its experiment has cells."""

from papers.@KEY@ import PAPER
from workflow.experiments import cells
from workflow.papers import papers


def test_it_is_one_of_the_papers():
    assert PAPER in papers()


def test_its_experiments_have_cells_at_every_scale():
    assert PAPER.experiments
    for path in PAPER.experiments.values():
        for scale in ("full", "quick", "tiny"):
            assert cells(path, scale)
'''


def paper_arguments(parser: argparse.ArgumentParser) -> None:
    """Of ``new paper``."""
    parser.add_argument("key", help="its bibliography key, such as park2017dpem")


def make_paper(args: argparse.Namespace, root: Path) -> str:
    """Write ``papers/<key>/`` and its test, and say what comes next. Raises Refused."""
    key = args.key
    if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
        raise Refused(f"'{key}': a key has small letters, digits and underscores, and begins with a letter")
    home, tests = root / "papers" / key, root / "tests" / "papers" / key
    if home.exists() or tests.exists():
        raise Refused(f"papers/{key} or tests/papers/{key} is there")
    made = {home / name: text for name, text in PAPER_FILES.items()} | {tests / "test_paper.py": PAPER_TEST}
    for path, text in made.items():
        path = path.with_name(path.name.replace("@KEY@", key))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text.replace("@KEY@", key))
    return (
        f"papers/{key}/: one cheap cell stands in for the paper's own; `./bench {key}` runs it\n"
        f"next: published.csv, experiments/{key}.yaml, claims.py; `./bench test tests/papers/{key}`"
    )


MAKERS = {
    "method": Maker("a method: one file, methods/<family>/<name>.py", method_arguments, make_method),
    "dataset": Maker("a data set: one file, datasets/<name>.py", new_dataset.arguments, new_dataset.make),
    "kind": Maker("a kind of model: one file, models/<name>.py", new_kind.arguments, new_kind.make),
    "paper": Maker("a paper: one folder, papers/<key>/", paper_arguments, make_paper),
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
