"""The claims of all papers: ``papers/<key>/claims.py``, found by scanning, so that a paper is removed with its folder.

Such a file has ``CLAIMS``, a sequence of :class:`reports.claims.record.Claim`. (Objects of another type in it are the
claims of a paper that judges its own, and are left to it.)
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from reports.claims.record import Claim
from reports.config import ReportError

HOME = Path(__file__).resolve().parents[2] / "papers"


@lru_cache(maxsize=4)
def load(home: Path = HOME) -> tuple[Claim, ...]:
    """The claims of the papers, by folder and in the order of each file.

    Raises
    ------
    TypeError : a test is called with what it does not know; the message names file and claim.
    ReportError : a claim lacks what it must have, its id is not unique, or it is said to repeat one that is not there
        or repeats another itself.
    """
    found = [c for path in sorted(home.glob("*/claims.py")) for c in _read(path) if isinstance(c, Claim)]
    ids = [c.id for c in found]
    for name in ids:
        if ids.count(name) > 1:
            raise ReportError(f"{home}: two claims with the id '{name}'")
    sources = {c.source for c in found}
    # a paper may be removed with its folder: what it said first, another then says alone
    found = [replace(c, same_as="") if c.same_as and _original(c)[0] not in sources else c for c in found]
    originals = {(c.source, c.id) for c in found if not c.same_as}
    for c in found:
        if c.same_as and _original(c) not in originals:
            of, name = _original(c)
            raise ReportError(f"claim '{c.id}' is the same as '{name}' of {of}, which is no claim of its own there")
    return tuple(found)


def _original(claim: Claim) -> tuple[str, str]:
    return claim.same_as_source or claim.source, claim.same_as


def _read(path: Path) -> tuple:
    """``CLAIMS`` of one file, run under a name of its own."""
    name = f"_claims_of_{path.parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (TypeError, ReportError) as error:
        if not (claim := _claim_at(path, error)):
            raise
        raise type(error)(f"{path}: claim '{claim}': {error}") from error
    finally:
        del sys.modules[name]
    if not hasattr(module, "CLAIMS"):
        raise ReportError(f"{path} has no CLAIMS; give a tuple of Claim(...)")
    return tuple(module.CLAIMS)


def _claim_at(path: Path, error: BaseException) -> str:
    """Id of the call ``Claim(...)`` in the file inside which the error arose; "" where it arose in none."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Claim" and lines:
            if not node.lineno <= lines[0] <= (node.end_lineno or node.lineno):
                continue
            ids = [k.value for k in node.keywords if k.arg == "id"]
            return str(ids[0].value) if ids and isinstance(ids[0], ast.Constant) else ""
    return ""
