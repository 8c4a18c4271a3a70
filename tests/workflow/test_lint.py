"""`snakemake --lint` says nothing but what workflow/lint.yaml explains."""

import re
import subprocess
import sys

import pytest
import yaml
from project import ROOT, environment


def titles():
    """Titles of all messages of the linter, at the scale with the fewest rules."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", "scale=tiny", "--lint"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    return set(re.findall(r"^    \* (.+):$", done.stdout + done.stderr, re.MULTILINE))


@pytest.mark.nightly
def test_what_the_linter_says_is_explained():
    explained = yaml.safe_load((ROOT / "workflow/lint.yaml").read_text())
    said = titles()
    assert [t for t in said if not t.startswith(tuple(explained))] == []
    unsaid = [e for e in explained if not any(t.startswith(e) for t in said)]
    assert not unsaid, "workflow/lint.yaml explains what is no longer said"
