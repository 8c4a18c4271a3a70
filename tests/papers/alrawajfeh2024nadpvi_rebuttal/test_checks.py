"""Other priors on stored traces, and controls of the coverage error."""

import numpy as np
import pytest

from models.conjugate_simulators import ConjugateSimulator
from papers.alrawajfeh2024nadpvi_rebuttal import PAPER, checks
from workflow import papers
from workflow.experiments import load

CONFIG = "papers/alrawajfeh2024nadpvi_rebuttal/experiments/nadpvi_exponential.yaml"


class _Table:
    """True parameters of many data sets, each the target of the test row of its split."""

    def __init__(self, theta):
        self.y = np.asarray(theta)


class _Cell:
    @staticmethod
    def split_rows(data, k):
        return None, [k]

    @staticmethod
    def seed(k, role):
        return [k, len(role)]


def test_a_posterior_twice_too_narrow_or_too_wide_is_detected():
    """300 data sets of 200 rows: the right posterior is below the floor's 95 % point (false alarm 5 %, seed fixed).

    Both wrong ones are above it with their whole interval.
    """
    model, rng = ConjugateSimulator("beta_bernoulli"), np.random.default_rng(11)
    theta = model.sample_prior(300, rng)
    posteriors = [(k, model.exact_posterior(model.simulate(t, 200, rng))) for k, t in enumerate(theta)]
    found = {}
    for width in (0.5, 1.0, 2.0):
        found[width] = checks.coverage_row(
            _Cell, posteriors, _Table(theta[:, 0]), lambda p, w=width: checks.Widened(p, w)
        )
    assert found[1.0]["rmse"] < found[1.0]["floor_upper"]
    for width in (0.5, 2.0):
        assert found[width]["low"] > found[width]["floor_upper"]
        assert found[width]["n"] == 300


def test_a_narrow_posterior_with_a_large_error_hides_from_a_reference_elsewhere():
    """The signature of a broken run: 0.58 from its own centre, about 0.30 (C = 0.5 at all levels) from a far one.

    400 data sets; from far away the draws are nearer than the truth by the toss of a coin: sd of C 0.025.
    """

    class Narrow:
        def __init__(self, at):
            self.at = at

        def sample(self, n, rng):
            return self.at + 1e-4 * rng.standard_normal((n, 2))

    rng = np.random.default_rng(4)
    theta = rng.standard_normal((400, 2))
    posteriors = [(k, Narrow(t + 0.1 * rng.standard_normal(2))) for k, t in enumerate(theta)]

    class Cell(_Cell):
        @staticmethod
        def split_rows(data, k):
            return None, k

    own = checks.coverage_row(Cell, posteriors, _Table(theta), lambda p: p)
    far = checks.coverage_row(Cell, posteriors, _Table(theta), lambda p: checks.Recentred(p, np.array([30.0, 0.0])))
    assert own["rmse"] > 0.57
    assert far["rmse"] == pytest.approx(0.3026, abs=0.02)


def test_widened_keeps_the_mean_and_scales_the_deviations():
    class Normal:
        def sample(self, n, rng):
            return 3.0 + 2.0 * rng.standard_normal((n, 1))

    plain = Normal().sample(1000, np.random.default_rng(0))
    wide = checks.Widened(Normal(), 2.5).sample(1000, np.random.default_rng(0))
    assert wide.mean() == pytest.approx(plain.mean())
    assert wide.std() == pytest.approx(2.5 * plain.std())


def test_an_unknown_setting_lists_those_that_are_there():
    with pytest.raises(ValueError, match=r"has no setting 'epsilon=7' at scale full; there is 'epsilon=0\.1'"):
        checks.one_cell(CONFIG, "full", "beta_bernoulli", "na_dpvi", "epsilon=7")


@pytest.mark.parametrize("name", ["nadpvi_exponential", "nadpvi_linear"])
@pytest.mark.parametrize("scale", ["full", "quick", "tiny"])
def test_the_cells_that_are_read_again_run_at_every_scale(name, scale):
    path = f"papers/alrawajfeh2024nadpvi_rebuttal/experiments/{name}.yaml"
    config = load(path)
    for dataset in config["datasets"]:
        found = checks.one_cell(path, scale, dataset, "na_dpvi", config["extra_settings"]["priors_of"])
        assert found.setting == config["extra_settings"]["priors_of"]
        assert checks.one_cell(path, scale, dataset, "exact_posterior", "").method == "exact_posterior"


def test_a_table_has_its_key_and_thirteen_digits():
    row = dict.fromkeys(checks.COLUMNS, 1 / 3) | {"dataset": "d", "setting": "s", "width": 0.5, "n": 7, "scale": "full"}
    lines = checks.text_of(("dataset", "setting", "width", *checks.COLUMNS), [row], 13).splitlines()
    assert lines[0] == "dataset,setting,width,rmse,sd,low,high,floor,floor_upper,n,scale"
    assert lines[1].startswith("d,s,0.5,0.3333333333333,")


@pytest.mark.parametrize("extra", PAPER.extra, ids=lambda e: e.name)
def test_a_table_waits_for_all_fits_that_it_reads(extra):
    asked = load(papers.experiments()[extra.experiment])["extra_settings"]
    read = {"priors": ["na_dpvi"], "controls": ["exact_posterior"], "references": asked.get("references_of", {})}
    assert set(extra.fits) == set(read[extra.name.split("_")[2]])


def test_reference_points_of_a_restored_cell_are_the_committed_ones(monkeypatch, tmp_path):
    class Cell:
        dataset, method, setting = "linear_regression_10d", "bernstein_sheldon_2019_authors", "epsilon=1"

    monkeypatch.setattr(checks, "record_of", lambda cell, fits: {"reused": [1]})
    asked = {"references_of": {Cell.method: [Cell.setting]}}
    rows = list(checks.references_rows(asked, lambda method, setting: Cell, tmp_path, None))
    assert [r["centre"] for r in rows] == ["own", "prior mean", "prior draw"]
    lines = checks.text_of(("dataset", "method", "setting", "centre", *checks.COLUMNS), rows, 13).splitlines()
    committed = checks.papers.find("na_dpvi_references_linear_regression_10d.csv").read_text(encoding="utf-8")
    assert set(lines) <= set(committed.splitlines())
    monkeypatch.setattr(checks.papers, "find", lambda name: None)
    with pytest.raises(FileNotFoundError, match="refit=bernstein_sheldon_2019_authors"):
        checks.committed_references(Cell)
