"""Experiments and papers' files with one thing wrong: one line that names file and place.

Each value of an experiment that has all keys is replaced by values of other kinds, and each is left out; each field of
a paper's two files likewise. Whatever is taken can be built. About 15 CPU seconds.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from datasets import yaml_file
from tests.papers import conftest as of_a_folder
from workflow import experiments, published
from workflow.experiments import ConfigError, cells
from workflow.papers import papers

DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
GOOD = """
experiment: e
title: a test
sources: [vinaroz2023dpsep]
tables: ["3"]
model: {kind: bnn_regression, hidden: {by_dataset: {default: 3, wine: 4}}}
datasets: [wine, power]
protocols: {literature: {splits: {by_dataset: {wine: 5, default: 2}}, title: of the literature}}
intervals: true
diagnostics: true
timeout_s: 60
request_timeout_s: 60
mem_mb: 4000
chunks: {vi: 2}
include_unlisted_methods: {protocols: [literature], splits: 1, budget: {delta: 1.0e-5, mode: enforce},
  budget_grid: {epsilons: [1, 2], quick: {epsilons: [1]}}}
arms:
  - {method: vi, label: short, note: none, protocols: [literature], datasets: [wine], splits: 2, quick: true,
     settings: {epochs: 3, learning_rate: 0.01}}
  - {method: dp_vi_vinaroz, protocols: [literature], settings: {epochs: {by_dataset: {wine: 3, default: 2}}},
     budget: {epsilon: 1.0, delta: 1.0e-5, mode: enforce, claimed_epsilon: 1.0}}
ablations:
  - {method: ridge, label: heavy, datasets: [wine], protocols: [literature], settings: {count: 3}}
scales: {full: {}, quick: {splits: 2, unlisted: false}, tiny: {datasets: [wine], splits: 1, at_most: {epochs: 2}}}
answers:
  - {source: vinaroz2023dpsep, tables: ["3"], method: vi, setting: "",
     readings: {printed: {method: vi, label: short, protocol: literature}},
     also: [{reading: printed, method: dp_vi_vinaroz, protocol: literature}]}
"""
WRONG = [None, True, "x", "0,668", -1, 0, 0.5, 10**9, float("inf"), [], [[1]], {}, {"by_dataset": 3}, "y" * 400]


def places(node, path=()) -> Iterator[tuple]:
    """Every place of nested mappings and lists."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(place: tuple, value, drop=False) -> dict:
    made = yaml.load(GOOD, Loader=yaml_file.LOADER)
    inner = made
    for key in place[:-1]:
        inner = inner[key]
    if drop:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return made


def planned(path: Path) -> list:
    """What a run does before its first fit."""
    experiments.load.cache_clear()
    found = [c for scale in experiments.SCALES for c in cells(path, scale)]
    for cell in found:
        cell.build_model()
        cell.build_settings()
        cell.build_budget()
        assert type(cell.splits) is int
        assert 1 <= cell.splits <= 10_000
        assert len(cell.id) <= experiments.LONGEST_ID
    return found


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.nightly)])
def test_every_value_of_an_experiment_by_another(tmp_path, step):
    """By day a fifth of the values of each place, others at the next place."""
    path = tmp_path / "e.yaml"
    path.write_text(GOOD)
    assert len(planned(path)) > 50
    refused = 0
    for k, place in enumerate(places(yaml.safe_load(GOOD))):
        for value in [*WRONG, "LEFT OUT"][k % step :: step]:
            path.write_text(yaml.dump(changed(place, value, value == "LEFT OUT"), Dumper=DUMPER))
            try:
                planned(path)
            except ConfigError as e:
                refused += 1
                said = str(e)
                assert said.startswith(str(path)), (place, value, said)
                assert "\n" not in said, (place, value, said)
                assert len(said) < 3000, (place, value, said)
            except Exception as e:
                raise AssertionError(f"{place} = {value!r}") from e
    assert refused > 1000 / step


ARM = "{{method: predict_mean, label: a{}, protocols: [literature]}}"


def bomb(first: str, join: str) -> str:
    """Nine aliases inside one another: ten to the ninth values."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{k}: &a{k} {join.format(', '.join([f'*a{k - 1}'] * 10))}" for k in range(1, 10)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            GOOD.replace("hidden: {by_dataset", "x: *a9, hidden: {by_dataset").replace(
                "model:", bomb("[1]", "[{}]") + "\nmodel:"
            ),
            "aliases",
        ),
        (GOOD + "more: &a [*a]\n", "aliases"),
        (GOOD + "more: " + "[" * 49_000 + "]" * 49_000, "in one another"),
        (
            GOOD.replace("arms:", "arms:\n" + "".join(f"  - {ARM.format(k)}\n" for k in range(20_000))),
            "more than 100 kB",
        ),
        (GOOD.replace("arms:", "arms:\n  - &a " + ARM.format(0) + "\n" + "  - *a\n" * 10_000), "aliases"),
        (GOOD.replace("{epsilons: [1, 2]", f"{{epsilons: [{', '.join(map(str, range(1, 15_000)))}]"), "at most 10000"),
        (GOOD + "title: another\n", "the key 'title' is there in line 3 too"),
        (GOOD.replace("{epochs: 3,", "{epochs: 3, epochs: 4,"), "the key 'epochs'"),
        (GOOD + "1: x\n", "the key '1' is no word"),
        (GOOD.replace("timeout_s: 60", "timeout_s: .nan"), "is no number"),
        (GOOD.replace("timeout_s: 60", "timeout_s: !!float nan"), "is no number"),
        (GOOD.replace("splits: 2,", "splits: 2.0,"), "arms.0.splits: 2.0 is not of type 'integer'"),
        (GOOD.replace("epochs: 3,", "epochs: '3',"), "epochs is '3'; it takes int"),
        (GOOD.replace("delta: 1.0e-5, mode", "delta: 1e-5, mode"), "write 1.0e-5"),
        (GOOD.replace("timeout_s: 60", "timeout_s: 0,5"), "decimal point"),
        (GOOD.replace("hidden: {by_dataset: {default: 3, wine: 4}}", "hiden: 3"), "hiden"),
        (GOOD.replace("default: 3, wine: 4", "default: 0"), "hidden = 0"),
        (GOOD.replace("label: heavy", f"label: {'y' * 400}"), "shorter label"),
        (GOOD + "tuned: pyproject.toml\n", "pyproject.toml is not what"),
        (
            GOOD.replace(
                "readings: {printed: {method: vi, label: short", "readings: {printed: {method: vi, label: shrt"
            ),
            "answers[0]",
        ),
        ("a: b\x00", "not readable as YAML"),
    ],
    ids=lambda v: v if len(v) < 60 else "",
)
def test_it_is_refused_before_it_is_expanded(tmp_path, text, words):
    path = tmp_path / "e.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        planned(path)
    assert str(error.value).startswith(str(path))
    assert words in str(error.value)


def test_what_is_no_utf_8_is_refused(tmp_path):
    (tmp_path / "e.yaml").write_bytes(GOOD.replace("a test", "Süd").encode("latin-1"))
    with pytest.raises(ConfigError, match="not UTF-8"):
        planned(tmp_path / "e.yaml")


# ------------------------------------------------------------------------------------------- the files of a paper


@pytest.fixture
def home(tmp_path) -> Path:
    """A copy of the two files of a paper."""
    paper = next(p for p in papers() if p.key == "vinaroz2023dpsep")
    for name in (published.NUMBERS, published.ANNOTATIONS):
        shutil.copy(paper.home / name, tmp_path / name)
    return tmp_path


FORMS = {
    "mean": ["", "0,668", "x", "nan", "inf", "1e", ".5", "--1", " 1"],
    "std": ["0,668", "x", "-0.1", "nan", "e-3"],
    "n_runs": ["0", "-1", "1.5", "x", "10,5"],
    "digits": ["", "-1", "1.5", "x"],
    "n_published": ["", "0", "-1", "2.5", "x"],
    "std_kind": ["", "SD", "variance"],
    "same_as": ["3", "vinaroz2023dpsep:99", "a:b:c"],
}


@pytest.mark.parametrize(("column", "value"), [(c, v) for c, values in FORMS.items() for v in values])
def test_a_wrong_value_of_a_paper_names_file_row_and_key(home, column, value):
    name = published.NUMBERS if column in published.VALUES else published.ANNOTATIONS
    head, *lines = (home / name).read_text().splitlines()
    columns, fields = head.split(","), lines[6].split(",")
    fields[columns.index(column)] = f'"{value}"' if "," in value else value
    lines[6] = ",".join(fields)
    (home / name).write_text("\n".join([head, *lines]) + "\n")
    with pytest.raises(published.PublishedError) as error:
        published.check(home, {})
    said = str(error.value)
    assert name in said
    assert column in said
    assert ",".join(fields[:6]) in said
    assert "row 7" in said
    if value == "":
        assert f"{column} is empty" in said
    assert ("decimal point for the comma" in said) == (value == "0,668")


@pytest.mark.parametrize("name", [published.NUMBERS, published.ANNOTATIONS])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [*lines, lines[1]], "has the key of row 1"),
        (lambda lines: [*lines[:3], *lines[4:]], "differ in their keys: row 3"),
        (lambda lines: [*lines[:3], lines[3] + ",x", *lines[4:]], "row 3"),
        (lambda lines: [*lines[:3], lines[3].rpartition(",")[0], *lines[4:]], "row 3"),
        (lambda lines: [*lines[:3], '"' + lines[3], *lines[4:]], "CSV"),
        (lambda lines: [lines[0].replace("metric", "metrics"), *lines[1:]], "'metric' 0 times"),
        (lambda lines: [lines[0].replace("dataset", "method"), *lines[1:]], "times, not once"),
        (lambda lines: [";".join(line.split(",")) for line in lines], "'source' 0 times"),
        (lambda lines: [], "'source' 0 times"),
    ],
    ids=["doubled", "lost", "longer", "shorter", "quote", "renamed", "twice", "semicolons", "empty"],
)
def test_a_file_of_a_paper_that_is_out_of_shape_is_named(home, name, change, words):
    lines = (home / name).read_text().splitlines()
    (home / name).write_text("\n".join(change(lines)) + "\n")
    with pytest.raises(published.PublishedError, match=words) as error:
        published.check(home, {})
    assert str(home) in str(error.value)
    assert name in str(error.value)


def test_latin_1_is_refused_and_a_byte_order_mark_and_crlf_are_read(home):
    path = home / published.NUMBERS
    text = path.read_text()
    found = published.read(home)
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert published.read(home) == found
    path.write_bytes(text.replace("naval", "süd", 1).encode("latin-1"))
    with pytest.raises(published.PublishedError, match=r"published\.csv: not readable"):
        published.read(home)


@pytest.mark.parametrize("paper", [p for p in papers() if p.experiments], ids=lambda p: p.key)
def test_an_answer_that_is_taken_out_is_missed_when_the_run_is_planned(paper, monkeypatch):
    """Before the first fit, at scale full. Whole papers pass (tests/papers/conftest.py)."""
    configs = {path: experiments.load(path) for path in paper.experiments.values()}
    if not (paper.home / published.NUMBERS).is_file():
        return
    path, config = next((p, c) for p, c in configs.items() if c["answers"])
    cut = {**config, "answers": config["answers"][1:]}
    with pytest.raises(published.PublishedError, match=r"answers: 0 entries for row \d+"):
        published.check(paper.home, {path: cut})
    published.check(paper.home, {path: cut}, "tiny")
    monkeypatch.setattr(experiments, "load", lambda _: cut)
    with pytest.raises(ConfigError, match=r"answers: 0 entries"):
        experiments.check_published([paper], "full")


def test_the_tests_of_a_paper_make_the_same_check(home, monkeypatch):
    monkeypatch.setattr("workflow.papers.papers", lambda: (SimpleNamespace(key="x", home=home, experiments={}),))
    of_a_folder.check.__wrapped__("x")
    path = home / published.ANNOTATIONS
    path.write_text(path.read_text().replace(",se,", ",,", 1))
    with pytest.raises(ConfigError, match=r"annotations\.csv: row 1 \(.*\): std_kind is empty; give sd, se"):
        of_a_folder.check.__wrapped__("x")
