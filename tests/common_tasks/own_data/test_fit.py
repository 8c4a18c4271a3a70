"""``./bench fit``: what it writes, what it never shows, and its errors. One run is shared: about 3 CPU seconds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import dpbayes_bench as dpb
from common_tasks.own_data import fit, schemas
from datasets import records, row_faults
from datasets.schema import ABSENT, BOOLEAN, EMPTY, LEVELS, NUMBER, OTHER, Column, Schema
from dpbayes_bench.accountant import Accountant
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
    (folder / "levels.yaml").write_text("work: [Never-worked, Private]\nmember: [no, yes]\n")
    (folder / "bounds.yaml").write_text("age: [0, 100]\ntenure: [0, 50]\ngain: [0, 400]\n")
    words = [str(path), "--task", "regression", "--target", "gain", "--epsilon", "1", "--delta", "1e-6"]
    words += ["--levels", str(folder / "levels.yaml"), "--bounds", str(folder / "bounds.yaml"), "--rows", "400"]
    return path, [*words, "--unchecked"]


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
    assert found == {POSTERIOR, GUARANTEE, "draws.csv", "schema.yaml", "fit.md", "index.html"}
    assert [p.name for p in out.parent.iterdir() if p.name.endswith(".tmp")] == []


def test_draws_are_in_original_units(ran):
    out, _ = ran
    draws = pd.read_csv(out / "draws.csv")
    levels = ["coef[work=Private]", "coef[work=(other)]", "coef[work=(missing)]"]
    member = [f"coef[member={level}]" for level in ("yes", "(other)", "(missing)")]
    assert list(draws) == ["coef[age]", *levels, *member, "coef[tenure]", "intercept", "noise_variance"]
    assert len(draws) == 500
    assert draws["coef[age]"].mean() == pytest.approx(dpb.PrivateFit.load(out).point()["coef"][0], rel=0.2)


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
        "Epsilon 1 at delta 1e-06, for one",
        noise_words(dpb.PrivateFit.load(ran[0]).privacy.ledger),
        "guarantee of one fit", "The number of rows, 400, is", "A row is one line of the file",
        "as stated in: levels.yaml, bounds.yaml", "5 % to 95 %, not counting the privacy noise",
        "No score was computed", "4 levels; coded as 3 columns",
        "age | number; range [0, 100]; a field that does not fit",
    ):  # fmt: skip
        assert said in " ".join(words.split()), said
    assert told["epsilon"] == pytest.approx(1, abs=1e-6)
    assert told["asked"]["bounds"]["x"] == [[0, 100], *[[0, 1]] * 6, [0, 50]]
    assert "<table" in (ran[0] / "index.html").read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--method", "whitened_sp"], "did you mean whitened_ssp"),
        (["--method", SSP, "--epsilon", "0"], "epsilon = 0 is no budget"),
        (["--method", SSP, "--delta", "1"], "delta = 1 is no probability"),
        (["--method", SSP, "--bounds", "nowhere.yaml"], "no file nowhere.yaml"),
        (["--method", SSP, "--target", "wage"], "no column 'wage'; its first line does not name it"),
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


def test_a_refusal_lists_everything_and_follows_from_no_row(tmp_path, capsys):
    """Also if the rows cannot be read at all."""
    path, words = write(tmp_path)
    path.write_bytes(b"age,work,member,tenure,gain,more\n\x00\xff" + b'"' * 99)
    words = [w for w in words if w != "--unchecked"]
    given = [*words, "--method", "whitened_sp", "--epsilon", "0", "--budget", "nowhere.json", "--out", str(tmp_path)]
    assert cli.main(["fit", *given]) == 1
    first = capsys.readouterr().err
    for said in (
        "no range is stated for more", "did you mean whitened_ssp", "epsilon = 0 is no budget", "no budget file",
        "is there already",
    ):  # fmt: skip
        assert said in first, said
    assert len(first.splitlines()) == 1
    path.write_bytes(b"age,work,member,tenure,gain,more\n")
    assert cli.main(["fit", *given]) == 1
    assert capsys.readouterr().err == first


def test_a_missing_range_is_named_and_may_be_estimated(tmp_path, capsys):
    _, words = write(tmp_path)
    (tmp_path / "bounds.yaml").write_text("age: [0, 100]\ntenure: [0, 50]\n")
    words += ["--method", SSP, "--out", str(tmp_path / "out")]
    assert cli.main(["fit", *words]) == 1
    assert "no range is stated for gain; give lines" in capsys.readouterr().err
    assert cli.main(["fit", *words, "--estimate-ranges"]) == 0
    schema = Schema.read(tmp_path / "out/schema.yaml")
    assert (schema.y_bounds, schema.column("age").range) == (None, (0, 100))


# ------------------------------------------------------------------------------------- the schema, and a look at rows


def schema_file(folder: Path, **changed) -> Path:
    """A schema of the table of :func:`write`."""
    columns = (
        Column("age", NUMBER, (0.0, 100.0), default=EMPTY, source="adults"),
        Column("work", LEVELS, levels=("Never-worked", "Private"), default=OTHER, missing=ABSENT),
        Column("member", BOOLEAN, default="false"),
        Column("tenure", NUMBER, (0.0, 50.0), default="0"),
        Column("gain", NUMBER, (0.0, 400.0)),
    )
    path = folder / "schema.yaml"
    path.write_text(Schema(**({"n": 400, "target": "gain", "task": "regression", "columns": columns} | changed)).text())
    return path


def test_a_fit_by_a_schema_asks_for_a_look_at_the_rows(tmp_path, capsys):
    path, _ = write(tmp_path)
    by = [str(path), "--schema", str(schema_file(tmp_path))]
    fit_words = ["fit", *by, "--method", SSP, "--epsilon", "1", "--delta", "1e-6", "--draws", "9"]
    assert cli.main([*fit_words, "--out", str(tmp_path / "a")]) == 1
    assert (
        "run ./bench check-rows with the same schema or options first, or give --unchecked" in capsys.readouterr().err
    )
    assert cli.main(["check-rows", *by]) == 0
    said = capsys.readouterr().out
    assert said.startswith("This output is private")
    assert "each field fits its column" in said
    assert cli.main([*fit_words, "--out", str(tmp_path / "a")]) == 0
    assert "changed after a look" not in (tmp_path / "a/fit.md").read_text()
    # a schema that was changed after the look is not public any more
    schema_file(tmp_path, n=399)
    assert cli.main([*fit_words, "--out", str(tmp_path / "b")]) == 1
    assert cli.main(["check-rows", *by]) == 0
    assert "the file has 400 rows, the schema 399" in capsys.readouterr().out
    assert cli.main([*fit_words, "--out", str(tmp_path / "b")]) == 0
    assert "was changed after a look at the rows, so it is not public" in (tmp_path / "b/fit.md").read_text()
    assert "was changed after a look at the rows" in (tmp_path / "b" / GUARANTEE).read_text()


def test_the_mark_is_written_before_a_row_is_read(tmp_path, monkeypatch):
    path, _ = write(tmp_path)
    schema = schema_file(tmp_path)

    def broken(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(row_faults, "of", broken)
    assert cli.main(["check-rows", str(path), "--schema", str(schema)]) == 1
    assert schemas.marks(path) == [Schema.read(schema).sha256]


def test_a_schema_and_options_of_a_draft_exclude_each_other(tmp_path, capsys):
    path, words = write(tmp_path)
    given = ["fit", *words, "--schema", str(schema_file(tmp_path)), "--method", SSP]
    assert cli.main(given) == 1
    assert "--task, --target, --rows, --bounds, --levels: the schema states this" in capsys.readouterr().err
    assert cli.main(["fit", str(path), "--method", SSP, "--epsilon", "1", "--task", "regression"]) == 1
    assert "or --target, --rows as well" in capsys.readouterr().err


def test_a_budget_is_charged_before_a_row_is_read_and_not_exceeded(tmp_path, capsys, monkeypatch):
    path, _ = write(tmp_path)
    budget = tmp_path / "budget.json"
    Accountant.start(1.5, 1e-5, budget)
    given = ["fit", str(path), "--schema", str(schema_file(tmp_path)), "--method", SSP, "--epsilon", "1", "--delta"]
    given += ["1e-6", "--draws", "9", "--unchecked", "--budget", str(budget), "--out"]
    with monkeypatch.context() as m:
        m.setattr(records, "read", lambda *_: pytest.fail("a row was read"))
        with pytest.raises(pytest.fail.Exception):
            cli.main([*given, str(tmp_path / "a")])
    assert Accountant(file=budget).spent == (1.0, 1e-6)
    assert cli.main([*given, str(tmp_path / "b")]) == 1
    assert "this fit would bring the sum to epsilon = 2" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


# ---------------------------------------------------------------------------------------- one row is changed


def _folder(tmp_path: Path, rows: bytes, name: str, capsys, monkeypatch) -> tuple[dict, str, int]:
    """The files of a fit with the same noise, without the releases, and what was said."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    path = home / "secret.csv"
    path.write_bytes(rows)
    genuine = fit.fits.fit
    monkeypatch.setattr(fit.fits, "fit", lambda *a, **k: genuine(*a, **k))
    out = tmp_path / name / "out"
    code = cli.main(
        ["fit", str(path), "--schema", str(schema_file(home)), "--method", SSP, "--epsilon", "1", "--delta", "1e-6",
         "--draws", "9", "--unchecked", "--out", str(out)]
    )  # fmt: skip
    said = capsys.readouterr()
    told = json.loads((out / GUARANTEE).read_text())
    # the posterior, the noisy counts and the draws are accounted releases
    told = {k: v for k, v in told.items() if k in ("epsilon", "delta", "relation", "accountant", "asked", "ledger")}
    return {"files": sorted(p.name for p in out.iterdir()), "told": told}, said.err, code


@pytest.mark.parametrize(
    "row",
    [
        b"caf\xe9,Private,yes,3,200", b"1e308,Private,yes,3,1e308", b"1,5,Private,yes,3,200", b'"30,Private,yes,3,200',
        b"30,Private,1,3,200", b"", b"\x00", b"30,unseen,yes,3,200", b"30,Private,yes,3,zx", b"9" * 500,
    ],
)  # fmt: skip
def test_one_row_of_anything_changes_no_file_text_or_exit_code(row, tmp_path, capsys, monkeypatch):
    """A wrong byte, huge numbers, a comma, an open quote, a blank, an unseen level, NUL, a target that does not fit."""
    path, _ = write(tmp_path)
    lines = path.read_bytes().split(b"\n")
    expected = _folder(tmp_path, b"\n".join(lines), "a", capsys, monkeypatch)
    changed = _folder(tmp_path, b"\n".join([*lines[:7], row, *lines[8:]]), "b", capsys, monkeypatch)
    assert changed == expected
    assert expected[2] == 0


def test_a_row_that_is_left_out_changes_neither_n_nor_a_word(tmp_path, capsys, monkeypatch):
    path, _ = write(tmp_path)
    lines = path.read_bytes().split(b"\n")
    expected = _folder(tmp_path, b"\n".join(lines), "a", capsys, monkeypatch)
    assert _folder(tmp_path, b"\n".join([*lines[:7], *lines[8:]]), "b", capsys, monkeypatch) == expected


def test_classes_are_those_of_the_schema_whatever_the_rows_have(tmp_path, capsys):
    """One row with a third class used to decide between two errors."""
    columns = (Column("x", NUMBER, (-3.0, 3.0), default=EMPTY), Column("c", LEVELS, levels=("ill", "well")))
    schema = tmp_path / "schema.yaml"
    schema.write_text(Schema(60, "c", "classification", columns).text())
    for name, last in (("a", "well"), ("b", "third")):
        path = tmp_path / f"{name}.csv"
        path.write_text(
            "x,c\n" + "".join(f"{k % 5 - 2},{'ill' if k % 2 else 'well'}\n" for k in range(59)) + f"1,{last}\n"
        )
        given = ["fit", str(path), "--schema", str(schema), "--method", "dp_sgd", "--epsilon", "5", "--draws", "9"]
        assert cli.main([*given, "--unchecked", "--out", str(tmp_path / name)]) == 0
        page = (tmp_path / name / "fit.md").read_text()
        assert "Class 1 is 'well', and class 0 is 'ill'." in page
        assert json.loads((tmp_path / name / GUARANTEE).read_text())["asked"]["labels"] == ["ill", "well"]
        assert "third" not in page


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
    words += ["--levels", str(tmp_path / "levels.yaml"), "--bounds", str(tmp_path / "bounds.yaml"), "--rows", "32561"]
    assert cli.main(["fit", *words, "--unchecked", "--out", str(tmp_path / "out")]) == 0
    assert "32561 rows" in capsys.readouterr().err
    draws = pd.read_csv(tmp_path / "out/draws.csv")
    assert draws["coef[education_num]"].mean() > 0
    assert draws["coef[marital=Divorced]"].mean() < 0
