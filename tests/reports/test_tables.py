import math
import re

import numpy as np
import pandas as pd
import pytest

from reports import tables
from reports.blocks import Block, Footnotes, Table, entry, latex, markdown, number
from reports.published import KEY


@pytest.fixture
def written(all_verdicts, tmp_path):
    found = tables.published_tables(all_verdicts, "quick")
    for table, long in found:
        tables.write(tmp_path, table, long)
    return tmp_path, {t.name: (t, long) for t, long in found}


def test_seven_tables_in_three_formats(written):
    folder, found = written
    names = [f"vinaroz2023dpsep_table{k}" for k in (3, 4, 5, 8, 9)] + [f"vinaroz2021dpsep_table{k}" for k in (2, 3)]
    assert sorted(found) == sorted(names)
    for name in names:
        for end in ("csv", "md", "tex"):
            text = (folder / f"{name}.{end}").read_text()
            assert "quick" in text
            assert "reproduced" in text
        assert "NOT evidence" in (folder / f"{name}.md").read_text()


def test_rows_and_columns_are_the_papers(written):
    _, found = written
    table, _ = found["vinaroz2023dpsep_table3"]
    printed = table.blocks[0]
    assert list(printed.columns) == ["VI", "EP", "SEP", "SEP clipped", "DP-SEP", "DP-VI"]
    assert [name for name, _ in printed.rows] == ["Naval", "Kin8nm", "Power", "Wine", "Protein", "Year"]
    table, _ = found["vinaroz2023dpsep_table8"]
    assert [name for name, _ in table.blocks[0].rows] == [f"C = {c}" for c in (1, 2, 3, 4, 5, 10)]
    assert list(table.blocks[0].columns) == ["Naval", "Kin8nm", "Power", "Wine", "Protein", "Year"]
    assert len(table.blocks) == 2  # printed and released


def test_long_csv_holds_every_number_with_its_digits(written):
    folder, found = written
    _, long = found["vinaroz2023dpsep_table9"]
    again = pd.read_csv(folder / "vinaroz2023dpsep_table9.csv", dtype=str, keep_default_na=False)
    assert len(again) == len(long) == 72
    assert {"-2.805", "4.242"} <= set(again["published_mean"])
    assert again["mean"].astype(float).tolist() == long["mean"].tolist()  # repr: reads back equal
    assert not again.duplicated([*KEY, "reading", "protocol"]).any()


def test_an_entry_says_ours_paper_and_verdict(written):
    _, found = written
    table, long = found["vinaroz2023dpsep_table3"]
    entry = dict(table.blocks[0].rows)["Power"][2]
    row = long[(long["dataset"] == "power") & (long["method"] == "sep") & (long["headline"] == "yes")].iloc[0]
    assert entry.lines[0] == f"{row['mean']:.4f} ± {row['std']:.4f} (10)"
    assert entry.lines[1] == "paper 4.061 ± 0.1356"
    assert entry.verdict == row["verdict"]


def test_a_compatible_entry_has_the_smallest_shift_that_would_have_been_refuted(all_verdicts):
    row = {**all_verdicts[all_verdicts["mean"].notna()].iloc[0].to_dict(), "reason": "", "median": math.nan}
    for verdict, least, said in (
        ("compatible", 0.0961, ("refuted from a shift of 0.096",)),
        ("compatible", math.inf, ("no shift refuted",)),
        ("compatible", math.nan, ()),
        ("reproduced", 0.0961, ()),
    ):
        found = tables.judged_entry(row | {"verdict": verdict, "detectable": least}, Footnotes())
        assert found.after == said


def test_a_reason_stands_once_below_its_table(all_verdicts):
    rows = all_verdicts[all_verdicts["table"] == "5"].copy()
    rows["mean"], rows["verdict"], rows["reason"] = np.nan, "timeout", "over an hour"
    rows.loc[rows["dataset"] == "year", ["verdict", "reason"]] = ["no_data", "no file"]
    (table, long), *_ = tables.published_tables(rows, "full")
    wine = dict(table.blocks[0].rows)["Wine"][0]
    assert wine.all_lines == ("paper 0.645 ± 0.0098", "timeout [1]")
    assert table.footnotes == ["over an hour", "no file"]
    assert set(long["reason"]) == {"over an hour", "no file"}  # the CSV keeps it in each row
    for text in (markdown(table), latex(table)):
        assert "no data [2]" in text
        assert "[1] over an hour" in text
    assert markdown(table).count("over an hour") == 1


def test_what_is_not_run_gives_no_footnote(all_verdicts):
    rows = all_verdicts[all_verdicts["table"] == "5"].copy()
    rows["mean"], rows["verdict"], rows["reason"] = np.nan, "not_run", "x is not run at scale tiny"
    (table, _), *_ = tables.published_tables(rows, "tiny")
    assert table.footnotes == []
    assert dict(table.blocks[0].rows)["Wine"][0].all_lines[-1] == "not run"


def test_latex_is_balanced_and_escaped(written):
    folder, _ = written
    text = (folder / "vinaroz2023dpsep_table3.tex").read_text()
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == text.count(r"\begin{tabular}")
    assert not re.search(r"(?<!\\)_", text.split("\n", 2)[2])
    assert "±" not in text


def test_all_methods_shows_a_method_that_nobody_named(scores):
    toy = scores[(scores["method"] == "sep") & (scores["protocol"] == "literature")].copy()
    toy["method"] = "toy_method"
    failed = scores[(scores["method"] == "ep") & (scores["dataset"] == "wine")].head(1).copy()
    failed["method"], failed["status"], failed["reason"], failed["metric"] = "toy_two", "not_supported", "why not", ""
    table, long = tables.all_methods_table(pd.concat([scores, toy, failed]), "bnn_regression_all_methods", "full")
    text = markdown(table)
    assert "toy_method" in text
    assert text.count("why not") == 1
    rows = {name: entries for b in table.blocks for name, entries in b.rows if entries}
    assert rows["DP-SEP (authors' code) [clip=1]"][0].all_lines == ("inf",)
    assert rows["DP-SEP [clip=1]"][0].all_lines == ("0.9",)
    assert rows["SEP"][0].all_lines == ("-",)
    assert table.blocks[0].columns[0] == "epsilon"
    assert {"toy_method", "toy_two"} <= set(long["method"])
    wine = long[(long["method"] == "toy_method") & (long["dataset"] == "wine") & (long["metric"] == "rmse")]
    expected = toy[(toy["dataset"] == "wine") & (toy["metric"] == "rmse")]["value"].astype(float).mean()
    assert wine["mean"].iloc[0] == pytest.approx(expected, rel=1e-12)
    blocks = {b.title for b in table.blocks}
    assert len(blocks) == 4  # two protocols, two metrics


def test_all_methods_are_grouped_by_privacy(scores):
    table, long = tables.all_methods_table(
        scores, "x", "full", budgeted={"dp_vi_vinaroz"}, answering={"point_estimate"}
    )
    block = table.blocks[0]
    headings = [k for k, (_, entries) in enumerate(block.rows) if not entries]
    assert [block.rows[k][0] for k in headings] == list(tables.GROUPS[:2])
    private = [name for name, _ in block.rows[: headings[1]]]
    assert "DP-SEP (authors' code) [clip=10]" in private  # runs under a budget, guarantees nothing
    assert private.index("DP-SEP [clip=10]") == private.index("DP-SEP [clip=5]") + 1
    assert "SEP" in [name for name, _ in block.rows[headings[1] :]]
    assert set(long.loc[long["method"] == "sep", "group"]) == {tables.GROUPS[1]}


@pytest.mark.parametrize(
    ("method", "claims", "group"),
    [("ridge", False, 2), ("predict_mean", False, 2), ("adassp", True, 2), ("ep", False, 1),
     ("dp_sep", False, 0), ("dp_sep_authors", True, 0), ("toy", False, 1), ("toy", True, 0)],
)  # fmt: skip
def test_group_of(method, claims, group):
    assert tables.group_of(method, claims) == tables.GROUPS[group]


def test_a_yardstick_that_answers_a_column_of_a_paper_stands_among_the_methods():
    assert tables.group_of("point_estimate", False) == tables.GROUPS[2]
    assert tables.group_of("point_estimate", False, answers=True) == tables.GROUPS[1]


def test_dataset_tables_compare_sizes():
    found = pd.DataFrame(
        [["wine", 1599, 11, "ok", ""], ["naval", 11935, 16, "ok", ""], ["year", "", "", "no_data", "no network"]],
        columns=["dataset", "n", "d", "status", "reason"],
    )
    out = tables.datasets_tables(found, ["vinaroz2023dpsep", "vinaroz2021dpsep"], "full")
    assert [t.name for t, _ in out] == ["vinaroz2023dpsep_datasets", "vinaroz2021dpsep_datasets"]
    words = dict(zip(out[0][1]["dataset"], out[0][1]["agrees"], strict=True))
    assert (words["wine"], words["naval"], words["year"]) == ("same size", "DIFFERENT size", "no_data")
    assert words["power"] == "not_run"
    assert "no network" in markdown(out[0][0])
    assert r"\begin{tabular}" in latex(out[0][0])


@pytest.mark.parametrize(
    ("value", "decimals", "text"), [(0.0789, 4, "0.0789"), (123456.7, 4, "1.23e+05"), (float("nan"), 3, "-")]
)
def test_number(value, decimals, text):
    assert number(value, decimals) == text


def test_methods_are_lines_and_settings_columns_where_each_method_has_each_setting(all_verdicts):
    one = all_verdicts[(all_verdicts["source"] == "vinaroz2023dpsep") & (all_verdicts["table"] == "3")]
    one = one[one["dataset"] == "wine"]
    one = one[(one["reading"] == "printed") & (one["headline"] == "yes") & one["method"].isin(["ep", "sep"])]
    rows = pd.concat([one.assign(setting=f"epsilon={e};N=5") for e in ("0.1", "1.0")])
    ((table, _),) = tables.published_tables(rows, "full")
    (block,) = table.blocks
    assert list(block.columns) == ["epsilon = 0.1", "epsilon = 1.0"]
    assert [name for name, _ in block.rows] == ["EP", "SEP"]
    assert all(len(entries) == 2 for _, entries in block.rows)
    assert block.notes[0] == "Ours is ep (protocol authors) for EP, epsilon = 0.1; EP, epsilon = 1.0."
    # A reading that answers one setting of one method keeps the form.
    less = pd.concat([rows, rows.iloc[:1].assign(reading="corrected")])
    ((table, _),) = tables.published_tables(less, "full")
    assert (list(table.blocks[1].columns), table.blocks[1].rows[0][0]) == (["epsilon = 0.1"], "EP")


def test_a_number_of_a_whole_batch_has_its_own_note(all_verdicts):
    rows = all_verdicts[(all_verdicts["table"] == "3") & (all_verdicts["metric"] == "rmse")]
    ((batch, _),) = tables.published_tables(rows.assign(metric="tarp_coverage_rmse"), "full")
    ((plain, _),) = tables.published_tables(rows, "full")
    assert "bootstrap" in batch.notes[0]
    assert "bootstrap" not in plain.notes[0]


def test_titles_and_reasons_of_others_are_text_in_every_format(tmp_path):
    """A formula, a tag and control characters (NUL, ESC) in a title, a name and a reason."""
    words = "=1+1 <b> \x00\x1b[2J"
    made = Table("t", words, "banner", [Block(words, "corner", [words], [(words, [entry(words)])], [words])], [words])
    tables.write(tmp_path, made, pd.DataFrame({"reason": [words], "value": [-1.5]}))
    texts = {suffix: (tmp_path / f"t.{suffix}").read_text() for suffix in ("csv", "md", "tex")}
    assert all(not {"\x00", "\x1b"} & set(text) for text in texts.values())
    assert texts["csv"] == "reason,value\n'=1+1 <b> ��[2J,-1.5\n"
    assert "<b>" not in texts["md"]
    assert "&lt;b>" in texts["md"]
