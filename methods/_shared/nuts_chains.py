"""Chains of the No-U-Turn sampler (NumPyro) as one compiled function of key, starts and data."""

from __future__ import annotations

from collections.abc import Callable


def compiled(potential: Callable, num_warmup: int, num_samples: int, max_tree_depth: int, target_accept: float):
    """A function (key, starts (chains, ...), *data) -> draws, divergent, leapfrog steps.

    The results have the shape (chains, num_samples, ...). ``potential(*data)`` gives the energy, a function of a state
    with the shape of one start. The caller should cache the result (``functools.lru_cache``). Then data of one shape
    share one compilation, because starts and data are arguments. NumPyro's class ``MCMC`` compiles anew for each chain,
    which takes ten times as long as the sampling of small models. The chains run one after the other.
    """
    import jax
    from numpyro.infer.hmc import hmc

    @jax.jit
    def run(key, starts, *data):
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
                return state, (state.z, state.diverging, state.num_steps)

            _, drawn = jax.lax.scan(draw, state, None, length=num_warmup + num_samples)
            return jax.tree.map(lambda values: values[num_warmup:], drawn)

        return jax.lax.map(chain, (jax.random.split(key, len(starts)), starts))

    return run
