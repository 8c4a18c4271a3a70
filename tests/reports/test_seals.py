"""Score files that were cut, emptied or edited are known by the checksum beside them."""

import pytest

from datasets.store import Damaged
from workflow import seals

TEXT = "cell,value\n" + "".join(f"c,{k}\n" for k in range(100))


def test_what_was_written_is_whole(tmp_path):
    path = tmp_path / "e" / "wine.csv"
    seals.write_sealed(path, TEXT)
    seals.check([path, tmp_path / "missing.csv"])
    assert path.read_text() == TEXT


@pytest.mark.parametrize("text", ["", TEXT[: len(TEXT) // 2], TEXT.replace("c,7\n", "c,8\n"), "cell,value\n"])
def test_another_text_is_set_aside_and_named(tmp_path, text):
    path = tmp_path / "wine.csv"
    seals.write_sealed(path, TEXT)
    path.write_text(text)
    with pytest.raises(Damaged, match=r"wine\.csv\. Run the same command again"):
        seals.check([path])
    assert not path.exists()  # so that the next run makes it
    assert path.with_name("wine.csv.damaged").read_text() == text


def test_a_file_without_a_seal_has_to_hold_something(tmp_path):
    path = tmp_path / "wine.csv"
    path.write_text(TEXT)
    seals.check([path])
    path.write_text("")
    with pytest.raises(Damaged):
        seals.check([path])
