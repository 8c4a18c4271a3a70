"""Epsilons that authors' code computes for its own noise: CLAIMS, not guarantees."""

from __future__ import annotations

from functools import lru_cache

from privacy.accountants.terms import third_party


@lru_cache(maxsize=256)
def vinaroz_sigma(n_train: int, epochs: int, epsilon: float = 1.0, delta: float = 1e-5, releases: int = 2) -> float:
    """The noise multiplier that Vinaroz & Park's code computes for DP-SEP: a CLAIM, not a guarantee.

    It is autodp's calibrator for the Gaussian mechanism, by Renyi composition of ``releases x epochs x n_train`` steps.
    Each step is amplified by sampling one of ``n_train`` rows without replacement (general bound, Wang et al. 2019,
    theorem 9). The conversion is epsilon = RDP(a) + log(1/delta) / (a - 1). Their code does not sample that way: see
    the findings.
    """
    with third_party():
        from autodp import rdp_acct  # noqa: F401 - the calibrator fails on a circular import unless this comes first
        from autodp.privacy_calibrator import gaussian_mech

        return float(gaussian_mech(epsilon, delta, prob=1.0 / n_train, k=releases * epochs * n_train)["sigma"])


@lru_cache(maxsize=256)
def vinaroz_dpvi_epsilon(sigma: float, q: float, k: int, delta: float = 1e-5) -> float:
    """The epsilon that Vinaroz & Park's DP-VI code prints: a CLAIM. The code passes the number of epochs as ``k``.

    Bound and conversion are those of :func:`vinaroz_sigma`. ``q`` is the batch size over the number of rows.
    """
    with third_party():
        from autodp import rdp_acct, rdp_bank

        acct = rdp_acct.anaRDPacct()
        acct.compose_subsampled_mechanism(lambda a: rdp_bank.RDP_gaussian({"sigma": sigma}, a), q, coeff=k)
        return float(acct.get_eps(delta))
