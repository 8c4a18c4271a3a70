"""DP-SEP as printed, for a mixture of Gaussians in the box: refused, because its guarantee is for other neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods import dp_sep
from methods.contract import Constants, Fit, Method, MethodError
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation

_REASON = (
    "dp_sep: algorithm 3 adds noise once for each row that it visits, so under add/remove neighbours the number of "
    "noise terms differs with the data; its guarantee is for replaced rows and does not convert"
)


class DPSEP(Method):
    """Refused under add/remove neighbours.

    Algorithm 3 of Vinaroz & Park 2023 passes over the rows one by one and adds one noise vector after each. With a row
    replaced, one step an epoch changes by 2 gamma C / N. With a row added or removed a whole step is there or not,
    together with its noise: at that step one of the two neighbours has a point where the other has a Gaussian, and
    nothing bounds the divergence of the two. A step of noise alone for a missing row would be another algorithm.
    """

    models = ("bounded_mixture",)
    constants = (Constants.NONE,)
    name = "dp_sep"
    title = dp_sep.DPSEP.title
    reference = dp_sep.DPSEP.reference
    privacy = Relation.REPLACE_ONE
    leaks = ()

    @dataclass(frozen=True)
    class Settings:
        """None: the method is not run."""

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or _REASON

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises MethodError with the reason."""
        raise MethodError(self.supports(task))
