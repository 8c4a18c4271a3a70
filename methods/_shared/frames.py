"""The scaling of rows to [-1, 1] (``models.bounded``), and its privacy cost for a private method.

A ``frame`` is such a scaling.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from methods.contract import Fit, Method
from models.bounded import DEVIATIONS, BoundedMixture, Frame, FramedPosterior
from models.task import Task
from privacy.budget import Budget, Ranges
from privacy.ledger import Event, Mechanism, Relation, Sampling

if TYPE_CHECKING:
    from privacy.ranges import Hiding

#: share of the budget (of mu^2, Gaussian DP) that is charged for columns without a documented range.
SHARE = 0.1


def ranges_of(task: Task) -> list[tuple[float, float] | None]:
    """The documented range, or None, of every column that is scaled. A scaled target comes last."""
    ranges = list(task.public.x_bounds) or [None] * task.x.shape[1]
    if len(ranges) != task.x.shape[1]:
        raise ValueError(f"{task.name}: public.x_bounds has {len(ranges)} entries for {task.x.shape[1]} columns")
    return [*ranges, task.public.y_bounds] if task.model.scales_target else ranges


def columns(task: Task) -> np.ndarray:
    """The values that are scaled, (n, k), in the order of :func:`ranges_of`."""
    return np.column_stack([task.x, task.y]) if task.model.scales_target else task.x


def make_frame(task: Task, budget: Budget | None, share: float = SHARE) -> Frame:
    """The scaling of a task: by documented ranges, and for the other columns by mean and standard deviation.

    With a ``budget`` they are estimated privately, by Gaussian releases for ranges and one for moments. The budget
    states whether by ``privacy.scaling`` or by ``privacy.ranges``, which cuts the interval to the estimated range. All
    releases are full batch under add/remove. Together they cost the share ``share`` of mu^2 of (epsilon, delta). If the
    budget states only a noise multiplier, that is the multiplier of the whole. If every range is documented, nothing is
    released.

    By ``privacy.ranges``, an input of a regression whose scale the noise hides is left out of the fit.

    A method that is not private uses mean and standard deviation of the training rows. A column whose spread is 0 gets
    scale 1.

    Raises ValueError for a public number of rows below 1, and for a budget that states neither. Only a method that is
    not private refuses a task without rows: that all rows are empty may follow from one row. Raises
    ``privacy.ranges.HiddenRange``, a ValueError, if the noise hides the target, or a column of a density.
    """
    if task.public.n < 1 or (budget is None and task.n < 1):
        raise ValueError(f"{task.name}: needs at least 1 training row, got {task.n}")
    ranges = ranges_of(task)
    missing = [j for j, r in enumerate(ranges) if r is None]
    found = np.array([(0.0, 0.0) if r is None else r for r in ranges], dtype=np.float64)
    shift, scale = found.mean(axis=1), (found[:, 1] - found[:, 0]) / 2
    if missing:
        values = columns(task)[:, missing]
        with_target = task.model.scales_target and missing[-1] == len(ranges) - 1
        if budget is None:
            mean, sd = values.mean(axis=0), values.std(axis=0)
            shift[missing], scale[missing] = mean, np.where(sd > 0, DEVIATIONS * sd, 1.0)
        elif budget.spec.ranges is Ranges.ALL:
            density = isinstance(task.model, BoundedMixture)
            needed = range(len(missing)) if density else [len(missing) - 1] * with_target
            shift[missing], scale[missing] = private_intervals(values, task.public.n, budget, share, needed)
        else:
            mean, sd = privately_estimated_moments(values, task.public.n, budget, share, with_target)
            shift[missing], scale[missing] = mean, np.where(sd > 0, DEVIATIONS * sd, 1.0)
    d = task.x.shape[1]
    y = (float(shift[d]), float(scale[d])) if len(shift) > d else (0.0, 1.0)
    return Frame(shift[:d], scale[:d], *y, task.model.stretch)


def privately_estimated_moments(
    values: np.ndarray, n: int, budget: Budget, share: float, with_target: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Privately estimated mean and standard deviation of the columns of ``values`` (n, k), each (k,).

    They come from two charged releases.
    """
    from privacy.scaling import private_moments, private_ranges

    each = whole_multiplier(budget, share) * np.sqrt(2.0)
    low, high = np.array(private_ranges(values, n, budget, each, with_target), dtype=np.float64).T
    return private_moments(values, low, high, n, budget, each)


def private_intervals(
    values: np.ndarray, n: int, budget: Budget, share: float, needed: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half width of the privately estimated interval of each column of ``values`` (n, k), each (k,).

    A column that the noise hides has an infinite width. ``needed``: columns that must not be hidden. Raises HiddenRange
    if one is.
    """
    from privacy.ranges import private_columns

    low, high = private_columns(values, n, budget, whole_multiplier(budget, share), needed)
    shown = np.isfinite(low)
    middle, half = np.zeros(len(low)), np.full(len(low), np.inf)
    middle[shown], half[shown] = high[shown] / 2 + low[shown] / 2, high[shown] / 2 - low[shown] / 2
    return middle, half


def forecast(n: int, inputs: int, target: bool, epsilon: float, delta: float, share: float = SHARE) -> Hiding:
    """How likely the noise hides ranges in a fit by ``privacy.ranges``, from public numbers alone.

    ``inputs``: number of inputs without a stated range. ``target``: whether the target is scaled and has none. Raises
    ValueError for numbers out of range, and if every range is stated.
    """
    from privacy.ranges import hiding
    from privacy.scaling import scaling_noise_multiplier

    return hiding(n, inputs, scaling_noise_multiplier(epsilon, delta, share), target)


def whole_multiplier(budget: Budget, share: float) -> float:
    """Noise multiplier of all releases of the scaling together. Raises ValueError for a budget that states none."""
    from privacy.scaling import scaling_noise_multiplier

    if budget.epsilon is not None and budget.delta is not None:
        return scaling_noise_multiplier(budget.epsilon, budget.delta, share)
    if budget.noise_multiplier is not None and budget.noise_multiplier > 0:
        return budget.noise_multiplier
    raise ValueError("the budget states no (epsilon, delta) and no noise_multiplier above 0; give one of them")


def left_for(
    budget: Budget, what: str, relation: Relation, *, mechanism: Mechanism = Mechanism.GAUSSIAN,
    sampling_rate: float = 1.0, steps: int = 1, proof: str = "",
) -> float:  # fmt: skip
    """Noise multiplier (noise scale over sensitivity) at which ``steps`` releases use the rest of the budget.

    Sampling is Poisson if the rate is below 1. If the budget states no (epsilon, delta), the result is its noise
    multiplier. Raises ValueError for a budget that states neither.
    """
    from privacy.scaling import remaining_noise_multiplier

    if budget.epsilon is None or budget.delta is None:
        if budget.noise_multiplier is None or not budget.noise_multiplier > 0:
            raise ValueError(f"{what}: the budget states no (epsilon, delta) and no noise_multiplier above 0")
        return budget.noise_multiplier
    sampling = Sampling.POISSON if sampling_rate < 1 else Sampling.FULL_BATCH
    planned = Event(what, mechanism, relation, 1.0, 1.0, sampling, sampling_rate, steps, proof=proof)
    return remaining_noise_multiplier(budget.ledger, planned, budget.epsilon, budget.delta)


class InFrame(Method):
    """A method on rows scaled to [-1, 1]. A subclass gives ``fit_unit``. The scaling is made and charged here."""

    reads_ranges = True
    #: share of mu^2 for the columns without a documented range.
    share: ClassVar[float] = SHARE

    def fit(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Make the scaling and fit on scaled rows. Raises the errors of :func:`make_frame` and of the method."""
        frame = make_frame(task, None if self.privacy is None else budget, self.share)
        fit = self.fit_unit(frame.task(task), settings, budget, rng)
        return self.framed(fit, frame)

    def framed(self, fit: Fit, frame: Frame) -> Fit:
        """The fit converted to original units."""
        diagnostics: Mapping[str, float] = fit.diagnostics
        return Fit(FramedPosterior(fit.posterior, frame), fit.ledger, diagnostics)

    @abc.abstractmethod
    def fit_unit(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        ``task.model`` is the inner model, and ``budget.ledger`` holds the cost of the scaling.
        """
