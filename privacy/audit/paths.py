"""Does a fit do the same when nobody listens, and does its noise matter?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacy.audit.replays import Recorder, flat_parameters, parameter_distance
from privacy.budget import BudgetSpec

#: of :func:`same_path`: fits on each path; with 100, half the noise was missed where posteriors have heavy tails
PATH_RUNS = 200


def same_path(
    method,
    task,
    settings,
    spec: BudgetSpec,
    seed: int,
    runs: int = PATH_RUNS,
    alpha: float = 1e-3,
    permutations: int = 2400,
) -> str:
    """ "" if recorded and ordinary fits agree, else what was found.

    A fast kernel takes blocks of noise and is not seen by the recorder, so the two paths are compared: equal for
    equal seeds, or else (the kernel may hand the same noise to other coordinates) the same law over ``runs`` noise
    streams each, batches held fixed: median over the parameters of the log ratio of interquartile ranges, and of the
    shift of the medians, each against its permutation law at false-alarm rate ``alpha`` / 2. What is found has to be
    found again on other streams, twice as many: the audit asks some twenty times, so that the rate of one alarm among
    all of them is ``alpha``^2 times that.
    """

    def draw(stream, recorder):
        return flat_parameters(with_noise(method, task, settings, spec, seed, stream, recorder))

    plain, recorded = draw(0, None), draw(0, Recorder())
    if np.allclose(plain, recorded, rtol=0, atol=1e-6 * float(np.max(np.abs(plain)))):
        return ""
    first = _equal_laws(draw, range(1, 2 * runs + 1), seed, permutations)
    if first.min() >= alpha / 2:
        return ""
    p = _equal_laws(draw, range(2 * runs + 1, 6 * runs + 1), seed, permutations)
    if p.min() >= alpha / 2:
        return ""
    return f"recorded and ordinary fits differ in law: p = {p[0]:.2g} (spread), {p[1]:.2g} (location)"


def _equal_laws(draw, streams: Sequence[int], seed: int, permutations: int) -> np.ndarray:
    """p-values of spread and location, (2,): the even streams are ordinary fits, the odd ones recorded."""
    labels = np.array([k % 2 == 1 for k in streams])
    both = np.array([draw(k, Recorder() if odd else None) for k, odd in zip(streams, labels, strict=True)])
    both = both[:, np.ptp(both, axis=0) > 0]  # public parameters do not vary
    rng = np.random.default_rng(np.random.SeedSequence(seed))

    def statistics(mark):
        q = np.quantile(both[~mark], (0.25, 0.5, 0.75), axis=0), np.quantile(both[mark], (0.25, 0.5, 0.75), axis=0)
        spread = q[0][2] - q[0][0], q[1][2] - q[1][0]
        tiny = np.finfo(float).tiny
        return np.array(
            [
                abs(np.median(np.log((spread[1] + tiny) / (spread[0] + tiny)))),
                np.median(np.abs(q[1][1] - q[0][1]) / (spread[0] + spread[1] + tiny)),
            ]
        )

    here = statistics(labels)
    law = np.array([statistics(rng.permutation(labels)) for _ in range(permutations)])
    return (1 + np.sum(law >= here, axis=0)) / (1 + permutations)


def noise_matters(method, task, settings, spec: BudgetSpec, seed: int) -> bool:
    """Does the posterior change when only the noise changes?"""
    one, two = (with_noise(method, task, settings, spec, seed, i) for i in range(2))
    return parameter_distance(one.posterior.parameters(), two.posterior.parameters()) > 0


def with_noise(method, task, settings, spec: BudgetSpec, seed: int, stream: int, recorder: Recorder | None = None):
    """The fit of ``seed`` with noise stream number ``stream``; batches come from a spawned child and stay the same."""
    fit_seed, noise_seed = np.random.SeedSequence(seed).spawn(2)
    bits = np.random.PCG64(noise_seed)
    bits.advance(stream << 64)
    budget = spec.open(np.random.Generator(bits), recorder)
    return method.fit(task, settings, budget, np.random.default_rng(fit_seed))
