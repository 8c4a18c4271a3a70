"""Training code shared by the methods of Bayes by backprop: rows, steps, calibration, and release of a clipped sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.bayes_by_backprop.settings import PrivateSettings
from methods.contract import Diverged, Method
from models.bnn_classification import BNNClassification, size
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation, Sampling

PROOF = "methods._shared.bayes_by_backprop.gradients.clipped_sum"


@dataclass(frozen=True)
class Rows:
    """Training rows in original units (n, d), the class of each (-1: none), and the public scale of the inputs."""

    x: np.ndarray
    labels: np.ndarray
    input_scale: float
    widths: tuple[int, ...]

    def batch(self, rows: np.ndarray, dtype=None):
        """(x / input_scale, labels) of the given rows, on the device; float64 by default."""
        import torch

        from methods._shared.bayes_by_backprop.gradients import device

        x = torch.from_numpy(np.take(self.x, rows, axis=0)).to(device(), dtype or torch.float64)
        return x.mul_(1.0 / self.input_scale), torch.from_numpy(self.labels[rows]).to(device())


def rows_of(task: Task, *, private: bool) -> Rows:
    """The task's rows, checked.

    A method without privacy refuses a label that is no class. A private method cannot refuse it, because stopping would
    reveal one row. There such a row takes part with gradient 0. The public knowledge is checked for both: the number of
    rows, and the documented range of the labels. Raises ValueError.
    """
    model: BNNClassification = task.model
    if task.n < 1 or task.public.n < 1:
        raise ValueError(f"{task.name}: needs at least 1 training row, got {task.n}")
    if task.y is None:
        raise ValueError(f"{task.name}: needs a class for each row; y is None")
    if task.public.y_bounds is not None and not (
        task.public.y_bounds[0] >= 0 and task.public.y_bounds[1] <= model.classes - 1
    ):
        raise ValueError(
            f"{task.name}: labels are documented from {task.public.y_bounds[0]:g} to {task.public.y_bounds[1]:g}; the "
            f"model has the classes 0 to {model.classes - 1}: set its `classes`, or number the labels from 0"
        )
    known = np.isin(task.y, np.arange(model.classes))
    if not private and not known.all():
        row = int(np.argmin(known))
        raise ValueError(
            f"{task.name}: y = {task.y[row]:g} in row {row} is no class; give whole numbers from 0 to "
            f"{model.classes - 1}"
        )
    labels = np.full(task.n, -1, dtype=np.int64)
    labels[known] = task.y[known].astype(np.int64)
    return Rows(task.x, labels, model.input_scale, model.widths(task.x.shape[1]))


@dataclass(frozen=True)
class PoissonPlan:
    """Poisson batches: ``rate`` per row and step, ``steps`` in all, ``expected`` rows per batch. All are public."""

    rate: float
    steps: int
    expected: float

    @property
    def sampling(self) -> Sampling:
        return Sampling.POISSON if self.rate < 1 else Sampling.FULL_BATCH


def poisson_plan(n: int, batch_size: int, epochs: int) -> PoissonPlan:
    """``epochs`` expected passes over ``n`` rows (public) by batches of ``batch_size`` expected rows, at most n."""
    expected = min(batch_size, n)
    return PoissonPlan(expected / n, max(1, round(epochs * n / expected)), float(expected))


def partition(n: int, batch_size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """A random permutation of n row numbers split into batches; the last one may be smaller. Reads no row."""
    order = rng.permutation(n)
    return [order[k : k + batch_size] for k in range(0, n, batch_size)]


def warm_up() -> None:
    """Import torch and compile (or load from the cache) the kernels, so that no fit's time includes it."""
    import torch

    from methods._shared.bayes_by_backprop import gradients, kernels
    from privacy.normal import NormalStream

    NormalStream(np.random.default_rng(0)).fill(np.empty(2), 1.0)
    kernels.draw(*np.zeros((6, 2)))
    widths, labels = (2, 2, 2), torch.zeros(2, dtype=torch.int64)
    w = torch.zeros(size(widths), dtype=torch.float64)
    gradients.clipped_sum(w, widths, w.new_ones(2, 2), labels, 1.0)
    gradients.mean_gradient(w.float(), widths, torch.ones(2, 2), labels)  # methods without privacy: single precision


def poisson_noise_multiplier(method: str, budget: Budget, plan: PoissonPlan) -> float:
    """Noise multiplier that keeps the budget's (epsilon, delta) over the plan, or else the budget's fixed one.

    Raises ValueError if the budget states neither.
    """
    if budget.epsilon is not None and budget.delta is not None:
        from privacy.calibration import noise_multiplier

        return noise_multiplier(budget.epsilon, budget.delta, plan.rate, plan.steps, Relation.ADD_REMOVE)
    if budget.noise_multiplier is None or not budget.noise_multiplier > 0:
        raise ValueError(f"{method}: the budget states no (epsilon, delta) and no noise_multiplier above 0; give one")
    return float(budget.noise_multiplier)


class PoissonSums:
    """Noisy sums of clipped gradients over Poisson batches, the private part of DP-SGD.

    Creating it charges the budget. ``rows``, ``plan`` and ``noise_multiplier`` are its inputs. Raises ValueError as
    :func:`rows_of` and :func:`poisson_noise_multiplier` do.
    """

    def __init__(self, method: Method, task: Task, s: PrivateSettings, budget: Budget):
        self.rows = rows_of(task, private=True)
        self.plan = poisson_plan(task.public.n, s.batch_size, s.epochs)
        self.noise_multiplier = poisson_noise_multiplier(method.name, budget, self.plan)
        self._settings = s
        self._noise = budget.gaussian(
            "sum of clipped per-row gradients",
            sensitivity=s.clip,
            noise_multiplier=self.noise_multiplier,
            relation=method.privacy,
            sampling=self.plan.sampling,
            sampling_rate=self.plan.rate,
            steps=self.plan.steps,
            proof=PROOF,
        )
        self._batches = self._noise.batches(task.n)

    def release(self, w, step: int):
        """The noisy sum (D,) at weights ``w`` (D,) over the batch of that step."""
        from methods._shared.bayes_by_backprop import gradients

        s, batch = self._settings, self.rows.batch(self._batches.draw(step))
        total = gradients.clipped_sum(w, self.rows.widths, *batch, s.clip)
        return noisy(total, self._noise)


def noisy(total, noise):
    """The release of a clipped sum (D,) through the mechanism ``noise``, in place unless it is audited."""
    import torch

    if noise.audited:
        value = total.cpu().numpy()
        return torch.from_numpy(noise.release(value)).to(total.device)
    return total.add_(torch.from_numpy(noise.noise(1, len(total))[0]).to(total.device))


def require_finite(method: str, task: str, finite: bool) -> None:
    """Raise Diverged unless ``finite``."""
    if not finite:
        raise Diverged(f"{task}: {method} left the finite range; lower learning_rate")
