"""What the variational adapters share beside the gradients: checks of settings, and compilation."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

_WHOLE = {"epochs", "batch_size", "draws", "steps"}
_MAY_BE_ZERO = {"epochs", "kl_weight", "momentum"}


def check(settings) -> None:
    """Raises ValueError naming the first hyper-parameter that is out of range. Numbers must be above 0, see above."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, (bool, str)) or value is None:
            continue
        if field.name in _WHOLE and int(value) != value:
            raise ValueError(f"{field.name} = {value}; give a whole number")
        if not math.isfinite(value) or value < 0 or (value == 0 and field.name not in _MAY_BE_ZERO):
            low = "0 or more" if field.name in _MAY_BE_ZERO else "above 0"
            raise ValueError(f"{field.name} = {value}; give a finite number {low}")
    momentum = getattr(settings, "momentum", 0.0)
    if not momentum < 1:
        raise ValueError(f"momentum = {momentum}; give a number below 1")


def compile_kernels(dtype) -> None:
    """Compile (or load from the cache) every kernel for ``dtype``, on made-up rows."""
    from methods.engines.mean_field import Gradients, Layout

    layout = Layout(1, 2)
    engine = Gradients(layout, 1, dtype)
    rng = np.random.default_rng(0)
    theta = layout.standard_normal(rng)
    x1, y = np.ones((1, 2), dtype), np.zeros(1, dtype)
    e0, e1 = engine.draw0(rng), engine.draw1(rng)
    engine.pair(theta, x1, y, 1.0, e0, e1)
    engine.marginal(theta, x1, y, 1.0, e0)
    engine.clipped_sum(theta, x1, y, 1.0, e0, 1.0)


def require_noise_multiplier(method: str, budget) -> float:
    """The budget's fixed noise multiplier. Raises ValueError where it has none."""
    sigma = budget.noise_multiplier
    if sigma is None or not sigma > 0:
        raise ValueError(
            f"{method}: budget.noise_multiplier = {sigma}; give sigma of Table 7 (noise standard deviation over C)"
        )
    return float(sigma)
