"""What all makers of ``workflow.new`` share: refusals, names, and writing files that are not there yet."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path

from datasets.files import write_text


class Refused(ValueError):
    """What was asked for cannot be written; the message says why and what to give instead."""


def check_name(what: str, word: str) -> None:
    """Raises Refused for a word that cannot name a module."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", word) or keyword.iskeyword(word):
        raise Refused(f"{what} '{word}': give lower-case letters, digits and underscores, a letter first")


def class_name(name: str) -> str:
    """``my_method`` -> ``MyMethod``."""
    return "".join(word.capitalize() for word in name.split("_"))


def write_new(root: Path, files: Mapping[str, str]) -> None:
    """Write texts by path below ``root``. Raises Refused, before anything is written, where one is there."""
    for name in files:
        if (root / name).exists():
            raise Refused(f"{name} exists")
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(root / name, text)
