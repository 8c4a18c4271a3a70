"""The package as it is installed: from its wheel, with nothing of the suite at hand, it gives the committed numbers."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dpbayes_bench import _build, tables
from methods import contract

#: builds and installs a wheel
pytestmark = pytest.mark.nightly
ROOT = Path(__file__).resolve().parents[2]
#: what must not be imported, and every package of the checkout.
BLOCKED = (
    *("torch", "jax", "jaxlib", "numpyro", "numba", "scipy", "sklearn", "snakemake", "matplotlib", "fastparquet"),
    *("datasets", "privacy", "models", "methods", "evaluation", "audit", "workflow", "reports", "papers"),
    "common_tasks",
)
CODE = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {BLOCKED}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Blocked())
import dpbayes_bench as bench
print(bench.__file__)
verdicts, ledger, task = bench.verdicts(), bench.ledger(), bench.task("wine-linear_regression", 1.0)
verdicts.to_csv(sys.argv[1] + "/verdicts.csv", index=False)
ledger.to_csv(sys.argv[1] + "/ledger.csv", index=False)
task.to_csv(sys.argv[1] + "/task.csv", index=False)
posterior = bench.reference_posterior("wine-linear_regression")
posterior.summary.to_csv(sys.argv[1] + "/posterior.csv")
print(bench.tables.scores_of(bench.tables.score_files(bench.home())[0]).shape)
print(sorted(m for m in sys.modules if m.split(".")[0] in {BLOCKED}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel's content, as ``pip install --no-deps --target`` leaves it."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    core = [*(f"{folder}/**/*.py" for folder in _build.CORE), *(f"datasets/{name}.py" for name in _build.SCHEMA)]
    for pattern in (*tables.FILES, *core, "dpbayes_bench/*.*", "pyproject.toml", "README.md", "LICENSE"):
        for path in ROOT.glob(pattern):
            copy = source / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,) = folder.glob("*.whl")
    target = folder / "target"
    pip = ("pip", "install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check", "--target")
    done = subprocess.run([sys.executable, "-m", *pip, str(target), str(wheel)], capture_output=True, text=True)
    if "No module named pip" in done.stderr:  # an environment made by uv: a pure wheel is installed by unpacking it
        zipfile.ZipFile(wheel).extractall(target)
    else:
        assert done.returncode == 0, done.stderr[-2000:]
    return target


@pytest.fixture(scope="module")
def told(installed, tmp_path_factory):
    """What a process that sees the installed package alone printed, and the folder with what it wrote."""
    out = tmp_path_factory.mktemp("told")
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(out)], cwd=out, capture_output=True, text=True,
        env={"PYTHONPATH": str(installed), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines(), out


def test_only_the_package_is_installed(installed):
    tops = {p.name for p in installed.iterdir() if not p.name.endswith(".dist-info")}
    assert tops == {"dpbayes_bench"}
    (meta,) = installed.glob("*.dist-info/METADATA")
    needs = [line for line in meta.read_text().splitlines() if line.startswith("Requires-Dist") and "extra" not in line]
    assert [n.split()[1].partition(">")[0] for n in needs] == ["numpy", "pandas"]


def test_it_has_every_method_and_no_other_package(installed):
    code = f"""
import sys
from dpbayes_bench.methods import contract
from dpbayes_bench.models import kind
found = [*contract.names(), *contract.broken()]
[kind.resolve(record.scorer) for record in map(kind.kind, kind.kinds())]
print(sorted(found), [m for m in sys.modules if m.split(".")[0] in {(*_build.CORE, "torch", "jax")}])
"""
    path = f"{installed}:{Path(pytest.__file__).resolve().parents[1]}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=installed, capture_output=True, text=True,
        env={"PYTHONPATH": path, "PATH": "", "NUMBA_CACHE_DIR": str(installed / "cache")},
    )  # fmt: skip
    assert done.stdout.strip() == f"{sorted(contract.names())} []", done.stderr[-2000:]


SCHEMA = """rows: 200
task: regression
target: y
columns:
  x: {kind: number, range: [0, 1], default: 0.5, source: c}
  y: {kind: number, range: [0, 1], source: c}
"""


def test_it_fits_without_a_checkout(installed, tmp_path):
    code = (
        f"SCHEMA = {SCHEMA!r}"
        + """
import sys
from pathlib import Path
import numpy as np
import pandas as pd
import dpbayes_bench as bench
folder = Path(sys.argv[1]).parent
X = np.random.default_rng(0).uniform(0, 1, (200, 2))
bounds = bench.Bounds(x=[(0, 1), (0, 1)], y=(0, 2), citation="c")
given = dict(epsilon=1, delta=1e-6, bounds=bounds, n_public=200)
fit = bench.fit(X, X.sum(axis=1), model="linear", method="whitened_ssp", **given)
fit.save(sys.argv[1])
again = bench.PrivateFit.load(sys.argv[1])
print((again.predict(X).mean == fit.predict(X).mean).all(), bench.list_methods("linear")["seconds"].notna().any())
(folder / "schema.yaml").write_text(SCHEMA)
schema = bench.Schema.read(folder / "schema.yaml")
frame = pd.DataFrame({"x": [*X[:-1, 0], "odd"], "y": X[:, 1]})
fit = bench.fit(frame, model="linear", method="whitened_ssp", epsilon=1, delta=1e-6, schema=schema)
print(fit.privacy.counted.columns, [m for m in sys.modules if m.split(".")[0] == "datasets"])
try:
    bench.evaluate("whitened_ssp", "wine-linear_regression", 1.0)
except ImportError as e:
    print(e)
"""
    )
    path = f"{installed}:{Path(pytest.__file__).resolve().parents[1]}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "fit")], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": path, "PATH": "", "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    first, *rest = done.stdout.splitlines() or [done.stderr[-2000:]]
    assert first == "True True"
    assert rest[:1] == ["('x', 'y') []"], done.stderr[-2000:]
    assert "evaluate needs a checkout" in " ".join(rest)


def test_it_carries_the_committed_files_as_they_are(installed):
    carried = installed / "dpbayes_bench/data"
    wanted = [path for pattern in tables.FILES for path in ROOT.glob(pattern)]
    assert len(wanted) > 30
    for path in wanted:
        assert (carried / path.relative_to(ROOT)).read_bytes() == path.read_bytes(), path
    assert len(wanted) == sum(path.is_file() for path in carried.rglob("*"))


def test_no_library_of_the_suite_is_imported(told, installed):
    lines, _ = told
    assert lines[0] == str(installed / "dpbayes_bench/__init__.py")
    assert lines[-1] == "[]"


def test_the_numbers_are_those_of_the_checkout(told):
    import dpbayes_bench

    _, out = told
    for name, frame in {
        "verdicts": dpbayes_bench.verdicts(),
        "ledger": dpbayes_bench.ledger(),
        "task": dpbayes_bench.task("wine-linear_regression", 1.0),
    }.items():
        assert (out / f"{name}.csv").read_text() == frame.to_csv(index=False), name
    summary = dpbayes_bench.reference_posterior("wine-linear_regression").summary
    assert (out / "posterior.csv").read_text() == summary.to_csv()
