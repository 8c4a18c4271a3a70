"""Stored exact posteriors of private releases: whole, converged, and those of ``posteriors.csv``."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import dpbayes_bench
from evaluation import convergence
from papers.chen2025dppf import published, stored

EXACT = pd.read_csv(stored.FOLDER.parent / "posteriors.csv")


def test_every_name_is_read_and_is_that_of_the_table():
    assert set(stored.names()) < set(dpbayes_bench.reference_posteriors())
    there = EXACT[(EXACT["dataset"] == "chen_lr") & (EXACT["n"] == stored.ROWS)]
    for name, (prior, epsilon) in stored.names().items():
        found = dpbayes_bench.reference_posterior(name)
        assert found.draws.shape == (4, 1000, 5)
        told = there[(there["prior"] == prior) & (there["epsilon"] == epsilon)].set_index("parameter")
        assert list(found.summary.index) == list(told.index)
        flat = found.draws.reshape(-1, 5).astype(float)
        for level in ("q25", "q50", "q75"):
            np.testing.assert_allclose(found.summary[level], told[level], rtol=1e-5)
            np.testing.assert_allclose(np.quantile(flat, convergence.QUANTILES[level], axis=0), told[level], rtol=1e-5)
        np.testing.assert_allclose(found.info["release"]["values"], published.release("chen_lr", epsilon, stored.ROWS))
        assert found.info["diagnostics"]["rhat_max"] < convergence.LARGEST_RHAT
        assert (found.summary[["ess_bulk", "ess_tail"]] >= 400).all(axis=None)


def test_diagnostics_are_those_of_the_stored_draws():
    name = next(iter(stored.names()))
    found = dpbayes_bench.reference_posterior(name)
    assert convergence.told_of(found.draws)["diagnostics"] == pytest.approx(found.info["diagnostics"], rel=1e-6)


def test_arviz_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r"dpbayes-bench\[arviz\]"):
        dpbayes_bench.reference_posterior(next(iter(stored.names()))).to_arviz()


def test_arviz_has_a_variable_per_parameter():
    pytest.importorskip("arviz_base")
    found = dpbayes_bench.reference_posterior("chen_lr-conjugate-n=300-epsilon=1")
    tree = found.to_arviz()
    np.testing.assert_array_equal(tree["posterior"]["tau"].to_numpy(), found.draws[..., 2])


@pytest.mark.nightly
def test_one_is_recomputed():
    name = "chen_lr-conjugate-n=300-epsilon=2"
    _, draws = stored.compute(name)
    np.testing.assert_array_equal(draws, dpbayes_bench.reference_posterior(name).draws)
