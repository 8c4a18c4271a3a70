"""The published numbers are the transcription's, byte for byte."""

import hashlib

import pytest

from papers.alrawajfeh2024nadpvi_rebuttal import PAPER

SHA256 = {
    "published.csv": "2b42dc2b3060c9aa0f385cafb16b77c9bb3d2781843b394666585607a0e60d1b",
    "annotations.csv": "222be232bf7947032ef9c847ae8ee9a1f175cb4ba215a0648d4de17c2c80f23c",
}


@pytest.mark.parametrize("name", list(SHA256))
def test_the_files_are_those_that_were_transcribed(name):
    found = hashlib.sha256((PAPER.home / name).read_bytes()).hexdigest()
    assert found == SHA256[name], (
        f"papers/{PAPER.key}/{name} is no longer the transcription. If numbers were added or mended on purpose, write "
        f'"{found}" for it in SHA256 of tests/papers/{PAPER.key}/test_published.py'
    )
