"""The ceiling of true copies with a known distribution: its shares, and the committed table of its bias."""

import pytest

from reports import ceiling, ceiling_bias
from reports.ceiling_bias import SETTINGS, WORDS

ROWS = [(s, n, count) for s in SETTINGS for n, count in s.sizes if n <= 2 * count]


@pytest.mark.parametrize(("setting", "n", "count"), ROWS, ids=[f"{s.title}, {n} and {c}" for s, n, c in ROWS])
def test_the_ceiling_of_a_true_copy(setting, n, count):
    """At most 2 N runs of ours: shares are within 10 points of the truth, 18 for 10 runs.

    By the committed table the bias is at most 7 points, 12 for 10 runs, and its standard error here at most 2. So the
    ten tests raise a false alarm, for all seeds but the fixed one, in about 3 % of cases. "Inconclusive" is also at
    least half of the truth.
    """
    found = ceiling_bias.row(setting, n, count, pairs=4000, sets=250)
    assert found["ceiling_inconclusive"] >= 0.5 * found["truth_inconclusive"] - 0.001
    limit = 0.1 if n > 10 else 0.18
    for word in WORDS:
        assert abs(found[f"ceiling_{word}"] - found[f"truth_{word}"]) < limit, word


def test_the_committed_table():
    """One row is made again, and shares add up."""
    told = ceiling_bias.read()
    assert list(told.columns) == ceiling_bias.COLUMNS
    assert len(told) == sum(len(s.sizes) for s in SETTINGS)
    for kind in ("truth", "ceiling"):
        assert told[[f"{kind}_{w}" for w in WORDS]].sum(axis=1).to_numpy() == pytest.approx(1, abs=2e-3)
    found = ceiling_bias.row(SETTINGS[0], 20, 20)
    (row,) = told[(told["evidence"] == SETTINGS[0].title) & (told["runs"] == 20) & (told["n_published"] == 20)].to_dict(
        "records"
    )
    assert {k: row[k] for k in found} == pytest.approx(found, abs=6e-5)
    assert set(WORDS) < set(ceiling.SHARES)
