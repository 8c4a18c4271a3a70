"""Which lost splits the next call tries again."""

import pytest

from workflow import attempts


def rows(*statuses):
    return [{"status": s} for s in statuses]


def test_nothing_lost_leaves_nothing(tmp_path):
    assert not attempts.write(tmp_path, "c", 0, rows("ok", "diverged", "not_supported", "no_data"))
    assert not attempts.path_of(tmp_path, "c").exists()
    assert attempts.wanted(tmp_path, "c", "timeout") == attempts.wanted(tmp_path, "c", "failed") == 0


@pytest.mark.parametrize(
    ("statuses", "plain", "failed"),
    [(("ok", "timeout"), 1, 1), (("ok", "failed"), 0, 1), (("failed", "timeout"), 1, 1)],
)
def test_a_timeout_is_tried_again_by_itself_and_what_raised_when_it_is_asked_for(tmp_path, statuses, plain, failed):
    assert attempts.write(tmp_path, "c", 0, rows(*statuses))
    assert attempts.wanted(tmp_path, "c", "timeout") == plain
    assert attempts.wanted(tmp_path, "c", "failed") == failed


def test_an_attempt_that_went_well_is_not_made_again(tmp_path):
    attempts.write(tmp_path, "c", 0, rows("timeout"))
    number = attempts.wanted(tmp_path, "c", "timeout")
    assert not attempts.write(tmp_path, "c", number, rows("ok"))
    assert attempts.wanted(tmp_path, "c", "timeout") == attempts.wanted(tmp_path, "c", "failed") == number


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"attempt": "x", "lost": {}}'])
def test_a_damaged_note_costs_an_attempt(tmp_path, text):
    attempts.path_of(tmp_path, "c").parent.mkdir()
    attempts.path_of(tmp_path, "c").write_text(text)
    assert attempts.wanted(tmp_path, "c", "timeout") == 1
