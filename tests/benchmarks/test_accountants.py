"""The benchmark of accountants: every bound lies above the lower end of the interval that it is compared with."""

from benchmarks import accountants


def test_each_accountant_is_measured_and_is_a_bound(monkeypatch):
    monkeypatch.setattr(accountants, "RUNS", {"short": (0.02, 2.0, 50)})
    found = accountants.measure().set_index("accountant")
    assert {"dp_accounting_pld", "dp_accounting_rdp", "autodp_rdp", "prv"} <= {*found.index}
    assert (found["above"] >= 0).all()
    assert found.loc["dp_accounting_pld", "above"] < found.loc["dp_accounting_rdp", "above"]
