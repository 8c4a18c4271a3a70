"""Makes README.md with its figure, pages of docs/, and the rendered findings with their index from committed results.

    python -m reports.build readme

renders ``reports/templates/*.md``, whose numbers come from :func:`names`, and
``findings/<id>.md`` of the papers and of ``reports/``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import norm

from datasets.files import ROOT, write_text
from evaluation.metrics import METRICS, NONE, OF_ERROR, UP, of_published
from evaluation.summary import seconds_of
from methods import contract
from reports import (
    ceiling,
    ceiling_bias,
    evidence,
    findings,
    frames,
    manual,
    measured,
    pooled,
    privacy_claims,
    published,
    reference,
    scoreboard,
    verdict,
    verdict_figure,
)
from reports import papers as judged
from reports.config import READING_TITLES
from reports.findings import Finding
from reports.frames import Frames
from reports.published import METHOD_TITLES, SOURCE_TITLES
from reports.site import status
from reports.verdicts import judged_together, read_findings
from workflow import committed, new
from workflow.papers import key_of, papers, programs
from workflow.program import CPU_SECONDS, read_scores

TEMPLATES = Path(__file__).parent / "templates"
#: file of the repository -> its template.
TEXTS = {
    "README.md": "readme.md",
    "docs/results.md": "results.md",
    "docs/verdict-versions.md": "verdict-versions.md",
    "docs/explanation/verdicts.md": "verdicts.md",
    "docs/explanation/ceiling.md": "ceiling.md",
    "docs/explanation/privacy-claims.md": "privacy-claims.md",
    "docs/how-to/full-run.md": "full-run.md",
}
FIGURE = "docs/verdicts.svg"
#: the published number of the worked example: DP-SEP on Wine, table 3.
EXAMPLE = {"source": "vinaroz2023dpsep", "table": "3", "dataset": "wine", "method": "dp_sep", "metric": "rmse"}
INDEX = "reports/findings/README.md"
#: first words of a method's status -> what README's table says.
CLAIMS = {
    "Not private": "no",
    "Private": "yes",
    status.REFUTED: "claim refuted",
    status.NOT_SHOWN: "not shown",
    status.NO_EPSILON: "no finite epsilon",
}
COMMAND = "python -m reports.build readme"
#: titles of the groups of findings: sources, and folders without published numbers (the common tasks).
TITLES = {**{p.key: p.title for p in papers()}, **SOURCE_TITLES}


@dataclass(frozen=True)
class Listed:
    """A method of README's table."""

    #: key of its link.
    name: str
    title: str
    source: str
    #: its name in the published tables of ``sources``, and the method of this suite that is its algorithm as printed.
    columns: tuple[str, ...]
    adapter: str
    sources: tuple[str, ...] = ()
    #: finding behind ``words``.
    link: str = ""
    words: str = ""
    #: our method for the authors' code, if its claim differs.
    code: str = ""


_DPSEP, _NADPVI = ("vinaroz2023dpsep", "vinaroz2021dpsep"), ("alrawajfeh2024nadpvi_rebuttal",)
LISTED = (
    Listed("vi", "VI", "Vinaroz & Park", ("vi",), "vi", _DPSEP, "columns-of-another-paper", "settings that do not fit"),
    Listed("ep", "EP", "Vinaroz & Park", ("ep",), "ep", _DPSEP),
    Listed("sep", "SEP", "Vinaroz & Park", ("sep",), "sep", _DPSEP),
    Listed(
        "clipped-sep", "Clipped SEP", "Vinaroz & Park", ("clipped_sep",), "clipped_sep", _DPSEP,
        "dp-sep-columns", "no clipping in the code",
    ),
    Listed(
        "dp-sep", "DP-SEP", "Vinaroz & Park", ("dp_sep",), "dp_sep", _DPSEP,
        "dp-sep-columns", "no noise in the code", "dp_sep_authors",
    ),
    Listed(
        "dp-vi", "DP-VI", "Vinaroz & Park", ("dp_vi",), "dp_vi_vinaroz", _DPSEP,
        "dp-vi-column", "no clipping in the code", "dp_vi_vinaroz_authors",
    ),
    Listed(
        "dp-em", "DP-EM", "Park et al., Vinaroz & Park", ("dp_em",), "dp_em_authors", _DPSEP,
        "dp-em-sensitivity", "a sensitivity too small",
    ),
    Listed(
        "rdp", "RDP posterior sampling", "Geumlek et al.", (), "posterior_sampling_diffused", (),
        "rdp-suprema", "what is safe, and three traps",
    ),
    Listed(
        "na-dpvi", "NA-DPVI", "Alrawajfeh et al.", ("na_dpvi_nuts", "na_dpvi_laplace"), "na_dpvi", _NADPVI,
        "na-dpvi-priors", "depends on its priors",
    ),
)  # fmt: skip


def claim(method: str, ledger: pd.DataFrame) -> str:
    """Return "no" for a method without a privacy claim, else a word of ``CLAIMS`` by :func:`privacy_status`."""
    adapters = [contract.get(name, kind) for kind, name in contract.pairs() if name == method]
    told = status.privacy_status(adapters, ledger[ledger["method"] == method], None, privacy_claims.of(method))
    (word,) = (word for start, word in CLAIMS.items() if told.startswith(start))
    every = privacy_claims.of(method)["word"]
    same = int((every == {"claim refuted": privacy_claims.REFUTED}.get(word, word)).sum())
    return f"{word} ({same} of {len(every)} claims)" if 0 < same < len(every) else word


def _method_title(name: str) -> str:
    """The heading of a published method, or its name in words."""
    return METHOD_TITLES.get(name) or name.replace("_", " ")


def one_claim(source: str, method: str, reading: str, setting: str) -> dict[str, str]:
    """The committed privacy claim of that name."""
    table = privacy_claims.read()
    wanted = {"source": source, "method": method, "reading": reading, "setting": setting}
    (row,) = table[(table[list(wanted)] == pd.Series(wanted)).all(axis=1)].to_dict("records")
    return row


def _found(about: Listed, verdicts: pd.DataFrame, ceilings: pd.DataFrame) -> str:
    """What was found on a method, for README: its counts per reading, each with its ceiling, and a finding."""
    mine = verdicts[verdicts["source"].isin(about.sources) & verdicts["method"].isin(about.columns)]
    said = []
    for reading in scoreboard.ORDER:
        of = mine[mine["reading"] == reading]
        if len(of):
            (n,) = scoreboard.with_ceiling(of.assign(all=""), ("all",), ceilings).to_dict("records")
            refuted = f", {n['refuted']} refuted" if n["refuted"] else ""
            counted = f"{n['reproduced']} ({n['copy_reproduced']:.1f}) of {n['numbers'] - n['no_score']}"
            said.append(f"{READING_TITLES[reading]}: {counted} reproduced{refuted}")
    if about.link:
        said.append(f"[{about.words}][{about.name}]")
    return "; ".join(said)


def _main_effects(effects: list[dict[str, object]]) -> list[dict[str, object]]:
    """For each source, the pooled effect of the metric with most numbers, by the authors' code."""
    best: dict[object, dict] = {}
    for row in (e for e in effects if e["reading"] == scoreboard.ORDER[0]):
        old = best.get(row["source"])
        if old is None or row["numbers"] > old["numbers"]:
            best[row["source"]] = row
    return list(best.values())


def names(rows: pd.DataFrame, found: list[Finding], others: list[Finding]) -> dict[str, object]:
    """The names that the templates may use.

    ``rows``: from :func:`reports.scoreboard.rows`; ``others``: findings of papers with their own code.
    """
    verdicts = rows[scoreboard.COLUMNS]
    first = scoreboard.first(verdicts)
    ceilings = ceiling.read()
    board = scoreboard.with_ceiling(first, ceilings=ceilings)
    by_number = verdicts[verdicts["reading"].isin(scoreboard.ORDER)]
    by_reading = scoreboard.with_ceiling(by_number, ("source", "reading"), ceilings)
    effects = [pooled.shown(r) for r in pooled.read().to_dict("records")]
    printed = scoreboard.counts(scoreboard.first(verdicts, ("printed",)))[scoreboard.COUNTS].sum()
    homes = {f.id: f"{findings.home_of(f.id)}/{f.id}.md" for f in found} | {
        f.id: f"papers/{paper.key}/findings/{f.id}.md" for paper in judged.load() for f in paper.findings
    }
    titles = SOURCE_TITLES | {
        source: paper.title for paper in judged.load() for source in paper.verdicts["source"].unique()
    }
    ledger = committed.ledgers(reference.FOLDER)
    methods = [
        {"name": m.name, "title": m.title, "source": m.source, "link": m.link,
         "private": claim(m.adapter, ledger) + (f"; code: {claim(m.code, ledger)}" if m.code else ""),
         "found": _found(m, by_number, ceilings)}
        for m in LISTED
    ]  # fmt: skip

    def titled(found: list[dict]) -> list[dict]:
        return [{"title": titles[r["source"]], **r} for r in found]

    return {
        "board": titled(board.to_dict("records")),
        "total": board.drop(columns="source").sum().to_dict(),
        "effects": titled(effects),
        "worth": {r["source"]: r for r in _main_effects(effects)},
        "ceiling_bias": ceiling_bias.read().to_dict("records"),
        "main_effects": titled(_main_effects(effects)),
        "printed": printed.to_dict(),
        "printed_scored": printed.sum() - printed["no_score"],
        "single": int(((first["verdict"] == "compatible") & (first["n_published"] == "1")).sum()),
        "readings": titled(by_reading.to_dict("records")),
        "missing": titled(scoreboard.missing(scoreboard.first(rows)).to_dict("records")),
        "versions": _versions(verdicts, titles),
        "reading_titles": READING_TITLES,
        "methods": methods,
        "ssp_at_least": frames.bound(one_claim("wang2018adaptive", "ssp", "authors", "epsilon=1")["lower"], up=False),
        "privacy_claims": [
            {**r, "title": titles.get(r["source"]) or TITLES[r["source"]], "method": _method_title(r["method"])}
            for r in privacy_claims.summary()
        ],
        # only committed results, so that a method or paper that is being added changes no sentence
        "all_methods": len({method for _, method in committed.runs()}),
        "papers": len([p for p in (ROOT / "papers").iterdir() if (p / "reference").is_dir()]),
        "findings": len(found) + len(others),
        "finding": lambda key: homes[key],
        "measured": measured.facts(),
        "pythons": pythons(),
        "skeleton": skeleton(),
        "family": verdict.FAMILY,
        "judged_together": judged_together(published.load()),
        "other_sets": other_sets(),
        "rule": evidence,
        "normal_95": float(norm.isf(verdict.AGREE)),
        **margins(rows),
        "level": round(100 * (1 - verdict.AGREE)),
        "margin": round(100 * OF_ERROR.part),
        **example(rows, ceilings),
    }


def other_sets() -> list[dict[str, object]]:
    """The papers whose numbers are judged as a set of their own: title and number."""
    papers_of = sorted((p for p, _ in programs().values()), key=lambda p: p.title)
    return [{"title": p.title, "family": p.family} for p in papers_of]


def margins(rows: pd.DataFrame) -> dict[str, object]:
    """The margins of all metrics of published numbers with a verdict, and what the one of a sampler's output allows.

    ``chance_in_sd``: the shift, in standard deviations of one run, that a chance at its margin means for normal runs.
    ``wide``: the count of numbers ``reproduced`` by it, and the share whose means differ by over a tenth (``tenth``).
    """
    told = scoreboard.first(rows[rows["verdict"].isin(verdict.VERDICTS)])
    by = told["metric"].map(of_published)
    numbers = by.map(lambda m: m.name).value_counts()
    table = [
        {"metric": m.name, "title": m.title, "margin": m.margin.words, "numbers": numbers[m.name],
         "better": {UP: "higher", NONE: "neither"}.get(m.direction, "lower"),
         "positive": "yes" if m.scale == "positive" else "no"}
        for m in METRICS.values() if m.name in numbers.index
    ]  # fmt: skip
    output = METRICS["sampler_output"]
    same = told[(by == output) & (told["verdict"] == "reproduced")]
    ours, theirs = (pd.to_numeric(same[c]) for c in ("mean", "published_mean"))
    return {
        "margins": table,
        "chance_in_sd": 2**0.5 * float(norm.ppf(0.5 + output.margin.least)),
        "wide": {"reproduced": len(same), "tenth": float(((ours - theirs).abs() > 0.1 * theirs.abs()).mean())},
    }


def example(rows: pd.DataFrame, ceilings: pd.DataFrame) -> dict[str, object]:
    """The worked example of docs/explanation: its rows by reading, margin, bound, and ceiling."""
    wanted = pd.Series(EXAMPLE)
    picked = (rows[list(EXAMPLE)] == wanted).all(axis=1)
    by = {r["reading"]: r for r in rows[picked].to_dict("records")}
    for r in by.values():
        r |= {c: float(r[c]) for c in ("mean", "std", "difference", "low", "high", "p", "detectable")}
    own = by["authors"]
    paper = evidence.printed(own["published_mean"], int(own["n_published"]), own["published_std"], "sd")
    drawn = (ceilings[list(EXAMPLE)] == wanted).all(axis=1) & (ceilings["reading"] == "authors")
    (share,) = ceilings[drawn].to_dict("records")
    return {
        "example": {reading: by[reading] for reading in READING_TITLES},
        "example_margin": float(verdict.margin(EXAMPLE["metric"], paper.mean)),
        "example_bound": float(evidence.bound_of_means(own["mean"], own["std"], int(own["n"]), paper, "rmse")),
        "example_ceiling": share,
    }


def _versions(verdicts: pd.DataFrame, titles: dict[str, str]) -> list[dict[str, object]]:
    """Counts under versions 2 and 3 of the rule per source and reading, in the order of the readings."""
    old = scoreboard.by_reading(scoreboard.version_2(verdicts)).to_dict("records")
    new = scoreboard.by_reading(verdicts).to_dict("records")
    return [{"title": titles[b["source"]], "old": a, **b} for a, b in zip(old, new, strict=True)]


def pythons(project: Path = ROOT / "pyproject.toml") -> str:
    """First and last version of Python that the project allows, such as "3.11 to 3.13"."""
    wanted = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["requires-python"]
    low, high = re.findall(r"3\.(\d+)", wanted)  # as in ">=3.11,<3.14"
    return f"3.{low} to 3.{int(high) - 1}"


def skeleton() -> str:
    """The class that ``./bench new method my_method --kind bnn_regression`` writes, without its imports."""
    text = new.method_text("my_method", "bnn_regression", private=False)
    return text[text.index("class ") :].rstrip("\n")


def texts(found: list[Finding] | None = None, read: Frames | None = None) -> dict[str, str]:
    """File relative to the root -> text: README and its figure, pages of docs/, findings, and their index."""
    read = Frames(findings.read_committed()) if read is None else read
    found = findings.render(tables=read) if found is None else found
    others = [f for paper in judged.load() for f in paper.findings]
    hours = spent(read)
    pairs = gained(hours)
    steady = pairs.loc[pairs["code"] == "other", "ratio"]
    speed = {"spent": hours, "gained": pairs, "quartiles": (steady.quantile(0.25), steady.quantile(0.75))}
    known = names(scoreboard.rows(), found, others) | dp_sep(read) | speed
    note = f"<!-- made from reports/templates/{{}} by `{COMMAND}`; edit that file -->\n"
    out = {}
    for name, template in TEXTS.items():
        out[name] = note.format(template) + _fill(TEMPLATES / template, read, known).rstrip("\n") + "\n"
    return out | {FIGURE: verdict_figure.svg(known["board"])} | manual.texts() | rendered(found)


def dp_sep(tables: Frames) -> dict[str, str]:
    """The numbers of README on the DP-SEP column of table 3 on the authors' splits."""
    cells = tables.rows(
        "verdicts.csv", source="vinaroz2023dpsep", method="dp_sep", protocol="authors", table="3", headline="yes"
    )
    printed, code = frames.where(cells, reading="printed"), frames.where(cells, reading="authors")
    ran = tables.rows("scores/dpsep_uci.csv", protocol="authors", method="dp_sep", setting="clip=1", metric="rmse")
    spent = frames.numbers(ran, "epsilon")
    return {
        "dp_sep_cells": str(len(frames.below(printed, "p", 2))),
        "dp_sep_printed": str(len(frames.where(printed, verdict="reproduced"))),
        "dp_sep_code": str(len(frames.where(code, verdict="reproduced"))),
        "smallest_epsilon": f"{min(spent):.3g}",
        "largest_epsilon": f"{max(spent):.3g}",
    }


def spent(tables: Frames) -> pd.DataFrame:
    """CPU hours of the committed fits: paper, experiment, dataset, method, own (has it own code?), cells and hours.

    Cells are those with a recorded time. A paper with its own code has one row without experiment, and none if its
    scores have no CPU seconds.
    """
    out: list[list[Any]] = []
    for name in reference.experiments():
        rows = tables.rows(f"scores/{name}.csv")
        fits = rows[rows["seconds"] != ""].drop_duplicates(["cell", "split"])
        for (dataset, method), group in fits.groupby(["dataset", "method"]):
            took = sum(seconds for seconds, _ in filter(None, map(seconds_of, group.to_dict("records"))))
            out.append([key_of(name), name, dataset, method, "no", group["cell"].nunique(), took / 3600])
    for key, (paper, _) in programs().items():
        rows = read_scores(paper.reference / "scores")
        if CPU_SECONDS in rows:
            out.append([key, "", "", "", "yes", len(rows), rows[CPU_SECONDS].astype(float).sum() / 3600])
    return pd.DataFrame(out, columns=["paper", "experiment", "dataset", "method", "own", "cells", "hours"])


#: methods whose step on sparse rows is ``methods.dpvi._noise_aware.kernels``, and their experiments on sparse rows
_DPVI = ("dpvi", "dpvi_last_iterate", "dpvi_trace_average", "dpvim", "na_dpvi", "na_dpvi_laplace", "na_dpvi_nuts")
_SPARSE = ("common_logistic_regression", "nadpvi_adult", "nadpvi_adult_paid")


def gained(hours: pd.DataFrame, path: Path = ROOT / "benchmarks/reference/full_run.csv") -> pd.DataFrame:
    """The groups of fits that ``benchmarks.full_run`` measured in pairs.

    ``hours`` is that of :func:`spent`. Its columns get three more:

    * code : the kind of code
    * ratio : seconds of the earlier code / seconds of this one
    * before : hours times ratio
    """
    pairs = pd.read_csv(path).dropna(subset=["before", "now"])
    rows = hours.merge(pairs.assign(ratio=pairs["before"] / pairs["now"])[["experiment", "dataset", "method", "ratio"]])
    rows["before"] = rows["hours"] * rows["ratio"]
    rows["code"] = "other"
    sparse = rows["experiment"].isin(_SPARSE) & rows["method"].isin(_DPVI)
    networks = rows["experiment"].isin(["common_network", "dpsep_uci", "dpsep_corrected_curve"])
    rows.loc[sparse, "code"] = "dpvi"
    rows.loc[networks & (rows["method"] == "dp_sep_corrected"), "code"] = "dp_sep_corrected"
    rows.loc[rows["experiment"] == "bbb_mnist", "code"] = "mnist"
    return rows


def _fill(path: Path, tables: Frames, known: dict[str, object]) -> str:
    try:
        return frames.render(path.read_text(encoding="utf-8"), tables, **known)
    except frames.FrameError as e:
        raise findings.FindingError(f"{path.name}: {e}") from None


def rendered(found: list[Finding]) -> dict[str, str]:
    """File relative to the root -> text: one file per finding, and one in ``reports/`` that lists all of them."""
    note = f"<!-- made from source/{{}}.md by `{COMMAND}`; edit that file -->\n\n"
    files = {f.id: f"{findings.home_of(f.id)}/{f.id}.md" for f in found}
    out = {files[f.id]: note.format(f.id) + f.text.rstrip("\n") + "\n" for f in found}
    index = read_findings().to_dict("records")
    groups: dict[str, list[tuple[Finding, str]]] = {}
    for f in found:
        sources = sorted({r["source"] for r in index if r["finding"] == f.id})
        about = " and ".join(TITLES.get(s, s) for s in sources if s != "*")
        about = about or ("several sources" if sources else "no published number")
        groups.setdefault(about, []).append((f, files[f.id]))
    for paper in judged.load():
        groups.setdefault(paper.title, []).extend((f, f"papers/{paper.key}/findings/{f.id}.md") for f in paper.findings)
    lines = [f"<!-- made by `{COMMAND}` -->", "", "# Findings", ""]
    lines += ["Each finding says why a published number is not reproduced, whether a privacy claim holds, or which"]
    lines += ["method does better, and shows the runs behind it. Every number is read from a committed table.", ""]
    for about, group in groups.items():
        lines += [
            f"## On {about}",
            "",
            *(f"* [{f.title}](../../{path})\n\n  {f.summary}".rstrip() for f, path in group),
            "",
        ]
    out[INDEX] = "\n".join(lines).rstrip("\n") + "\n"
    return out


def write(root: Path = ROOT, found: list[Finding] | None = None) -> None:
    """Bring README.md, the made pages of docs/ and the rendered findings below ``root`` up to date."""
    made = texts(found)
    for name, content in made.items():
        write_text(root / name, content)
    for old in committed_texts(root):
        if old not in made:
            (root / old).unlink()


def committed_texts(root: Path = ROOT) -> list[str]:
    """The existing rendered texts, relative to the root."""
    homes = (root / home.relative_to(ROOT) for home in findings.folders())
    return [str(path.relative_to(root)) for home in homes for path in sorted(home.glob("*.md"))]
