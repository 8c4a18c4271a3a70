"""Each private method has a bound or a reason, and a fault of known size is convicted where the bound has power."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from audit import bounds
from datasets.files import ROOT
from methods import contract


def test_every_private_method_has_an_adapter_and_a_case():
    private = {n for n in contract.names() if contract.get(n).privacy is not None}
    assert set(bounds.methods()) == private
    assert [m for m, found in bounds.methods().items() if not found] == ["posterior_sampling_query"]
    assert "none of the toy tasks" in bounds.row("posterior_sampling_query")["reason"]


def test_a_row_is_below_its_ledger_and_its_weak_copy_above():
    """The bound exceeds the true epsilon with probability .05 at most, and the seeds are fixed."""
    row = bounds.row("sufficient_statistics_perturbation", runs=1500)
    assert set(row) <= set(bounds.COLUMNS)
    assert row["lower"] <= row["epsilon"] == pytest.approx(4.0, rel=1e-6)
    assert row["wide_lower"] <= row["wide_epsilon"] < row["epsilon"]
    assert row["lower_gdp"] <= row["epsilon"] < row["weak_lower_gdp"]
    assert row["reached"] == 1.0
    assert row["power_gdp"] > 0.9


def test_a_draw_has_no_noise_to_weaken_and_says_so():
    row = bounds.row("posterior_sampling_diffused", runs=200)
    assert row["lower"] <= row["epsilon"]
    assert "power" not in row
    assert "no noise to weaken" in row["reason"]


def test_a_slow_method_has_the_reason():
    assert set(bounds.SLOW) <= set(bounds.methods())
    assert bounds.row("whitened_ssp")["reason"].startswith("one fit takes 6 ms, 80,000 are needed")


def test_what_is_listed_chooses_the_committed_cases_and_no_clock_does():
    """The time of a fit chose the case, so that a busy machine could give other numbers."""
    committed = pd.read_csv(ROOT / "reports/reference/lower_bounds.csv").dropna(subset=["runs"])
    chosen = {m: bounds.listed(bounds.maker(m))[0][1] for m in committed["method"]}
    assert chosen == dict(zip(committed["method"], committed["case"], strict=True))
    assert not {"time", "timeit"} & set(vars(bounds))


def test_rows_are_kept_until_a_file_changes(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(bounds, "row", lambda method, runs: made.append(method) or {"method": method, "runs": runs})
    for _ in range(2):
        assert list(bounds.rows(["adassp"], tmp_path, 7)) == [{"method": "adassp", "runs": 7}]
    assert made == ["adassp"]
    (path,) = tmp_path.iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"key": "of other files"}))
    list(bounds.rows(["adassp"], tmp_path, 7))
    assert made == ["adassp", "adassp"]


def test_methods_that_read_one_run_have_one_bound(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(bounds, "row", lambda method, runs: made.append(method) or {"method": method, "lower": 1.0})
    one, two = bounds.rows(["dpvi", "na_dpvi"], tmp_path)
    assert made == ["dpvi"]
    assert two == one | {"method": "na_dpvi", "reason": f"its releases are those of {contract.get('dpvi').title}"}
