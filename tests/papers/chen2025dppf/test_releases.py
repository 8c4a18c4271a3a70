"""Where the releases come from and what they cost."""

import numpy as np
import pytest
from scipy.optimize import minimize

from papers.chen2025dppf import published, releases
from papers.chen2025dppf.fits import FITS
from privacy import audit
from privacy.accountants import epsilon_of


def test_random_numbers_of_r():
    assert releases.RStream(1).uniform(3) == pytest.approx([0.26550866, 0.37212390, 0.57285336], abs=5e-9)
    assert releases.RStream(1).normal(3) == pytest.approx([-0.62645381, 0.18364332, -0.83562861], abs=5e-9)


def test_every_release_follows_from_a_seed():
    found = published.releases()
    found = found[found["seed"].notna()]
    made = {}
    for row in found.to_dict("records"):
        at = row["dataset"], int(row["n"]), int(row["seed"])
        sums, noise = made.setdefault(at, releases.from_seed(*at))
        for k, (s, z) in enumerate(zip(sums, noise, strict=True)):
            assert s == pytest.approx(row[f"clean_{k}"], abs=1e-9)
            released = s + releases.scale_of(row["dataset"], row["epsilon"]) * z
            assert released == pytest.approx(row[f"released_{k}"], rel=1e-10)
    assert len(found) == 47
    assert set(found.loc[found["n"] == 400, "seed"]) == {1.0, 11029.0}


def test_the_second_noise_follows_from_the_number_of_the_run():
    for run, (noise, extra) in enumerate(zip(published.second_noise(), published.extra_row(), strict=True), 1):
        u = releases.RStream(run).uniform(8)
        assert releases.laplace_of(u[[1, 2, 3, 6, 7]]) == pytest.approx(noise, abs=1e-12)
        assert extra == (u[0] >= 0.5)


def test_two_epsilons_of_one_table_give_the_sums_without_noise():
    """The releases of a table at all epsilons share their noise."""
    one, two = (published.release("chen_lr", e, 100) for e in (1.0, 2.0))
    assert 2 * two - one == pytest.approx(releases.from_seed("chen_lr", 100, 1)[0], abs=1e-9)


@pytest.mark.parametrize(("dataset", "unit"), [("chen_lr", 5.0), ("chen_ls", 5.0), ("chen_lr_unscaled", 1.0)])
def test_the_sensitivity_is_attained_and_never_exceeded(dataset, unit):
    """By a search, and the worst pair of rows."""

    def change(rows):
        x, y, x2, y2 = rows
        if dataset == "chen_ls":
            return np.abs(releases.sums(np.array([x])) - releases.sums(np.array([x2]))).sum()
        a, b = (releases.sums(np.array([p]), np.array([q]), unit) for p, q in ((x, y), (x2, y2)))
        return np.abs(a - b).sum()

    most = releases.SENSITIVITY[dataset]
    rng = np.random.default_rng(0)
    starts = rng.uniform(-5, 5, (600, 4))
    best = starts[np.argsort([-change(s) for s in starts])[:4]]
    found = max(-minimize(lambda r: -change(r), s, method="Nelder-Mead").fun for s in best)
    assert found == pytest.approx(most, rel=2e-3)
    assert found <= most * (1 + 1e-9)
    other = {"chen_lr": -5 / 3, "chen_ls": -2.5, "chen_lr_unscaled": 5 * (1 - 16 / 15)}[dataset]
    assert change((5.0, 5.0, other, other)) == pytest.approx(most, rel=1e-9)


def test_what_a_release_costs():
    for dataset, ratio in (("chen_lr", 2 / 3), ("chen_ls", 0.75), ("chen_lr_unscaled", 32 / 3)):
        spent = epsilon_of(releases.ledger_of(dataset, 0.5), 1e-9).epsilon
        assert spent == pytest.approx(0.5 * ratio, rel=1e-6)
        assert releases.true_epsilon(dataset, 0.5) == pytest.approx(0.5 * ratio)


def test_the_corrected_release_costs_its_claim():
    for own in FITS:
        fit = audit.run(own, own.task, own.settings, own.spec, 1)
        assert epsilon_of(fit.ledger, own.spec.delta).epsilon == pytest.approx(own.spec.epsilon, rel=1e-4)
