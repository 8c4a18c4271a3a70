"""The benchmark's two kernels compute the same update, so its ratio is of like with like. No time is asserted."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from benchmarks import pbp_update

compiled = pytest.mark.skipif(not shutil.which("gcc") and not shutil.which("cc"), reason="there is no C compiler here")


@compiled
def test_both_compute_the_same_update(monkeypatch):
    """After an epoch of 60 rows; another epoch is refused."""
    made = pbp_update.library()
    for inputs, hidden in ((3, 7), (8, 50)):
        pbp_update.check_agreement(pbp_update.Problem(inputs, hidden, 60), made)
    other = pbp_update.numba_sep(pbp_update.Problem(3, 7, 60, seed=1))
    monkeypatch.setattr(pbp_update, "numba_sep", lambda p: other)
    with pytest.raises(RuntimeError, match="void"):
        pbp_update.check_agreement(pbp_update.Problem(3, 7, 60), made)


@compiled
def test_the_table_has_both_and_their_ratio(monkeypatch):
    monkeypatch.setattr(pbp_update, "SHAPES", {"kin8nm": (2, 3)})
    found = pbp_update.measure(pbp_update.library(), repeats=1)
    assert found["implementation"].tolist() == ["c", "numba"]
    assert np.isclose(found["over_c"][1], found["microseconds"][1] / found["microseconds"][0])
    assert found["gflops"][0] == pbp_update.flops(2, 3) / found["microseconds"][0] / 1e3


def test_a_machine_without_a_compiler_says_so(monkeypatch):
    monkeypatch.setattr(pbp_update.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="CC"):
        pbp_update.library()
