"""For the build alone: the committed files go into the wheel, laid out as in the checkout. Standard library only."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent


def patterns() -> list[str]:
    """``FILES`` of tables.py, read as text: pandas need not be there to build."""
    told = re.search(r"^FILES = \((.*?)^\)", (HERE / "tables.py").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert told
    return re.findall(r'"([^"]+)"', told[1])


class CommittedFiles(build_py):
    """Build the package, and copy the committed reference into its folder ``data``."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # the checkout itself is read
            return
        target = Path(self.build_lib) / "dpbayes_bench" / "data"
        shutil.rmtree(target, ignore_errors=True)
        for pattern in patterns():
            found = sorted(HERE.parent.glob(pattern))
            if not found:
                raise FileNotFoundError(f"no {pattern} below {HERE.parent}: build the package from a checkout")
            for path in found:
                copy = target / path.relative_to(HERE.parent)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
