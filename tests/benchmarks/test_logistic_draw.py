"""The benchmark's own sampler draws from the posterior, and every contestant is measured."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import logistic_draw
from methods._shared.logistic.sampler import Target


@pytest.mark.nightly
def test_every_contestant_reports_its_time_and_passes():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((60, 3)) / 3
    target = Target(1.0, 1.0)
    seconds, gradients = logistic_draw.hmc(z, [target, target])
    assert seconds > 0
    assert gradients >= 81
    seconds, gradients = logistic_draw.nuts(z, target, warmup=20)
    assert seconds > 0
    assert gradients >= 21  # one gradient an iteration at least, and those of the mode
    seconds, gradients = logistic_draw.elliptical_slice(z, target, iterations=20)
    assert seconds > 0
    assert gradients >= 10.5  # one evaluation an iteration at least, half a gradient each
