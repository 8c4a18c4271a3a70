"""What the process that fits says of a fit that raised."""

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
