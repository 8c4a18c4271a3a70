"""One fit and many repetitions of it: the same numbers, the same ledger."""

import numpy as np
import pytest

from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Event, Mechanism, Relation
from privacy.repeats import OneFit, Repeats

SPEC = BudgetSpec(epsilon=1.0, delta=1e-6)
EVENT = Event("a draw", Mechanism.WRITTEN_BOUND, Relation.ADD_REMOVE, 1.0, 0.0, renyi_curve=((2.0, 0.1),))
VALUE = np.arange(6.0).reshape(2, 3)
LAST = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def released(noise, last):
    """A release of one shape for all, one that differs between repetitions, and a draw."""
    told = {"relation": Relation.ADD_REMOVE, "proof": "tests"}
    first = noise.gaussian("first", VALUE, sensitivity=2.0, noise_multiplier=3.0, **told)
    second = noise.gaussian("second", last, sensitivity=1.0, noise_multiplier=0.5, batched=True, **told)
    return first, second, noise.draw(EVENT, 4, lambda z: z)


class Replay:
    """A generator that hands out the noise of one repetition, in standard deviations."""

    def __init__(self, *normals):
        self._normals = list(normals)

    def normal(self, mean, scale, shape):
        return mean + scale * self.standard_normal(shape)

    def standard_normal(self, shape):
        found = self._normals.pop(0)
        assert found.shape == tuple(np.atleast_1d(shape))
        return found


def test_each_repetition_is_the_single_fit_with_its_noise():
    many = Repeats(SPEC.open(np.random.default_rng(0)), np.random.default_rng(1), 3)
    first, second, drawn = released(many, LAST)
    noise = np.random.default_rng(1)
    normals = [noise.standard_normal((3, *shape)) for shape in ((2, 3), (2,), (4,))]
    for r in range(3):
        stream = Replay(normals[0][r], normals[1][r])
        one = OneFit(SPEC.open(stream), Replay(normals[2][[r]]))
        again = released(one, LAST[[r]])
        assert all(np.array_equal(a, b[[r]]) for a, b in zip(again, (first, second, drawn), strict=True))
        assert one.budget.ledger == many.budget.ledger


def test_one_repetition_reads_the_stream_as_one_fit_does():
    a, b = np.random.default_rng(5), np.random.default_rng(5)
    one, many = released(OneFit(SPEC.open(a), a), LAST[:1]), released(Repeats(SPEC.open(b), b, 1), LAST[:1])
    assert all(np.array_equal(x, y) for x, y in zip(one, many, strict=True))


def test_the_ledger_does_not_grow_with_the_repetitions():
    few, many = (Repeats(SPEC.open(np.random.default_rng(0)), np.random.default_rng(1), n) for n in (1, 50))
    released(few, LAST[:1])
    released(many, np.repeat(LAST[:1], 50, axis=0))
    assert few.budget.ledger == many.budget.ledger


def test_repetitions_are_independent_and_have_the_scale_of_the_event():
    """20,000 normals of sd 6: their mean is within 5 standard errors (false alarm 6e-7), their sd within 5 of its
    own."""
    noise = Repeats(SPEC.open(np.random.default_rng(0)), np.random.default_rng(2), 20_000)
    found = noise.gaussian("x", np.zeros(1), sensitivity=2.0, noise_multiplier=3.0,
                           relation=Relation.ADD_REMOVE, proof="tests")[:, 0]  # fmt: skip
    assert abs(found.mean()) < 5 * 6 / np.sqrt(20_000)
    assert abs(found.std() - 6) < 5 * 6 / np.sqrt(2 * 20_000)
    assert len(np.unique(found)) == 20_000


def test_an_enforcing_budget_is_enforced():
    spec = BudgetSpec(epsilon=0.1, delta=1e-6, mode=Mode.ENFORCE)
    for make in (lambda b: OneFit(b, np.random.default_rng(0)), lambda b: Repeats(b, np.random.default_rng(0), 7)):
        with pytest.raises(BudgetExceeded):
            released(make(spec.open(np.random.default_rng(0))), LAST[:1])


def test_what_is_refused():
    budget = SPEC.open(np.random.default_rng(0))
    with pytest.raises(ValueError, match="count"):
        Repeats(budget, np.random.default_rng(0), 0)
    with pytest.raises(ValueError, match="NaN"):
        released(Repeats(budget, np.random.default_rng(0), 3), LAST * np.nan)
