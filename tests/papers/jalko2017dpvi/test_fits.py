"""The fit that the audit sees."""

from dataclasses import replace

from papers.jalko2017dpvi import dpvi
from papers.jalko2017dpvi.fits import FITS


def test_as_many_budgets_can_be_broken():
    """Guards the generic test against trying none."""
    (own,) = FITS
    assert len(list(own.faults())) >= 15


def test_no_clipping_is_found(monkeypatch):
    real = dpvi.clipped_sum
    monkeypatch.setattr(dpvi, "clipped_sum", lambda *a: real(*a[:-1], None))
    (own,) = FITS
    assert "sensitivity" in replace(own).found(first=True)
