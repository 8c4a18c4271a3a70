"""The benchmark's peers compute the same update, so that its ratios compare like with like. No time is asserted."""

from __future__ import annotations

import csv

import pytest

from benchmarks import pbp_update


@pytest.mark.parametrize(("inputs", "hidden"), [(3, 7), (8, 50)])
def test_peers_compute_the_same_update(inputs, hidden):
    """Raises where the C peer (if a compiler is here) or JAX differ by more than 1e-6 after an epoch of 60 rows."""
    pbp_update.check_agreement(pbp_update.Peer(), pbp_update.Problem(inputs, hidden, 60))


def test_a_wrong_peer_is_refused(monkeypatch):
    wrong = pbp_update.jax_sep(pbp_update.Problem(3, 7, 60, seed=1))
    monkeypatch.setattr(pbp_update, "jax_sep", lambda p: wrong)
    with pytest.raises(RuntimeError, match="JAX"):
        pbp_update.check_agreement(pbp_update.Peer(), pbp_update.Problem(3, 7, 60))


def test_the_count_of_operations_is_the_stated_formula():
    assert pbp_update.flops(8, 50) == 28 * 9 * 50 + 200 * 50 + 150


def test_a_machine_without_a_compiler_says_so(monkeypatch):
    monkeypatch.setattr(pbp_update.shutil, "which", lambda name: None)
    peer = pbp_update.Peer()
    assert peer.library is None
    assert "CC" in peer.reason


@pytest.mark.nightly
def test_a_run_writes_its_rows(monkeypatch, tmp_path, capsys):
    """Two tiny shapes, every implementation once; the numbers are times, so only their presence is checked."""
    monkeypatch.setattr(pbp_update, "SHAPES", {"kin8nm": (2, 3, None), "year": (3, 4, None)})
    monkeypatch.setattr(pbp_update, "least", lambda run, updates, repeats, clock=None: 1.0 + 0.0 * bool(run()))
    target = tmp_path / "out.csv"
    assert pbp_update.main(["--quick", "--output", str(target)]) == 0
    with target.open() as f:
        rows = list(csv.DictReader(f))
    implementations = {r["implementation"] for r in rows}
    assert {"numba_sep", "numba_clipped", "numba_dp_given_noise", "numba_ep", "jax_scan_sep"} <= implementations
    assert "written" in capsys.readouterr().out
