"""Lower bounds on epsilon: every private method has its row, and one that refutes its ledger is not committed."""

from __future__ import annotations

import pandas as pd
import pytest

from audit.bounds import COLUMNS
from methods import contract
from reports import lower_bounds
from reports.blocks import markdown
from reports.config import ReportError


def made_up(**changes):
    row = dict.fromkeys(COLUMNS, "") | {"method": "adassp", "kind": "bnn_regression", "epsilon": "4.0", "lower": "1.5"}
    row |= {
        "false_alarm": "0.05",
        "lower_gdp": "3.5",
        "power": "0.0",
        "power_gdp": "0.99",
        "wide_epsilon": "2.0",
        "wide_lower": "1.25",
    }
    return pd.DataFrame([row | {"wide_power": "1.0"} | changes])


def test_every_private_method_is_committed_with_a_bound_or_a_reason():
    frame = lower_bounds.read()
    private = {n for n in contract.names() if contract.get(n).privacy is not None}
    assert set(frame["method"]) == private
    assert not frame["method"].duplicated().any()
    assert ((frame["lower"] != "") | (frame["reason"] != "")).all()
    found = frame[frame["lower"] != ""]
    assert len(found) > 30
    assert set(found["false_alarm"]) == {"0.05"}
    for bound, epsilon in (("lower", "epsilon"), ("lower_gdp", "epsilon"), ("wide_lower", "wide_epsilon")):
        given = found[found[bound] != ""]
        assert (pd.to_numeric(given[bound]) <= pd.to_numeric(given[epsilon])).all()
    # a bound comes with its power, or with the reason why it has none
    assert ((found["power"] != "") | (found["reason"] != "")).all()


def test_a_row_has_two_digits_and_a_remark():
    told = lower_bounds.lower_bound_row("adassp", made_up(reason="why"))
    assert told == ["4.00", "1.50", "0.00", "3.50", "0.99", "2.00", "1.25", "1.00", "0.05", "why"]
    assert len(told) == len(lower_bounds.COLUMNS)
    assert lower_bounds.lower_bound_row("nobody", made_up())[-1] == lower_bounds.NOT_RUN


def test_the_table_names_the_method():
    table, _ = lower_bounds.table(made_up())
    assert "| AdaSSP | 4.00 | 1.50 |" in markdown(table)


@pytest.mark.parametrize(
    "changes",
    [{"lower": "4.1"}, {"lower_gdp": "4.1"}, {"wide_lower": "2.1"}, {"lower": "nan"}, {"wide_lower": "inf"},
     {"epsilon": "nan"}, {"wide_epsilon": ""}],
)  # fmt: skip
def test_a_bound_that_refutes_its_ledger_is_not_committed(tmp_path, changes):
    """Neither is one that cannot be compared."""
    (tmp_path / "reference").mkdir()
    made_up(**changes).to_csv(tmp_path / lower_bounds.NAME, index=False)
    with pytest.raises(ReportError, match=r"adassp: epsilon is at least ([42]\.1|nan|inf|1\.5|1\.25), the ledger says"):
        lower_bounds.commit(tmp_path, tmp_path / "reference")
    assert not list((tmp_path / "reference").iterdir())


def test_a_good_run_is_committed_and_no_run_names_the_remedy(tmp_path):
    (tmp_path / "reference").mkdir()
    with pytest.raises(ReportError, match=r"\./bench lower_bounds"):
        lower_bounds.commit(tmp_path, tmp_path / "reference")
    made_up().to_csv(tmp_path / lower_bounds.NAME, index=False)
    lower_bounds.commit(tmp_path, tmp_path / "reference")
    assert (tmp_path / "reference" / lower_bounds.NAME).read_bytes() == (tmp_path / lower_bounds.NAME).read_bytes()
