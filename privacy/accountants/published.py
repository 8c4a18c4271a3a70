"""Epsilons that authors' code computes for its own noise: CLAIMS, not guarantees."""

from __future__ import annotations

from functools import lru_cache

from privacy.accountants.terms import third_party


@lru_cache(maxsize=256)
def vinaroz_sigma(n_train: int, epochs: int, epsilon: float = 1.0, delta: float = 1e-5, releases: int = 2) -> float:
    """Noise multiplier that Vinaroz & Park's programs compute for DP-SEP: a CLAIM, not a guarantee.

    autodp's calibrator for the Gaussian mechanism: Renyi composition of ``releases x epochs x n_train`` steps, each
    amplified by sampling one of ``n_train`` rows without replacement (general bound, Wang et al. 2019, theorem 9),
    converted by epsilon = RDP(a) + log(1/delta) / (a - 1). The programs do not sample that way: see the findings.
    """
    with third_party():
        from autodp import rdp_acct  # noqa: F401 - the calibrator fails on a circular import unless this comes first
        from autodp.privacy_calibrator import gaussian_mech

        return float(gaussian_mech(epsilon, delta, prob=1.0 / n_train, k=releases * epochs * n_train)["sigma"])


@lru_cache(maxsize=256)
def vinaroz_dpvi_epsilon(sigma: float, q: float, k: int, delta: float = 1e-5) -> float:
    """Epsilon that Vinaroz & Park's DP-VI program prints: a CLAIM (it passes the number of epochs as ``k``).

    Same bound and conversion as :func:`vinaroz_sigma`; ``q`` is batch size over number of rows.
    """
    with third_party():
        from autodp import rdp_acct, rdp_bank

        acct = rdp_acct.anaRDPacct()
        acct.compose_subsampled_mechanism(lambda a: rdp_bank.RDP_gaussian({"sigma": sigma}, a), q, coeff=k)
        return float(acct.get_eps(delta))
