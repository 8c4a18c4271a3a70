"""Where the committed scores stand."""

from workflow import committed, papers


def test_scores_are_found_where_the_experiment_was_taken_out(monkeypatch):
    there = committed.path_of(papers.REFERENCE, "dpsep_uci")
    assert there.is_file()
    monkeypatch.setattr(papers, "paper_of", lambda experiment: None)
    assert committed.path_of(papers.REFERENCE, "dpsep_uci") == there


def test_scores_of_another_folder_are_there_and_nowhere_else(tmp_path):
    assert committed.path_of(tmp_path, "dpsep_uci") == tmp_path / "scores/dpsep_uci.csv.gz"
