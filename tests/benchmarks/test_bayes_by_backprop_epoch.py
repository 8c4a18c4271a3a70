"""The benchmark's contestants make the same step, so that its ratios compare like with like. No time is asserted."""

from __future__ import annotations

import csv
import importlib.util

import pytest

from benchmarks import bayes_by_backprop_epoch as benchmark

WIDTHS = (12, 8, 6, 4)


def small(**changes):
    return benchmark.Problem(WIDTHS, rows=200, lot=30, **changes)


@pytest.mark.skipif(importlib.util.find_spec("opacus") is None, reason="opacus is optional and not installed")
@pytest.mark.parametrize("mode", ["hooks", "ghost"])
@pytest.mark.filterwarnings("ignore")
def test_opacus_makes_the_same_step(mode):
    p = small()
    benchmark.check_agreement(p, {"dp_sgd": benchmark.ours(p, 1, noise=False), mode: benchmark.opacus(p, mode, False)})


def test_a_wrong_peer_is_refused():
    p = small()
    wrong = benchmark.ours(small(seed=1), 1, noise=False)
    with pytest.raises(RuntimeError, match="peer and dp_sgd differ"):
        benchmark.check_agreement(p, {"dp_sgd": benchmark.ours(p, 1, noise=False), "peer": wrong})


def test_without_opacus_our_rows_are_written_and_a_message_says_why_the_others_are_missing(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(benchmark.importlib.util, "find_spec", lambda name: None)
    p = small()
    monkeypatch.setattr(benchmark, "Problem", lambda: p)
    monkeypatch.setattr(benchmark.torch, "set_num_threads", lambda n: None)  # others share the process
    target = tmp_path / "out.csv"
    assert benchmark.main([str(target), "--steps", "3"]) == 0
    with target.open() as f:
        rows = list(csv.DictReader(f))
    assert [r["implementation"] for r in rows] == ["dp_sgd"]
    assert float(rows[0]["ratio"]) == 1.0
    assert "pip install opacus" in capsys.readouterr().err
