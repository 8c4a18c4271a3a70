"""Names that reach paths and command lines: what they may be made of."""

from __future__ import annotations

import re

#: a folder: words, dots, spaces and slashes. Snakemake reads braces in a path as wildcards, a shell reads the rest.
_FOLDER = re.compile(r"[\w./][\w./ +=@,~-]*")


def folder(value: object, what: str) -> str:
    """``value`` itself. Raises ValueError where it cannot be the name of a folder that commands are given."""
    if not isinstance(value, str) or not _FOLDER.fullmatch(value) or value != value.strip():
        raise ValueError(f"{what} is '{value}'; give a folder of letters, digits, spaces and . / _ + = @ , ~ -")
    return value
