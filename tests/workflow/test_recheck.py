"""./bench doubt: which cell is meant, and ours beside the published number."""

import dataclasses
import shlex
from types import SimpleNamespace

import pandas as pd
import pytest

from datasets.files import write_bytes
from tests.made_up_run import store_wine
from workflow import cli, committed, papers, recheck, recompute
from workflow.compare import DIFFERS, EQUAL, NOT_RUN, Row
from workflow.experiments import cells
from workflow.papers import experiments as files
from workflow.recheck import Published, Unknown

WORDS = ("source", "table", "dataset", "method", "setting", "metric")


def published(key, cell, **more):
    given = dict(zip(WORDS, key.split("/"), strict=True))
    told = {"published_mean": "0.63", "published_std": "0.01", "mean": "0.65", "reading": "printed"}
    return Published(key, cell, given | told | {"verdict": "worse", "reason": ""} | more)


KEY = "vinaroz2023dpsep/3/wine/dp_sep/epsilon=1;clip=1/rmse"
NUMBERS = [
    published(KEY, "e-wine-dp_sep-1"),
    published(KEY, "e-wine-dp_sep_authors-2", reading="authors"),
    published("vinaroz2023dpsep/3/year/ep//rmse", "", reason="no data", verdict="no_data"),
]
IDS = ["e-wine-dp_sep-1", "e-wine-dp_sep_authors-2", "e-power-ridge-3"]


def test_a_cell_by_its_id_and_a_published_number_by_its_key():
    assert recheck.find("e-wine-dp_sep-1", IDS, NUMBERS) == (["e-wine-dp_sep-1"], NUMBERS[:1])
    assert recheck.find(KEY, IDS, NUMBERS) == (["e-wine-dp_sep-1", "e-wine-dp_sep_authors-2"], NUMBERS[:2])


def test_an_unambiguous_part_is_enough():
    assert recheck.find("ridge", IDS, NUMBERS)[0] == ["e-power-ridge-3"]
    assert recheck.find("clip=1 rmse", IDS, NUMBERS)[1] == NUMBERS[:2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("e-", "part of 3 keys and cells"),
        ("e-power-rigde-3", "e-power-ridge-3"),
        ("year ep", "no cell of ours answers"),
    ],
)
def test_what_is_not_one_cell_names_the_nearest(words, said):
    with pytest.raises(Unknown, match=said):
        recheck.find(words, IDS, NUMBERS)


def test_keys_are_printed_as_a_shell_takes_them():
    """Keys have semicolons, at which a shell would end the command."""
    with pytest.raises(Unknown) as e:
        recheck.find("e", IDS, NUMBERS)
    shown = [line.strip() for line in str(e.value).splitlines()[1:]]
    assert f"'{KEY}'" in shown
    assert [recheck.find(*shlex.split(line), IDS, NUMBERS)[0] for line in shown if KEY in line] == [list(IDS[:2])]


def test_a_list_holds_all_the_words():
    assert recheck.listed(["WINE", "dp_sep"], IDS, NUMBERS) == [KEY, *IDS[:2]]


def test_the_table_sets_here_committed_and_published_side_by_side():
    row = Row("e-wine-dp_sep-1", "p", "dp_sep", "wine", "rmse", "0.65", "0.6500000001", EQUAL, "")
    head, line = recheck.table([row], NUMBERS[:2])
    told = dict(zip(head, line, strict=True))
    assert told == {
        "measure": "rmse", "ours, here": "0.65", "ours, committed": "0.65", "here is": "equal", "reading": "printed",
        "published": "0.63 +- 0.01", "difference": "+0.02", "verdict": "worse",
        "refuted from": "",
    }  # fmt: skip


@pytest.mark.parametrize(("least", "shown"), [("0.0961", "0.096"), ("inf", "no shift"), ("", "")])
def test_a_compatible_number_has_the_smallest_shift_that_would_have_been_refuted(least, shown):
    row = Row("e-wine-dp_sep-1", "p", "dp_sep", "wine", "rmse", "0.65", "0.65", EQUAL, "")
    number = published(KEY, "e-wine-dp_sep-1", verdict="compatible", detectable=least)
    assert recheck.table([row], [number])[1][-1] == shown
    assert recheck.table([row], [published(KEY, "e-wine-dp_sep-1", detectable=least)])[1][-1] == ""


def test_a_number_in_other_units_has_no_difference():
    row = Row("e-wine-dp_sep-1", "p", "dp_sep", "wine", "rmse", "65", "65", EQUAL, "")
    assert recheck.table([row], NUMBERS[:1])[1][6] == ""


def test_a_median_is_compared_with_the_median():
    box = dataclasses.replace(NUMBERS[0], verdict=NUMBERS[0].verdict | {"statistic": "median", "median": "0.65"})
    row = Row("e-wine-dp_sep-1", "p", "dp_sep", "wine", "rmse", "0.65", "0.65", EQUAL, "")
    assert recheck.table([row], [box])[1][6] == "+0.02"
    assert recheck.table([dataclasses.replace(row, committed="0.66")], [box])[1][6] == ""


def test_every_published_number_of_the_reference_names_a_known_cell():
    """Of the papers with a program of their own, too."""
    own = {i for paper in papers.programs() for i in recompute.own_cells(paper)}
    numbers = recheck.published()
    assert len(numbers) > 7000
    sources = ("wang2018adaptive", "jalko2017dpvi", "raisa2021thesis")
    foreign = [p for p in numbers if p.verdict["source"] in sources]
    assert {p.cell for p in foreign if p.cell} <= own
    assert {p.verdict["verdict"] for p in foreign if not p.cell} == {"not_run"}  # some boxes of the thesis


@pytest.mark.parametrize(("verdict", "status"), [(EQUAL, 0), (DIFFERS, 1), (NOT_RUN, 0)])
def test_a_doubt_prints_all_and_exits_by_the_verdict(monkeypatch, capsys, tmp_path, verdict, status):
    class Reference:
        cells: dict = {}  # noqa: RUF012

        def __init__(self, *args):
            pass

    monkeypatch.setattr(recheck, "Reference", Reference)
    monkeypatch.setattr(recheck, "published", lambda: NUMBERS[:2])
    monkeypatch.setattr(recheck.recompute, "own_cells", lambda paper: IDS)
    rows = [
        Row(IDS[0], "p", "dp_sep", "wine", "rmse", "0.65", "0.65", verdict, "split 1"),
        Row(IDS[0], "p", "dp_sep", "wine", "epsilon", "1", "1", EQUAL, "delta 1e-05, add_remove, by rdp"),
    ]
    monkeypatch.setattr(recheck, "rerun", lambda *args: rows)
    assert cli.main(["doubt", IDS[0], "--results", str(tmp_path)]) == status
    out = capsys.readouterr().out
    assert KEY in out
    assert "epsilon of one fit, from its ledger: 1 at delta 1e-05, add_remove, by rdp" in out


def test_an_unknown_word_is_one_answer_without_a_traceback(monkeypatch, capsys, tmp_path):
    assert cli.main(["doubt", "nothing like this", "--results", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(
        "bench: no cell and no published number 'nothing like this'; the nearest:"
    )


def test_a_cell_is_recomputed_over_all_its_splits_and_its_sidecar_stays(tmp_path):
    wine = tmp_path / "wine.npz"
    store_wine(wine)
    every = cells(files()["dpsep_uci"], "full")
    ridge = next(c for c in every if (c.dataset, c.method, c.protocol) == ("wine", "ridge", "literature"))
    unit = recompute.unit_of([ridge], range(ridge.splits), 0.0)
    scores = pd.DataFrame(recompute.recompute_unit(unit, str(wine), "", str(tmp_path)).rows).astype(str)
    write_bytes(committed.path_of(tmp_path, "dpsep_uci"), committed.encoded(scores))
    tables = SimpleNamespace(get=lambda name: wine, raw=tmp_path)
    rows = recheck.rerun(committed.Reference(tmp_path), ridge.id, tables, tmp_path / "here")
    assert {r.verdict for r in rows} == {EQUAL}
    assert {"rmse", "test_log_likelihood"} <= {r.measure for r in rows}
    assert f"{ridge.splits} of {ridge.splits} splits" in rows[-1].why
    assert (tmp_path / f"here/fits/{ridge.id}.json").is_file()
    missing = SimpleNamespace(get=lambda name: "no data: wine", raw=tmp_path)
    (row,) = recheck.rerun(committed.Reference(tmp_path), ridge.id, missing, tmp_path / "here")
    assert (row.verdict, row.why) == (NOT_RUN, "no data: wine")
