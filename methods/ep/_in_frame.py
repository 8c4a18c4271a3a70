"""Base class of site-based methods for the means of a mixture of Gaussians on scaled rows."""

from __future__ import annotations

from methods._shared.framed_mixture import MeansInFrame
from models.task import Task


class SitesInFrame(MeansInFrame):
    """A method on scaled rows whose steps are the compiled ones of ``methods.ep._mixture``."""

    def prepare(self, task: Task, settings) -> None:
        from methods.ep._mixture import training

        training.compile_kernels(task.model.components, task.x.shape[1])
