"""What a run is said to cost, and what its jobs ask a cluster for."""

from types import SimpleNamespace

import pandas as pd
import pytest

from workflow import papers, plan

KNOWN = {("e", "d", "timed", ""): (100.0, True)}


def cell(method, **kwargs):
    facts = {"experiment": "e", "dataset": "d", "setting": "", "splits": 20, "timeout_s": 30.0}
    return SimpleNamespace(**facts | {"method": method, "job": f"e-d-{method}"} | kwargs)


@pytest.mark.parametrize(
    ("chosen", "minutes"),
    [
        (cell("timed"), 134),  # 4 x 100 s x 20 splits and the overhead of 3 s
        (cell("timed", splits=1), plan.LEAST_MIN),
        (cell("unknown"), plan.LEAST_MIN),  # 30 s x 20 splits are 10 minutes
        (cell("unknown", timeout_s=600.0), 201),
        (cell("unknown", timeout_s=1e5), plan.MOST_MIN),
    ],
)
def test_a_job_asks_for_minutes_by_its_committed_seconds_or_by_its_limits(monkeypatch, chosen, minutes):
    monkeypatch.setattr(plan, "reference_seconds", lambda: KNOWN)
    assert plan.runtimes([chosen]) == {chosen.job: minutes}


def test_a_job_asks_for_all_its_cells(monkeypatch):
    monkeypatch.setattr(plan, "reference_seconds", lambda: KNOWN)
    assert plan.runtimes([cell("timed")] * 3) == {"e-d-timed": 401}


@pytest.mark.parametrize(
    ("cores", "expected"),
    [(1, 22.0), (2, 12.0), (3, 8.0), (5, 7.0), (32, 7.0)],  # 7, 6, 4, 3, 2 by hand: 7 3 2 | 6 4; 7 | 6 2 | 4 3
)
def test_the_simulated_end_of_jobs_on_some_cores(cores, expected):
    assert plan.makespan([3.0, 7.0, 2.0, 6.0, 4.0], cores) == expected


def test_a_job_takes_what_its_cells_take(monkeypatch):
    monkeypatch.setattr(plan, "reference_seconds", dict)
    found = plan.estimate("tiny")
    assert set(found.jobs) == {c.job for c in found.cells} | found.programs
    assert min(found.jobs.values()) >= plan.OVERHEAD_S


def test_jobs_of_programs_take_what_is_committed():
    """Ranges share what their file takes. Below full scale the repetitions are fewer, and there are no ranges."""
    full, tiny = plan.program_seconds(), plan.program_seconds("tiny")
    name = "pf_fixed_conj_20"
    paper, own = papers.programs()["chen2025dppf"]
    committed = pd.read_csv(paper.reference / "scores" / f"{name}.csv.gz")["cpu_seconds"].sum()
    chunks = [full[f"chen2025dppf-{name}.chunk{k}"] - plan.OVERHEAD_S for k in range(1, own.chunks[name] + 1)]
    assert sum(chunks) == pytest.approx(committed)
    assert min(chunks) > 0
    assert f"chen2025dppf-{name}" not in full
    assert tiny[f"chen2025dppf-{name}"] == pytest.approx(plan.OVERHEAD_S + committed / 10)  # 2 of 20 repetitions
    assert {job.partition("-")[0] for job in full} == {*papers.programs()}


def test_hours_of_a_plan_by_paper():
    of_experiment = SimpleNamespace(experiment="dpsep_uci", job="dpsep_uci-wine-vi")
    jobs = {"dpsep_uci-wine-vi.chunk1": 3600.0, "chen2025dppf-a.chunk2": 7200.0, "wang2018-servo": 1800.0}
    forecast = plan.Estimate([of_experiment], jobs, 0, 0)
    found = plan.hours_of(
        [
            ("fit_chunk", {"job": "dpsep_uci-wine-vi", "chunk": "1"}),
            ("fit", {"job": "dpsep_uci-wine-vi"}),  # takes the rows of its chunk over
            ("program_chunk", {"program": "chen2025dppf", "name": "a", "chunk": "2"}),
            ("program_scores", {"program": "wang2018", "name": "servo"}),
            ("fetch", {"dataset": "wine"}),
        ],
        forecast,
    )
    rows = [line.split() for line in found.splitlines()]
    assert ["vinaroz2023dpsep", "2", "1.00"] in rows
    assert ["chen2025dppf", "1", "2.00"] in rows
    assert ["wang2018", "1", "0.50"] in rows
    assert ["all", "4", "3.50"] in rows
    assert "1 fetch" in found.splitlines()[-1]
    assert plan.hours_of([], forecast) == ""


def test_no_job_takes_more_than_a_sixteenth_of_the_whole():
    """Otherwise sixteen cores wait for one.

    ``chunks`` of an experiment cuts it into ranges of splits, that of a program into ranges of cells.
    """
    jobs = plan.estimate("full").jobs
    too_long = {name: seconds for name, seconds in jobs.items() if seconds > sum(jobs.values()) / 16}
    assert not too_long
