"""The front page, a page per finding, which method, privacy, glossary, provenance and downloads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from datasets.files import ROOT
from reports import ceiling, claims, glossary, palette, pooled, published, scoreboard
from reports.blocks import Table
from reports.config import READING_TITLES
from reports.contents import ANSWERS, Advice, AdviceSection
from reports.findings import Finding
from reports.site import paper_page
from reports.site.cells import Cell
from reports.site.content import Content, Part, as_printed, counts, first_readings, shown_reading
from reports.site.document import HERE, Document, plain
from reports.site.words import method_title
from reports.verdict import FAMILY, REFUTED
from reports.verdicts import judged_together

#: findings that the front page names first, where they are there.
FIRST = ("dp-sep-columns", "privacy-claims", "wang2018-wrong-factor")
#: what the expected regret of the pages "Which method" is.
REGRET = (
    "The expected regret of a method is its mean distance to the best method's score, on the scale where 0 is the "
    "training mean and 1 the exact posterior."
)
#: which of two programs answers which question.
ADVISE = (
    "If you know your numbers of rows and columns, `./bench advise` compares methods on synthetic tables of that size; "
    "this page averages over tables of many sizes."
)
#: headings of the counts of verdicts.
COUNTED = ["Reproduced", "Compatible", "Inconclusive", "Refuted", "No score"]


def documents(content: Content, found: Mapping[str, Sequence[Cell]], downloads: Path) -> Iterator[Document]:
    """All pages but those of cells, methods and data sets.

    ``downloads``: the folder of files to take away; without any there is no page of them.
    """
    known = {f.id: f.title for f in content.findings}
    files = _files(downloads)
    yield _front(content, known)
    yield _papers(content, known)
    for part in content.papers:
        yield from paper_page.papers(part, content, known, part.key in found)
    yield from _which(content.advice, content, known)
    yield _privacy(content, known)
    yield _missing(content, known)
    yield _findings(content, known)
    for finding in content.findings:
        yield _finding(finding, known)
    yield _glossary(content, known)
    yield _provenance(content, known)
    if files:
        yield _downloads(downloads, files, known)
    yield _checked(known)
    yield _about(content, known)
    yield _docs(bool(files), known)


def flat(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested dicts as (dotted key, text) pairs."""
    if isinstance(value, Mapping):
        return [pair for k, v in value.items() for pair in flat(v, f"{prefix}.{k}" if prefix else str(k))]
    if isinstance(value, list):
        return [(prefix, ", ".join(map(str, value)))]
    return [(prefix, str(value))]


def by_method(part: Part) -> list[dict[str, Any]]:
    """Verdicts by method of the paper, in the one order of methods."""
    return sorted(counts(part.verdicts), key=lambda r: palette.place(r["method"])[:2])


def _front(content: Content, known: dict[str, str]) -> Document:
    page = Document("index", "Which published results of private Bayesian inference can be reproduced?", known)
    for why in content.broken:
        page.part("alert", text=f"Left out: {why}")
    if content.scale != "full":
        page.part("banner", text=content.banner, loud=True)
    page.say(
        "We rerun published methods of differentially private Bayesian inference, and check numbers and privacy claims."
    )
    answered = [part for part in content.papers if part.answered]
    page.part("cards", items=[
        {"href": "papers/index.html", "title": "Results by paper", "text": "Each number next to ours."},
        {"href": "which-method.html", "title": "Which method", "text": "The best on public tables."},
        {"href": "privacy.html", "title": "Privacy claims", "text": "Claimed epsilons, checked."},
    ])  # fmt: skip
    page.part("finder")
    page.part("checked")
    if answered:
        page.heading("Published numbers by verdict")
        page.part("legend")
        page.part("picture", groups=[{"title": "", "rows": [_total(part) for part in answered]}], of="Paper")
        page.say(picture_caption(content))
    page.heading("Three findings")
    by_id = {f.id: f for f in content.findings}
    chosen = [by_id[i] for i in FIRST if i in by_id] or list(content.findings[:3])
    if chosen:
        items = [{"href": f"findings/{f.id}.html", "title": f.title, "text": _first(f.summary)} for f in chosen]
        page.part("cards", items=items)
        page.say(f"[All {len(content.findings)} findings](findings/index.md).")
    else:
        page.say("Findings are drawn from a committed full run. This report has none yet.")
    page.heading("Which method for which task")
    if content.advice:
        for section in content.advice.sections:
            page.say(f"**[{plain(section.title)}](which-method/{section.id}.md).** {_short(section.text)}")
    else:
        page.say("The common tasks are not part of this report: `./bench --cores 2 common_tasks` runs them.")
    page.say(f"[Cite it](about.md). {_runs(content)}")
    page.toctree(
        {
            "self": "Start",
            "papers/index": "Results",
            "which-method": "Which method",
            "methods/index": "Methods",
            "privacy": "Privacy",
            "findings/index": "Findings",
            "docs": "Docs",
        }
    )
    return page


def _runs(content: Content) -> str:
    """Which commits the numbers are of, in one or two sentences."""
    commit = str(content.manifest.get("commit", ""))[:12]
    if content.runs:
        last = f" The last reference run is of commit `{commit}`." if commit else ""
        return f"[Provenance](provenance.md) names the run of each number.{last}"
    return f"The numbers are of commit `{commit}`." if commit else ""


def _first(text: str) -> str:
    """The first sentence."""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)[0]


def _short(advice: str) -> str:
    """The first sentence of the advice on a task, with those that say whether it changes if a table is left out.

    All of it if none says so: the first sentence alone would be stronger than the advice.
    """
    first, *rest = re.split(r"(?<=\.)\s+(?=[A-Z])", advice)
    limits = [s for s in rest if re.search(r"survives? leaving out|that is left out", s)]
    return " ".join([first, *limits]) if limits else advice


def _total(part: Part) -> dict[str, Any]:
    """The verdicts of one paper, over all its methods."""
    total = pd.DataFrame(counts(part.verdicts)).drop(columns="method").sum().to_dict()
    return {"title": part.title, "address": f"papers/{part.key}.html", **total}


def _docs(downloads: bool, known: dict[str, str]) -> Document:
    """What explains the numbers, and what they were made of."""
    page = Document("docs", "Docs", known)
    page.say("These pages explain how the numbers are made and how to use the suite.")
    below = {
        "docs/index": "Tutorials, guides, explanations and reference",
        "glossary": "Glossary, and what a verdict means",
        "datasets/index": "Data sets",
        "provenance": "Provenance",
        **({"downloads": "Downloads"} if downloads else {}),
        "checked": "Recomputed on this machine",
        "about": "Licence, citation, problems",
    }
    texts = {"readme": "README", "contributing": "How to contribute", "architecture": "Map of the code",
             "changelog": "Changes and errata"}  # fmt: skip
    page.part(
        "linked", items=[{"href": f"{path}.html", "text": title, "more": ""} for path, title in (below | texts).items()]
    )
    page.toctree(below)
    return page


def _about(content: Content, known: dict[str, str]) -> Document:
    """Where the links of the footer lead."""
    page = Document("about", "Licence, citation, problems", known)
    page.say("This page says how to use, cite and correct this suite.")
    work = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    page.heading("Licence")
    page.say(f"The licence is {plain(work['license'])}. The file `LICENSE` of the repository has the text.")
    page.heading("Cite")
    fields = {
        "title": work["title"],
        "author": " and ".join(f"{{{a['name']}}}" for a in work["authors"]),
        "version": work["version"],
        **({"url": work["repository-code"]} if "repository-code" in work else {}),
    }
    lines = [f"  {key} = {{{value}}}," for key, value in fields.items()]
    page.say("\n".join(["```text", "@software{dpbayes_bench,", *lines, "}", "```"]))
    page.say("Please cite the papers whose methods you use, too. The page of a method names its paper.")
    if runs := _runs(content):
        page.say(runs)
    page.heading("Report a problem")
    where = f"[the repository]({work['repository-code']}/issues)" if "repository-code" in work else "the repository"
    page.say(
        f"Open an issue in {where} that this report was built from. Give the page, and the key of the number or the "
        "id of the claim."
    )
    return page


def _titles(content: Content) -> dict[str, str]:
    """Source of published numbers -> its title."""
    of = [(part, source) for part in content.papers for source in part.verdicts["source"].unique()]
    return {source: part.sources.get(source, part.title) for part, source in of}


def _scores(page: Document, content: Content) -> None:
    """The pooled effects, then the counts of verdicts with their ceilings."""
    titles = _titles(content)
    page.heading("How far our runs are from the published numbers")
    page.say(
        "For errors, norms and divergences, the effect is our number divided by the published one. For log-likelihoods "
        "and shares, it is our number minus the published one. For single runs of a sampler, it is the chance that one "
        "of ours is above one of theirs. Each row gives the median effect over all numbers of a source. The 95 % "
        "interval resamples data sets, and is left out if there are fewer than five. These are the committed results."
    )
    page.say(
        "The next two columns have the share of numbers within the margin, and the 90 % quantile of the distance from "
        "a ratio of 1, a difference of 0 or a chance of 1/2. The column on compatible numbers has the median of the "
        "smallest shift that would have been refuted."
    )
    rows = [
        [titles[r["source"]], READING_TITLES[r["reading"]], r["metric_title"], str(r["numbers"]), r["text"],
         r["within_text"], r["far"], f"{r['shift_text']} ({r['compatible']:,})" if r["compatible"] else "",
         f"p = {r['joint_p']:.2g} ({r['joint_test']})" if r["joint_test"] else ""]
        for r in map(pooled.shown, pooled.read().to_dict("records")) if r["source"] in titles
    ]  # fmt: skip
    columns = ["Source", "Reading", "Measure", "Numbers", "Effect", "Within", "90 %", "Compatible: shift (numbers)"]
    columns += ["Joint test"]
    page.part("frame", columns=columns, rows=rows, label="Pooled effects")
    page.heading("Verdicts by source")
    page.say(
        "The number in brackets is the count that a perfect copy of our implementation would earn, because published "
        "runs are noisy. [Numbers without a score](../missing.md) have a page with their reasons."
    )
    first = pd.concat([first_readings(part.verdicts) for part in content.papers if part.answered])
    board = scoreboard.with_ceiling(first)
    total = {**board.drop(columns="source").sum().to_dict(), "source": ""}
    rows = [
        [titles.get(r["source"], "All"), f"{r['numbers']:,}",
         *(f"{r[w]:,} ({r[f'copy_{w}']:,.0f})" for w in scoreboard.COUNTS[:-1]), str(r["no_score"])]
        for r in [*board.to_dict("records"), total]
    ]  # fmt: skip
    page.part("frame", columns=["Source", "Numbers", *COUNTED], rows=rows, label="Scoreboard")


def _missing(content: Content, known: dict[str, str]) -> Document:
    page = Document("missing", "Numbers without a score", known)
    titles = _titles(content)
    answered = [first_readings(part.verdicts) for part in content.papers if part.answered]
    groups = scoreboard.missing(pd.concat(answered)).to_dict("records") if answered else []
    if not groups:
        page.say("Every published number has a score.")
        return page
    total = sum(r["numbers"] for r in groups)
    page.say(f"{total:,} distinct published numbers have no score. Each group has one reason.")
    rows = [
        [titles[r["source"]], str(r["numbers"]), str(r["methods"]), r["why"], r["remedy"] or "not known"]
        for r in groups
    ]
    columns = ["Source", "Numbers", "Methods", "Reason", "What it would take"]
    page.part("frame", columns=columns, rows=rows, label="Numbers without a score")
    return page


def picture_caption(content: Content) -> str:
    """Which readings a picture of verdicts counts, and how many numbers are refuted: by the bars, and as printed."""
    first = [first_readings(part.verdicts) for part in content.papers if part.answered]
    by = Counter(reading for frame in first for reading in frame["reading"])
    judged = "the authors' code" if by["authors"] else "the algorithms as printed"
    judged += ", or else the algorithm as printed" if by["authors"] and by["printed"] else ""
    refuted = sum(int(frame["verdict"].isin(REFUTED).sum()) for frame in first)
    said = [
        f"The bars judge {judged}: {refuted:,} of {by.total():,} numbers are refuted.",
    ]
    printed = pd.concat([as_printed(part) for part in content.papers if part.answered])
    if by["authors"] and len(printed):
        refuted = int(printed["verdict"].isin(REFUTED).sum())
        said.append(f"As printed, {refuted:,} of {len(printed):,} are refuted.")
    return " ".join(said)


def _papers(content: Content, known: dict[str, str]) -> Document:
    page = Document("papers/index", "Results by paper", known)
    page.say("Each paper has a page that compares its published numbers and its claims with our runs.")
    items = [
        {
            "href": f"papers/{p.key}.html",
            "text": p.title,
            "more": _holds(p),
        }
        for p in content.papers
    ]
    page.part("linked", items=items)
    page.say("[Numbers without a score](../missing.md) have a page with their reasons.")
    groups = [
        {
            "title": f"{part.title}: {shown_reading(first_readings(part.verdicts))}",
            "address": f"papers/{part.key}.html",
            "rows": [{"title": method_title(r["method"], part.titles), **r} for r in by_method(part)],
        }
        for part in content.papers
        if part.answered
    ]
    if not groups:
        page.say("These papers print no number that can be compared. Their sentences are judged as claims.")
    if content.scale == "full" and groups:
        _scores(page, content)
        ceilings = ceiling.read()
        for part, group in zip((p for p in content.papers if p.answered), groups, strict=True):
            copy = paper_page.copy_of(first_readings(part.verdicts), "Expected for a copy of our code", ceilings)
            group["rows"] += [copy] if copy["cells"] else []
    if groups:
        page.heading("Verdicts by method")
        page.part("legend")
        page.part("picture", groups=groups, of="Paper and method")
        page.say(picture_caption(content))
    page.toctree([*(f"papers/{p.key}" for p in content.papers), "missing"])
    return page


def _holds(part: Part) -> str:
    """How many numbers and claims of a paper are compared, in words."""
    numbers = f"{len(first_readings(part.verdicts)):,} published numbers" if part.answered else ""
    counted = claims.counted(part.claims) if len(part.claims) else ""
    return ", ".join(filter(None, (numbers, counted))) or "its methods, without a published number or claim"


def _which(advice: Advice | None, content: Content, known: dict[str, str]) -> Iterator[Document]:
    """The page of all tasks, a page per task, a page of its details, and one of what belongs to all tasks."""
    page = Document("which-method", "Which method should I use?", known)
    page.say(
        "Within a task, all private methods ran on the same tables at the same budgets. A task has one answer per "
        "epsilon, or none."
    )
    page.part("banner", text=content.banner, loud=content.scale != "full")
    if advice is None:
        page.say(
            "No private method has a score on the common tasks in this report: `./bench --cores 2 common_tasks` runs "
            "them."
        )
        yield page
        return
    page.say(f"{REGRET} {ADVISE}")
    for section in advice.sections:
        _take(page, section, f"**[{plain(section.title)}](which-method/{section.id}.md).**")
    page.heading("How the winner is found")
    for note in advice.notes:
        page.say("* " + plain(note))
    below = [d for s in advice.sections for d in (_task(s, content, known), *_task_details(s, content, known))]
    if advice.tables or advice.figures:
        page.say("[Every method on every task, tuned settings and privacy](which-method/all-tasks.md).")
        every = Document("which-method/all-tasks", "All common tasks", known)
        every.say(
            "These tables and figures compare methods over all tasks. Tables can be sorted by a click on a heading."
        )
        paper_page.figures_of(every, advice.figures, content)
        below += paper_page.table_pages(every, advice.tables, open=False, sortable=True)
    page.toctree([document.path for document in below])
    yield page
    yield from below


def _take(page: Document, section: AdviceSection, head: str) -> None:
    """The recommendation: a table with a row per epsilon, or the reason why there is none."""
    if not section.answers:
        page.say(f"{head} {section.text}")
        return
    rows, columns, said = section.answers, ANSWERS, [head]
    if any(" or " in row[1] for row in rows):
        said.append("If several methods are named, the numbers are those of the first.")
    if not any(row[-1] for row in rows):
        rows, columns = [row[:-1] for row in rows], ANSWERS[:-1]
        said.append("The answers survive leaving out any one table.")
    page.say(" ".join(said))
    page.part("frame", columns=columns, rows=rows, label=f"What to take: {section.title}")


def _task(section: AdviceSection, content: Content, known: dict[str, str]) -> Document:
    """One table, one figure and three short paragraphs."""
    page = Document(f"which-method/{section.id}", f"Which method: {section.title}", known)
    page.say(f"All private methods of this task ran on the same tables at the same budgets. {ADVISE}")
    if section.answers:
        page.say(REGRET)
    page.part("banner", text=content.banner, loud=content.scale != "full")
    _take(page, section, "**Take this.**")
    for word, said in zip(("Because", "Limits"), section.sentences, strict=False):
        page.say(f"**{word}.** {said}")
    if section.table:
        page.say(section.caption)
        if all(plain(name) in section.table for name in ("DP-VI", "DPVI")):  # tables have no tooltips
            page.say(
                "DP-VI is the method of Vinaroz & Park (2023), and DPVI is that of Jälkö, Dikmen & Honkela (2017)."
            )
        page.say(section.table)
    paper_page.figures_of(page, section.figures[:1], content)
    if section.rows:
        page.heading("How many rows do you need?")
        paper_page.figures_of(page, section.rows[1:], content)
        paper_page.tables_of(page, section.rows[:1])
    page.say(
        f"[All scores, calibration and cost]({section.id}-details.md). [How the winner is found](../which-method.md)."
    )
    return page


def _task_details(section: AdviceSection, content: Content, known: dict[str, str]) -> Iterator[Document]:
    """Every number of a task, closed until asked for."""
    page = Document(f"which-method/{section.id}-details", f"Details: {section.title}", known)
    page.say(
        f"These are all numbers of the task. [The answer]({section.id}.md) is on a page of its own. Tables can be "
        "sorted by a click on a heading."
    )
    paper_page.figures_of(page, section.figures[1:], content)

    def title(table: Table) -> str:
        text = table.title.removeprefix(section.title).lstrip(": ")
        return text[:1].upper() + text[1:]

    yield from paper_page.table_pages(page, section.tables, title, open=False, sortable=True)


def _privacy(content: Content, known: dict[str, str]) -> Document:
    page = Document("privacy", "Privacy: what an epsilon here means", known)
    page.say((HERE / "templates" / "privacy.md").read_text(encoding="utf-8"))
    items = [
        {"href": f"papers/{p.key}/privacy.html", "text": p.title, "more": paper_page.claims_of_epsilon(p)}
        for p in content.papers
        if p.privacy
    ]
    if items:
        page.heading("Claimed epsilon, and epsilon by the ledger")
        page.say(
            "A claim is that of a method in one reading on one data set. It holds if the epsilon by the ledger of our "
            "runs is not above it."
        )
        page.part("linked", items=items)
    if content.privacy:
        page.heading("What was checked")
    paper_page.tables_of(page, content.privacy)
    return page


def _findings(content: Content, known: dict[str, str]) -> Document:
    page = Document("findings/index", "Findings", known)
    page.say("Each finding has a claim, its evidence, the reason, what it does not show, and how to rerun it.")
    page.say("Every number is read from a committed table when the text is made.")
    placed: set[str] = set()
    for part in content.parts:
        mine = [f for f in part.findings if f.id not in placed]
        placed |= {f.id for f in mine}
        if mine:
            page.heading(part.title[:1].upper() + part.title[1:])
            page.part("summaries", items=paper_page.items_of(mine))
    rest = [f for f in content.findings if f.id not in placed]
    if rest:
        page.heading("On several papers")
        page.part("summaries", items=paper_page.items_of(rest))
    if not content.findings:
        page.say("None: findings are drawn from a committed full run, and there is none yet.")
    page.toctree([f"findings/{f.id}" for f in content.findings])
    return page


def _finding(finding: Finding, known: dict[str, str]) -> Document:
    """A finding as it is rendered. Its code stays code: no fence of it names a directive."""
    page = Document(f"findings/{finding.id}", finding.title, known)
    text = re.sub(r"<!--.*?-->\s*", "", finding.text, flags=re.S).lstrip()
    lines = text.splitlines()
    if lines and lines[0].startswith("# "):
        lines = lines[1:]
    page.say(paper_page.inert("\n".join(lines)))
    return page


def _glossary(content: Content, known: dict[str, str]) -> Document:
    page = Document("glossary", "Glossary, and what a verdict means", known)
    page.say("This page defines the verdicts on numbers and claims, and the words of this suite.")
    page.part("legend")
    text = (HERE / "templates" / "verdicts.md").read_text(encoding="utf-8")
    page.say(text.replace("FAMILY", str(FAMILY)).replace("TOGETHER", plain(judged_together(published.load()))))
    page.heading("Words of this suite")
    page.part("words", items=glossary.load())
    return page


def _provenance(content: Content, known: dict[str, str]) -> Document:
    page = Document("provenance", "Provenance", known)
    page.say(plain(content.origin))
    # What the run did not record is not shown.
    rows = flat({k: v for k, v in content.manifest.items() if k != "pairs" and v != ""})
    if rows:
        page.part("frame", columns=["What", "Value"], rows=[list(r) for r in rows], label="This run")
    else:
        page.say("No manifest was written.")
    if content.runs:
        page.heading("The run behind each committed score")
        page.say(
            "Each method in an experiment has one run of all its cells. That run gave the committed scores, or agrees "
            "with each of them. The date is the day of its commit."
        )
        columns = ["experiment", "method", "commit", "date", "versions"]
        rows = [[r[c][:12] if c == "commit" else r[c] for c in columns] for r in content.runs.values()]
        page.part("frame", columns=columns, rows=rows, label="Whole runs", sortable=True)
    return page


def _files(folder: Path) -> list[Path]:
    """The files to take away; none if the folder is not there."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))


def _downloads(folder: Path, files: Sequence[Path], known: dict[str, str]) -> Document:
    page = Document("downloads", "Downloads", known)
    page.say("These files hold the results of this report.")
    rows = [
        [
            {"href": f"downloads/{p.relative_to(folder).as_posix()}", "text": p.relative_to(folder).as_posix()},
            _size(p.stat().st_size),
        ]
        for p in files
    ]
    page.part("frame", columns=["File", "Size"], rows=rows, label="Files")
    dictionary = next((p for p in files if "dictionary" in p.stem), None)
    if dictionary is not None and dictionary.suffix == ".csv":
        page.heading("Data dictionary")
        frame = pd.read_csv(dictionary, dtype=str, keep_default_na=False)
        page.part(
            "frame", columns=list(frame.columns), rows=frame.to_numpy().tolist(), label="Data dictionary", sortable=True
        )
    elif dictionary is not None and dictionary.suffix == ".md":
        page.heading("Data dictionary")
        text = dictionary.read_text(encoding="utf-8")
        page.say("\n".join(line for line in text.splitlines() if not line.startswith("# ")))
    return page


def _size(n: int) -> str:
    return f"{n / 1e6:.1f} MB" if n >= 1e6 else f"{max(n, 100) / 1e3:.1f} kB"


def _checked(known: dict[str, str]) -> Document:
    page = Document("checked", "Recomputed on this machine", known)
    page.say("A sample of cells is computed here from the raw data, and compared with the committed numbers.")
    page.part("checked_rows")
    return page
