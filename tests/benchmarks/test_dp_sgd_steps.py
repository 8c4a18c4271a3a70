"""The benchmark of the number of steps: its rule is the default's, and its losses are losses."""

from benchmarks import dp_sgd_steps as bench

DESIGN = bench.DESIGNS["uniform"][0]


def test_the_rule_is_the_default():
    assert bench.loss(DESIGN, 1500, 1.0, None, 0) == bench.loss(DESIGN, 1500, 1.0, bench.numbers(1500, 1.0)["rule"], 0)


def test_a_loss_falls_with_epsilon():
    tight, loose = (bench.loss(DESIGN, 1500, e, None, 0) for e in (8.0, 0.1))
    assert tight < 0.02 < loose
