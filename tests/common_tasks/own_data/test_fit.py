"""``./bench fit``: what it writes, what it never shows, and its errors. One run is shared: about 3 CPU seconds."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

import dpbayes_bench as dpb
from common_tasks.own_data import fit
from datasets import reader
from dpbayes_bench.private_fit import noise_words
from privacy.release import GUARANTEE, POSTERIOR
from workflow import cli

SSP = "sufficient_statistics_perturbation"


def write(folder: Path, **changed) -> tuple[Path, list[str]]:
    """A private table with a column of text and a missing level, and the words that fit it."""
    rng = np.random.default_rng(1)
    age, work = rng.uniform(20.0, 70.0, 400), rng.choice(["Private", "Never-worked", "?"], 400)
    frame = pd.DataFrame({"age": age, "work": work, "member": rng.choice(["yes", "no"], 400)})
    frame["tenure"] = rng.integers(0, 40, 400)
    frame["gain"] = 3.0 * age + 20.0 * (work == "Private") + rng.normal(0, 5, 400)
    path = folder / "secret.csv"
    frame.assign(**changed).to_csv(path, index=False)
    (folder / "levels.yaml").write_text("work: [Never-worked, Private]\n")
    (folder / "bounds.yaml").write_text("age: [0, 100]\ntenure: [0, 50]\ngain: [0, 400]\n")
    words = [str(path), "--task", "regression", "--target", "gain", "--epsilon", "1", "--delta", "1e-6"]
    words += ["--levels", str(folder / "levels.yaml"), "--bounds", str(folder / "bounds.yaml")]
    return path, words


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A folder with a fit, and the table that was fitted."""
    folder = tmp_path_factory.mktemp("fit")
    path, words = write(folder)
    out = folder / "out"
    assert cli.main(["fit", *words, "--method", SSP, "--draws", "500", "--out", str(out)]) == 0
    return out, pd.read_csv(path)


def test_a_folder_appears_when_it_is_complete(ran):
    out, _ = ran
    found = {p.name for p in out.iterdir()} - {"draws.nc"}
    assert found == {POSTERIOR, GUARANTEE, "draws.csv", "fit.md", "index.html"}
    assert [p.name for p in out.parent.iterdir() if p.name.endswith(".tmp")] == []


def test_draws_are_in_original_units(ran):
    out, _ = ran
    draws = pd.read_csv(out / "draws.csv")
    levels = ["coef[work=Private]", "coef[work=(other)]", "coef[work=(missing)]"]
    assert list(draws) == ["coef[age]", *levels, "coef[member]", "coef[tenure]", "intercept", "noise_variance"]
    assert len(draws) == 500
    assert draws["coef[age]"].mean() == pytest.approx(dpb.PrivateFit.load(out).point()["coef"][0], rel=0.2)


def test_the_page_does_not_say_what_one_row_decides(ran):
    """With one fraction a column is no longer of whole numbers, and with one letter the encoding is another."""
    words = (ran[0] / "fit.md").read_text().replace("\\", "")
    assert "tenure | number; range [0, 50]" in " ".join(words.split())
    assert not [w for w in ("whole", "UTF", "decimal", "commas") if w in words]


def test_no_value_of_a_row_is_written(ran):
    out, rows = ran
    secret = [repr(v) for v in np.concatenate([rows["age"], rows["gain"]])]
    secret += [f"{v:.10g}" for v in np.concatenate([rows["age"], rows["gain"]])]
    for path in out.iterdir():
        content = path.read_bytes()
        assert not [v for v in secret if v.encode() in content], path
        assert not any(v.tobytes() in content for v in np.concatenate([rows["age"], rows["gain"]])), path


def test_the_page_has_the_guarantee_and_its_limits(ran):
    page, told = (ran[0] / "fit.md").read_text(), json.loads((ran[0] / GUARANTEE).read_text())
    words = page.replace("\\", "")
    assert words.index("## The guarantee") < words.index("## Parameters")
    for said in (
        "Epsilon 1 at delta 1e-06, for one row more or less",
        noise_words(dpb.PrivateFit.load(ran[0]).privacy.ledger),
        "guarantee of one fit", "The number of rows, 400, is taken as public",
        "as stated in: bounds.yaml", "5 % to 95 %, not counting the privacy noise", "No score was computed",
        "4 levels, stated", "age | number; range [0, 100]", "true or false, coded as 1 and 0",
    ):  # fmt: skip
        assert said in " ".join(words.split()), said
    assert told["epsilon"] == pytest.approx(1, abs=1e-6)
    assert told["asked"]["bounds"]["x"] == [[0, 100], [0, 1], [0, 1], [0, 1], [0, 1], [0, 50]]
    assert "<table" in (ran[0] / "index.html").read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--method", "whitened_sp"], "did you mean whitened_ssp"),
        (["--method", SSP, "--epsilon", "0"], "epsilon = 0 is no budget"),
        (["--method", SSP, "--delta", "1"], "delta = 1 is no probability"),
        (["--method", SSP, "--bounds", "nowhere.yaml"], "no file nowhere.yaml"),
        (["--method", SSP, "--target", "wage"], "no column 'wage'"),
        (["--method", SSP, "--levels", "nowhere.yaml"], "no file nowhere.yaml"),
        (["--method", "dp_hmc"], "public n"),
        (["--method", "exact_posterior"], "no guarantee"),
    ],
)
def test_an_error_is_one_line_and_writes_nothing(more, said, tmp_path, capsys):
    _, words = write(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert cli.main(["fit", *words, *more, "--out", str(tmp_path / "out")]) != 0
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("./bench fit: ")
    assert said in last
    assert sorted(tmp_path.rglob("*")) == before


#: a header line, and a row that can be read.
HEAD, ROW = "age,work,gain", "731.25,Private,744.5"


@pytest.mark.parametrize(
    ("lines", "more"),
    [
        ([HEAD, ROW, "zxage,Private,744.5"], ()),
        ([HEAD, ROW, ",Private,744.5"], ()),
        ([HEAD, ROW, "731.25,Private,"], ()),
        ([HEAD, ROW, "731.25,Private,zxgain"], ()),
        ([HEAD, "731.25,Private,zxgain"], ()),
        ([HEAD, ROW, "731.25,744.5"], ()),
        ([HEAD, ROW, '731.25,"Private,744.5'], ()),
        ([HEAD, "17.03.1987,Private,744.5"], ()),
        ([HEAD, '"1,733",Private,744'], ()),
        (["age;work;gain", "731,25;Private;744.5"], ()),
        ([HEAD, ROW, "7312e999,Private,744.5"], ()),
        ([HEAD, ROW], ("--levels", "nothing.yaml")),
        ([ROW, ROW], ()),  # no header line
        (["zxage,Private,zxgain"] * 3, ()),
        (["zxage,Private,zxage"] * 3, ()),
        (["zxage,zxwork,gain", "zxage,Private,744.5"], ()),
        ([HEAD, "731.25,Private,zxyes", "731.25,Private,zxno"], ("--task", "classification")),
        ([HEAD, "731.25,Private,zxyes"], ("--task", "classification")),
        ([HEAD, "731.25,Private,0", "731.25,Private,1", "731.25,Private,733"], ("--task", "classification")),
        ([HEAD, "731.25,Private,0", "731.25,Private,zxyes"], ("--task", "classification")),
    ],
)
def test_a_refusal_shows_no_value_of_a_row(lines, more, tmp_path, capsys):
    _, words = write(tmp_path)
    (tmp_path / "secret.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "nothing.yaml").write_text("age: [0]\n")
    more = [str(tmp_path / w) if w.endswith(".yaml") else w for w in more]
    assert cli.main(["fit", *words, *more, "--method", SSP, "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr()
    shown = said.out + said.err
    assert "./bench fit: " in shown
    assert not [value for value in ("731", "744", "733", "1987", "zx", "Private") if value in shown], shown


def test_a_missing_range_is_named_and_may_be_estimated(tmp_path, capsys):
    _, words = write(tmp_path)
    (tmp_path / "bounds.yaml").write_text("age: [0, 100]\ntenure: [0, 50]\n")
    words += ["--method", SSP, "--out", str(tmp_path / "out")]
    assert cli.main(["fit", *words]) == 1
    assert "no range is stated for gain; give lines" in capsys.readouterr().err
    path = tmp_path / "secret.csv"
    layout, _ = reader.look(path, "gain", "regression", reader.Given(drop=("work",)))
    args = SimpleNamespace(
        task="regression", target="gain", bounds=tmp_path / "bounds.yaml", citation=None, estimate_ranges=True
    )  # fmt: skip
    bounds = fit.bounds_of(args, layout)
    assert bounds.y is None
    assert bounds.x == {"age": (0, 100), "tenure": (0, 50), "member": (0, 1)}


@pytest.mark.parametrize(("column", "said"), [("age", "the number is missing"), ("gain", "the target is missing")])
def test_a_missing_number_is_refused(column, said, tmp_path, capsys):
    changed = np.linspace(20, 60, 400)
    changed[7] = np.nan
    _, words = write(tmp_path, **{column: changed})
    assert cli.main(["fit", *words, "--method", SSP, "--out", str(tmp_path / "out")]) == 1
    assert f"row 8, column '{column}'" in (err := capsys.readouterr().err)
    assert said in err


def test_a_folder_that_holds_something_is_left_alone(tmp_path, capsys):
    _, words = write(tmp_path)
    assert cli.main(["fit", *words, "--method", SSP, "--out", str(tmp_path)]) == 1
    assert "is there already" in capsys.readouterr().err
    # before the fit, which would be lost
    assert cli.main(["fit", *words, "--method", SSP, "--out", str(Path(words[0]) / "new")]) == 1
    assert "name another folder with --out" in capsys.readouterr().err.splitlines()[-1]


def test_time_is_told_while_it_runs(monkeypatch, capsys):
    monkeypatch.setattr(fit, "EVERY", 0.01)
    with fit.progress(30.0):
        fit.time.sleep(0.05)
    assert "./bench fit: 0 s of about 30\n" in capsys.readouterr().err


ADULT = (
    "age,workclass,fnlwgt,education,education_num,marital,occupation,relationship,race,sex,capital_gain,capital_loss,"
)
ADULT += "hours,country,income"


@pytest.mark.nightly
@pytest.mark.skipif(not (Path(os.environ.get("DPBAYES_MIRROR", "")) / "adult/adult.data").is_file(), reason="no mirror")
def test_the_file_of_adult_as_it_is(tmp_path, capsys):
    """30,162 rows and more with text, missing values and no header line; a few levels are stated, the rest is other."""
    levels = {name: ["?"] for name in ADULT.split(",")}
    for name in ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours"):
        del levels[name]
    levels |= {"sex": ["Female", "Male"], "income": ["<=50K", ">50K"], "marital": ["Married-civ-spouse", "Divorced"]}
    levels |= {n: ["Private", "Bachelors", "Sales", "Husband", "White", "United-States"] for n in levels if n not in (
        "sex", "income", "marital")}  # fmt: skip
    (tmp_path / "levels.yaml").write_text(yaml.safe_dump(levels))
    bounds = {"age": [0, 120], "fnlwgt": [0, 2e6], "education_num": [1, 16], "capital_gain": [0, 1e5]}
    (tmp_path / "bounds.yaml").write_text(yaml.safe_dump(bounds | {"capital_loss": [0, 5000], "hours": [0, 100]}))
    words = [
        str(Path(os.environ["DPBAYES_MIRROR"]) / "adult/adult.data"),
        "--columns",
        ADULT,
        "--task",
        "classification",
    ]
    words += ["--target", "income", "--method", "dp_vi_vinaroz_corrected", "--epsilon", "1", "--draws", "200"]
    words += ["--levels", str(tmp_path / "levels.yaml"), "--bounds", str(tmp_path / "bounds.yaml")]
    assert cli.main(["fit", *words, "--out", str(tmp_path / "out")]) == 0
    assert "32561 rows" in capsys.readouterr().err
    draws = pd.read_csv(tmp_path / "out/draws.csv")
    assert draws["coef[education_num]"].mean() > 0
    assert draws["coef[marital=Divorced]"].mean() < 0
