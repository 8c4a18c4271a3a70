"""environment.yml, pyproject.toml and constraints.txt say the same, and none of them names an index."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent


def _declared():
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])


def test_environment_and_pyproject_list_the_same_packages():
    pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"][-1]["pip"]
    assert pip[0] == "-c constraints.txt"
    assert set(pip[1:]) == _declared()


def test_every_declared_package_is_pinned():
    pinned = {re.split(r"[=<>! ;]", line)[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    names = {re.split(r"[=<>! ;\[]", d)[0] for d in _declared()}
    assert names <= pinned, f"not in constraints.txt: {sorted(names - pinned)}"


def test_no_addresses_in_the_packaging_files():
    for name in ("pyproject.toml", "constraints.txt", "environment.yml"):
        assert "://" not in (ROOT / name).read_text(), f"{name} names an address; an index is the user's own choice"
