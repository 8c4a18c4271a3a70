"""A file of a method that cannot be imported takes out that method, by name, and no other."""

import json
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


def copied(to: Path, *folders: str) -> Path:
    """A copy of these folders, with what Python has compiled of them."""
    for folder in ("methods", "models", "privacy", *folders):
        shutil.copytree(ROOT / folder, to / folder, ignore=shutil.ignore_patterns("*.nbc", "*.nbi"))
    return to


#: method -> a line at the end of its file, and how its fault is called.
LINES = {
    "ridge": ("def f(:\n", "SyntaxError"),
    "single_gaussian": ("import no_such_library\n", "ModuleNotFoundError"),
    "deep_ensemble": ("1 / 0\n", "ZeroDivisionError"),
    "predict_mean": ("import sys; sys.exit(0)\n", "SystemExit: 0"),
    "point_estimate": ("raise BaseException('no method')\n", "BaseException: no method"),
    "output_perturbation": ("raise MemoryError('much')\n", "MemoryError: much"),
    "classifier_sgd": ("raise KeyboardInterrupt\n", "KeyboardInterrupt"),
    "dp_single_gaussian": ("raise GeneratorExit\n", "GeneratorExit"),
}


def test_a_broken_file_takes_out_its_method(tmp_path):
    """Eight are broken at once, each in another way; all others are left."""
    copy = copied(tmp_path)
    for name, (line, _) in LINES.items():
        path = copy / f"methods/baselines/{name}.py"
        path.write_text(f"{path.read_text()}\n{line}")
    told = said(
        copy,
        f"""
import json
refused = {{}}
for name in {list(LINES)}:
    try:
        contract.get(name, '{LINEAR}')
    except contract.BrokenAdapter as e:
        refused[name] = e.args[0]
print(json.dumps([contract.names(), contract.pairs(), sorted(contract.broken()), refused]))
""",
    )
    left, pairs, why, refused = json.loads(told)
    assert left == [n for n in contract.names() if n not in LINES]
    assert pairs == [[k, n] for k, n in contract.pairs() if n not in LINES]
    assert len(why) == len(LINES)
    for said_of, (name, (_, words)) in zip(why, sorted(LINES.items()), strict=True):
        assert said_of.startswith(f"methods/baselines/{name}.py cannot be imported: {words}")
        assert words in refused[name]


@pytest.mark.parametrize(
    "line", ["import time; time.sleep(600)", "try:\n    import time; time.sleep(600)\nfinally:\n    raise ValueError"]
)
def test_ctrl_c_stops_the_program_while_a_file_is_imported(tmp_path, line):
    copy = copied(tmp_path)
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


def test_cells_of_a_broken_method_and_of_those_that_read_its_run_are_left_out(tmp_path):
    copy = copied(tmp_path, "datasets", "audit", "evaluation", "workflow", "config", "papers", "common_tasks")
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
