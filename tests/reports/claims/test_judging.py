"""From comparisons to a verdict."""

import pytest

from evaluation.paired import Difference
from reports.claims.judging import Absent, Comparison, judge
from reports.claims.record import HOLDS, REFUTED, UNDECIDED


def comparisons(*centres, half=1.0):
    """Comparisons whose interval is centre +- half at every level."""
    return [Comparison(f"c{k}", lambda alpha, c=c: Difference(c, c - half, c + half, 9)) for k, c in enumerate(centres)]


@pytest.mark.parametrize(
    ("quantifier", "centres", "state"),
    [
        ("all", (2, 2, 2, 2), HOLDS),
        ("all", (2, 2, 2, 0.5), UNDECIDED),  # in favour by mean, not shown
        ("all", (2, 2, 2, -2), REFUTED),
        ("most", (2, 2, 2, -2), HOLDS),
        ("most", (2, 2, -2, 0), UNDECIDED),
        ("most", (2, 2, -2, -2), REFUTED),  # half is not most
        ("often", (2, 2, -2, -2), HOLDS),
        ("often", (2, 0, -2, -2), UNDECIDED),
        ("often", (2, -2, -2, -2), REFUTED),
    ],
)
def test_quantifiers(quantifier, centres, state):
    assert judge(comparisons(*centres), Absent(), quantifier).state == state


def test_what_is_missing_is_not_shown():
    assert judge(comparisons(2, 2, 2), Absent(other=2), "most").state == HOLDS
    assert judge(comparisons(2, 2), Absent(other=2), "most").state == UNDECIDED
    assert judge(comparisons(2, 2), Absent(single=2), "most").state == HOLDS
    assert judge(comparisons(-2, -2), Absent(other=2), "most").state == REFUTED
    assert judge(comparisons(-2), Absent(other=2), "most").state == UNDECIDED


def test_no_quantifier_means_all():
    assert judge(comparisons(2, 2, -2), Absent(), None).state == REFUTED


def test_levels_of_a_verdict():
    """All: each at 5 % in favour, 5 % / n against; most of 5 (3): 5 % / 3 both ways."""
    for quantifier, favour, against in (("all", 0.05, 0.01), ("most", 0.05 / 3, 0.05 / 3)):
        asked = []

        def at(alpha, asked=asked):
            asked.append(alpha)
            return Difference(0.0, -1.0, 1.0, 9)

        made = [Comparison("c", at) for _ in range(5)]
        judge(made, Absent(), quantifier)
        assert {round(a, 12) for a in asked} == {0.05, round(favour, 12), round(against, 12)}
