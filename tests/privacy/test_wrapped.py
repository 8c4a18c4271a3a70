"""Copies that are broken outside of their budget: each is another method, and its check sees it and nothing before."""

import pytest

from privacy import audit, wrapped
from privacy.budget import BudgetSpec
from tests.privacy.toys import Toy, toy_task

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, noise_multiplier=1.0)


def audited(method):
    return audit.Audit(method, toy_task(), Toy.Settings(), SPEC, 0, only=(wrapped.PAIR,))


@pytest.mark.parametrize("fault", wrapped.WRAPPED, ids=lambda f: f.name)
def test_each_is_seen_by_its_check_alone(fault):
    made = audited(fault.of(Toy()))
    assert getattr(made, fault.check)()
    for check in {"runs", "sensitivity", "posterior", "diagnostics"} - {fault.check}:
        assert not getattr(made, check)()


def test_the_toy_as_it_is_passes():
    made = audited(Toy())
    assert len(made.replays) == 1
    assert not any(getattr(made, f.check)() for f in wrapped.WRAPPED)


def test_a_copy_keeps_the_rest_of_the_method():
    copy = wrapped.WRAPPED[0].of(Toy())
    assert (copy.name, copy.privacy, copy.Settings) == (Toy.name, Toy.privacy, Toy.Settings)
