"""Differentially private variational inference, read at the mean of its iterates."""

from __future__ import annotations

from dataclasses import dataclass

from methods.engines.noise_aware.settings import DPVISettings, Reading


class DPVI(Reading):
    """Mean-field DP-SGD on the negative lower bound; q at the mean of the kept iterates, privacy noise ignored.

    The stored posterior holds the sufficient statistics of the trace, so that every other reading of the same run
    (last iterate, noise-aware, Laplace, trace average) can be had from it: ``models.noise_aware.TracePosterior.read``.
    """

    name = "dpvi"
    title = "DPVI (mean iterate)"
    reference = "jalko2017dpvi; alrawajfeh2024nadpvi_rebuttal, algorithm 1"
    reading = "trace_mean"

    @dataclass(frozen=True)
    class Settings(DPVISettings):
        """As :class:`DPVISettings`."""
