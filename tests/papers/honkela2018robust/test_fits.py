"""The fits that the audit sees."""

import numpy as np

from papers.honkela2018robust.fits import FITS
from papers.honkela2018robust.release import unit
from privacy import audit
from privacy.accountants import epsilon_of


def test_a_row_of_zeros_does_not_end_a_fit():
    rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert np.array_equal(unit(rows), [[0.6, 0.8], [0.0, 0.0]])


def test_each_costs_what_it_claims_at_most():
    for own in FITS:
        fit = audit.run(own, own.task, own.settings, own.spec, 1)
        assert epsilon_of(fit.ledger, own.spec.delta).epsilon <= own.spec.epsilon * (1 + 1e-9)
