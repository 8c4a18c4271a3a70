"""What the folders of papers/ give to the page."""

import gzip

import pytest

from reports import papers

VERDICTS = """source,dataset,reading,verdict
x,a,authors,reproduced
x,b,authors,worse
x,c,authors,no_data
x,a,printed,compatible
"""


def folder(home, finding="two"):
    own = home / "someone"
    (own / "reference").mkdir(parents=True)
    (own / "findings").mkdir()
    (own / "paper.yaml").write_text(f"title: Someone\nsource: x\nfamily: 4\nfinding: {finding}\njudged: so\n")
    (own / "reference" / "verdicts.csv.gz").write_bytes(gzip.compress(VERDICTS.encode()))
    for name in ("one", "two"):
        (own / "findings" / f"{name}.md").write_text(f"# The {name}\n\ntext\n")
    return home


def test_a_line_a_reading_and_the_findings(tmp_path):
    (found,) = papers.load(folder(tmp_path))
    lines = {row["reading"]: row for row in found.board}
    assert list(lines) == ["authors", "printed"]
    assert {k: lines["authors"][k] for k in ("cells", "reproduced", "worse", "no_data", "no_score", "family")} == {
        "cells": 3, "reproduced": 1, "worse": 1, "no_data": 1, "no_score": 1, "family": 4
    }  # fmt: skip
    assert [f.title for f in found.findings] == ["The one", "The two"]
    assert found.first.id == "two"
    assert found.judged == "so"


def test_a_folder_without_reference_gives_nothing(tmp_path):
    home = folder(tmp_path)
    (home / "someone" / "reference" / "verdicts.csv.gz").unlink()
    assert papers.load(home) == []


def test_a_first_finding_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="three"):
        papers.load(folder(tmp_path, finding="three"))
