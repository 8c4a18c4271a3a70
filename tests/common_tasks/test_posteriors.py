"""Reference posteriors: committed ones are whole and converged, and diagnostics see what is wrong."""

import hashlib
import json

import numpy as np
import pytest

import dpbayes_bench
from common_tasks import noise_aware, posteriors
from dpbayes_bench import posteriors as stored
from evaluation import convergence
from models import kind as model_kinds
from reports.reference import FOLDER
from workflow import committed

COMMITTED = [n for n in dpbayes_bench.tasks() if (posteriors.FOLDER / f"{n}.json").is_file()]
LINEAR = [n for n in COMMITTED if n.endswith("linear_regression")]


def test_every_common_task_has_a_posterior_or_the_reason_why_not():
    absent = json.loads((posteriors.FOLDER / posteriors.ABSENT).read_text())
    assert {*COMMITTED, *absent} == set(dpbayes_bench.tasks()) == set(posteriors.tasks())
    assert not set(COMMITTED) & set(absent)
    for name in absent:
        with pytest.raises(LookupError, match=f"{name}: no exact posterior: not computed"):
            dpbayes_bench.reference_posterior(name)
    exact = {n for n, cell in posteriors.tasks().items() if cell.about.exact}
    assert exact - set(COMMITTED) == {n for n in absent if n.endswith(posteriors.TABLES)}
    assert set(COMMITTED) < exact


@pytest.mark.parametrize("name", COMMITTED)
def test_a_committed_posterior_is_whole(name):
    found, cell = dpbayes_bench.reference_posterior(name), posteriors.tasks()[name]
    info, size = found.info, len(found.summary)
    assert found.covariance.shape == (size, size)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(found.summary["sd"].to_numpy(), rel=1e-6)
    quantiles = found.summary[list(convergence.QUANTILES)].to_numpy()
    assert (np.diff(quantiles, axis=1) > 0).all()
    assert dict(cell.model) == info["model"]
    scores = committed.read(FOLDER, cell.experiment)
    assert {info["data_hash"][:16]} == set(scores.loc[scores["dataset"] == cell.dataset, "data_hash"]) - {""}
    named = ("task", "protocol", "split", "model", "frame", "data_hash", "rows_hash", "how", "settings")
    text = json.dumps({k: info[k] for k in named}, sort_keys=True)
    assert info["hash"] == hashlib.sha256(text.encode()).hexdigest()[:16]
    drawn = found.sample(20000, seed=1)
    # of 20,000 draws (or of the stored ones drawn again) the mean has an error of 0.7 % of a posterior sd; 5 of these
    assert drawn.mean(axis=0) == pytest.approx(found.summary["mean"].to_numpy(), abs=0.036 * found.summary["sd"].max())


@pytest.mark.parametrize("name", sorted(set(COMMITTED) - set(LINEAR)))
def test_draws_have_converged_and_agree_with_the_committed_scores(name):
    found, cell = dpbayes_bench.reference_posterior(name), posteriors.tasks()[name]
    told = convergence.told_of(found.draws)
    assert told["diagnostics"] == pytest.approx(found.info["diagnostics"], rel=1e-6)
    assert found.summary["rhat"].max() < convergence.LARGEST_RHAT
    rows = committed.read(FOLDER, cell.experiment)
    rows = rows[(rows["dataset"] == cell.dataset) & (rows["method"] == "nuts") & (rows["split"] == "0")]
    means = {r["metric"]: float(r["value"]) for r in rows.to_dict("records")}
    theirs = np.array([means[f"reference_mean[{j}]"] for j in range(len(found.summary))])
    far = np.abs(theirs - found.summary["mean"]) / found.summary["sd"]
    # theirs: 4,000 draws, with replacement, of 1,000 of independent chains (smallest effective size 997); 5 errors
    assert far.max() < 5 * np.sqrt(1 / 997 + 1 / 4000 + 1 / found.info["diagnostics"]["ess_bulk_min"])


def test_the_exact_posterior_of_a_noisy_count_is_stored():
    """It is recomputed, and has the moments of the sum over all counts: 4 errors of 4,000 independent draws."""
    name = next(iter(posteriors.RELEASES))
    kind, method, n, epsilon = posteriors.RELEASES[name]
    found, (info, draws) = dpbayes_bench.reference_posterior(name), posteriors.compute_release(name)
    assert info["hash"] == found.info["hash"]
    np.testing.assert_allclose(draws, found.draws, rtol=1e-5)
    task, _, fit, z, _ = noise_aware.fitted(kind, method, n, epsilon, 0)
    exact = noise_aware.exact(kind, method, task, z, fit.diagnostics["noise_scale"], None)
    told = found.summary.loc["probability"]
    assert abs(told["mean"] - exact.mean[0]) < 4 * exact.sd[0] / 4000**0.5
    assert told["sd"] == pytest.approx(exact.sd[0], rel=4 / 8000**0.5)


@pytest.mark.nightly
def test_the_exact_posterior_of_noisy_moments_is_recomputed():
    name = list(posteriors.RELEASES)[1]
    found, (info, draws) = dpbayes_bench.reference_posterior(name), posteriors.compute_release(name)
    assert info["hash"] == found.info["hash"]
    np.testing.assert_array_equal(draws, found.draws)


def box(rows=200, seed=0):
    return model_kinds.kind("linear_regression_unknown_noise").tiny["linear_regression_unknown_noise"](rows, seed)


def test_the_closed_form_is_that_of_exact_draws():
    task = box()
    told = posteriors._closed_form(task)
    draws = task.model.exact_posterior(task.x, task.y).sample(40000, np.random.default_rng(0))
    draws[:, -1] = np.log1p(np.exp(draws[:, -1]))  # theta ends with log(e^v - 1)
    sd = np.array(told["summary"]["sd"])
    # errors of 40,000 draws: 0.5 % of an sd for a mean, and 1 % for the 5 % quantile; 5 of each
    assert np.abs(draws.mean(axis=0) - told["summary"]["mean"]).max() < 0.025 * sd.max()
    for word, level in convergence.QUANTILES.items():
        assert (np.abs(np.quantile(draws, level, axis=0) - told["summary"][word]) < 0.06 * sd).all(), word
    assert np.cov(draws, rowvar=False) == pytest.approx(np.array(told["covariance"]), abs=0.04 * (sd**2).max())


def test_a_difference_is_found(tmp_path):
    name = LINEAR[0]
    text = (posteriors.FOLDER / f"{name}.json").read_text()
    (tmp_path / f"{name}.json").write_text(text)
    assert posteriors.differences(posteriors.FOLDER, tmp_path) == []
    info = json.loads(text)
    moved = json.loads(text)
    moved["summary"]["mean"][0] += 1e-3 * info["summary"]["sd"][0]
    (tmp_path / f"{name}.json").write_text(json.dumps(moved))
    assert "standard errors from the committed one" in posteriors.differences(posteriors.FOLDER, tmp_path)[0]
    (tmp_path / f"{name}.json").write_text(json.dumps(info | {"hash": "0"}))
    assert "hash" in posteriors.differences(posteriors.FOLDER, tmp_path)[0]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("side", ["committed", "computed"])
@pytest.mark.parametrize("column", ["mean", "sd", "q50"])
def test_a_posterior_that_is_not_finite_is_no_agreement(tmp_path, column, side, wrong):
    name = LINEAR[0]
    for folder in ("committed", "computed"):
        info = json.loads((posteriors.FOLDER / f"{name}.json").read_text())
        if folder == side:
            info["summary"][column][1] = wrong
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.json").write_text(json.dumps(info))
    (line,) = posteriors.differences(tmp_path / "committed", tmp_path / "computed")
    assert f"{side}/{name}.json: '{column}' must hold finite numbers" in line
    assert "check the file out again, or compute it anew" in line


@pytest.mark.parametrize("key", ["sd", "covariance", "scale", "draws"])
def test_a_stored_posterior_that_is_not_finite_is_not_read(tmp_path, key):
    name = next(n for n in COMMITTED if (n in LINEAR) == (key != "draws"))
    info = json.loads((posteriors.FOLDER / f"{name}.json").read_text())
    if key == "sd":
        info["summary"]["sd"][0] = 0.0
    elif key == "covariance":
        info["covariance"][0][0] = np.nan
    elif key == "scale":
        info["closed_form"]["scale"] = np.inf
    else:
        with np.load(posteriors.FOLDER / f"{name}.npz") as arrays:
            draws = arrays["draws"]
        draws[0, 0, 0] = np.nan
        np.savez_compressed(tmp_path / f"{name}.npz", draws=draws)
    (tmp_path / f"{name}.json").write_text(json.dumps(info))
    with pytest.raises(ValueError, match=f"'{key}' must hold finite numbers"):
        stored.read(tmp_path, name)
