"""Which lost splits and files the next call makes again."""

import pytest

from workflow import attempts


def rows(*statuses):
    return [{"status": s} for s in statuses]


def test_nothing_lost_asks_for_nothing(tmp_path):
    assert attempts.lost(rows("ok", "diverged", "not_supported", "no_data")) == {}
    attempts.write(tmp_path, "c", 0, rows("ok", "diverged", "not_supported", "no_data"))
    assert attempts.wanted(tmp_path, "c", "timeout") == attempts.wanted(tmp_path, "c", "failed") == 0


def test_a_file_that_is_gone_asks_for_an_attempt_once_the_job_has_been_done(tmp_path):
    here, gone = tmp_path / "here", tmp_path / "gone"
    here.touch()
    assert attempts.wanted(tmp_path, "c", "timeout", [here, gone]) == 0  # its job was never done
    attempts.write(tmp_path, "c", 0)
    assert attempts.wanted(tmp_path, "c", "timeout", [here]) == 0
    number = attempts.wanted(tmp_path, "c", "timeout", [here, gone])
    assert number == 1
    gone.touch()
    attempts.write(tmp_path, "c", number)
    assert attempts.wanted(tmp_path, "c", "timeout", [here, gone]) == number
    gone.unlink()
    assert attempts.wanted(tmp_path, "c", "timeout", [here, gone]) == number + 1


@pytest.mark.parametrize(
    ("statuses", "plain", "failed"),
    [(("ok", "timeout"), 1, 1), (("ok", "failed"), 0, 1), (("failed", "timeout"), 1, 1)],
)
def test_a_timeout_is_tried_again_by_itself_and_what_raised_when_it_is_asked_for(tmp_path, statuses, plain, failed):
    assert attempts.lost(rows(*statuses))
    attempts.write(tmp_path, "c", 0, rows(*statuses))
    assert attempts.wanted(tmp_path, "c", "timeout") == plain
    assert attempts.wanted(tmp_path, "c", "failed") == failed


def test_an_attempt_that_went_well_is_not_made_again(tmp_path):
    attempts.write(tmp_path, "c", 0, rows("timeout"))
    number = attempts.wanted(tmp_path, "c", "timeout")
    attempts.write(tmp_path, "c", number, rows("ok"))
    assert attempts.wanted(tmp_path, "c", "timeout") == attempts.wanted(tmp_path, "c", "failed") == number


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"attempt": "x", "lost": {}}'])
def test_a_damaged_note_costs_an_attempt(tmp_path, text):
    attempts.path_of(tmp_path, "c").parent.mkdir()
    attempts.path_of(tmp_path, "c").write_text(text)
    assert attempts.wanted(tmp_path, "c", "timeout") == 1
