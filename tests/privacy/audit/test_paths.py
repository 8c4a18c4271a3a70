"""Recorded against ordinary fits: equal to rounding, in every block and for rare noise."""

from __future__ import annotations

import numpy as np
import pytest

from privacy import audit
from privacy.budget import BudgetSpec
from tests.privacy.toys import Toy, toy_task, variant

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, noise_multiplier=1.0)
TASK = toy_task()
S = Toy.Settings()


class Blocks(Toy):
    """Asks its noise in blocks, as a fast kernel does; ``used`` is what it makes of a block and of its number."""

    used = staticmethod(lambda noise, block, scale: noise)

    def fit(self, task, settings, budget, rng):
        used, rows, mechanism = self.used, [], None

        class Buffered:
            def __init__(self, inner):
                self.inner, self.audited, self.blocks = inner, inner.audited, 0

            def __getattr__(self, name):
                return getattr(self.inner, name)

            def noise(self, releases, size):
                if not rows:
                    count = self.inner.at_once(settings.steps)
                    made = used(self.inner.noise(count, size), self.blocks, self.inner.noise_scale)
                    rows.extend(np.array(row) for row in made)
                    self.blocks += 1
                return rows.pop(0)[None]

        made = budget.gaussian

        def gaussian(*args, **more):
            nonlocal mechanism
            mechanism = Buffered(made(*args, **more))
            return mechanism

        budget.gaussian = gaussian
        return super().fit(task, settings, budget, rng)


def blocks(used):
    """A fit in blocks that makes this of them."""
    return type("Variant", (Blocks,), {"used": staticmethod(used)})()


def half_of_later_ones(noise, block, scale):
    return noise if block == 0 else 0.5 * noise


def without_the_last(noise, block, scale):
    noise[-1] = 0.0
    return noise


def cut(noise, block, scale):
    return np.clip(noise, -4 * scale, 4 * scale)


def test_a_sound_fit_in_blocks_passes():
    assert audit.same_path(Blocks(), TASK, S, SPEC, 0) == ""


@pytest.mark.parametrize("used", [half_of_later_ones, without_the_last, cut])
def test_what_a_kernel_does_to_some_of_its_noise_is_seen(used):
    assert "equal noise, recorded and ordinary fits differ in w" in audit.same_path(blocks(used), TASK, S, SPEC, 0)


@pytest.mark.parametrize("part", [0.0, 0.7, 1.001])
def test_noise_that_is_scaled_once_more_is_seen(part):
    assert audit.same_path(variant(fast_noise=part), TASK, S, SPEC, 0) != ""


def test_fewer_numbers_than_releases_are_said():
    class Silent(Toy):
        def fit(self, task, settings, budget, rng):
            made = budget.gaussian

            def gaussian(*args, **more):
                mechanism = made(*args, **more)
                if not mechanism.audited:
                    mechanism.noise = lambda releases, size: np.zeros((releases, size))
                return mechanism

            budget.gaussian = gaussian
            return super().fit(task, settings, budget, rng)

    assert "the ordinary fit drew no noise" in audit.same_path(Silent(), TASK, S, SPEC, 0)


class Ends(Toy):
    """A fit that ends with ``given`` as parameters, and with ``recorded`` if an audit records it."""

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        fit.posterior.w[:] = self.recorded if budget._recorder.one_by_one else self.given
        return fit


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_parameter_that_is_not_finite_is_seen(wrong):
    """Relative to an infinite one, every difference is small."""

    def found(given, recorded):
        return audit.same_path(type("Variant", (Ends,), {"given": given, "recorded": recorded})(), TASK, S, SPEC, 0)

    assert found(2.0, 2.0) == ""
    assert "differ in w by inf" in found(2.0, wrong)
    for recorded in (wrong, 2.0, [5.0, wrong, wrong]):
        assert "w of the ordinary fit is not finite" in found(wrong, recorded)
