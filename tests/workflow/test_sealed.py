"""Objects that carry their checksum."""

import json

import pytest

from workflow.sealed import intact, sealed

VALUE = {"cell": "c", "row": {"split": 3, "seconds": 0.1, "seed": (1, 2), "ledger": []}, "n": {5: "five"}}


def test_what_a_file_gives_back_is_what_was_sealed():
    assert intact(sealed(VALUE))
    assert json.loads(json.dumps(sealed(VALUE), sort_keys=True)) == sealed(VALUE)
    assert sealed(sealed(VALUE)) == sealed(VALUE)


@pytest.mark.parametrize(
    "edited", [{}, [], None, "text", VALUE, sealed(VALUE) | {"cell": "d"}, sealed(VALUE) | {"more": 1}, {"sha256": ""}]
)
def test_what_was_edited_is_known(edited):
    assert not intact(edited)
