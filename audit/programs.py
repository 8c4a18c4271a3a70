"""The audit of papers with their own code: a single fit of such code, in the form of a method.

Such code repeats its fits in arrays, which nothing records. The same code can make one fit through the mechanisms of a
budget (``privacy.repeats.OneFit``), and that fit is audited. It gets all checks of ``privacy.audit``, and broken
budgets that the checks have to find. Each paper lists its fits (``workflow.papers.Program.fits``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from methods.contract import Fit
from models.task import PublicKnowledge, Task
from privacy import audit
from privacy.budget import Budget, BudgetSpec
from privacy.faults import FAULTS, Fault, FaultySpec
from privacy.ledger import Relation

#: replays of the search, and fits whose secrets are compared: as in the audit of every commit
QUICK = {"evaluations": 6, "fits": 30}
Run = Callable[[Task, Any, Budget, np.random.Generator], Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Released:
    """The releases of a fit by name, in place of a posterior."""

    values: Mapping[str, np.ndarray]
    kind: str = "own_program"

    def parameters(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value, dtype=np.float64) for name, value in self.values.items()}


@dataclass(frozen=True)
class OwnFit:
    """One fit of a paper's own code. ``run`` maps (task, settings, budget, rng) to the releases by name.

    ``task`` has a dozen rows, and ``spec`` is the budget of the fit. ``short`` holds the settings of the checks that
    make many fits, by default ``settings``. ``long`` holds those of the check of late steps, which is left out if it is
    None. ``unasked`` maps a check that is not run to the reason, such as that of noise if the release is a draw.
    """

    name: str
    privacy: Relation
    task: Task
    spec: BudgetSpec
    run: Run
    settings: Any = None
    short: Any = None
    long: Any = None
    unasked: Mapping[str, str] = field(default_factory=dict)

    def supports(self, task: Task) -> None:
        """Accept every task."""

    def prepare(self, task: Task, settings: Any) -> None:
        """Do nothing."""

    def fit(self, task: Task, settings: Any, budget: Budget, rng: np.random.Generator) -> Fit:
        return Fit(Released(self.run(task, settings, budget, rng)), budget.ledger)

    def audit(self, spec: BudgetSpec | FaultySpec | None = None) -> audit.Audit:
        """The audit of this fit. ``spec``: a broken budget."""
        spec = self.spec if spec is None else spec
        return audit.Audit(self, self.task, self.settings, spec, 1, short=self.short, long=self.long, **QUICK)

    @property
    def asked(self) -> tuple[str, ...]:
        """The checks that are run, cheap ones first."""
        skipped = {*self.unasked, *(("late",) if self.long is None else ())}
        return tuple(check for check in audit.CHECKS if check not in skipped)

    def found(self, spec: BudgetSpec | FaultySpec | None = None, first: bool = False) -> dict[str, str]:
        """Run the checks: check -> what it found. ``first``: stop at the first check that finds something."""
        made, found = self.audit(spec), {}
        for check in self.asked:
            if (first and found) or ("runs" in found and check in audit.WHOLE_FITS):
                continue
            if text := getattr(made, check)():
                found[check] = text
        return found

    def faults(self) -> Iterator[tuple[Fault, str]]:
        """Each broken budget under which this fit differs, and the error with which it ends, or "". No check is run."""
        one = audit.run(self, self.task, self.settings, self.spec, 1)
        for fault in FAULTS:
            try:
                other = audit.run(self, self.task, self.settings, FaultySpec(self.spec, fault), 1)
            except audit.REFUSED as error:
                yield fault, f"{type(error).__name__}: {error}"
                continue
            same = np.array_equal(audit.flat_parameters(one), audit.flat_parameters(other))
            if not same or one.ledger.to_json() != other.ledger.to_json():
                yield fault, ""

    def broken_budgets(self) -> Iterator[tuple[Fault, dict[str, str]]]:
        """Each of :meth:`faults`, with what the first check finds."""
        for fault, ended in self.faults():
            yield fault, {"runs": ended} if ended else self.found(FaultySpec(self.spec, fault), first=True)


def toy(rows: int, columns: int, limit: float, seed: int = 0) -> Task:
    """A task with a linear relation. Inputs and targets are in [-limit, limit], and these ranges are public."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-limit, limit, (rows, columns))
    y = np.clip(x[:, 0] + 0.2 * limit * rng.standard_normal(rows), -limit, limit)
    ranges = ((-limit, limit),) * columns
    return Task("toy", None, x, y, PublicKnowledge(rows, ranges, (-limit, limit), "the law that draws these rows"))  # type: ignore[arg-type]
