"""What the process that fits says of a fit that raised."""

from types import SimpleNamespace

import numpy as np
import pytest

from methods.contract import Diverged, MethodError
from workflow import worker
from workflow.experiments import cells
from workflow.papers import experiments


class LeftTheRange(Diverged):
    """A method's own."""


Impostor = type("Diverged", (RuntimeError,), {})


@pytest.mark.parametrize(
    ("error", "status"),
    [(Diverged("x"), "diverged"), (LeftTheRange("x"), "diverged"), (FloatingPointError("x"), "diverged"),
     (MethodError("x"), "failed"), (Impostor("x"), "failed")],
)  # fmt: skip
def test_the_contract_says_what_diverged_and_no_name(error, status):
    cell = cells(experiments()["common_network"], "tiny")[0]
    record = worker.failure(cell, 0, error)
    assert (record["status"], record["reason"]) == (status, f"{type(error).__name__}: x")


def test_a_fit_and_its_noise_have_streams_of_their_own(monkeypatch, tmp_path):
    asked = []

    def generator(cell, split, role):
        asked.append(role)
        if role == "fit":
            raise LookupError("the stream of the fit")
        return np.random.default_rng(0)

    monkeypatch.setattr(worker, "generator", generator)
    cell = cells(experiments()["common_network"], "tiny")[0]
    task = SimpleNamespace(public=SimpleNamespace(n=1000))
    with pytest.raises(LookupError, match="the stream of the fit"):
        worker.fit(cell.adapter(), [(cell, 0)], {0: task}, None, 0.0, tmp_path)
    assert asked == ["noise", "fit"]
