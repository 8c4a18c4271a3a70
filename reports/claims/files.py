"""The claims of all papers: ``papers/<key>/claims.py``, found by scanning, so that a paper is removed with its folder.

Such a file has ``CLAIMS``, a sequence of :class:`reports.claims.record.Claim`. (Objects of another type in it are the
claims of a paper that judges its own, and are left to it.)
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
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
    ReportError : a claim lacks what it must have, its id is not unique, or it is said to repeat one that is not in its
        file or repeats another itself.
    """
    found = [c for path in sorted(home.glob("*/claims.py")) for c in _claims(path)]
    ids = [c.id for c in found]
    for name in ids:
        if ids.count(name) > 1:
            raise ReportError(f"{home}: two claims with the id '{name}'")
    return tuple(found)


def _claims(path: Path) -> list[Claim]:
    found = [c for c in _read(path) if isinstance(c, Claim)]
    originals = {c.id for c in found if not c.same_as}
    for c in found:
        if c.same_as and c.same_as not in originals:
            raise ReportError(
                f"{path}: claim '{c.id}' is the same as '{c.same_as}', which is no claim of its own there"
            )
    return found


def _read(path: Path) -> tuple:
    """``CLAIMS`` of one file, run under a name of its own."""
    name = f"_claims_of_{path.parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, path
    assert spec.loader is not None, path
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (TypeError, ReportError) as error:
        if not (claim := _claim_at(path.parent, error)):
            raise
        raise type(error)(f"{path}: claim '{claim}': {error}") from error
    finally:
        del sys.modules[name]
    if not hasattr(module, "CLAIMS"):
        raise ReportError(f"{path} has no CLAIMS; give a tuple of Claim(...)")
    return tuple(module.CLAIMS)


def _claim_at(folder: Path, error: BaseException) -> str:
    """Id of the call ``Claim(...)`` in a file of the folder inside which the error arose; "" where it arose in none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if (path := Path(frame.filename)).parent != folder or frame.lineno is None:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != "Claim":
                continue
            ids = [k.value for k in node.keywords if k.arg == "id"]
            if node.lineno <= frame.lineno <= (node.end_lineno or 0) and ids and isinstance(ids[0], ast.Constant):
                return str(ids[0].value)
    return ""
