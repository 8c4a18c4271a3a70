"""DPVI read at its last iterate: the naive posterior, which takes the privacy noise for nothing."""

from __future__ import annotations

from dataclasses import dataclass

from methods.engines.noise_aware.settings import DPVISettings, Reading


class DPVILastIterate(Reading):
    """q at the last iterate: N(mu_T, softplus(rho_T)^2)."""

    name = "dpvi_last_iterate"
    title = "Naive (last iterate)"
    reference = "alrawajfeh2024nadpvi_rebuttal, Tables 1 to 3, naive"
    reading = "last_iterate"

    @dataclass(frozen=True)
    class Settings(DPVISettings):
        """As :class:`DPVISettings`."""
