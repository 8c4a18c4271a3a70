"""The benchmark that chose AdaSSP's clip: its losses are losses, and its designs are what their names say."""

from __future__ import annotations

import math

import numpy as np

from benchmarks import adassp_clip
from methods._shared.adassp import ClipRule


def test_a_loss_falls_with_epsilon_and_a_rule_that_clips_everything_costs():
    design = adassp_clip.Design("normal", 1.0, 4, 5000, 0.0, 0.95)
    rules = [ClipRule(1.0, 0.003), ClipRule(1e4, 0.003)]
    for half_width in (math.inf, 3.0):
        tight, loose = (adassp_clip.losses(design, half_width, rules, e, 0) for e in (8.0, 0.1))
        assert 0 < tight[0] < loose[0]
        assert loose[1] > loose[0]  # nothing clipped: the noise of the longest row


def test_the_axes_of_a_design_fall_as_it_says():
    x, y = adassp_clip.table(adassp_clip.Design("uniform", 0.003, 16, 5000, 0.5, 0.5), np.random.default_rng(0))
    assert x.shape == (5000 + adassp_clip.TEST_ROWS, 16)
    np.testing.assert_allclose([x.std(axis=0).max(), y.std()], 1.0, rtol=1e-9)
    axes = np.linalg.svd(x, compute_uv=False)
    assert axes[-1] / axes[0] < 0.02
