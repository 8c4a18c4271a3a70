"""Settings and base class shared by DP-SGD and DP-VI for logistic regression. Importing this module is cheap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from methods._shared.frames import InFrame
from methods._shared.settings_checks import positive, whole
from methods.contract import Constants, Leak, LeakKind
from privacy.ledger import Relation


@dataclass(frozen=True)
class DescentSettings:
    """Settings of the descent. Raises ValueError for a number that is out of range."""

    batch_rows: int = 1000  #: expected rows of a batch, q = min(1, batch_rows / n) (choice of this suite)
    steps: int | None = None  #: K; None: by the formula of ``gradients.plan_of``
    rate_factor: float = 1.0  #: times the step size of the formula (without unit)
    clip_factor: float = 1.0  #: clipping norm over the typical norm of a centred row (without unit)

    def __post_init__(self) -> None:
        whole("DP-SGD", self, "batch_rows")
        whole("DP-SGD", self, "steps", optional=True)
        positive("DP-SGD", self, "rate_factor", "clip_factor")


class Descent(InFrame):
    """A method based on ``logistic_gaussian.gradients``."""

    models = ("bounded_logistic_regression",)
    constants = (Constants.FORMULA, Constants.DEVELOPED)
    privacy = Relation.ADD_REMOVE
    leaks = (
        Leak(
            LeakKind.TUNED,
            "on adult only: its test scores raised the question how many steps a run may make; the formula was there, "
            "and was compared with fewer and more steps on synthetic rows",
            datasets=("adult",),
        ),
    )
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"rate_factor": 0.3}, {"rate_factor": 1.7}, {"clip_factor": 0.5}, {"clip_factor": 2.0}, {"batch_rows": 250}
    )  # fmt: skip
    Settings = DescentSettings
