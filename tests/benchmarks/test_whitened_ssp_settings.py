"""The benchmark of whitened SSP's defaults: its losses are losses, and changes see the same rows and noise."""

from benchmarks import whitened_ssp_settings as bench
from benchmarks.adassp_clip import Design


def test_a_loss_falls_with_epsilon_and_no_change_changes_nothing():
    design = Design("normal", 0.1, 8, 5000, 0.0, 0.95)
    tight, loose = (bench.losses(design, ({}, {}, {"rounds": 3}), e, 0) for e in (8.0, 0.1))
    assert tight[0] == tight[1] != tight[2]
    assert 0 < tight[0] < loose[0]


def test_every_changed_setting_is_one_and_not_the_default():
    default = bench.WhitenedSSP.Settings()
    assert bench.CHANGED[0] == {}
    for change in bench.CHANGED[1:]:
        ((name, value),) = change.items()
        assert getattr(default, name) != value
