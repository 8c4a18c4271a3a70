"""Tables that are no scores: rows of an interrupted run are kept."""

from __future__ import annotations

import pytest

from workflow import extra


def test_rows_of_an_interrupted_run_are_kept(tmp_path):
    out, made = tmp_path / "t.csv", []

    def make(k):
        def row():
            made.append(k)
            if k == 1 and made.count(1) == 1:
                raise KeyboardInterrupt
            return {"seconds": float(k)}

        return row

    makers = [make(0), make(1)]
    with pytest.raises(KeyboardInterrupt):
        extra.kept(out, {"code": "a"}, makers)
    assert extra.kept(out, {"code": "a"}, makers) == [{"seconds": 0.0}, {"seconds": 1.0}]
    assert made == [0, 1, 1]
    extra.kept(out, {"code": "b"}, makers)  # other code: all anew
    assert made == [0, 1, 1, 0, 1]
