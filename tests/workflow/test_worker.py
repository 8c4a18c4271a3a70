"""What the process that fits says of a fit that raised."""

import numpy as np
import pytest

from methods.contract import Diverged, MethodError
from workflow import worker
from workflow.experiments import cells
from workflow.papers import experiments


class Seen(Exception):
    """Ends a fit whose streams were looked at."""


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


def test_fit_and_noise_have_streams_of_their_own(tmp_path):
    """One stream for both would make what a method draws for itself depend on its noise."""
    cell = next(c for c in cells(experiments()["dpsep_uci"], "tiny") if c.method == "adassp")
    streams = {}

    class Spy:
        privacy = None

        def fit(self, task, settings, budget, rng):
            streams.update(fit=rng, noise=budget._rng)
            raise Seen

    with pytest.raises(Seen):
        worker.fit(Spy(), [(cell, 0)], {0: None}, None, 0.0, tmp_path)
    for role, stream in streams.items():
        assert stream.bit_generator.state == np.random.default_rng(cell.seed(0, role)).bit_generator.state
    assert streams["fit"].random() != streams["noise"].random()
