"""Methods that move sites, for the means of a mixture of Gaussians on scaled rows: the code that they compile."""

from __future__ import annotations

from methods._shared.framed_mixture import MeansInFrame
from models.task import Task


class SitesInFrame(MeansInFrame):
    """A method for the component means whose steps are those of ``methods.ep._mixture``."""

    def prepare(self, task: Task, settings) -> None:
        from methods.ep._mixture import training

        training.compile_kernels(task.model.components, task.x.shape[1])
