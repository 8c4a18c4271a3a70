"""The free baseline of NA-DPVI: mean of the iterates, and their variance added to that of q."""

from __future__ import annotations

from dataclasses import dataclass

from methods.engines.noise_aware.settings import DPVISettings, Reading


class DPVITraceAverage(Reading):
    """N(mean of mu, softplus(mean of rho)^2 + variance of mu) over the kept iterates: post-processing of one run."""

    name = "dpvi_trace_average"
    title = "DPVI (trace average)"
    reference = "baseline of this suite; after jalko2023dpvim, section 3.2"
    reading = "trace_average"

    @dataclass(frozen=True)
    class Settings(DPVISettings):
        """As :class:`DPVISettings`."""
