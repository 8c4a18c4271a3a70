"""Every command of the rules quotes the names that it is given."""

import re
from pathlib import Path

import pytest
from project import copy_project, drop_toy, only_experiment, place_data, snakemake

import datasets

ROOT = Path(__file__).resolve().parents[2]
#: in a shell command Snakemake puts these as they are: words that the rules quote themselves.
#: made of quoted words, or of words of ours alone.
QUOTED_BEFORE = {"NOISE", "ENVIRONMENT", "REUSE", "MIRROR_OPTION", "ANEW"}

EXPERIMENT = """
experiment: toy_experiment
title: toy
sources: []
model: {kind: bnn_regression, hidden: 3}
datasets: [wine]
protocols: {literature: {splits: 1}}
arms:
  - {method: toy, protocols: [literature]}
scales: {full: {}, quick: {}, tiny: {}}
answers: []
"""


def test_every_command_of_the_rules_quotes_what_it_is_given():
    seen = 0
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for command in re.findall(r"^    +shell:\n((?: +\"[^\n]*\n)+)", path.read_text(), re.M):
            for name in re.findall(r"(?<!\{)\{([^{}]+)\}(?!\})", command):
                seen += 1
                assert name.endswith(":q") or name in QUOTED_BEFORE, f"{path.name}: {{{name}}} stands unquoted"
    assert seen > 100


def test_a_data_set_with_another_name_is_refused():
    table = datasets.get("wine")
    with pytest.raises(ValueError, match="small letters"):
        datasets.DataSet(**{f: getattr(table, f) for f in table.__dataclass_fields__} | {"name": "wine;cmd"})


@pytest.mark.nightly
def test_a_run_in_a_folder_with_spaces_and_no_command_from_a_name(tmp_path):
    project = copy_project(tmp_path / "my project")
    drop_toy(project)
    only_experiment(project, EXPERIMENT)
    place_data(project, "wine")
    (project / "results").rename(project / "my results")
    mirror = {"DPBAYES_MIRROR": str(tmp_path / "it's a mirror; touch owned")}
    Path(mirror["DPBAYES_MIRROR"]).mkdir()
    target = "my results/scores/toy_experiment/wine.csv"
    done = snakemake(project, "--cores", "1", target, "--config", "results=my results", **mirror)
    assert done.returncode == 0, done.stderr
    assert "toy" in (project / target).read_text()
    # A table that is not there: the rule that gets the mirror runs, too.
    away = {v: "http://127.0.0.1:9" for v in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    year = "my results/data/year.npz"
    done = snakemake(project, "--cores", "1", year, "--config", "results=my results", **mirror, **away)
    assert done.returncode == 0, done.stderr
    assert datasets.load(project / year).status == "no_data"
    bad = snakemake(project, "--cores", "1", "--config", "results=a;touch owned")
    assert bad.returncode != 0
    assert "config: results is 'a;touch owned'" in bad.stderr
    assert not list(tmp_path.rglob("owned"))
