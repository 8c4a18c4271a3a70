import math

import numpy as np
import pytest

from reports.evidence import printed
from reports.verdict_v1 import word


@pytest.mark.parametrize(
    ("mean", "said"), [(2.1, "reproduced"), (2.2, "inconclusive"), (3.0, "worse"), (1.0, "better")]
)
def test_the_old_rule_by_hand(mean, said):
    """s = .3, n = N = 10: w(5 %) = 2.262 * .3 * sqrt(.2) = .3035; the t interval of our runs alone decides."""
    assert word([0.0] * 10, 2 + (mean - 2) * 2, 0.3, printed("2.000", 10, "0.0001", "sd"), "rmse", "wine") == said


def test_the_old_rule_reproduced_what_no_run_could_print():
    runs = 20 * np.exp(2 * np.abs(np.random.default_rng(0).normal(size=10)))
    paper = printed("0.636", 5, "0.0353", "sd")
    assert word(runs, runs.mean(), runs.std(ddof=1), paper, "rmse", "wine") == "reproduced"


def test_the_old_rule_on_a_batch_a_single_run_and_skewed_data():
    coverage = printed("0.023", 1, digits=3)
    words = [word([], v, 0.01, coverage, "tarp_coverage_rmse", "adult", batch=True) for v in (0.05, 0.06, 0.2)]
    assert words == ["reproduced", "inconclusive", "worse"]
    assert word([2.0], 2.0, math.nan, printed("2.000", 5), "rmse", "wine") == "inconclusive"
    runs = np.exp(2 * np.random.default_rng(1).normal(size=200))
    say = [
        word(runs, runs.mean(), runs.std(ddof=1), printed(m, 5), "fnorm", "mixture_of_gaussians")
        for m in ("3.0", "9000.0")
    ]
    assert say == ["reproduced", "better"]
