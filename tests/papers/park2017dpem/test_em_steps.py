"""EM without noise, step by step, and where a tolerance stops it."""

import numpy as np

from methods.em.em import EM
from models.mixture_of_gaussians import MixtureOfGaussians
from models.task import PublicKnowledge, Task
from papers.park2017dpem import em_steps
from privacy.budget import BudgetSpec


def test_the_steps_are_those_of_the_method_and_stop_where_it_stops():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(-4, 1, (60, 2)), rng.normal(4, 1, (60, 2))])
    task = Task("made_up", MixtureOfGaussians(components=2, noise_sd=None), x, None, PublicKnowledge(n=120))
    rows = em_steps.rows_of(task, np.random.default_rng(0), 7)
    assert [r["step"] for r in rows] == list(range(1, 12))
    assert {r["split"] for r in rows} == {7}
    fit = EM().fit(task, EM.Settings(), BudgetSpec().open(np.random.default_rng(0)), np.random.default_rng(0))
    stopped = [r["step"] for r in rows if r["stops"] == "yes"]
    assert fit.diagnostics["m_steps"] == (stopped[0] if stopped else 11)
    last = rows[int(fit.diagnostics["m_steps"]) - 1]
    assert float(last["log_posterior"]) == fit.diagnostics["log_posterior"]
    assert all(r["stops"] == "gone" for r in rows if stopped and r["step"] > stopped[0])
