"""The published numbers are the transcription's, byte for byte."""

import hashlib

import pytest

from papers.vinaroz2023dpsep import PAPER

SHA256 = {
    "published.csv": "c9cb60247189384a51ad85cb98f6dc521743af631e1e7c85f0e292bac87fbe2e",
    "annotations.csv": "23f824662e3fa9fe9dc02d3fda8f23f34a191338ce795c5c3fb7aff820beb72a",
}


@pytest.mark.parametrize("name", list(SHA256))
def test_the_files_are_those_that_were_transcribed(name):
    found = hashlib.sha256((PAPER.home / name).read_bytes()).hexdigest()
    assert found == SHA256[name], (
        f"papers/{PAPER.key}/{name} is no longer the transcription. If numbers were added or mended on purpose, write "
        f'"{found}" for it in SHA256 of tests/papers/{PAPER.key}/test_published.py'
    )
