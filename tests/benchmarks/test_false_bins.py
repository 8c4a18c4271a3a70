"""The benchmark of false bins: its rates are of the release as it is, and a lower rate strikes less."""

from benchmarks import false_bins as bench
from privacy import scaling


def test_a_lower_rate_strikes_less_and_hides_more():
    often, seldom = (bench.summary(1500, 1.0, rate, noises=200) for rate in (0.5, 0.001))
    assert often["struck"] > 0.05 > seldom["struck"]
    assert often["hidden"] <= seldom["hidden"]


def test_the_first_rate_is_the_suites_and_stays_as_it_is():
    before = scaling.FALSE_BIN
    bench.summary(1500, 1.0, 0.5, noises=2)
    assert bench.RATES[0] == before == scaling.FALSE_BIN
