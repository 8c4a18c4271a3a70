import pytest

from reports import published
from reports.verdicts import family_of


def test_290_cells_of_which_66_are_copies():
    frame = published.load()
    first = frame[[family_of(s, frame) == 290 for s in frame["source"]]]
    assert len(first) == 290
    assert (first["same_as"] != "").sum() == 66


def test_digits_are_read_as_text():
    frame = published.load()
    row = frame[(frame["table"] == "3") & (frame["dataset"] == "kin8nm") & (frame["method"] == "dp_vi")].iloc[0]
    assert (row["mean"], row["std"]) == ("0.098", "0.0085")
    ends_in_zero = frame["mean"].str.contains(r"\.\d*0$")
    assert ends_in_zero.sum() > 10  # a float would have dropped these zeros


def test_every_copy_equals_its_original():
    frame = published.load()
    for _, row in frame[frame["same_as"] != ""].iterrows():
        original = published.original_of(row, frame)
        assert original["same_as"] == ""
        assert (original["mean"], original["std"], original["n_published"]) == (
            row["mean"],
            row["std"],
            row["n_published"],
        )


def test_a_lost_original_is_an_error():
    frame = published.load()
    row = frame[frame["same_as"] != ""].iloc[0].copy()
    row["same_as"] = "vinaroz2023dpsep:99"
    with pytest.raises(ValueError, match="no such cell"):
        published.original_of(row, frame)


def test_files_that_do_not_belong_together(tmp_path):
    home = published.folders()[0]
    numbers = (home / "published.csv").read_text().splitlines()
    (tmp_path / "published.csv").write_text("\n".join(numbers[:-1]) + "\n")
    (tmp_path / "annotations.csv").write_text((home / "annotations.csv").read_text())
    with pytest.raises(ValueError, match="differ in their keys"):
        published.load(tmp_path)


def test_two_papers_with_the_same_cell(tmp_path):
    home = published.folders()[0]
    with pytest.raises(ValueError, match="two papers"):
        published.load(home, home)


def test_dataset_sizes_cover_both_papers():
    sizes = published.dataset_sizes()
    assert len(sizes) == 12
    assert sizes.groupby("dataset")[["n", "d"]].nunique().to_numpy().max() == 1  # the two papers agree
