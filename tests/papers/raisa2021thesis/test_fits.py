"""The chains that the audit sees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from papers.raisa2021thesis import chains
from papers.raisa2021thesis.fits import FITS


def of(name: str):
    return next(fit for fit in FITS if fit.name == name)


@pytest.mark.parametrize("name", ["DP Penalty", "DP HMC"])
def test_as_many_budgets_can_be_broken(name):
    """Guards the generic test against trying none."""
    assert len(list(of(name).faults())) >= 12


def test_half_the_sensitivity_is_found():
    class Half:
        def __init__(self, budget):
            self._budget = budget

        def __getattr__(self, name):
            return getattr(self._budget, name)

        def gaussian(self, *args, sensitivity, noise_multiplier, **more):
            more |= {"sensitivity": sensitivity / 2, "noise_multiplier": 2 * noise_multiplier}
            return self._budget.gaussian(*args, **more)

    own = of("DP Penalty")
    broken = replace(own, run=lambda task, settings, budget, rng: own.run(task, settings, Half(budget), rng))
    assert set(broken.found()) & {"sensitivity", "searched"}


def test_the_share_of_cut_rows_beside_a_chain_is_found(monkeypatch):
    """The source shows it; a fit that does is not private."""
    own, shares = of("DP Penalty"), []
    real = chains.penalty

    def kept(*args):
        shares.append(real(*args))
        return shares[-1]

    monkeypatch.setattr(chains, "penalty", kept)

    def shown(*args):
        return own.run(*args) | {"share": shares[-1].clipped[0]}

    assert "posterior" in replace(own, run=shown).found(first=True)
