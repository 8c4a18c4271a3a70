"""A file of a method that cannot be imported takes out that method, by name, and no other."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from methods import contract

ROOT = Path(__file__).resolve().parents[2]
LINEAR = "bounded_linear_regression"


def test_no_adapter_is_broken():
    """The run leaves a broken adapter out and goes on; CI does not."""
    assert contract.broken() == []


def said(root: Path, code: str) -> str:
    command = [sys.executable, "-c", f"from methods import contract\n{code}"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def copy(tmp_path):
    for folder in (
        "datasets",
        "audit",
        "evaluation",
        "methods",
        "models",
        "privacy",
        "workflow",
        "config",
        "papers",
        "common_tasks",
    ):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("def f(:\n", "SyntaxError"),
        ("import no_such_library\n", "ModuleNotFoundError"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("import sys; sys.exit(0)\n", "SystemExit: 0"),
        ("raise BaseException('no method')\n", "BaseException: no method"),
        ("raise MemoryError('much')\n", "MemoryError: much"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("raise GeneratorExit\n", "GeneratorExit"),
    ],
)
def test_one_broken_file_takes_out_one_method(copy, line, words):
    path = copy / "methods/baselines/ridge.py"
    path.write_text(f"{path.read_text()}\n{line}")
    told = said(
        copy,
        f"""
print(*contract.names())
print(*(f'{{k}}/{{n}}' for k, n in contract.pairs()))
print(contract.broken()[0], len(contract.broken()))
try:
    contract.get('ridge', '{LINEAR}')
except contract.BrokenAdapter as e:
    print(e.args[0])
""",
    )
    left, pairs, why, refused = told.strip().splitlines()
    assert left.split() == [n for n in contract.names() if n != "ridge"]
    assert pairs.split() == [f"{k}/{n}" for k, n in contract.pairs() if n != "ridge"]
    assert why.startswith(f"methods/baselines/ridge.py cannot be imported: {words}")
    assert why.endswith(" 1")
    assert words in refused


@pytest.mark.parametrize(
    "line", ["import time; time.sleep(600)", "try:\n    import time; time.sleep(600)\nfinally:\n    raise ValueError"]
)
def test_ctrl_c_stops_the_program_while_a_file_is_imported(copy, line):
    path = copy / "methods/baselines/ridge.py"
    path.write_text(f"print('here', flush=True)\n{line}\n")
    # a job in the background of a shell without job control inherits that Ctrl-C is ignored
    heard = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", f"{heard}from methods import contract\ncontract.names()\nprint('went on')"]
    with subprocess.Popen(command, cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert out == ""
    assert "KeyboardInterrupt" in err
    assert process.returncode


def test_cells_of_a_broken_method_and_of_those_that_read_its_run_are_left_out(copy):
    code = """
from workflow.experiments import cells
from workflow.papers import experiments as files
for name in ('dpsep_uci', 'nadpvi_exponential'):
    print(*sorted({c.method for c in cells(files()[name], 'full')}))
"""
    whole = [line.split() for line in said(copy, code).splitlines()]
    for name in ("ridge", "dpvi"):
        path = copy.joinpath(*contract.module_of(name).split(".")).with_suffix(".py")
        path.write_text(f"def f(:\n{path.read_text()}")
    left = [line.split() for line in said(copy, code).splitlines()]
    assert left[0] == [n for n in whole[0] if n != "ridge"]
    gone = {n for n in whole[1] if n == "dpvi" or contract.get(n).run_of == "dpvi"}
    assert len(gone) > 1
    assert not gone & set(left[1])
    assert left[1]
