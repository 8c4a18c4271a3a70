"""README, the page of results, and the rendered findings are those of the committed reference."""

import re
from itertools import islice
from xml.etree import ElementTree

import pandas as pd
import pytest
import yaml
from scipy.special import ndtr

from evaluation.metrics import METRICS, of_published
from reports import ceiling, papers, readme, reference, scoreboard, verdict
from reports.findings import Finding, folders, read_committed
from reports.frames import FrameError, Frames
from reports.verdict_figure import WORDS
from workflow import cli, committed
from workflow import papers as homes

AGAIN = f"run `{readme.COMMAND}` and commit what it writes"
README = (readme.ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def made(filled_once):
    """(texts, what the templates may say): one run of ``readme.texts``."""
    names, seen = readme.names, []
    with filled_once(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(readme, "names", lambda *given: seen.append(names(*given)) or seen[0])
        texts = readme.texts()
    (known,) = seen
    return texts, known


@pytest.fixture(scope="module")
def texts(made):
    return made[0]


def test_the_committed_texts_are_current(texts):
    for name, text in texts.items():
        assert (readme.ROOT / name).read_text(encoding="utf-8") == text, f"{name}: {AGAIN}"


def prose(text):
    """Words of a Markdown text outside of code, tables, comments and the addresses of links."""
    text = re.sub(r"```.*?```|<!--.*?-->|^\|.*?$|^\[[\w-]+\]: .*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    return text.split()


def test_the_readme_takes_two_minutes():
    assert len(prose(README)) <= 750
    tables = re.findall(r"^\|.*$", README, re.MULTILINE)
    long = [line for line in README.splitlines() if len(line) > 100 and line not in tables and "`python -m" not in line]
    code = re.findall(r"```.*?```", README, re.DOTALL)
    assert [line for line in long if not any(line in block for block in code)] == []


def test_every_link_leads_somewhere(texts):
    for name in readme.TEXTS:
        text, folder = texts[name], (readme.ROOT / name).parent
        labels = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", text, re.MULTILINE))
        links = [*re.findall(r"\]\(([^)]+)\)", text), *labels.values()]
        assert links
        for link in links:
            path, _, anchor = link.partition("#")
            target = folder / path if path else readme.ROOT / name
            assert target.exists(), f"{name}: {link}"
            heads = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
            assert not anchor or anchor in [h.lower().replace(" ", "-") for h in heads], f"{name}: {link}"
        used = re.findall(r"\]\[([\w-]+)\]", text)
        assert set(used) == set(labels), f"{name}: labels that are used, and labels that lead somewhere"


def test_the_templates_type_no_result():
    """Every number is computed; what is left are names of tables, versions and examples, and the rule's 1 %."""
    allowed = {
        "readme.md": {"1", "3", "1.0", "5000", "12", "2018"},
        "results.md": {"0", "1", "2", "20", "90", "95", "2017", "2021", "2018"},
        # the rule, its formulas, list items
        "verdicts.md": {
            "0",
            "002",
            "1",
            "2",
            "3",
            "4",
            "5",
            "10",
            "15",
            "19",
            "20",
            "25",
            "95",
            "2018",
            "2023",
            "2025",
        },
        "ceiling.md": {"20", "100", "400", "2021"},
        # versions, list items, the margins and the rate that the four changes are about
        "verdict-versions.md": {"1", "2", "3", "4", "5", "25", "02", "2018"},
    }
    for template, numbers in allowed.items():
        text = (readme.TEMPLATES / template).read_text(encoding="utf-8")
        plain = re.sub(r"\{[{%].*?[%}]\}", "", text, flags=re.DOTALL)
        assert set(re.findall(r"\d+(?:\.\d+)?", plain)) <= numbers


def test_the_skeleton_of_the_readme_is_the_one_that_the_command_writes(tmp_path):
    assert cli.main(["new", "method", "my_method", "--kind", "bnn_regression"], tmp_path) == 0
    (path,) = (p for p in tmp_path.rglob("*.py") if p.is_file())
    assert readme.skeleton() in path.read_text(encoding="utf-8")
    assert readme.skeleton() in README


def test_the_lines_of_python_run(capsys):
    (block,) = re.findall(r"```python\n(import dpbayes_bench.*?)```", README, re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})


def test_the_citation_file_names_the_source_of_every_folder():
    cited = yaml.safe_load((readme.ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    folders_of_papers = [
        p.parent.name for p in sorted((readme.ROOT / "papers").glob("*/findings")) if any(p.glob("*.md"))
    ]
    assert [r["notes"] for r in cited] == [f"papers/{name}" for name in folders_of_papers]
    assert all(r["title"] and r["year"] and r["authors"] for r in cited)


@pytest.mark.parametrize(
    ("method", "word"),
    [("ep", "no"), ("na_dpvi", "yes"), ("dp_sep", "not shown"), ("dp_sep_authors", "no finite epsilon")],
)
def test_the_word_on_a_claim_is_the_status_of_the_method_page(method, word):
    assert readme.claim(method, committed.ledgers(reference.FOLDER)) == word


def test_the_index_lists_every_finding_of_every_folder(texts):
    """Also those of papers with a program of their own."""
    index = texts[readme.INDEX]
    listed = re.findall(r"\]\(\.\./\.\./(\S+?)\)", index)
    homes = {*folders(), *(readme.ROOT / "papers" / p.key / "findings" for p in papers.load())}
    there = [p for home in homes for p in home.glob("*.md") if p.name != "README.md"]
    assert sorted(listed) == sorted(str(p.relative_to(readme.ROOT)) for p in there)
    assert len(listed) == len(set(listed))
    assert f"All {len(listed)} findings" in README


def test_the_worked_example_says_what_its_rows_say(made):
    """The sentences of the page hold for the committed verdicts: refuted as printed, in doubt if corrected."""
    texts, rows = made[0], made[1]["example"]
    limit = verdict.ANY_FALSE / verdict.FAMILY
    assert rows["printed"]["p"] <= limit < rows["corrected"]["p"] <= verdict.AGREE < rows["authors"]["p"]
    assert (rows["printed"]["p_kind"], rows["printed"]["verdict"]) == ("rank", "worse")
    assert {r["n"] for r in rows.values()} == {rows["authors"]["n"]}
    assert f"| authors' code | authors | {rows['authors']['mean']:.3f} |" in texts["docs/explanation/verdicts.md"]


def test_the_page_on_verdicts_lists_the_margin_of_every_judged_number(made):
    """Also of numbers that are judged by another metric than the published one, by the cases of the ceiling."""
    page = made[0]["docs/explanation/verdicts.md"]
    rows = scoreboard.rows()
    judged = set(rows.loc[rows["verdict"].isin(verdict.VERDICTS), "metric"])
    assert len(judged) > 40
    for metric in {of_published(name).name for name in judged}:
        (line,) = re.findall(rf"^\| [^|]* \(`{metric}`\) \|.*$", page, re.M)
        assert f"| {METRICS[metric].margin.words} |" in line
    assert sum(r["numbers"] for r in made[1]["margins"]) == len(
        scoreboard.first(rows[rows["verdict"].isin(verdict.VERDICTS)])
    )
    for paper in homes.papers():
        for case in islice(ceiling.cases(paper.key), 200):
            used, listed = METRICS[case.runs.metric], of_published(case.key[5])
            assert (used.margin, used.direction) == (listed.margin, listed.direction), case.key


def test_the_page_on_verdicts_has_the_set_of_every_paper_with_its_own_code(made):
    page = made[0]["docs/explanation/verdicts.md"]
    for paper, _ in homes.programs().values():
        assert f"| {paper.title} | {paper.family:,} |" in page


def test_a_shift_at_the_margin_of_a_chance_has_that_chance(made):
    chance = ndtr(made[1]["chance_in_sd"] / 2**0.5)  # of one normal run above another that is lower by the shift
    assert chance == pytest.approx(0.5 + METRICS["sampler_output"].margin.least)


def test_the_figure_shows_every_number(made):
    texts, board = made[0], made[1]["board"]
    root = ElementTree.fromstring(texts[readme.FIGURE])
    told = root.find("{*}desc").text
    for row in board:
        assert f"{row['title']}: " in told
        assert all(f"{row[w]} {WORDS[w][0]}" in told for w in WORDS if row[w])
    widths = [float(r.get("width")) for r in root.findall(".//{*}rect") if r.get("height") == "18"]
    assert sum(widths) == pytest.approx(384 * len(board), abs=1)
    assert len(texts[readme.FIGURE]) < 10_000


def test_rendered_findings_are_a_file_each_and_an_index():
    found = [Finding("theorem-4-1", "A title", "# A title\n\nText 0.5.\n\n"), Finding("other", "Other", "# Other\n")]
    texts = readme.rendered(found)
    theorem, index = "papers/vinaroz2023dpsep/findings/theorem-4-1.md", "reports/findings/README.md"
    assert set(texts) == {theorem, "reports/findings/other.md", index}
    assert texts[theorem].endswith("\n\n# A title\n\nText 0.5.\n")
    assert f"* [A title](../../{theorem})" in texts[index]
    assert texts[index].count("other.md") == 1


def test_write_brings_everything_up_to_date(tmp_path, monkeypatch):
    """In a folder of its own: twice gives the same, and a finding that is gone leaves no text behind."""
    monkeypatch.setattr(readme, "texts", lambda found: {"README.md": "x\n"} | readme.rendered(found))
    readme.write(tmp_path, [Finding("a", "A", "# A"), Finding("b", "B", "# B")])
    folder = tmp_path / "reports/findings"
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "a.md", "b.md"]
    readme.write(tmp_path, [Finding("a", "A", "# A")])
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "a.md"]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "x\n"


def test_a_headline_without_its_rows_fails(tmp_path):
    with pytest.raises(FrameError, match="no table '"):
        readme.texts([], Frames(read_committed(tmp_path)))


def test_hours_before_are_the_hours_times_the_ratio_of_a_pair(tmp_path):
    hours = pd.DataFrame(
        [
            ("a", "bbb_mnist", "mnist_digits", "dp_sgd", "no", 2, 1.0),
            ("b", "nadpvi_adult", "adult_complete", "dpvim", "no", 2, 0.5),
            ("b", "dpsep_uci", "wine", "dp_sep_corrected", "no", 2, 0.25),
            ("b", "common_density", "wine", "dp_sep_corrected", "no", 2, 4.0),
            ("b", "dpsep_uci", "wine", "ridge", "no", 2, 8.0),
        ],
        columns=["paper", "experiment", "dataset", "method", "own", "cells", "hours"],
    )
    rows = ["bbb_mnist,mnist_digits,dp_sgd,6,3", "nadpvi_adult,adult_complete,dpvim,3,1.5"]
    rows += ["dpsep_uci,wine,dp_sep_corrected,4,1", "common_density,wine,dp_sep_corrected,1,2"]
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(["experiment,dataset,method,before,now", *rows, "dpsep_uci,wine,ridge,,2"]))
    found = readme.gained(hours, path).set_index("code")
    assert found["before"].to_dict() == {"mnist": 2.0, "dpvi": 1.0, "dp_sep_corrected": 1.0, "other": 2.0}
    assert found["hours"].sum() == 5.75
