"""The result in README.md, its figure, and the rendered text of every finding: made from the committed reference.

    python -m reports.build readme

writes what stands between the markers of ``README.md`` (template ``templates/readme.md``, whose numbers are queries as
in findings), ``docs/result.svg`` with its data ``docs/result.csv``, and ``findings/<id>.md`` of the papers
and of ``reports/``.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd

from datasets.files import csv_text, write_bytes, write_text
from reports import findings, reference, style
from reports import papers as judged
from reports.config import READINGS, ReportError
from reports.findings import Finding
from reports.published import KEY, METHOD_TITLES, SOURCE_TITLES
from reports.published import load as load_published
from reports.queries import Tables
from reports.verdict import VERDICTS
from reports.verdicts import read_findings, scoreboard
from workflow.papers import papers

ROOT = Path(__file__).parent.parent
INDEX = "reports/findings/README.md"
BEGIN, END = "<!-- result: begin -->", "<!-- result: end -->"
COMMAND = "python -m reports.build readme"
#: verdict -> (colour, marker) in the figure; drawn in this order.
LOOK = {
    "inconclusive": (style.GREY, "x"),
    "compatible": (style.SKY, "s"),
    "reproduced": (style.BLUE, "o"),
    "worse": (style.RED, "^"),
    "better": (style.GREEN, "v"),
}
#: axis of the figure; what lies beyond stands at its ends.
LOWEST, HIGHEST = 0.1, 1000.0
#: of sources, and of folders that answer none (the common tasks), as findings are grouped.
TITLES = {**{p.key: p.title for p in papers()}, **SOURCE_TITLES}
COLUMNS = ["row", *KEY, "reading", "published_mean", "mean", "verdict", "ratio"]


def read_verdicts(folder: Path = reference.FOLDER) -> pd.DataFrame:
    """The committed verdicts, every column text."""
    return pd.read_csv(folder / "verdicts.csv", dtype=str, keep_default_na=False)


def ratio(ours: float, published: float, metric: str) -> float:
    """Ours over the published number where lower is better; above 1 ours is worse.

    Of a log-likelihood: the published over our predictive density of a test row, its geometric mean over the rows. The
    margins of the verdict rule, 10 % of an error and ln 1.1 nats, are then one number, 1.1. A published 0 gives inf.
    """
    if metric == "test_log_likelihood":
        return math.exp(min(published - ours, 700.0))
    return ours / published if published else math.inf


def points(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Every distinct published number that has a score of ours, by reading; columns ``COLUMNS``."""
    numbers = load_published()
    largest_first = numbers["source"].value_counts().index
    copies = set(map(tuple, numbers.loc[numbers["same_as"] != "", KEY].to_numpy()))
    rows = []
    for r in verdicts.to_dict("records"):
        if r["headline"] != "yes" or r["verdict"] not in VERDICTS or tuple(r[k] for k in KEY) in copies:
            continue
        row = f"{METHOD_TITLES.get(r['method'], r['method'])} · {_short(r['source'])}"
        exact = ratio(float(r["mean"]), float(r["published_mean"]), r["metric"])
        # Six digits are more than a figure shows, and the same with every build of exp.
        rows.append({**r, "row": row, "ratio": float(f"{exact:.6g}")})
    return pd.DataFrame(rows, columns=COLUMNS).sort_values(
        ["source", "method"],
        key=lambda c: c.map({k: i for i, k in enumerate([*largest_first, *METHOD_TITLES])}),
        kind="stable",
        ignore_index=True,
    )


def _short(source: str) -> str:
    """First author and year, of the title that tables show."""
    title = SOURCE_TITLES.get(source, source)
    year = re.search(r"\b\d{4}\b", title)
    return f"{re.split('[ ,]', title)[0]} {year[0]}" if year else title


def figure(data: pd.DataFrame, form: str = "svg") -> bytes:
    """SVG (or PNG) of :func:`points`; its description is the digest of the data.

    White stands behind it, so that it can be read on a dark page, too.
    """
    from matplotlib.lines import Line2D

    rows = list(dict.fromkeys(data["row"]))
    with style.canvas(1, len(READINGS), panel=0.33 * len(rows) + 0.6) as (made, axes):
        for ax, reading in zip(axes.flat, READINGS, strict=True):
            ax.axvspan(1 / 1.1, 1.1, color=style.LIGHT, linewidth=0, zorder=0)
            for k, row in enumerate(rows):
                here = data[(data["reading"] == reading) & (data["row"] == row)].sort_values("ratio", kind="stable")
                # Neighbours in value stand on five lines of their own, so that one hides no other.
                lines = k + 0.15 * (np.arange(len(here)) % 5 - 2) * (len(here) > 4)
                x = here["ratio"].clip(LOWEST, HIGHEST).to_numpy()
                for verdict in filter(set(here["verdict"]).__contains__, LOOK):
                    (colour, marker), of = LOOK[verdict], (here["verdict"] == verdict).to_numpy()
                    ax.plot(x[of], lines[of], marker=marker, color=colour, markersize=4, linestyle="none", alpha=0.85,
                            zorder=3, clip_on=False)  # fmt: skip
            ax.set_xscale("log")
            ax.set_xlim(LOWEST, HIGHEST)
            ax.set_xticks([0.1, 1, 10, 100, 1000], ["≤ 0.1", "1", "10", "100", "≥ 1000"], fontsize=8)
            ax.set_ylim(len(rows) - 0.4, -0.6)
            ax.set_yticks(range(len(rows)), rows if ax is axes[0, 0] else [""] * len(rows))
            ax.set_title(reading)
        axes[0, len(READINGS) // 2].set_xlabel("ours / published (above 1 ours is worse; grey: within 10 %)")
        marks = [
            Line2D([], [], color=colour, marker=marker, linestyle="none", label=verdict)
            for verdict, (colour, marker) in LOOK.items()
            if verdict in set(data["verdict"])
        ]
        made.legend(handles=marks, loc="outside lower center", ncols=len(marks))
        out = io.BytesIO()
        about = {"Date": None, "Description": digest(data)} if form == "svg" else None
        made.savefig(out, format=form, facecolor="white", metadata=about)
    return out.getvalue()


def digest(data: pd.DataFrame) -> str:
    """What the figure's description says of its data."""
    return f"sha256 of its data: {hashlib.sha256(csv_text(data).encode('utf-8')).hexdigest()}"


def section(tables: Tables, verdicts: pd.DataFrame, titles: dict[str, str]) -> str:
    """The text between the markers. ``titles``: of the findings by id; raises KeyError for a link to none of them."""
    board = scoreboard(verdicts).to_dict("records")
    totals = {
        reading: {
            word: sum(r[word] for r in board if r["reading"] == reading)
            for word in ("cells", "no_score", "of_these_distinctive", *VERDICTS)
        }
        for reading in READINGS
    }
    housed = judged.load()
    # a paper that judges its own numbers has a line a reading, and no part in the totals
    text = findings.fill(
        Path(__file__).parent / "templates" / "readme.md",
        tables,
        board=board + [row for paper in housed for row in paper.board],
        totals=totals,
        sources=SOURCE_TITLES | {paper.key: paper.title for paper in housed},
        housed=housed,
        finding=lambda key: f"[{titles[key]}]({findings.home_of(key)}/{key}.md)",
    )
    return text.strip("\n")


def between(readme: str, text: str) -> str:
    """README with ``text`` between its markers. Raises :class:`ReportError` where they are not there once, in order."""
    if readme.count(BEGIN) != 1 or readme.count(END) != 1 or readme.index(BEGIN) > readme.index(END):
        raise ReportError(f"README.md needs the lines '{BEGIN}' and '{END}' once, in this order")
    head, rest = readme.split(BEGIN)
    return f"{head}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}"


def rendered(found: list[Finding]) -> dict[str, str]:
    """File, relative to the root -> text: a file a finding, and one in ``reports/`` that lists them."""
    note = f"<!-- made from source/{{}}.md by `{COMMAND}`; edit that file -->\n\n"
    files = {f.id: f"{findings.home_of(f.id)}/{f.id}.md" for f in found}
    out = {files[f.id]: note.format(f.id) + f.text.rstrip("\n") + "\n" for f in found}
    index = read_findings().to_dict("records")
    groups: dict[str, list[Finding]] = {}
    for f in found:
        sources = sorted({r["source"] for r in index if r["finding"] == f.id})
        about = " and ".join(TITLES.get(s, s) for s in sources if s != "*")
        groups.setdefault(about or ("several sources" if sources else "no published number"), []).append(f)
    lines = [f"<!-- made by `{COMMAND}` -->", "", "# Findings", ""]
    lines += ["Why a published number does not come back, what a privacy claim is worth, and which method does better,"]
    lines += ["with the runs that show it. Every number is read from a committed table when the text is made.", ""]
    for about, group in groups.items():
        lines += [f"## On {about}", "", *(f"* [{f.title}](../../{files[f.id]})" for f in group), ""]
    out[INDEX] = "\n".join(lines).rstrip("\n") + "\n"
    return out


def write(root: Path = ROOT, found: list[Finding] | None = None) -> None:
    """Bring README.md, ``docs/`` and the rendered findings below ``root`` up to date. ``found``: as rendered."""
    verdicts = read_verdicts()
    tables = Tables(findings.read_committed())
    found = findings.render(tables=tables) if found is None else found
    path = root / "README.md"
    titles = {f.id: f.title for f in found}
    text = section(tables, verdicts, titles)
    write_text(path, between(path.read_text(encoding="utf-8"), text))
    data = points(verdicts)
    write_text(root / "docs" / "result.csv", csv_text(data))
    write_bytes(root / "docs" / "result.svg", figure(data))
    texts = rendered(found)
    for name, content in texts.items():
        write_text(root / name, content)
    for old in committed_texts(root):
        if old not in texts:
            (root / old).unlink()


def committed_texts(root: Path = ROOT) -> list[str]:
    """Rendered texts that are there, relative to the root."""
    homes = (root / home.relative_to(ROOT) for home in findings.folders())
    return [str(path.relative_to(root)) for home in homes for path in sorted(home.glob("*.md"))]


def titles_of() -> dict[str, str]:
    """Titles of the findings by id: their first headings."""
    return {p.stem: findings.title_of(p) for p in findings.sources()}
