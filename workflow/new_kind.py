"""``./bench new kind NAME``: a kind of model, one file, with the simplest posterior."""

from __future__ import annotations

import argparse
import string
from pathlib import Path

from models import kind as model_kinds
from workflow.new_files import Refused, check_name, class_name, write_new

TEXT = string.Template('''"""$title: y ~ N(mean, 1), mean ~ N(0, prior_sd^2). TODO: the model, and its source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from models import tiny
from models.kind import Kind
from models.predictive import GaussianPredictive


@dataclass(frozen=True)
class $cls:
    """Everything here is public. ``prior_sd``: of the mean, in units of the target."""

    prior_sd: float = 1.0
    kind: str = "$name"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.prior_sd) and self.prior_sd > 0):
            raise ValueError(f"$name: prior_sd = {self.prior_sd}; give a finite number above 0")


@dataclass(frozen=True)
class ${cls}Posterior:
    """mean ~ N(location, spread), in units of the target (spread is a variance)."""

    location: float
    spread: float
    kind: str = "${name}_posterior"

    def parameters(self) -> dict[str, np.ndarray]:
        """What is stored, and what ``load`` gets back."""
        return {"location": np.float64(self.location), "spread": np.float64(self.spread)}

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> GaussianPredictive:
        """Of rows x (n, d), original units."""
        return GaussianPredictive(np.full(len(x), self.location), np.full(len(x), 1.0 + self.spread))


def load(kind: str, p: dict[str, np.ndarray]) -> ${cls}Posterior:
    """Rebuild the posterior from its parameters. Raises KeyError for another kind."""
    if kind != "${name}_posterior":
        raise KeyError(f"models/$name.py holds ${name}_posterior, not '{kind}'")
    return ${cls}Posterior(float(p["location"]), float(p["spread"]))


KIND = Kind(
    name="$name",
    model=$cls,
    posteriors=(${cls}Posterior,),  # a posterior that several kinds share: POSTERIORS = (...) where it lives
    scorer="evaluation.scorers:regression",  # a function of an evaluation.case.Case
    # made-up tasks for the conformance suite and the audit
    tiny={"$name": partial(tiny.regression, $cls())},
)
''')


def kind_text(name: str) -> str:
    """The text of ``models/<name>.py``."""
    return TEXT.substitute(name=name, cls=class_name(name), title=name.replace("_", " ").capitalize())


def arguments(parser: argparse.ArgumentParser) -> None:
    """Of ``new kind``."""
    parser.add_argument("name", help="of the kind of model and its file: lower case, digits, underscores")


def make(args: argparse.Namespace, root: Path) -> str:
    """Write ``models/<name>.py`` and say what comes next. Raises Refused."""
    name = args.name
    check_name("name", name)
    if name in model_kinds.kinds():
        raise Refused(f"there is a kind of model '{name}' already ({model_kinds.kind(name).model.__module__})")
    path = f"models/{name}.py"
    write_new(root, {path: kind_text(name)})
    return (
        f"{path}: a kind of model that runs as it is; an experiment names it under `model`\n"
        f'next: a method whose `models` name "{name}" and that returns {class_name(name)}Posterior; '
        "`./bench test tests/models/test_kind.py`"
    )
