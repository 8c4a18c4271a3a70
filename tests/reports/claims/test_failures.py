"""How often a method fails."""

from reports.claims import FailsLess
from tests.reports.claims.made_up import lose, run


def test_fails_less(config, scores):
    assert run(config, scores, FailsLess("sep", "ep", tables=("3",)))["verdict"] == "not told apart"
    one = scores.reset_index(drop=True)
    worse = lose(scores, "ep", "wine", "failed")
    row = run(config, worse, FailsLess("sep", "ep", tables=("3",)))
    assert row["verdict"] == "holds"
    assert "0 of 60 against 10 of 60" in row["figure"]
    assert run(config, worse, FailsLess("ep", "sep", tables=("3",)))["verdict"] == "does not hold"
    hit = one[(one["method"] == "ep") & (one["dataset"] == "wine") & (one["protocol"] == "authors")]
    one.loc[hit.index[hit["split"] == hit["split"].iloc[0]], "status"] = "failed"
    row = run(config, one, FailsLess("ep", "sep", tables=("3",)))
    assert "1 of 60 against 0 of 60" in row["figure"]
    assert row["verdict"] == "not told apart"
