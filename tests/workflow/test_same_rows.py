import gzip

import pytest

from workflow import same_rows

HEAD = "cell,experiment,method,reading,value"
OLD = [
    "e-dp_x_honest-11111111,e,dp_x_honest,corrected,1.5",
    "e-dp_x_honest-11111111,e,dp_x_honest,corrected,2.5",
    "e-dp_x_released-22222222,e,dp_x_released,released,0.5",
    "f-dp_x_honest-33333333,f,dp_x_honest,corrected,7",
]
NEW = [  # another order
    "f-ssp-99999999,f,ssp,corrected,7",
    "e-dp_x_corrected-aaaaaaaa,e,dp_x_corrected,corrected,2.5",
    "e-dp_x_corrected-aaaaaaaa,e,dp_x_corrected,corrected,1.5",
    "e-dp_x_authors-bbbbbbbb,e,dp_x_authors,authors,0.5",
]
RENAMES = """
words: {dp_x_honest: dp_x_corrected, dp_x_released: dp_x_authors}
columns: {reading: {released: authors}}
within: [{rows: [f], words: {dp_x_honest: ssp}}]
"""


def folder(home, path, rows, head=HEAD):
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join([head, *rows]) + "\n"
    file.write_bytes(gzip.compress(text.encode()) if path.endswith(".gz") else text.encode())
    return home


@pytest.fixture
def compare(tmp_path, capsys):
    (tmp_path / "renames.yaml").write_text(RENAMES)

    def compare(new, path="papers/x/reference/scores.csv.gz"):
        old = folder(tmp_path / "old", "reports/reference/scores.csv", OLD)
        there = folder(tmp_path / "new", path, new)
        rc = same_rows.main([str(old), str(there), "--renames", str(tmp_path / "renames.yaml")])
        return rc, capsys.readouterr().out

    return compare


def test_moved_compressed_renamed_and_in_another_order_is_the_same(compare):
    assert compare(NEW) == (0, "same: 1 tables, 4 rows\n")


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ([*NEW[:3], NEW[3].replace("0.5", "0.50")], "only in the old"),  # as text: digits are data
        (NEW[:3], "only in the old"),
        ([*NEW, "e-dp_y-cccccccc,e,dp_y,printed,1"], "only in the new"),
        ([*NEW, NEW[3]], "stands 1 times in the old and 2 times in the new"),
        ([NEW[0], NEW[1].replace("aaaaaaaa", "dddddddd"), *NEW[2:]], "is e-dp_x_corrected-"),
        (
            [NEW[0], *(row.replace("bbbbbbbb", "aaaaaaaa").replace("authors-", "corrected-") for row in NEW[1:])],
            "are both",
        ),
    ],
)
def test_what_differs_is_named(compare, new, told):
    rc, out = compare(new)
    assert rc == 1
    assert told in out


def test_a_column_that_older_rows_lack_may_be_there_and_empty(compare, tmp_path):
    old = folder(tmp_path / "a", "reference/scores.csv", ["e,1", "e,2"], "experiment,value")
    new = folder(tmp_path / "b", "reference/scores.csv", ["e,,1", "e,,2", "e,0.5,3"], "experiment,cpu_seconds,value")
    assert list(same_rows.differences(same_rows.tables(str(old)), same_rows.tables(str(new)), same_rows.Renames())) == [
        "scores: only in the new: cpu_seconds=0.5, experiment=e, value=3",
        "scores: 0 kinds of row only in the old, 1 only in the new",
    ]


def test_a_table_that_is_gone_is_named(compare):
    rc, out = compare(NEW, "papers/x/reference/other.csv")
    assert rc == 1
    assert "scores: no such table" in out


def test_an_unknown_key_of_the_renames_is_refused():
    with pytest.raises(ValueError, match="wrods"):
        same_rows.Renames({"wrods": {}})


def test_no_reference_at_all(tmp_path):
    with pytest.raises(SystemExit, match="give a folder or a commit"):
        same_rows.main([str(tmp_path / "nowhere"), str(tmp_path)])
