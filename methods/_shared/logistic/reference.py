"""Long chains of NumPyro's No-U-Turn sampler, a reference for the independent draws of ``sampler``.

They are made for a few fixed posteriors, not for every draw. The target is implemented a second time here, in JAX. The
chains move in the whitened coordinates of the Laplace approximation, a linear map that leaves the target unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.logistic.sampler import Plan, Target, laplace, sample
from methods.contract import Diverged

#: draws made in one batch.
BATCH = 2000


@dataclass(frozen=True)
class Chains:
    """Draws of all chains, with their largest split R-hat and smallest effective sample size over the coordinates.

    draws : (chains, samples, d).
    ess : (d,), effective sample size for the mean of each coordinate.
    ess_square : (d,), effective sample size for the variance of each coordinate.
    ess_energy : effective sample size for the mean of minus the log-density.
    energy : (chains, samples), minus the log-density, nats.
    """

    draws: np.ndarray
    energy: np.ndarray
    rhat: float
    ess: np.ndarray
    ess_square: np.ndarray
    ess_energy: float


def long_chains(
    z: np.ndarray, target: Target, rng: np.random.Generator, chains: int = 4, warmup: int = 500, samples: int = 2000
) -> Chains:
    """Draw from ``target`` (the ball ignored) given signed rows z (n, d), in double precision.

    Raises :class:`methods.contract.Diverged` if a draw is not finite.
    """
    import jax
    import jax.numpy as jnp
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
    from numpyro.infer import MCMC, NUTS

    (around,), _ = laplace(z, [target])
    with jax.enable_x64(True):
        rows, mode, whitening = jnp.asarray(z), jnp.asarray(around.mode), jnp.asarray(around.whitening)

        def energy(u):
            w = mode + whitening @ u
            return target.power * jnp.logaddexp(0.0, -(rows @ w)).sum() + 0.5 * target.precision * (w @ w)

        run = MCMC(
            NUTS(potential_fn=energy),
            num_warmup=warmup,
            num_samples=samples,
            num_chains=chains,
            chain_method="vectorized",
            progress_bar=False,
        )
        start = jnp.asarray(rng.standard_normal((chains, z.shape[1])))
        key = jax.random.PRNGKey(int(rng.integers(2**31)))
        run.run(key, init_params=start if chains > 1 else start[0], extra_fields=("potential_energy",))
        u = np.asarray(run.get_samples(group_by_chain=True))
        value = np.asarray(run.get_extra_fields(group_by_chain=True)["potential_energy"])
    if not np.isfinite(u).all():
        raise Diverged("a long chain drew a value that is not finite")
    draws = around.mode + u @ around.whitening.T
    square = (draws - draws.mean(axis=(0, 1))) ** 2
    return Chains(
        draws,
        value,
        float(np.max(split_gelman_rubin(draws))),
        np.asarray(effective_sample_size(draws)),
        np.asarray(effective_sample_size(square)),
        float(effective_sample_size(value[..., None])[0]),
    )


def independent_draws(z: np.ndarray, target: Target, seeds, plan: Plan) -> np.ndarray:
    """Independent draws, (k, d), one per seed, by the sampler of the methods."""
    parts = [seeds[k : k + BATCH] for k in range(0, len(seeds), BATCH)]
    rngs = [[np.random.default_rng(s) for s in part] for part in parts]
    return np.concatenate([sample(z, [target] * len(part), part, plan).weights for part in rngs])


def compare(weights: np.ndarray, energy: np.ndarray, chains: Chains) -> dict[str, float]:
    """Differences between independent draws ``weights`` (k, d) and the chains, in standard errors.

    ``energy`` (k,) is minus the log-density of each draw, nats. The result holds

    - ``mean_z`` and ``variance_z``, the largest over the coordinates for the mean and for the variance;
    - ``energy_z`` for the mean energy, which detects an error that is spread over all coordinates.

    For two equal distributions in d coordinates the largest of d values stays below sqrt(2 log(2 d / a)) with
    probability of at least 1 - a, approximately.
    """
    k = len(weights)
    flat = chains.draws.reshape(-1, chains.draws.shape[2])
    centre, variance = flat.mean(axis=0), flat.var(axis=0)
    mean_z = (weights.mean(axis=0) - centre) / np.sqrt(variance * (1.0 / k + 1.0 / chains.ess))
    square = (flat - centre) ** 2
    spread = square.var(axis=0) * (1.0 / k + 1.0 / chains.ess_square)
    variance_z = (((weights - centre) ** 2).mean(axis=0) - square.mean(axis=0)) / np.sqrt(spread)
    energy_sd = np.sqrt(chains.energy.var() * (1.0 / k + 1.0 / chains.ess_energy))
    return {
        "mean_z": float(np.abs(mean_z).max()),
        "variance_z": float(np.abs(variance_z).max()),
        "energy_z": float(abs(energy.mean() - chains.energy.mean()) / energy_sd),
    }
