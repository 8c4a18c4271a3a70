"""Training rows as the networks of this family read them, checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.bnn_classification import BNNClassification
from models.task import Task


@dataclass(frozen=True)
class Rows:
    """Training rows as they came (n, d), class of each (-1: none), and the public scale of the inputs."""

    x: np.ndarray
    labels: np.ndarray
    input_scale: float
    widths: tuple[int, ...]

    def batch(self, rows: np.ndarray, dtype=None):
        """(x / input_scale, labels) of the given rows, on the device; float64 unless told otherwise."""
        import torch

        from methods._shared.bayes_by_backprop.gradients import device

        x = torch.from_numpy(np.take(self.x, rows, axis=0)).to(device(), dtype or torch.float64)
        return x.mul_(1.0 / self.input_scale), torch.from_numpy(self.labels[rows]).to(device())


def rows_of(task: Task, *, private: bool) -> Rows:
    """The task's rows, checked.

    A label that is no class is refused where nothing is promised. A private method cannot refuse it: to stop is an
    answer that depends on one row. Such a row takes part with gradient 0. What is public is checked for both: the
    number of rows, and the documented range of the labels. Raises ValueError.
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
