import pandas as pd
import pytest

from datasets.files import ROOT
from reports import papers as judged
from reports import published
from workflow.papers import papers


def test_papers_state_how_many_cells_share_their_family():
    """The 1 % of a false word is shared by the cells of a family: with a new cell it is larger, and verdicts milder."""
    frame = published.load()
    stated = [p for p in papers() if p.family]
    own = [p.verdicts.drop_duplicates(published.KEY) for p in judged.load()]
    # numbers of Honkela et al. on rows that are not at hand are in no family: none of them is judged
    own = [f[(f["source"] != "honkela2018robust") | (f["dataset"] != "gdsc")] for f in own]
    # seven numbers of Chen et al. on census rows that are not at hand, likewise
    own = [f[f["dataset"] != "victoria_2021"] for f in own]
    every = pd.concat([f["source"] for f in (frame, *own)])
    for family in {p.family for p in stated}:
        sources = [s for p in stated if p.family == family for s in p.sources]
        count = int(every.isin(sources).sum())
        homes = ", ".join(f"{p.home.relative_to(ROOT)}/__init__.py" for p in stated if p.family == family)
        assert count == family, (
            f"{count} published cells share a family of {family}: write `family={count}` in {homes} (and FAMILY in "
            "reports/verdict.py, the default), or leave it out of a paper that is to be a family of its own; then run "
            "`python -m reports.build derived` and `python -m reports.build readme`"
        )
    assert (frame["same_as"] != "").any()


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


def test_published_sizes_of_data_sets_agree():
    sizes = published.dataset_sizes()
    assert len(sizes)
    assert sizes.groupby("dataset")[["n", "d"]].nunique().to_numpy().max() == 1
