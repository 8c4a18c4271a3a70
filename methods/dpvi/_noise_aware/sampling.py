"""The No-U-Turn sampler (NumPyro) on the collapsed noise-aware density, as a check of the exact draws."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from methods._shared import nuts_chains
from methods.contract import Diverged
from models.noise_aware import SampledTrace, TracePosterior, optimum_moments, slope_prior


def sample(posterior: TracePosterior, settings, rng: np.random.Generator) -> tuple[SampledTrace, dict[str, float]]:
    """Draws of phi* by NUTS, for all coordinates at once, and diagnostics.

    Parameters are standardised by their priors (h = hm + w hs u), in double precision. ``settings`` is a
    ``methods.dpvi.na_dpvi_nuts.NADPVINUTS.Settings``.

    Diagnostics over the coordinates of phi*: largest split R-hat, smallest effective sample size, and the number of
    divergent transitions. Three more compare the draws with the exact distribution. They are the largest distance of
    the means, in exact standard deviations and in Monte Carlo standard errors, and the largest |log| of the ratio of
    the standard deviations.

    Raises ValueError for an infinite slope_widening, and :class:`Diverged` if a draw is not finite.
    """
    import jax
    import jax.numpy as jnp
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    priors, trace = posterior.priors, posterior.trace
    if not math.isfinite(priors.slope_widening):
        raise ValueError("na_dpvi_nuts: slope_widening is infinite; NUTS needs a smooth prior: give a finite number")
    hm, hs = slope_prior(trace, posterior.noise_variance, posterior.rate)
    numbers = np.stack(
        [trace.g, trace.pp, trace.gp, trace.gg, posterior.noise_variance, hm, hs * priors.slope_widening]
    )
    scales = np.array([trace.n, posterior.rate, priors.optimum_sd, priors.noise_sd])
    starts = rng.uniform(-2.0, 2.0, (settings.chains, 3, len(hm)))
    key = int(rng.integers(2**31))
    # the setting is per thread and ends with the block, so no other method in this process sees it
    with jax.enable_x64(True):
        run = _sampler(settings.num_warmup, settings.num_samples, settings.max_tree_depth, settings.target_accept)
        out = run(jax.random.PRNGKey(key), jnp.asarray(starts), jnp.asarray(numbers), jnp.asarray(scales))
        draws, diverging = (np.asarray(a) for a in out[:2])
    if not np.isfinite(draws).all():
        raise Diverged("na_dpvi_nuts drew a value that is not finite; raise target_accept")
    star = trace.phi + priors.optimum_sd * draws[:, :, 2]  # (chains, samples, 2 D)
    with np.errstate(invalid="ignore", divide="ignore"):  # R-hat of chains that do not move is NaN, and is reported so
        rhat, size = split_gelman_rubin(star), effective_sample_size(star)
    flat = star.reshape(-1, star.shape[2])
    exact = np.array([optimum_moments(*posterior.coordinate(j), posterior.rate, priors) for j in range(flat.shape[1])])
    sd = np.sqrt(exact[:, 1])
    gap = np.abs(flat.mean(axis=0) - exact[:, 0]) / sd
    told = {
        "rhat_max": float(np.max(rhat)),
        "ess_min": float(np.min(size)),
        "divergences": float(diverging.sum()),
        "mean_gap_max": float(gap.max()),
        "mean_gap_errors": float(np.max(gap * np.sqrt(np.clip(size, 0.0, None)))),
        "sd_log_ratio_max": float(np.abs(np.log(np.maximum(flat.std(axis=0), 1e-300) / sd)).max()),
    }
    keep = np.linspace(0, len(flat) - 1, min(settings.stored_draws, len(flat))).astype(int)
    return SampledTrace(flat[keep].astype(np.float32), posterior), told


@lru_cache(maxsize=4)
def _sampler(num_warmup: int, num_samples: int, max_tree_depth: int, target_accept: float):
    """The sampler ``nuts_chains.compiled`` for data numbers (7, d), scales (4,) and starts (chains, 3, d)."""
    import jax
    import jax.numpy as jnp

    def potential(numbers, scales):
        g, pp, gp, gg, v0, hm, hs = numbers
        n, rate, optimum_sd, noise_sd = scales

        def energy(z):
            u, s, delta = z
            k, v = rate * jax.nn.softplus(hm + hs * u), v0 + (noise_sd * s) ** 2
            residual = gg - gp**2 / pp + pp * (k - gp / pp) ** 2 + n * (g + k * optimum_sd * delta) ** 2
            return 0.5 * (n * jnp.log(v / v0) + residual / v + u**2 + s**2 + delta**2).sum()

        return energy

    return nuts_chains.compiled(potential, num_warmup, num_samples, max_tree_depth, target_accept)
