"""The audit's commands resume, and compute again only what an edit may have changed."""

from __future__ import annotations

import json

import pytest

from audit import cases, faults, resume, tables
from datasets.files import ROOT


def test_a_result_is_computed_once_and_again_for_another_key(tmp_path):
    path, made = tmp_path / "folder" / "one.json", []

    def make():
        made.append(len(made))
        return {"rows": made[-1]}

    first, again, other = resume.kept(path, "a", make), resume.kept(path, "a", make), resume.kept(path, "b", make)
    assert [first.result, again.result, other.result] == [{"rows": 0}, {"rows": 0}, {"rows": 1}]
    assert [first.now, again.now, other.now] == [True, False, True]
    assert again.seconds == first.seconds >= 0
    assert resume.kept(None, "b", make).result == {"rows": 2}


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"key": "a"}', '{"key": "a", "result": 1}'])
def test_a_file_that_was_cut_off_is_written_anew(tmp_path, text):
    path = tmp_path / "one.json"
    path.write_text(text)
    assert resume.kept(path, "a", lambda: 2).now
    assert json.loads(path.read_text())["result"] == 2


def test_files_are_those_of_the_method_its_family_and_the_shared_layers():
    found = {str(p.relative_to(ROOT)) for p in resume.files_of(cases.get("adassp"))}
    assert {"methods/sufficient_statistics/adassp.py", "methods/_shared/adassp.py", "privacy/budget.py"} <= found
    assert {"methods/sufficient_statistics/_mutants.py", "models/tiny.py", "audit/cases.py"} <= found
    others = {f for f in found if f.startswith("methods/")} - {"methods/sufficient_statistics/adassp.py"}
    assert all(f.split("/")[-1][0] == "_" or "/_" in f or f == "methods/contract.py" for f in others)


def test_an_edit_of_a_method_moves_its_key_alone_and_a_comment_none(tmp_path):
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("x = 1\n")
    other.write_text("y = 1\n")
    before = resume.key_of([one, other]), resume.key_of([other])
    resume._digest.cache_clear()
    one.write_text("x = 1  # a number\n")
    assert (resume.key_of([one, other]), resume.key_of([other])) == before
    resume._digest.cache_clear()
    one.write_text("x = 2\n")
    assert resume.key_of([one, other]) != before[0]
    assert resume.key_of([other]) == before[1]


def test_every_case_has_a_file_of_its_own():
    every = [*cases.cases(), *cases.drawn()]
    assert len({resume.file_name(*one) for one in every}) == len(every)


def test_tables_are_the_same_from_kept_rows(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tables, "case_rows", lambda name, case: [[{"method": name, "case": case, "n": "3"}], []])
    wanted = [("adassp", "bnn_regression"), ("dp_sgd", "bounded_linear_regression")]
    first = tables.tables(wanted, tmp_path)
    monkeypatch.setattr(tables, "case_rows", lambda name, case: pytest.fail("computed again"))
    second = tables.tables(wanted, tmp_path)
    for a, b in zip(first, second, strict=True):
        assert a.to_csv() == b.to_csv()
    assert "audit: 0 of 2 cases computed" in capsys.readouterr().err


def test_the_table_of_faults_resumes_too(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(faults, "row", lambda fault: asked.append(fault.name) or dict.fromkeys(faults.COLUMNS, "a"))
    for _ in range(2):
        assert len(faults.table(faults.FAULTS[:2], tmp_path)) == 2
    assert asked == [f.name for f in faults.FAULTS[:2]]
