"""Methods that are no file of methods/: a file elsewhere, and an installed package. About 8 CPU seconds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from methods import contract
from workflow import imports

ROOT = Path(__file__).resolve().parents[2]
TEXT = '''"""A method from outside."""

from dataclasses import dataclass

from methods.contract import Fit, Method


class Mine(Method):
    name = "{name}"
    title = "Mine"
    reference = "nowhere"
    models = ("bounded_linear_regression",)

    @dataclass(frozen=True)
    class Settings:
        steps: int = 3  #: iterations

    def fit(self, task, settings, budget, rng) -> Fit:
        raise NotImplementedError
'''


def said(code: str, **environment: str) -> str:
    given = os.environ | environment
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env=given)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_file_elsewhere_is_a_method_and_its_code_counts(tmp_path):
    path = tmp_path / "my_method.py"
    path.write_text(TEXT.format(name="my_method"))
    code = "from methods import contract\nfrom workflow.imports import code_hash, files\n"
    code += "m = contract.get('my_method'); name = contract.module_of('my_method')\n"
    code += "file = next(f for f in files(name) if f.endswith('my_method.py'))\n"
    code += "print(m.Settings().steps, name, file, code_hash(name), len(contract.names()))"
    steps, module, file, digest, count = said(code, DPBAYES_METHODS=str(path)).split()
    assert (steps, module, Path(file)) == ("3", "methods.outside.my_method", path)
    assert int(count) == len(contract.names()) + 1
    path.write_text(path.read_text().replace("= 3", "= 4"))
    assert said(code, DPBAYES_METHODS=str(path)).split()[3] != digest


def test_an_installed_package_is_found_by_its_entry_point(tmp_path):
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package/__init__.py").write_text("")
    (tmp_path / "my_package/packed.py").write_text(TEXT.format(name="packed"))
    info = tmp_path / "my_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my_package\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{contract.GROUP}]\npacked = my_package.packed\n")
    code = "from methods import contract; print(contract.get('packed').title, contract.module_of('packed'))"
    assert said(code, PYTHONPATH=str(tmp_path)) == "Mine my_package.packed"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("my_method", "import no_such_library\n", "my_method.py cannot be imported: ModuleNotFoundError"),
        ("nowhere", None, "nowhere.py cannot be imported: FileNotFoundError"),
    ],
)
def test_a_file_that_cannot_be_imported_is_left_out_by_name(tmp_path, name, text, words):
    path = tmp_path / f"{name}.py"
    if text:
        path.write_text(text)
    code = "from methods import contract; print(len(contract.names()), *contract.broken())"
    count, _, why = said(code, DPBAYES_METHODS=str(path)).partition(" ")
    assert int(count) == len(contract.names())
    assert words in why


@pytest.mark.parametrize(("file", "name", "words"), [("ridge", "ridge", "are both 'ridge'"), ("a", "b", "own `name`")])
def test_a_name_that_is_taken_or_another_leaves_out_the_file(tmp_path, file, name, words):
    (tmp_path / f"{file}.py").write_text(TEXT.format(name=name))
    code = "from methods import contract; print(len(contract.names()), *contract.broken())"
    count, _, why = said(code, DPBAYES_METHODS=str(tmp_path / f"{file}.py")).partition(" ")
    assert int(count) == len(contract.names())  # whoever had the name keeps it
    assert words in why


def test_nothing_from_outside_is_here_without_being_named():
    assert all(contract.module_of(n).split(".")[1] != "outside" for n in contract.names())
    assert imports.outside() == []
