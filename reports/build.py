"""Build the report from scores, fits and data; write or check the committed reference.

    python -m reports.build all --scale quick --results results
    python -m reports.build reference --scale full --results results
    python -m reports.build check
    python -m reports.build readme
    python -m reports.build agree --results results

* ``tables`` writes verdicts, claims, ledger and tables. ``all`` also writes the site.
* ``reference`` writes the reference of a full run.
* ``derived`` writes what follows from committed scores (verdicts, claims, comparisons, pooled effects). It is needed
  after a paper was removed, for example.
* ``readme`` makes README.md and the rendered findings.
* ``check`` compares the committed verdicts of all sources with those of the committed scores, and says
  how many rows of each agree.
* ``agree`` compares a full run, or the methods of which it has all cells, with the committed scores and ledger. The
  methods that agree get the run's name in runs.csv. ``--costs`` also puts the seconds and memory of their fits into the
  committed scores.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from datasets.files import ROOT, stacked, write_csv
from evaluation.summary import COLUMNS, read_scores
from methods import contract
from reports import (
    audit_tables,
    claims,
    findings,
    ledger,
    papers,
    pooled,
    published,
    readme,
    reference,
    site,
    tables,
    verdicts,
    whole_run,
)
from reports.config import ReportError
from reports.contents import Pair, Run, Tables, Whole
from reports.frames import Frames
from reports.published import SOURCE_TITLES
from reports.site.content import verdicts_of
from workflow import committed as reference_runs
from workflow import papers as homes
from workflow import store
from workflow.committed import Reference
from workflow.experiments import SCALES
from workflow.experiments import load as load_config
from workflow.published import in_scope

WHAT = ("all", "tables", "reference", "derived", "readme", "check", "agree")
TITLE = "dpbayes-bench"


@dataclass(frozen=True)
class Known:
    """Committed verdicts, claims and ledger, which need not be computed from the scores again."""

    verdicts: pd.DataFrame
    claims: pd.DataFrame
    ledger: pd.DataFrame

    def of(self, config: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """The verdicts, claims and ledger of one experiment."""
        by_table = self.verdicts.groupby(["source", "table"], sort=False)
        mine = [g for (s, t), g in by_table if in_scope(config, s, t, set(g["dataset"]))]
        judged = pd.concat(mine, ignore_index=True) if mine else self.verdicts.iloc[:0]
        ids = {c.id for c in claims.load() if c.experiment == config["experiment"]}
        said = self.claims[self.claims["id"].isin(ids)].reset_index(drop=True)
        cells = self.ledger["cell"].str.startswith(f"{config['experiment']}-")
        return judged, said, self.ledger[cells].reset_index(drop=True)


def collect(
    experiments: list[tuple[dict[str, Any], pd.DataFrame]],
    results: Path,
    out: Path,
    scale: str,
    with_site: bool = True,
    known: Known | None = None,
    drawn: bool = True,
    origin: str = "Computed by a run on this machine.",
) -> site.Content | None:
    """Write verdicts, claims, ledger, tables and figures below ``out``. Return the content of the site, if wanted.

    ``experiments`` are pairs (config, scores). ``results`` is the folder of their run, with fits, data, further tables
    and manifest. ``known`` is committed content that is used instead of computing it. ``drawn`` means with tables,
    figures and advice, which take most of the time. ``origin`` is a sentence on where the numbers come from. Raises
    :class:`reports.config.ReportError` if configs and scores do not match.
    """
    for name in ("tables", "figures"):  # Snakemake needs the folders, even if they stay empty
        (out / name).mkdir(parents=True, exist_ok=True)
    folder, fits, data, extra = out / "tables", *(results / name for name in ("fits", "data", "extra"))
    found = tables.data_info(data)
    noted = reference_runs.ledgers(reference.FOLDER)
    every_score = stacked([scores for _, scores in experiments])
    costs: list[pd.DataFrame] = []
    made: list[tuple[str, Run, pd.DataFrame]] = []  # key of the part, experiment, claims
    parts: dict[str, site.Part] = {}
    for config, scores in experiments:
        for row_scale in set(scores["scale"]) - {scale}:
            raise ReportError(
                f"{config['experiment']}: scores of scale '{row_scale}' in a report of scale '{scale}'; name the score "
                "files of that scale with --scores (./bench does), or run it again"
            )
        if known is None:
            frame = verdicts.build(config, scores, scale)
            cost = ledger.build(fits, set(scores["cell"]), known=noted)
            told = claims.evaluate(config, scores, extra=extra, ledger=cost)
        else:
            frame, told, cost = known.of(config)
        costs.append(cost)
        run = Run(config, scores, frame, every_score, scale, fits, data, out / "figures", extra)
        about = homes.paper_of(run.name)
        part = _part(run, about)
        part = parts.setdefault(part.key, part)
        made.append((part.key, run, told))
        if not drawn:
            continue
        part.tables += tables.write_all(folder, tables.published_tables(frame, scale))
        own = homes.resolve(about.tables)(run) if about and about.tables else Tables()
        part.methods += tables.write_all(folder, all_methods(run) if own.methods is None else own.methods)
        part.privacy += tables.write_all(folder, own.privacy)
        if config["answers"]:
            private = ledger.privacy_frame(frame, scores, cost, config["model"])
            banner = tables.SCALE_BANNERS[scale]
            table, long = ledger.privacy_table(private, f"{run.name}_privacy", banner, config["model"])
            part.privacy += tables.write_all(folder, [(table, long.assign(scale=scale))])
        if with_site and about and about.figures:
            part.figures += homes.resolve(about.figures)(run)
        if known is None or len(found):
            sizes = tables.write_all(folder, tables.datasets_tables(found, config["sources"], scale))
            part.datasets += [t for t in sizes if t.name not in {old.name for old in part.datasets}]
    several = len(parts.keys() & {p.key for p in homes.papers()}) > 1
    audited = audit_tables.read(extra) if several else None
    privacy = tables.write_all(folder, audit_tables.build(audited)) if audited and drawn else []
    advice = None
    for about in homes.papers():
        if about.page and about.key in parts and drawn:
            runs = [run for key, run, _ in made if key == about.key]
            added = homes.resolve(about.page)(runs, Whole(out, stacked(costs), found, with_site))
            advice = advice or added.advice
            if added.advice is None:  # advice has its own page
                parts[about.key].methods += added.methods
                parts[about.key].figures += added.figures
            privacy += added.privacy
    if known is None:
        write_csv(out / "verdicts.csv", stacked([run.verdicts for _, run, _ in made]))
        write_csv(out / "claims.csv", stacked([told for *_, told in made]))
        write_csv(out / "ledger.csv", stacked(costs))
    if not with_site:
        return None
    index = verdicts.read_findings()
    # experiments without published numbers (the common tasks) have findings under the name of their folder
    sources = {s for config, _ in experiments for s in config["sources"]} | set(parts)
    sets = {d for config, _ in experiments if config["sources"] for d in config["datasets"]}
    # scores of the reference need not be read again
    have = {} if known is None else {config["experiment"]: scores for config, scores in experiments}
    texts = findings.render(tables=Frames(findings.read_committed(have=have))) if reference.experiments() else []
    found_here = findings.about(texts, index, sources, sets)
    for key, part in parts.items():
        runs = [run for of, run, _ in made if of == key]
        frame = stacked([run.verdicts for run in runs])
        part.verdicts = verdicts_of(frame, published.is_copy(frame))
        part.claims = stacked([told for of, _, told in made if of == key])
        part.configs, part.scores = [run.config for run in runs], stacked([run.scores for run in runs])
        part.findings = [f for f in found_here if findings.home_of(f.id).split("/")[-2] == key]
    # the whole site has papers with their own code too, from the run or else from their committed results
    housed = papers.load(results if known is None else None) if scale == "full" and several else []
    return site.Content(
        title=TITLE,
        scale=scale,
        banner=tables.SCALE_BANNERS[scale],
        origin=origin,
        files=out,
        parts=[*parts.values(), *(_housed(paper, out / "figures", drawn) for paper in housed)],
        privacy=privacy,
        findings=[*found_here, *(f for paper in housed for f in paper.findings)],
        advice=advice,
        ledger=stacked(costs),
        scores=every_score,
        manifest=manifest_of(results),
        audit=audited or (),
        runs=reference_runs.runs(),
        broken=contract.broken(),
    )


def manifest_of(results: Path) -> dict[str, Any]:
    """The manifest of a run, or an empty one if the run did not write it."""
    path = results / "manifest.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _part(run: Run, about: homes.Paper | None) -> site.Part:
    """The part of the site of an experiment's paper, or of the experiment itself, still without its results."""
    sources = dict(about.sources) if about else {s: SOURCE_TITLES.get(s, s) for s in run.config["sources"]}
    key = about.key if about else run.name
    title = " and ".join(sources.values()) or (about.title if about else run.config.get("title", run.name))
    return site.Part(key, title, sources, f"./bench --cores 2 {key}", answer=answer_of(key))


def _housed(paper: papers.Paper, folder: Path, drawn: bool) -> site.Part:
    """A paper with its own code. If ``drawn``, its figures are drawn into ``folder``."""
    return site.Part(
        key=paper.key,
        title=paper.title,
        sources={paper.key: paper.title},
        rerun=f"./bench --cores 2 {paper.key}",
        verdicts=verdicts_of(paper.verdicts),
        claims=paper.claims,
        figures=homes.resolve(paper.program.figures)(paper.reference, folder) if drawn else [],
        findings=paper.findings,
        judged=paper.judged,
        runs=homes.resolve(paper.program.runs)(paper.reference),
        titles=homes.resolve(paper.program.titles),
        answer=answer_of(paper.key),
    )


def answer_of(key: str, home: Path = ROOT / "papers") -> str:
    """The answer of a paper's authors, ``papers/<key>/answer.md``, or "" if there is none."""
    path = home / key / "answer.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def from_results(results: Path, out: Path, scale: str) -> site.Content:
    """The content of the site of a run. Its tables and figures go to ``out``. Raises :class:`ReportError`."""
    if not (results / "scores").is_dir():
        raise ReportError(f"{results / 'scores'} is not there: run the suite first (./bench full), or name its folder")
    collected = collect(_pairs(homes.experiments().values(), results, None, scale), results, out, scale)
    assert collected is not None
    return collected


def _pairs(
    configs: Iterable[Path], results: Path, given: list[Path] | None, scale: str
) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    """(config, scores) of each experiment."""
    loaded = [load_config(path) for path in configs]
    files = _score_files([c["experiment"] for c in loaded], results / "scores", given)
    return [(c, _scores(c["experiment"], files[c["experiment"]], scale)) for c in loaded]


def all_methods(run: Run) -> list[Pair]:
    """The table of all methods of an experiment that has scores on real data."""
    if not len(run.real):
        return []
    budgeted = {a["method"] for a in run.config["arms"] if "budget" in a}
    name, answering = f"{run.name}_all_methods", set(run.verdicts["our_method"])
    return [tables.all_methods_table(run.real, name, run.scale, run.title, budgeted, answering)]


def _check(known: dict[str, Path], folder: Path, own: bool) -> int:
    """Print how many committed verdicts of each source match the committed scores. Returns 1 if one does not.

    ``own``: also check the papers with their own code.
    """
    found, stale = {source: (n, n) for source, n in reference.check(known, folder).items()}, False
    for key, of in papers.checked().items() if own else ():
        found |= {source: (of.agree[source], n) for source, n in of.rows.items()}
        if of.stale:
            stale = True
            how = f"python -m reports.papers {key} makes it anew"
            print(f"papers/{key}/reference: {', '.join(of.stale)} is not what its scores give; {how}", file=sys.stderr)
    for source, (agree, rows) in found.items():
        print(f"against the papers: {source}: {agree:,} of {rows:,} verdicts agree with the committed scores")
    agree, rows = (sum(n) for n in zip(*found.values(), strict=True))
    print(f"against the papers: {agree:,} of {rows:,} verdicts of {len(found)} sources agree")
    return int(stale or agree < rows)


def _agree(args: argparse.Namespace, names: list[str]) -> int:
    """Compare a run's experiments with the reference. Returns 1 if something differs or nothing was compared."""
    if not (manifest := manifest_of(args.results)):
        path = args.results / "manifest.json"
        raise ReportError(f"{path} is missing; run `./bench full` in a clone without changes, or name --results")
    files = _score_files(names, args.results / "scores", args.scores)
    known, good, wrong, numbers, far, alarms = Reference(args.reference), [], [], 0, 0, 0
    for name in (n for n in names if files[n]):
        scores = _scores(name, files[name], "full")
        found = whole_run.agree(name, scores, args.results / "fits", manifest, known)
        if args.costs:
            mine = [entry.split("/")[1] for entry in found.good]
            print(f"{name}: {whole_run.costs(name, scores, mine, args.reference)} rows have what their fits took here")
        good += found.good
        wrong += found.wrong
        numbers, far, alarms = numbers + found.numbers, far + found.far, alarms + found.alarms
    for sentence in [*(f"{entry} agrees in all its cells" for entry in good), *wrong]:
        print(sentence)
    print(f"{far} of {numbers} rows leave {whole_run.SMALL:g} (relative), {alarms} their tolerance")
    print(f"{len(good)} methods in experiments agree with the committed scores and ledger; {len(wrong)} differences")
    return int(bool(wrong) or not good)


def _scores(name: str, files: list[Path], scale: str) -> pd.DataFrame:
    """The scores of one experiment. Below full scale an experiment may have no cell, and so no rows."""
    if not files:
        if scale == "full":
            raise FileNotFoundError(f"{name}: no scores; run `./bench full` first, or name its files with --scores")
        return pd.DataFrame(columns=COLUMNS, dtype=str)
    store.check(files)
    scores = read_scores(files)
    foreign = scores[scores["experiment"] != name]
    if len(foreign):
        raise ReportError(f"{files[0].parent}: a row of experiment '{foreign['experiment'].iloc[0]}', not {name}")
    return scores


def _score_files(names: list[str], folder: Path, given: list[Path] | None) -> dict[str, list[Path]]:
    """The score files ``<experiment>/<data set>.csv`` of each experiment: those given, else all below ``folder``.

    A folder may contain files of an earlier run at another scale with more data sets, so only the caller knows which
    files belong to its run. Raises :class:`ReportError` for a file of another experiment.
    """
    if given is None:
        return {name: sorted((folder / name).glob("*.csv")) for name in names}
    for path in given:
        if path.parent.name not in names:
            raise ReportError(f"{path}: no config of experiment '{path.parent.name}'; the configs are of {names}")
    return {name: [p for p in given if p.parent.name == name] for name in names}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="all", choices=WHAT)
    parser.add_argument("--config", nargs="+", type=Path, help="experiment files (default: of all papers)")
    parser.add_argument("--scores", nargs="*", type=Path, help="score files (default: all in RESULTS/scores/NAME/)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the run")
    parser.add_argument("--out", type=Path, help="where the report goes (default: RESULTS)")
    parser.add_argument("--reference", type=Path, default=reference.FOLDER, help=argparse.SUPPRESS)
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--costs", action="store_true", help="of agree: commit what fits that agree took in this run")
    args = parser.parse_args(argv)
    args.out = args.out or args.results
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    for package in ("reports", "papers", "common_tasks"):
        logging.getLogger(package).setLevel(logging.INFO)
    try:
        return _run(args)
    except (ReportError, site.SiteError, OSError, ValueError) as e:
        print(f"reports.build: {e}", file=sys.stderr)
        return 1


def _run(args: argparse.Namespace) -> int:
    configs = args.config or list(homes.experiments().values())
    known = homes.experiments() | {p.stem: p for given in configs for p in sorted(given.parent.glob("*.yaml"))}
    # a paper with its own code has its reference in its folder, which ``--reference`` does not replace
    own = args.reference == reference.FOLDER
    if args.what == "check":
        return _check(known, args.reference, own)
    if args.what == "derived":
        reference.derive(known, args.reference)
        for key in [key for key, found in papers.checked().items() if found.stale] if own else []:
            papers.remake(key)
        if own:
            pooled.write()
        print("verdicts, claims, comparisons and pooled effects are those of the committed scores")
        return 0
    if args.what == "readme":
        for paper in papers.load():  # first, because the index of findings reads their titles
            papers.write_findings(paper.key, paper.reference)
        readme.write()
        print("README.md, docs/results.md and the rendered findings are made from the committed reference")
        return 0
    if args.what == "agree":
        return _agree(args, [load_config(path)["experiment"] for path in configs])
    pairs = _pairs(configs, args.results, args.scores, args.scale)
    if args.what == "reference":
        try:
            for config, scores in pairs:
                reference.write(config, scores, args.results, args.scale, manifest_of(args.results), args.reference)
        finally:  # also for what was written before one was refused
            if reference.experiments(args.reference):
                reference.derive(known, args.reference)
        print(f"reference written: {', '.join(c['experiment'] for c, _ in pairs)}")
        return 0
    content = collect(pairs, args.results, args.out, args.scale, with_site=args.what != "tables")
    if content is not None:
        site.write(args.out / "report", content)
    cells = published.load()
    print(f"{len(cells)} published cells known; report in {args.out / 'report' / 'index.html'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
