"""The benchmark of false bins: its first rule is the release's as it is, and one lower rate for all hides more."""

from benchmarks import false_bins as bench
from privacy import scaling

LOW, HIGH = (0.5, 0.5, 0), (0.001, 0.001, 0)


def test_one_lower_rate_for_all_strikes_less_and_hides_more():
    often, seldom = (bench.summary(1500, 1.0, rule, noises=200) for rule in (LOW, HIGH))
    assert often["struck"] > 0.05 > seldom["struck"]
    assert often["hidden"] < seldom["hidden"]


def test_two_rates_strike_as_little_as_the_lower_and_hide_as_little_as_the_higher():
    """300 releases of ten columns: .5 strikes in over 5 % of them, both rates of the suite's rule together in .3 %."""
    often, both = (bench.summary(1500, 1.0, rule, noises=300) for rule in (LOW, (0.5, 0.001, 2)))
    assert both["struck"] < often["struck"] / 3
    assert both["hidden"] <= often["hidden"]


def test_the_first_rule_is_the_suites_and_stays_as_it_is():
    before = (scaling.FALSE_BIN, scaling.FAR_FALSE_BIN, scaling.NEAR)
    bench.summary(1500, 1.0, LOW, noises=2)
    assert bench.RULES[0] == before == (scaling.FALSE_BIN, scaling.FAR_FALSE_BIN, scaling.NEAR)
