"""Secret noise: no stream of a private fit follows from public seeds; such a run is neither restored nor committed."""

from types import SimpleNamespace

import numpy as np
import pytest

from models import tiny
from models.bounded import BoundedLinearRegression
from reports.config import ReportError
from reports.reference import write
from workflow import environment
from workflow.cell import head_of
from workflow.program import stream
from workflow.worker import fit

MODEL = BoundedLinearRegression()


def cell(method="sufficient_statistics_perturbation"):
    from methods import contract
    from privacy.budget import BudgetSpec

    adapter = contract.get(method, MODEL.kind)
    return SimpleNamespace(
        id="one", method=method, code_hash="", adapter=lambda: adapter, seed=lambda k, role: [k, len(role)],
        budget=(), build_budget=lambda: BudgetSpec(epsilon=1.0, delta=1e-5, mode="enforce"),
    )  # fmt: skip


@pytest.mark.parametrize("role", ["noise", "fit"])
@pytest.mark.parametrize(
    ("method", "word", "equal"),
    [
        ("sufficient_statistics_perturbation", "public", True),
        ("sufficient_statistics_perturbation", "secret", False),
        ("posterior_sampling_ops", "secret", False),  # what it releases is a draw, of the stream of the fit
        ("exact_posterior", "secret", True),  # claims no guarantee
    ],
)
def test_which_streams_follow_from_the_seed(monkeypatch, method, word, equal, role):
    monkeypatch.setenv(environment.NOISE_VARIABLE, word)
    kind = "bounded_logistic_regression" if method == "posterior_sampling_ops" else MODEL.kind
    from methods import contract

    made = cell()
    made.adapter = lambda: contract.get(method, kind)
    one, two = (environment.generator(made, 3, role).random(4) for _ in range(2))
    assert np.array_equal(one, two) is equal
    assert np.array_equal(one, np.random.default_rng([3, len(role)]).random(4)) is equal


@pytest.mark.parametrize(("word", "equal"), [("public", True), ("secret", False)])
def test_the_streams_of_a_papers_own_program_follow(monkeypatch, word, equal):
    monkeypatch.setenv(environment.NOISE_VARIABLE, word)
    assert np.array_equal(stream("a", "b").random(4), stream("a", "b").random(4)) is equal


def test_public_is_the_default(monkeypatch):
    monkeypatch.delenv(environment.NOISE_VARIABLE, raising=False)
    assert environment.noise_of_run() == environment.PUBLIC


def test_a_fit_draws_its_noise_from_it(monkeypatch, tmp_path):
    def posterior(word):
        monkeypatch.setenv(environment.NOISE_VARIABLE, word)
        made, task = cell(), tiny.regression(MODEL, 40, 0)
        ((_, row),) = fit(made.adapter(), [(made, 0)], {0: task}, made.adapter().Settings(), 0.0, tmp_path)
        with np.load(tmp_path / "one.0.npz") as npz:
            return row["status"], np.concatenate([np.ravel(npz[k]) for k in sorted(npz)])

    (status, first), (_, again) = posterior("public"), posterior("public")
    (_, secret), (_, other) = posterior("secret"), posterior("secret")
    assert status == "ok"
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(secret, first)
    assert not np.array_equal(secret, other)


def test_rows_of_public_noise_do_not_count_for_a_secret_run(monkeypatch):
    data = SimpleNamespace(data_hash="d")
    heads = []
    for word in environment.NOISES:
        monkeypatch.setenv(environment.NOISE_VARIABLE, word)
        heads.append(head_of(cell(), data))
    assert heads[0] != heads[1]
    assert heads[1]["noise"] == "secret"


def test_another_word_is_refused(monkeypatch):
    monkeypatch.setenv(environment.NOISE_VARIABLE, "hidden")
    with pytest.raises(ValueError, match="DPBAYES_NOISE is 'hidden'; choose public or secret"):
        environment.noise_of_run()


def test_a_secret_run_cannot_become_reference(tmp_path):
    with pytest.raises(ReportError, match="noise is secret"):
        write({}, None, tmp_path, "full", {"noise": "secret"}, tmp_path)
