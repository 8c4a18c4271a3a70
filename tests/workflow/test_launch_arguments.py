"""A wrong word of ./bench gets one line with the nearest right one."""

import subprocess
import sys

import pytest

from workflow import launch
from workflow.launch import Wrong


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fulll"], "did you mean 'full'?"),
        (["vinaroz2023dpse"], "did you mean 'vinaroz2023dpsep'?"),
        (["common_network"], "./bench --cores 2 common_tasks"),
        (["bnn_classification"], "is a kind of model"),
        (["dp_sep"], "./bench try dp_sep"),
        (["quick"], "--config scale=quick"),
        (["fetch"], "makes many files"),
        (["kl_bound_steps.csv"], "./bench --cores 2 results/extra/kl_bound_steps.csv"),
        (["geumlek2017rdp_rdp_figure1"], "./bench --cores 2 results/extra/rdp_figure1.csv"),
        (["dpsep_uci-wine-literature-nothing-12345678"], "./bench doubt"),
        (["tests"], "./bench test"),
        (["tests/workflow"], "./bench test tests/workflow"),
        (["datasets"], "'datasets' is no command and no target"),
        (["--cores", "two"], "number of cores (--cores, -c): must be integer or 'all'"),
        (["--cores", "0"], "--cores 0; give a number above 0"),
        (["-c", "-1", "audit"], "--cores -1; give a number above 0"),
        (["--jobs", "0"], "--jobs 0; give a number above 0"),
        (["--config", "scale"], "--config scale: give scale=VALUE"),
        (["--config", "scale=foo"], "scale is one of full, quick, tiny"),
        (["--config", "scle=full"], "did you mean 'scale'?"),
        (["--config", "reuse=yes"], "reuse is one of none, reference"),
        (["--config", "mirror=/no/such"], "is no folder"),
        (["--cores", "2", "jalko2017dpv"], "did you mean 'jalko2017dpvi'?"),
        (["--cores", "2", "full"], "stands first: ./bench full"),
    ],
)
def test_a_wrong_word_names_the_right_one(words, said):
    with pytest.raises(Wrong) as e:
        launch.checked(words)
    assert said in str(e.value)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    "words",
    [
        ["--cores", "2", "-n"],
        ["--cores", "2", "vinaroz2023dpsep", "--config", "scale=tiny", "reuse=reference"],
        ["--cores", "1", "--forcerun", "fetch"],
        ["--cores", "1", "results/fits/dpsep_uci-wine-authors-ridge-0ec38f19.json"],
        ["bnn_regression"],
        ["wang2018"],
        ["audit"],
        ["--cores", "1", "downloads"],
        [],
    ],
)
def test_what_can_be_meant_passes(words):
    launch.checked(words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--cores", "2", "--config", "a=b", "audit"], ["audit", "--cores", "2", "--config", "a=b"]),
        (["-C", "a=b", "audit", "x", "-n"], ["audit", "x", "--config", "a=b", "-n"]),
        (["audit", "--config", "a=b", "c=d", "-n"], ["audit", "--config", "a=b", "c=d", "-n"]),
        (["--config", "a=b", "--", "audit"], ["--config", "a=b", "--", "audit"]),
        (["--config", "scale", "audit"], ["audit", "--config", "scale"]),
        ([], []),
    ],
)
def test_targets_after_the_configuration_are_put_first(words, expected):
    assert launch.targets_first(words) == expected


@pytest.mark.parametrize(
    ("variable", "value"),
    [("DPBAYES_CORES", "x"), ("DPBAYES_CORES", "0"), ("DPBAYES_MIRROR", "/no/such/folder")],
)
def test_a_variable_that_says_nothing_usable_is_named(variable, value):
    with pytest.raises(Wrong, match=variable):
        launch.check_environment({variable: value})


def test_usable_variables_pass(tmp_path):
    launch.check_environment({"DPBAYES_CORES": "3", "DPBAYES_MIRROR": str(tmp_path)})
    launch.check_environment({"DPBAYES_CORES": "all"})
    launch.check_environment({})


def test_every_paper_is_a_target():
    from workflow import papers

    assert {p.key for p in papers.papers()} | {"wang2018", "jalko2017dpvi", "raisa2021thesis", "all", "audit"} <= set(
        launch.targets()
    )


def test_a_rule_with_wildcards_in_its_outputs_makes_many_files():
    many = {name for name, wildcards in launch.rules().items() if wildcards}
    one = {name for name, wildcards in launch.rules().items() if not wildcards}
    assert many >= {"fit", "cell", "score", "fetch", "table", "part"}
    assert one == {"report", "downloads", "manifest", "audit", "privacy_audit", "lower_bounds"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fulll"], "'fulll' is no command and no target; did you mean 'full'?"),
        (["tests"], "'tests' holds tests: ./bench test"),
        (["full", "--cores=0"], "--cores 0; give a number above 0"),
        (["--config", "scale=tiny", "vinaroz2023dpse"],
         "'vinaroz2023dpse' is no command and no target; did you mean 'vinaroz2023dpsep'?"),
    ],
)  # fmt: skip
def test_the_launcher_says_it_in_one_line_and_starts_nothing(words, said):
    made = subprocess.run(
        [sys.executable, "-m", "workflow.launch", *words], capture_output=True, text=True, cwd=launch.ROOT
    )
    assert made.returncode == 2
    assert made.stdout == ""
    assert made.stderr == f"bench: {said}\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["audit"], ["--cores", "all", "audit"]),
        (["--cores=2", "audit"], ["--cores=2", "audit"]),
        (["--profile", "profiles/slurm"], ["--profile", "profiles/slurm"]),
        ([], []),
    ],
)
def test_cores_are_given_where_nothing_says_how_many(monkeypatch, words, expected):
    monkeypatch.delenv("DPBAYES_CORES", raising=False)
    assert launch.with_cores(words) == expected


def test_an_experiment_that_cannot_be_read_is_one_line(tmp_path):
    """A budget that is none. About 4 CPU seconds."""
    path = tmp_path / "mine.yaml"
    text = (launch.ROOT / "common_tasks/experiments/common_density.yaml").read_text(encoding="utf-8")
    text = text.replace("experiment: common_density", "experiment: mine").replace(
        "epsilons: [0.1, 1, 8]", "epsilons: [-1]"
    )
    path.write_text(text, encoding="utf-8")
    config = [f"experiments={path}", f"results={tmp_path / 'results'}", "scale=tiny"]
    command = [sys.executable, "-m", "snakemake", "-n", "--nolock", "--cores", "1", "--config", *config]
    made = subprocess.run(command, capture_output=True, text=True, cwd=launch.ROOT)
    assert made.returncode
    said = made.stderr.strip().splitlines()
    assert said[-1].startswith(f"bench: {path}: ")
    assert "epsilons.0: -1 is less than" in said[-1]
    assert not [line for line in said if line.lstrip().startswith(("File", "Traceback"))]
