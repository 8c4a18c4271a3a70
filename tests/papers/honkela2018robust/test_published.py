"""The published numbers in one layout."""

import hashlib

import pytest

from papers.honkela2018robust import PAPER, published, run
from workflow.published import KEY


def test_numbers_of_the_source():
    rows = published.numbers()
    assert len(rows) == 629
    assert not rows.duplicated(KEY).any()
    judged = rows[rows["dataset"] != "gdsc"]
    assert len(judged) == PAPER.family == 249
    assert judged["table"].value_counts().to_dict() == {
        "splits": 171, "synth_B": 27, "synth_A": 21, "multiples_B": 16, "multiples_A": 14,
    }  # fmt: skip
    assert set(judged["table"]) == {t for tables in run.FILES.values() for t in tables}
    assert set(PAPER.program.scores) == set(run.FILES)


def test_digits_stay():
    rows = published.numbers().set_index(["table", "method", "setting"])["mean"]
    assert rows["synth_A", "lr", "epsilon=0.1;n=500"] == "0.8857149714971496168"
    assert rows["multiples_A", "omega_y", "epsilon=10;n=500"] == "1.100000000000000089"
    assert rows["splits", "rplr", "epsilon=2;n=500;p1=0.05;p2=0.05"] == "0.1301625545702183029"


def test_means_are_of_whole_ranks():
    """A score is 1 - D / 166,650 with D even, so 50 of them add up to a whole number of 166,650ths."""
    rows = published.numbers()
    means = rows.loc[rows["table"].isin(run.TABLES), "mean"].astype(float)
    whole = (1 - means) * 50 * 166_650 / 2
    assert whole.to_numpy() == pytest.approx(whole.round().to_numpy(), abs=1e-4)


def test_multiples_and_rows_of_a_setting():
    assert published.private_rows("epsilon=2;n=300") == 300
    assert run.multiples_of("rplr", "epsilon=1;n=500") == (0.1, 0.5)
    assert run.multiples_of("rlr", "epsilon=2;n=800") == pytest.approx((0.1, 0.6))
    assert run.multiples_of("lr", "epsilon=1;n=500") is None
    assert run.multiples_of("rplr", "epsilon=2;n=0") is None


def test_the_files_are_the_authors_numbers_byte_for_byte():
    for name, sha256 in SHA256.items():
        assert hashlib.sha256((published.HERE / name).read_bytes()).hexdigest() == sha256, name


SHA256 = {
    "published.csv": "13b12565a4c33a2608b306386c13bf959b9f4de8e7d541e4fe6fb0d9c1e63b0e",
    "annotations.csv": "1417fbfdc9dc32f2ea2d75b2e8a37ac36fcd4b8c85eab2292e3c2844af1529e3",
    "thresholds.csv": "f0c39c5c13d40a5f1e9e45132d54ee10e430f857323a78c739d3ec34aa67301e",
    "budget_grid.csv": "690a49d710d4871dcae67fe2d11c23540b18080b0190f3181753bc9f53d9706e",
}
