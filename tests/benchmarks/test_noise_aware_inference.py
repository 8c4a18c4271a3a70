"""Both ways compute the same numbers, a wrong peer is refused, every contestant is measured. No time is asserted."""

from __future__ import annotations

import csv
import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import noise_aware_inference as benchmark
from models.logistic_regression_normal_prior import LogisticRegressionNormalPrior
from models.noise_aware import laplace, log_density, optimum_given
from models.task import Task

TINY = benchmark.Work(
    steps=200, warmup=20, draws=20, adam=1000, measured_steps=2, measured_gradients=2, measured_adam=2
)


def tiny(name, tmp_path, seed=0):
    if name != benchmark.ADULT:
        return benchmark.cases(name, tmp_path, TINY, seed + 1)[seed]
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.standard_normal((400, 5)), rng.random((400, 4)) < 0.3])
    task = Task(name, LogisticRegressionNormalPrior(1.0, 5, "moments"), x, (rng.random(400) < 0.3).astype(float))
    like = benchmark.cases("beta_bernoulli", tmp_path, TINY, 1)[0]
    settings = dataclasses.replace(like.settings, clip=3.0, start_deviation=(-6.0,))
    return dataclasses.replace(like, task=task, settings=settings)


@pytest.mark.nightly
@pytest.mark.parametrize("name", benchmark.SETTINGS)
def test_both_ways_agree_on_the_clipped_sum_of_a_batch(name, tmp_path):
    assert benchmark.check_sums(tiny(name, tmp_path)) < 1e-5


@pytest.mark.nightly
def test_a_wrong_clipped_sum_is_refused(tmp_path):
    """Rows of another data set."""
    case = tiny("gamma_exponential", tmp_path)
    s = case.settings
    plan = benchmark.training.make_plan(s, 1, 360.0)
    rows, prior = benchmark.design_and_targets(case), benchmark.training.prior_numbers(case.task.model)
    phi, e, batch = jnp.asarray(plan.start), jnp.zeros((s.draws, 1)), jnp.ones(case.task.n)
    one = benchmark.autodiff_sum("exponential", phi, e, rows, batch, jnp.asarray(plan.scale), s.clip, prior)
    other = benchmark.autodiff_sum("exponential", phi, e, (rows[0] + 1, rows[1]), batch, plan.scale, s.clip, prior)
    difference = float(np.linalg.norm(one - other)) / (s.clip * case.task.n)
    with pytest.raises(RuntimeError, match="nothing is reported"):
        benchmark.agreed("sums", difference, 1e-5)
    with pytest.raises(RuntimeError, match="differ by nan"):
        benchmark.agreed("sums", np.nan, 1e-5)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["beta_bernoulli", "linear_regression_10d"])
def test_the_densities_agree_and_the_collapsed_one_is_the_models(name, tmp_path):
    case = tiny(name, tmp_path)
    posterior, full, collapsed = benchmark.trace_of(case)
    assert len(full[0]) == len(full[1]) == 160  # four fifths of the steps
    assert benchmark.check_densities(name, posterior, full, collapsed) < 1e-6
    with pytest.raises(RuntimeError, match="gradients of the two densities"):
        benchmark.check_densities(name, posterior, (full[0], full[1] + 1e3, *full[2:]), collapsed)
    # phi* integrated out of the benchmark's density by its Gaussian: relative to the one point, the library's
    hm, hs, v0 = collapsed[7], collapsed[8], collapsed[6]
    with jax.enable_x64(True):
        energy = partial(benchmark.collapsed_energy, posterior.rate)

        def integrated(u, s):
            h = hm + u * hs
            mean, variance = optimum_given(h, s, posterior.trace, v0, posterior.rate, posterior.priors)
            z = np.stack([posterior.trace.phi + mean, h, 0 * h + s])
            return -float(energy(jnp.asarray(z), jnp.asarray(collapsed))) + 0.5 * np.log(variance).sum()

        def library(u, s):
            return log_density(hm + u * hs, s, posterior.trace, v0, hm, hs, posterior.rate, posterior.priors).sum()

        found = [integrated(u, s) - integrated(0.0, 0.0) for u, s in ((0.7, 0.0), (-1.1, 0.9))]
        expected = [library(u, s) - library(0.0, 0.0) for u, s in ((0.7, 0.0), (-1.1, 0.9))]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.nightly
def test_adam_on_the_explicit_likelihood_goes_to_the_mode_of_the_grids(tmp_path):
    """Within a tenth of a posterior standard deviation of phi*, after 3,000 iterations in float64."""
    posterior, full, _ = benchmark.trace_of(tiny("beta_bernoulli", tmp_path))
    mode = laplace(posterior.trace, posterior.noise_variance, posterior.rate, posterior.priors, extra_term=True)
    with jax.enable_x64(True):
        data = tuple(jnp.asarray(a) for a in full)
        start = jnp.stack([data[5], data[3], 0 * data[3]])
        run = jax.jit(partial(benchmark.adam, partial(benchmark.full_energy, posterior.rate, True), 3000))
        last = np.asarray(run(start, data))[-600:].mean(axis=0)
    assert np.abs((last[0] - mode.optimum) / np.sqrt(mode.variance)).max() < 0.1


@pytest.mark.nightly
def test_every_contestant_is_measured_and_the_tables_follow_from_the_means(tmp_path):
    measured = benchmark.measure("beta_bernoulli", tmp_path, TINY, 2)
    assert list(measured.implementation) == [
        "kernels", "row_batches", "autodiff", "exact_draws", "nuts_collapsed", "nuts_full", "nested_grids", "adam_full",
    ]  # fmt: skip
    assert (measured.cases == 2).all()
    row = measured.set_index("implementation")
    assert (row.seconds > 0).all()
    assert row.loc["nuts_full", "full"] >= TINY.warmup + TINY.draws  # one gradient an iteration at least
    np.testing.assert_allclose(row.loc["autodiff", "seconds"], row.loc["autodiff", "measured_seconds"] * 100)
    np.testing.assert_allclose(row.loc[list(benchmark.OURS.values()), "ratio"], 1.0)
    assert benchmark.tables(measured).empty  # a table needs all its models
    all_of_it = [measured.assign(model=m) for m in benchmark.FAMILIES]
    hours = benchmark.tables(benchmark.pd.concat(all_of_it, ignore_index=True))
    assert list(hours.part) == ["dpvi", "posterior", "all"]
    np.testing.assert_allclose(hours.authors_hours[0], 1500 * row.loc["autodiff", "seconds"] / 3600)
    np.testing.assert_allclose(hours.authors_hours[2], hours.authors_hours[:2].sum())
    np.testing.assert_allclose(hours.ratio, hours.authors_hours / hours.our_hours)
    benchmark.write(hours, tmp_path / "sub" / "hours.csv")
    with (tmp_path / "sub" / "hours.csv").open() as f:
        assert len(list(csv.DictReader(f))) == 3


def test_without_adult_its_rows_are_left_out_with_a_message(tmp_path, capsys):
    assert benchmark.measure(benchmark.ADULT, tmp_path, TINY).empty
    assert "does not exist; left out" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="none of adult_complete has data"):
        benchmark.main(["--data", str(tmp_path), "--models", benchmark.ADULT])
