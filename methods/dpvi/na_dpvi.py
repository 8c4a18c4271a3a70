"""NA-DPVI by exact independent draws: DPVI, then the posterior of its optimum given the whole noisy trace."""

from __future__ import annotations

from dataclasses import dataclass

from methods.engines.noise_aware.settings import NoiseAwareSettings, Reading


class NADPVI(Reading):
    """The density that the authors sample by NUTS, collapsed into six numbers a coordinate and drawn exactly.

    What is stored are those numbers (``models.noise_aware.TracePosterior``): draws are made where they are scored.
    """

    name = "na_dpvi"
    title = "NA-DPVI"
    reference = "alrawajfeh2024nadpvi_rebuttal, algorithm 2"
    reading = "noise_aware"

    @dataclass(frozen=True)
    class Settings(NoiseAwareSettings):
        """As :class:`NoiseAwareSettings`."""
