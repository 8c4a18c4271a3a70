"""`./bench new`: skeletons that pass as they are, and clear refusals."""

import csv
import itertools
import re
import shutil
import subprocess
import sys

import pytest
from project import ROOT, copy_project, environment, place_data, snakemake

import datasets
from datasets import DataError, fetch
from methods.contract import MethodError
from models import kind as model_kinds
from workflow import cli, new
from workflow.experiments import cells

PRIVATE = tuple(kind for kind, start in new.STARTS.items() if "statistic" in start)


def test_starts_are_of_kinds_that_there_are():
    assert set(new.STARTS) <= set(model_kinds.kinds())


def test_a_kind_without_a_start_gets_a_file_that_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.delitem(new.STARTS, "bnn_regression")
    assert cli.main(["new", "method", "mine", "--kind", "bnn_regression"], tmp_path) == 0
    made = {}
    exec((tmp_path / "methods/mine/mine.py").read_text(), made)
    with pytest.raises(MethodError, match="mine gives no posterior yet"):
        made["Mine"]().fit(model_kinds.kind("bnn_regression").tiny["bnn_regression"](5, 0), None, None, None)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with a skeleton for each kind of model, and private ones of all that have one."""
    project = tmp_path_factory.mktemp("new") / "project"
    left_out = shutil.ignore_patterns(".git", ".venv", "results", ".snakemake", ".pytest_cache", ".hypothesis")
    shutil.copytree(ROOT, project, ignore=left_out)
    for kind in new.STARTS:
        assert cli.main(["new", "method", f"sketch_{kind}", "--kind", kind, "--family", "sketches"], project) == 0
    assert len(PRIVATE) >= 5
    for kind in PRIVATE:
        name = f"private_sketch_{kind}"
        assert cli.main(["new", "method", name, "--kind", kind, "--family", "sketches", "--private"], project) == 0
    return project


@pytest.mark.nightly
def test_of_every_data_set_and_kind_the_skeletons_pass(project):
    assert cli.main(["new", "dataset", "sketch_table"], project) == 0
    assert cli.main(["new", "kind", "sketch_kind"], project) == 0
    suites = ("tests/datasets/test_registry.py", "tests/models/test_kind.py", "tests/test_architecture.py")
    done = run(project, "pytest", "-q", "-x", "-p", "no:cacheprovider", *suites)
    assert done.returncode == 0, done.stdout[-4000:]
    for command in (("ruff", "check"), ("ruff", "format", "--check")):
        done = run(project, *command, "datasets/sketch_table.py", "models/sketch_kind.py")
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_new_method_joins_every_comparison_of_its_kind(project):
    """Private ones at every budget; nothing that was there joins or leaves."""
    told = (
        "from workflow.experiments import cells; from workflow.papers import experiments; "
        "print(*sorted({f'{c.experiment} {c.method} {c.setting}' for n in ('common_network', 'common_density', "
        "'common_linear_regression') for c in cells(experiments()[n], 'full')}), sep='\\n')"
    )
    before, after = (
        set(
            subprocess.run(
                [sys.executable, "-c", told], cwd=root, env=environment(), capture_output=True, text=True, check=True
            ).stdout.splitlines()
        )
        for root in (ROOT, project)
    )
    assert before < after
    assert after - before == {
        "common_network sketch_bnn_regression ",
        "common_density sketch_bounded_mixture ",
        "common_linear_regression sketch_bounded_linear_regression ",
        *(f"{task} private_sketch_{kind} epsilon={e}" for e in ("0.1", "1", "8") for task, kind in (
            ("common_network", "bnn_regression"), ("common_density", "bounded_mixture"),
            ("common_linear_regression", "bounded_linear_regression"),
        )),
    }  # fmt: skip


def run(project, *command):
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=environment(), capture_output=True, text=True
    )


def test_a_skeleton_passes_the_conformance_and_the_privacy_suite_as_it_is(project):
    suites = ("tests/methods/test_conformance.py", "tests/audit/test_private_methods.py")
    done = run(project, "pytest", "-q", "-x", "-p", "no:cacheprovider", *suites, "-k", "sketch")
    assert done.returncode == 0, done.stdout[-4000:]
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout


def test_a_skeleton_is_clean(project):
    for command in (("ruff", "check", "methods/sketches"), ("ruff", "format", "--check", "methods/sketches")):
        done = run(project, *command)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_default_family_is_its_own(tmp_path):
    assert cli.main(["new", "method", "my_method", "--kind", "bnn_regression"], tmp_path) == 0
    text = (tmp_path / "methods/my_method/my_method.py").read_text()
    assert 'models = ("bnn_regression",)' in text
    assert "class MyMethod(Method):" in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["methd", "x"], "Did you mean 'method'?"),
        (["method", "my", "--kind", "bnn_regresion"], "did you mean 'bnn_regression'?"),
        (["method", "my", "--kind", "bnn_regression", "--family", "baseline"], "did you mean 'baselines'?"),
        (["method", "My-Method", "--kind", "bnn_regression"], "give lower-case letters"),
        (["method", "class", "--kind", "bnn_regression"], "give lower-case letters"),
        (["method", "ridge", "--kind", "bnn_regression"], "a method 'ridge' already (methods/baselines/ridge.py)"),
        (["method", "my", "--kind", "conjugate_simulator", "--private"], "--private has a skeleton for bnn_regression"),
        (["kind", "My-Kind"], "give lower-case letters"),
        (["kind", "bnn_regression"], "a kind of model 'bnn_regression' already (models.bnn_regression)"),
        (["dataset", "wine"], "a data set 'wine' already (datasets/wine.py)"),
        (["dataset", "mine", "nowhere.csv"], "no file nowhere.csv"),
        (["dataset", "mine", "--target", "y"], "name its file"),
        (["experiment", "My-Experiment"], "give lower-case letters"),
        (["experiment", "common_network"], "already (common_tasks/experiments/common_network.yaml)"),
        (["experimnt", "mine"], "Did you mean 'experiment'?"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(given, words, tmp_path, capsys):
    assert cli.main(["new", *given], tmp_path) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_is_not_written_over(tmp_path, capsys):
    given = ["method", "mine", "--kind", "bnn_regression", "--family", "baselines"]
    assert cli.main(["new", *given], tmp_path) == 0
    assert cli.main(["new", *given], tmp_path) == 2
    assert "methods/baselines/mine.py exists" in capsys.readouterr().err


# --------------------------------------------------------------------------------------------------- a data set


def test_a_data_set_is_described_from_its_file(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text('"a";"b";"y"\n1;2;0\n3;4;1\n')
    root = tmp_path / "root"
    assert cli.main(["new", "dataset", "mine", str(table), "--target", "b"], root) == 0
    made = {}
    exec((root / "datasets/mine.py").read_text(), made)
    found = made["DATASET"]
    assert (found.n_rows, found.columns, found.target, found.task) == (2, ("a", "y"), "b", "regression")
    rows = made["parse"](table)
    assert (rows.x.tolist(), rows.y.tolist()) == ([[1, 0], [3, 1]], [2, 4])
    (path,) = fetch.fetch(_placed(found, table, tmp_path), tmp_path / "mirror", tmp_path / "raw", offline=True)
    assert path.read_bytes() == table.read_bytes()
    assert cli.main(["new", "dataset", "classes", str(table), "--task", "classification"], root) == 0
    exec((root / "datasets/classes.py").read_text(), made)
    assert made["DATASET"].labels == ("0", "1")


def test_a_data_set_with_text_and_without_a_header_line(tmp_path):
    """Levels are stated, never read off the rows; their names in the program are texts."""
    table, root = tmp_path / "rows.csv", tmp_path / "root"
    table.write_text("M;1,5;yes\n;2,5;no\n{x};3,25;no\n")
    (tmp_path / "levels.yaml").write_text("sex: [F, M, '{x}']\n'y': ['yes', 'no']\n")
    given = ["--columns", "sex,a,y", "--levels", str(tmp_path / "levels.yaml"), "--task", "classification"]
    assert cli.main(["new", "dataset", "mine", str(table), *given], root) == 0
    made = {}
    exec((root / "datasets/mine.py").read_text(), made)
    found = made["DATASET"]
    assert found.columns == ("sex=M", "sex={x}", "sex=(other)", "sex=(missing)", "a")
    assert (found.labels, found.x_bounds) == (("yes", "no"), (*[(0.0, 1.0)] * 4, None))
    rows, _ = fetch.build(found, (table,))
    assert rows.x.tolist() == [[1, 0, 0, 0, 1.5], [0, 0, 0, 1, 2.5], [0, 1, 0, 0, 3.25]]
    assert rows.y.tolist() == [0, 1, 1]


def _placed(dataset, table, folder):
    """The data set, with its file where a mirror has it."""
    place = folder / "mirror" / dataset.name / dataset.raw[0].name
    place.parent.mkdir(parents=True)
    place.write_bytes(table.read_bytes())
    return dataset


def test_a_data_set_without_file_or_address_says_where_it_is_looked_for(tmp_path):
    assert cli.main(["new", "dataset", "mine"], tmp_path) == 0
    made = {}
    exec((tmp_path / "datasets/mine.py").read_text(), made)
    with pytest.raises(DataError, match=r"MIRROR/mine/mine\.csv"):
        fetch.fetch(made["DATASET"], None, tmp_path / "raw")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,x\n2,z\n", "the classes of the target are not 0, 1, ...; state them with --levels FILE, or code"),
        ("a,a\n1,2\n", "columns 1 and 2 have the same name; rename one"),
        ("b\n1\n0\n", "there is no input"),
        ("a,b\nred,0\n", "column 'a': it is text; list its levels, which have to be public"),
        ("a,b\n1,0\nnan,1\n", "column 'a': the number is missing in 1 rows, first row 2"),
        ("a,b\n1,2\n2,3\n", "the classes of the target are not 0, 1, ...; state them"),
        ("a,c\n1,2\n", "rows.csv: it has no column 'b'; its first line does not name it; if that line is a row, give"),
        ("a,$b,b\n1,2,0\n2,3,1\n", "rename the column of rows.csv, '$b'"),
        ("a,b,b\x1b[31m\n1,0,3\n2,1,4\n", r"rename the column of rows.csv, 'b\x1b[31m'"),
        (b"a,b\n1,\x81\n", "rows.csv is not in utf-8; state its encoding with --encoding"),
        ("1,0\n2,1\n", "rows.csv: it has no header line"),
        ("a,b\n1,0\n", "the target is constant"),
        ("a,b\n1,0\n2,Süd\n", "column 'b': 1 values are no numbers, as others are, first row 2"),
    ],
)
def test_a_table_that_cannot_be_taken_is_refused(text, words, tmp_path, capsys):
    table = tmp_path / "rows.csv"
    table.write_bytes(text if isinstance(text, bytes) else text.encode())
    given = ["dataset", "mine", str(table), "--target", "b", "--task", "classification"]
    assert cli.main(["new", *given], tmp_path / "root") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not (tmp_path / "root").exists()


def test_an_empty_table_is_refused_without_a_target(tmp_path, capsys):
    (tmp_path / "rows.csv").touch()
    assert cli.main(["new", "dataset", "mine", str(tmp_path / "rows.csv")], tmp_path) == 2
    assert "rows.csv is empty, or its first line cannot be read; give a CSV file" in capsys.readouterr().err


#: what a name would do if it were run, in the folder of the process
TOUCH = "str(__import__('os').system('touch ran'))"


def scanned(folder, name):
    """The name of the raw file of the one data set below ``folder``, found by a process of its own that runs there."""
    code = f"import datasets; print(datasets.names() and datasets.get({name!r}).raw[0].name)"
    given = environment() | {"PYTHONPATH": str(ROOT), datasets.OUTSIDE: str(folder / f"datasets/{name}.py")}
    return subprocess.run([sys.executable, "-c", code], cwd=folder, env=given, capture_output=True, text=True)


@pytest.mark.parametrize("file", [f"x'+{TOUCH}+'.csv", f"{{{TOUCH}}}.csv", "#.csv", "it's.csv"])
def test_the_name_of_a_file_is_not_run(file, tmp_path):
    (tmp_path / file).write_text("a,b's\n1,2\n3,4\n")
    assert cli.main(["new", "dataset", "mine", str(tmp_path / file)], tmp_path) == 0
    done = scanned(tmp_path, "mine")
    assert (done.returncode, done.stdout.rstrip("\n")) == (0, file), done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "file",
    [f'x"+{TOUCH}+".csv', f'"""\n{TOUCH}\n"""', f"x\n{TOUCH}\n.csv", "x\\.csv", "x\x1b[2J.csv", "x\udce9.csv"],
)
def test_the_name_of_a_file_that_could_end_a_text_is_refused(file, tmp_path, capsys):
    (tmp_path / file).write_text("a,b\n1,2\n")
    assert cli.main(["new", "dataset", "mine", str(tmp_path / file)], tmp_path) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "rename the file" in line
    assert line.isprintable()
    assert not (tmp_path / "datasets").exists()


def test_a_name_that_were_run_would_show(tmp_path):
    """So that the tests above can fail."""
    text = new.render("dataset.py", "mine", **new.made_up("mine") | {"file": "FILE"})
    text = text.replace('"FILE"', TOUCH.replace("'", '"'))
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets/mine.py").write_text(text)
    assert scanned(tmp_path, "mine").returncode == 0
    assert (tmp_path / "ran").exists()


# ------------------------------------------------------------------------------------------------------ a paper


@pytest.mark.parametrize("key", ["Park2017", "2017park", "park-2017", "../park", ""])
def test_a_key_that_is_no_module_is_refused(tmp_path, key, capsys):
    assert cli.main(["new", "paper", key], tmp_path) == 2
    assert "a key has small letters" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_paper_that_is_there_is_not_overwritten(tmp_path, capsys):
    assert cli.main(["new", "paper", "later2030x"], tmp_path) == 0
    assert cli.main(["new", "paper", "later2030x"], tmp_path) == 2
    assert "is there" in capsys.readouterr().err


@pytest.mark.nightly
def test_a_new_paper_runs_as_it_is_and_goes_with_its_folder(tmp_path):
    project = copy_project(tmp_path)

    def told(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=project, env=environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    known = (
        "from workflow.papers import papers; from reports.published import load, SOURCE_TITLES; "
        "print([p.key for p in papers()], len(load()), sorted(SOURCE_TITLES))"
    )

    def files():
        """When each file was written, but for what Python compiles."""
        every = (p for p in project.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        return {p.relative_to(project).as_posix(): p.stat().st_mtime_ns for p in every}

    before, untouched = told("-c", known), files()
    assert "papers/later2030x/" in told("-m", "workflow.cli", "new", "paper", "later2030x")
    written = {p for p, when in files().items() if untouched.get(p) != when}
    assert written
    assert all(p.startswith(("papers/later2030x/", "tests/papers/later2030x/")) for p in written)
    assert told("-c", known).count("later2030x") == 2
    planned = snakemake(project, "--cores", "1", "-n", "later2030x")
    assert planned.returncode == 0, planned.stderr[-3000:]
    assert re.search(r"^later2030x +1$", planned.stdout, re.MULTILINE)
    told("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/papers/later2030x")
    shutil.rmtree(project / "papers/later2030x")
    assert told("-c", known) == before


# ------------------------------------------------------------------------------------------------- an experiment


def test_an_experiment_says_above_each_key_what_it_is(tmp_path):
    assert cli.main(["new", "experiment", "mine"], tmp_path) == 0
    lines = (tmp_path / "experiments/mine.yaml").read_text().splitlines()
    for before, line in itertools.pairwise(lines):
        assert not re.match(r"\w+:", line) or before.startswith("# "), line


@pytest.mark.nightly
def test_a_new_experiment_runs_as_it_is(tmp_path):
    """By the command that it prints, on made-up rows of Wine's form, one split. About 12 CPU seconds."""
    project = copy_project(tmp_path)
    assert cli.main(["new", "experiment", "mine"], project) == 0
    file = "experiments/mine.yaml"
    methods = {("exact_posterior", ""), *(("adassp", f"epsilon={e}") for e in ("0.1", "1", "8"))}
    assert {(c.method, c.setting) for c in cells(project / file, "full")} == methods
    place_data(project, "wine")
    command = re.search(r"\./bench (.*)", (project / file).read_text())[1].split()
    done = snakemake(project, *command, "scale=tiny")
    assert done.returncode == 0, done.stderr[-3000:]
    with open(project / "results/scores/mine/wine.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    assert {(r["method"], r["setting"]) for r in rows} == methods
    assert {r["status"] for r in rows} == {"ok"}
