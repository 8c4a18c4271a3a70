"""What a run is said to cost, and what its jobs ask a cluster for."""

from types import SimpleNamespace

import pytest

from workflow import plan

KNOWN = {("e", "d", "timed", ""): (100.0, True)}


def cell(method, **kwargs):
    facts = {"experiment": "e", "dataset": "d", "setting": "", "splits": 20, "timeout_s": 30.0, "family": ""}
    return SimpleNamespace(**facts | {"method": method, "id": f"e-d-{method}"} | kwargs)


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
    assert plan.runtimes([chosen]) == {chosen.id: minutes}


def test_a_family_asks_for_all_its_cells(monkeypatch):
    monkeypatch.setattr(plan, "reference_seconds", lambda: KNOWN)
    group = [cell("timed", family="f", id=str(k)) for k in range(3)]
    assert plan.runtimes(group) == {"f": 401}
