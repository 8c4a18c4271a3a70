"""The condition under which methods of the EP family can fit a mixture of Gaussians."""

from __future__ import annotations

from models.task import Task


def needs_known_noise(method: str, task: Task) -> str | None:
    """The reason why a mixture whose covariances are unknown cannot be fitted, else None."""
    if task.model.kind == "mixture_of_gaussians" and task.model.noise_sd is None:
        return f"{method} approximates the posterior over the component means; here covariances and weights are unknown"
    return None
