"""Used only by the build: puts the committed files and the methods into the wheel. Standard library only.

A checkout keeps ``methods``, ``models``, ``privacy``, ``evaluation`` and ``datasets`` at its top level, where people
look for them. The wheel holds only those files of ``datasets`` that fits by a schema need.
Installed at the top level, such names would clash with other packages. So the wheel holds them inside
``dpbayes_bench``, and the build rewrites each import of one of them. The repository holds nothing twice.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
#: folders of the checkout that become packages inside ``dpbayes_bench``.
CORE = ("evaluation", "methods", "models", "privacy")
#: files of ``datasets`` that fits by a schema need.
SCHEMA = ("arrays", "base", "records", "schema", "yaml_file")
_NAMES = "|".join((*CORE, "datasets"))
#: patterns of an import of a core folder, and of a text that names a module, or a function of a module.
_IMPORT = re.compile(rf"^([ \t]*(?:from|import) )({_NAMES})(?=[ .])", re.MULTILINE)
_TEXT = re.compile(rf'"({_NAMES})((?:\.\w+)+(?::\w+)?)"')


def patterns() -> list[str]:
    """The ``FILES`` of tables.py, read as text, because pandas need not be installed for a build."""
    told = re.search(r"^FILES = \((.*?)^\)", (HERE / "tables.py").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert told
    return re.findall(r'"([^"]+)"', told[1])


def inside(source: str) -> str:
    """The source of a module as it is inside the package. Raises ValueError for a plain ``import methods``."""
    if plain := re.search(rf"^[ \t]*import (?:{_NAMES})\b(?!.* as )", source, re.MULTILINE):
        raise ValueError(f"'{plain[0].strip()}' binds a name that the package does not have; write 'from ... import'")
    return _TEXT.sub(r'"dpbayes_bench.\1\2"', _IMPORT.sub(r"\1dpbayes_bench.\2", source))


class Wheel(build_py):
    """The build command, which also copies the committed reference (folder ``data``) and the core folders."""

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
        self.core(target.parent)

    def core(self, package: Path) -> None:
        """Write the core folders and the package's own modules with rewritten imports."""
        for folder in CORE:
            shutil.rmtree(package / folder, ignore_errors=True)
            for path in sorted((HERE.parent / folder).rglob("*.py")):
                copy = package / path.relative_to(HERE.parent)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(inside(path.read_text(encoding="utf-8")), encoding="utf-8")
        data = package / "datasets"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        (data / "__init__.py").write_text('"""Rows by a public schema; the data sets are in the checkout."""\n')
        for name in SCHEMA:
            source = (HERE.parent / "datasets" / f"{name}.py").read_text(encoding="utf-8")
            (data / f"{name}.py").write_text(inside(source), encoding="utf-8")
        for path in package.glob("*.py"):
            path.write_text(inside(path.read_text(encoding="utf-8")), encoding="utf-8")
