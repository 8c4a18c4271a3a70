"""Logistic regression: potential and gradient, scaling of rows, what is refused, the released sample."""

import math

import numpy as np
import pytest

from models import logistic_regression as lr
from models.logistic_regression import LogisticRegression, LogisticSample, RowScaling
from models.task import PublicKnowledge, Task


def some_task(model=None, n=20, d=3, seed=0, bounds=True):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, d))
    y = (x[:, 0] > 0).astype(float)
    public = PublicKnowledge(n, ((-2.0, 2.0),) * d, None, "the law that draws these rows")
    return Task("toy", model or LogisticRegression(), x, y, public if bounds else PublicKnowledge(n))


def test_potential_is_minus_the_log_posterior():
    """Against the textbook form, and for weights at which a naive logarithm overflows."""
    rng = np.random.default_rng(1)
    x, y, w = rng.normal(size=(7, 3)), rng.integers(0, 2, 7).astype(float), rng.normal(size=(3, 2))
    z = lr.signed_rows(x, y)
    p = 1 / (1 + np.exp(-(x @ w)))
    log_likelihood = (y[:, None] * np.log(p) + (1 - y[:, None]) * np.log(1 - p)).sum(axis=0)
    expected = -0.3 * log_likelihood + 0.5 * 4.0 * (w**2).sum(axis=0)
    np.testing.assert_allclose(lr.potential(w, z, 0.3, 4.0), expected, rtol=1e-12)
    far = lr.potential(np.array([[-2000.0]]), np.array([[1.0]]), 1.0, 1e-6)
    np.testing.assert_allclose(far, 2000.0 + 2.0)


def test_gradient_against_finite_differences():
    rng = np.random.default_rng(2)
    z, w = rng.normal(size=(9, 3)), rng.normal(size=(3, 2))
    power, precision, h = np.array([0.7, 1.0]), np.array([2.0, 0.1]), 1e-5
    steps = h * np.eye(3)
    found = lr.gradient(w, z, power, precision)
    numeric = [
        lr.potential(w + s[:, None], z, power, precision) - lr.potential(w - s[:, None], z, power, precision)
        for s in steps
    ]
    np.testing.assert_allclose(found, np.array(numeric) / (2 * h), rtol=1e-7, atol=1e-8)


def test_public_scaling_is_a_map_of_one_row():
    task = some_task(LogisticRegression(norm_bound=2.0))
    rows, scaling, *_ = lr.rows_of(task)
    u = task.x / 4.0  # (x + 2) / 4 - 1/2
    np.testing.assert_allclose(rows, 2.0 * u / np.linalg.norm(u, axis=1, keepdims=True), rtol=1e-12)
    other = task.x.copy()
    other[3] = (50.0, 0.0, 1.0)  # outside of the range: mapped by the same line, and no other row moves
    moved, *_ = lr.rows_of(Task("toy", task.model, other, task.y, task.public))
    np.testing.assert_array_equal(np.delete(moved, 3, 0), np.delete(rows, 3, 0))
    np.testing.assert_allclose(np.linalg.norm(moved[3]), 2.0)
    np.testing.assert_array_equal(scaling(np.zeros((1, 3))), np.zeros((1, 3)))  # the middle of each range


def test_data_scaling_uses_the_rows_and_survives_a_constant_input():
    x = np.array([[1.0, 5.0, 0.0], [3.0, 5.0, 1.0], [2.0, 5.0, 0.5]])
    rows, scaling, *_ = lr.rows_of(Task("toy", LogisticRegression(scaling="data"), x, np.array([0.0, 1.0, 1.0])))
    u = np.array([[-0.5, -0.5, -0.5], [0.5, -0.5, 0.5], [0.0, -0.5, 0.0]])
    np.testing.assert_allclose(rows, u / np.linalg.norm(u, axis=1, keepdims=True), rtol=1e-12)
    # a new value of an input that was constant says nothing
    np.testing.assert_array_equal(scaling(np.array([[1.0, 9.0, 0.0]])), scaling(x[:1]))


def test_declared_bounds_fill_what_is_not_documented():
    x, y = np.array([[0.5, 30.0]]), np.array([1.0])
    public = PublicKnowledge(1, ((0.0, 1.0), None), None, "somewhere")
    with pytest.raises(ValueError, match=r"column 1 has no documented one: add it to declared_bounds"):
        lr.rows_of(Task("toy", LogisticRegression(), x, y, public))
    model = LogisticRegression(declared_bounds=[[1, 0, 120]])
    rows, *_ = lr.rows_of(Task("toy", model, x, y, public))
    np.testing.assert_allclose(rows, [[0.0, -1.0]])
    assert hash(model) == hash(LogisticRegression(declared_bounds=((1, 0.0, 120.0),)))
    with pytest.raises(ValueError, match="name column 7"):
        lr.rows_of(Task("toy", LogisticRegression(declared_bounds=((7, 0.0, 1.0),)), x, y, public))


def test_a_row_that_is_too_long_is_refused():
    model = LogisticRegression(scaling="none")
    x = np.array([[0.6, 0.8], [0.6, 0.8 + 1e-9]])
    y = np.array([0.0, 1.0])
    with pytest.raises(ValueError, match=r"row 1 has norm 1, above norm_bound = 1; scale the rows"):
        lr.rows_of(Task("toy", model, x, y))
    np.testing.assert_array_equal(lr.rows_of(Task("toy", model, x[:1], y[:1]))[0], x[:1])


@pytest.mark.parametrize("label", [-1.0, 0.5, 2.0])
def test_labels_other_than_0_and_1_are_refused(label):
    task = some_task()
    y = task.y.copy()
    y[4] = label
    with pytest.raises(ValueError, match=rf"y = {label:g} in row 4"):
        lr.rows_of(Task("toy", task.model, task.x, y, task.public))


def test_missing_rows_or_targets_are_refused():
    with pytest.raises(ValueError, match="at least 1 training row"):
        lr.rows_of(Task("toy", LogisticRegression(), np.empty((0, 2)), np.empty(0)))
    with pytest.raises(ValueError, match="y is None"):
        lr.rows_of(Task("toy", LogisticRegression(), np.zeros((3, 2))))


@pytest.mark.parametrize(
    "change",
    [
        {"beta0": 0.0},
        {"beta0": math.inf},
        {"norm_bound": -1.0},
        {"scaling": "minmax"},
        {"declared_bounds": ((0, 1.0, 1.0),)},
        {"declared_bounds": ((-1, 0.0, 1.0),)},
    ],
)
def test_a_wrong_model_is_refused(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        LogisticRegression(**change)


def test_the_sample_predicts_and_comes_back_from_its_parameters():
    sample = LogisticSample(np.array([1.0, -3.0]), RowScaling(np.array([-2.0, 0.0]), np.array([0.25, 1.0]), 1.0))
    x, y = np.array([[1.0, 0.2], [0.0, 1.5], [-1.0, 0.5]]), np.array([1.0, 0.0, 1.0])
    p = sample.predictive(x).mean
    u = np.array([[0.25, -0.3], [0.0, 1.0], [-0.25, 0.0]])
    margin = (u / np.linalg.norm(u, axis=1, keepdims=True)) @ sample.weights
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-margin)), rtol=1e-12)
    np.testing.assert_allclose(np.exp(sample.log_density(x, y)), np.where(y == 1, p, 1 - p), rtol=1e-12)
    again = lr.load(sample.kind, sample.parameters())
    np.testing.assert_array_equal(again.predictive(x).mean, p)
    assert again.scaling.norm_bound == 1.0
    with pytest.raises(ValueError, match="0 or 1"):
        sample.log_density(x, np.array([1.0, -1.0, 1.0]))
    with pytest.raises(KeyError, match="logistic_sample"):
        lr.load("linear_gaussian", {})


def test_without_scaling_the_sample_takes_rows_as_they_are():
    scaling = lr.rows_of(
        Task("toy", LogisticRegression(scaling="none"), np.array([[0.1, 0.2]]), np.array([1.0]))
    ).scaling
    sample = lr.load("logistic_sample", LogisticSample(np.array([2.0, 1.0]), scaling).parameters())
    np.testing.assert_allclose(sample.predictive(np.array([[3.0, -1.0]])).margins, [5.0])
