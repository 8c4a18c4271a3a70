"""The No-U-Turn sampler on the collapsed noise-aware density (NumPyro): the check of the exact draws."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from methods.contract import Diverged
from models.noise_aware import SampledTrace, TracePosterior, optimum_moments, slope_prior


def sample(posterior: TracePosterior, settings, rng: np.random.Generator) -> tuple[SampledTrace, dict[str, float]]:
    """Draws of phi* for all coordinates in one chain each, and diagnostics.

    ``settings``: ``methods.dpvi.na_dpvi_nuts.NADPVINUTS.Settings``. Parameters are standardised by their priors (h
    = hm + w hs u). Double precision. Diagnostics: largest split R-hat and smallest effective sample size over the
    coordinates of phi*, divergent transitions, and the agreement with the exact law: largest distance of the means
    in exact standard deviations and in Monte Carlo standard errors, largest |log| of the ratio of the standard
    deviations.
    Raises ValueError for an infinite slope_widening, :class:`Diverged` where a draw is not finite.
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
        draws, diverging = (np.asarray(a) for a in out)
    if not np.isfinite(draws).all():
        raise Diverged("na_dpvi_nuts drew a value that is not finite; raise target_accept")
    star = trace.phi + priors.optimum_sd * draws[:, :, 2]  # (chains, samples, 2 D)
    with np.errstate(invalid="ignore", divide="ignore"):  # chains that stand still: R-hat is not a number, and says so
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
    """Compiled function (key, starts (chains, 3, d), numbers (7, d), scales (4,)) -> draws, divergent.

    Kept, so that data sets of one model share one compilation. The chains run one after the other.
    """
    import jax
    import jax.numpy as jnp
    from numpyro.infer.hmc import hmc

    def potential(numbers, scales):
        g, pp, gp, gg, v0, hm, hs = numbers
        n, rate, optimum_sd, noise_sd = scales

        def energy(z):
            u, s, delta = z
            k, v = rate * jax.nn.softplus(hm + hs * u), v0 + (noise_sd * s) ** 2
            residual = gg - gp**2 / pp + pp * (k - gp / pp) ** 2 + n * (g + k * optimum_sd * delta) ** 2
            return 0.5 * (n * jnp.log(v / v0) + residual / v + u**2 + s**2 + delta**2).sum()

        return energy

    @jax.jit
    def run(key, starts, numbers, scales):
        data = (numbers, scales)

        def chain(key_and_start):
            begin, step = hmc(potential_fn_gen=potential, algo="NUTS")
            state = begin(
                key_and_start[1],
                num_warmup,
                trajectory_length=None,
                max_tree_depth=max_tree_depth,
                target_accept_prob=target_accept,
                model_args=data,
                rng_key=key_and_start[0],
            )

            def draw(state, _):
                state = step(state, data, {})
                return state, (state.z, state.diverging)

            _, drawn = jax.lax.scan(draw, state, None, length=num_warmup + num_samples)
            return jax.tree.map(lambda values: values[num_warmup:], drawn)

        return jax.lax.map(chain, (jax.random.split(key, len(starts)), starts))

    return run
