"""Checks that a fit gives the same result if no audit records it, and that its noise is used."""

from __future__ import annotations

import numpy as np

from privacy.audit.noise import Listener
from privacy.audit.replays import Outcome, Recorder, attempt, largest_gap, parameter_distance
from privacy.budget import BudgetSpec

#: releases per block in :func:`same_path`, few enough for a toy fit to have a first, a middle and a last block
BLOCK = 3
#: largest difference that counts as rounding, relative to the largest number of a parameter
SAME = 1e-6


def spiked(noise: np.ndarray) -> np.ndarray:
    """The noise with every seventh number ten times as large, so that a toy fit contains rare values too."""
    out = np.array(noise)
    out.reshape(-1)[3::7] *= 10
    return out


def same_path(method, task, settings, spec: BudgetSpec, seed: int) -> str:
    """Return "" if the ordinary fit and the recorded fit are equal up to rounding, otherwise the difference.

    The ordinary fit takes its noise in blocks, which a listener copies. The recorded fit gets the same numbers one
    release at a time. They are compared twice: with the noise as drawn, and with spikes in it. The check finds fast
    kernels that misuse their noise, even in a single block. It needs neither another implementation nor a test of
    distributions.
    """
    for words, alter in (("", None), ("noise with spikes: ", spiked)):
        listener = Listener(alter=alter, largest_block=BLOCK)
        plain = attempt(method, task, settings, spec, seed, listener)
        recorder = Recorder(noise=listener.heard, largest_block=BLOCK)
        recorded = attempt(method, task, settings, spec, seed, recorder)
        if text := _difference(plain, recorded):
            return f"{words}{text}"
    return ""


def _difference(plain: Outcome, recorded: Outcome) -> str:
    if plain.ended != recorded.ended:
        return f"the ordinary fit ends with '{plain.ended}', the recorded one with '{recorded.ended}'"
    if plain.ended:
        return ""
    one, two = plain.fit.posterior.parameters(), recorded.fit.posterior.parameters()
    if one.keys() != two.keys():
        return "recorded and ordinary fits have other parameters"
    for name in one:
        a, b = (np.asarray(p[name], dtype=np.float64) for p in (one, two))
        if not np.isfinite(a).all():
            return f"{name} of the ordinary fit is not finite, so the fits cannot be compared; let the method refuse it"
        largest = float(np.max(np.abs(a), initial=0.0))
        most = largest_gap(a, b) if a.shape == b.shape else np.inf
        if not most <= SAME * largest:
            return f"equal noise, recorded and ordinary fits differ in {name} by {most:.3g} of {largest:.3g}"
    return ""


def noise_matters(method, task, settings, spec: BudgetSpec, seed: int) -> bool:
    """Whether the posterior changes if only the noise changes."""
    one, two = (with_noise(method, task, settings, spec, seed, i) for i in range(2))
    return parameter_distance(one.posterior.parameters(), two.posterior.parameters()) > 0


def with_noise(method, task, settings, spec: BudgetSpec, seed: int, stream: int):
    """The fit of ``seed`` with noise stream number ``stream``. Batches come from a child stream and stay the same."""
    fit_seed, noise_seed = np.random.SeedSequence(seed).spawn(2)
    bits = np.random.PCG64(noise_seed)
    bits.advance(stream << 64)
    budget = spec.open(np.random.Generator(bits))
    return method.fit(task, settings, budget, np.random.default_rng(fit_seed))
