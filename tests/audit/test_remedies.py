"""The usual mistakes in a private method: each is caught, and the message names the line to mend."""

import dataclasses
import importlib.util
import sys

import numpy as np
import pytest

from audit.cases import ORDER, SPEC, tiny_settings, tiny_task
from audit.remedies import REMEDIES, advice
from methods.contract import Fit
from models.kind import kind as kind_of
from privacy import audit
from privacy.budget import BudgetExceeded, Mode
from workflow import faults, new

KIND = "bnn_regression"
SOUND = new.method_text("mine", KIND, True)
RELEASED = "noise.release(total) / task.public.n"


@pytest.fixture
def made(tmp_path):
    """``made(text)``: the adapter of that text, and the lines of its file."""
    names = []

    def load(text):
        path = tmp_path / "mine.py"
        path.write_text(text)
        name = f"bad_{len(names)}_{tmp_path.name}"
        names.append(name)
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.Mine(), text.splitlines()

    yield load
    for name in names:
        del sys.modules[name]


def audited(method):
    """Check -> what it found, up to the first."""
    found = audit.Audit(method, tiny_task(KIND), tiny_settings(method), SPEC, 1)
    for word in ORDER:
        if text := getattr(found, word)():
            return {word: text}
    return {}


def test_the_skeleton_as_it_is_passes(made):
    method, _ = made(SOUND)
    assert audited(method) == {}
    assert advice(method, {}) == ""


@pytest.mark.parametrize(
    ("good", "bad", "line", "words"),
    [
        ("np.clip(rows, -clip, clip).sum", "rows.sum", "sensitivity=", "cut each row before it is summed"),
        ("sensitivity=settings.clip", "sensitivity=0.5 * settings.clip", "sensitivity=", "the sensitivity stated here"),
        (
            RELEASED,
            "(total + 0.5 * (noise.release(total) - total)) / task.public.n",
            ".release(",
            "besides the release",
        ),
        (RELEASED, "(noise.release(total), total)[1] / task.public.n", ".release(", ""),
        (RELEASED, "noise.release(total) / task.n", "task.n", "besides the release"),
        ('{"noise_scale": noise.noise_scale}', '{"loss": float((task.y**2).mean())}', "return Fit(", "diagnostics"),
        (
            "        total = clipped",
            '        if np.abs(task.y).max() > 1e5:\n            raise ValueError("large")\n        total = clipped',
            "raise",
            "do not refuse them",
        ),
    ],
)
def test_a_mistake_is_caught_and_its_line_named(good, bad, line, words, made):
    assert good in SOUND
    method, lines = made(SOUND.replace(good, bad))
    found = audited(method)
    assert found
    said = advice(method, found)
    number = int(said.partition("mine.py:")[2].partition(":")[0])
    assert line in lines[number - 1], said
    assert words in said
    assert "found: " in said


def test_half_the_noise_is_refused_at_its_line(made):
    """A ledger that is honest about too little noise costs more than the budget, which does not let it be drawn."""
    method, lines = made(SOUND.replace("noise_multiplier=left_for", "noise_multiplier=0.5 * left_for"))
    budget = dataclasses.replace(SPEC, mode=Mode.ENFORCE).open(np.random.default_rng(0))
    with pytest.raises(BudgetExceeded, match="epsilon") as caught:
        method.fit(tiny_task(KIND), tiny_settings(method), budget, np.random.default_rng(0))
    (at,) = (entry.lineno for entry in caught.traceback if entry.path.name == "mine.py")
    assert any("budget.gaussian(" in line for line in lines[at - 1 : at + 6])


def test_a_raise_is_at_its_line(made):
    method, lines = made(SOUND.replace("        total = clipped", "        1 / 0\n        total = clipped"))
    with pytest.raises(ZeroDivisionError) as caught:
        method.fit(tiny_task(KIND), tiny_settings(method), SPEC.open(np.random.default_rng(0)), None)
    assert lines[caught.traceback[-1].lineno].strip() == "1 / 0"


def test_a_number_that_is_not_finite_is_named(made):
    method, _ = made(SOUND.replace("ConstantGaussian(float(mean[0])", "ConstantGaussian(float(mean[0]) * np.nan"))
    task = kind_of(KIND).tiny[KIND](12, 0)
    budget = SPEC.open(np.random.default_rng(0))
    fit = method.fit(task, tiny_settings(method), budget, np.random.default_rng(0))
    assert isinstance(fit, Fit)
    assert "location" in faults.not_finite(faults.facts_of(method, task, fit)[1])


def test_every_check_of_the_audit_has_its_lines():
    assert set(REMEDIES) == set(ORDER)


def test_a_check_without_lines_names_the_fit(made):
    method, lines = made(SOUND)
    said = advice(method, {"another": "x"})
    number = int(said.partition("mine.py:")[2].partition(":")[0])
    assert "def fit" in lines[number - 1]
    assert dataclasses.is_dataclass(type(method).Settings)
