"""The fits that the audit sees: as many budgets can be broken as there are releases; draws are releases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from papers.wang2018.fits import FITS, READINGS, moments_of


def of(name: str):
    return next(fit for fit in FITS if fit.name == name)


@pytest.mark.parametrize(
    ("name", "least"), [("ssp (corrected)", 9), ("adassp (corrected)", 9), ("adaops (corrected)", 9)]
)
def test_as_many_budgets_can_be_broken(name, least):
    """Guards the generic test against trying none."""
    assert len(list(of(name).faults())) >= least


def test_all_readings_with_a_finite_ledger_are_there():
    assert {fit.name.split()[0] for fit in FITS} == set(READINGS)
    assert len(FITS) == sum(map(len, READINGS.values()))


def test_rows_are_cut_to_the_domain_and_n_is_public():
    task = replace(FITS[0].task, x=10 * FITS[0].task.x[:5], y=10 * FITS[0].task.y[:5])
    found = moments_of(task)
    assert found.n == FITS[0].task.n
    assert np.trace(found.gram) <= 5 * (1 + 1e-12)
