"""Build the report from scores, fits and data; write or check the committed reference.

    python -m reports.build all --scale quick --results results
    python -m reports.build reference --scale full --results results
    python -m reports.build --check
    python -m reports.build readme

``tables`` writes verdicts, claims, ledger and tables; ``site`` those and the page; ``all`` is the same as ``site``;
``reference`` writes the reference of a full run; ``derived`` what follows from committed scores (verdicts, claims,
comparisons), as after a paper was removed; ``readme`` makes README.md's result and the rendered findings of it;
``check`` (or ``--check``) compares the committed verdicts with what the committed scores give.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.summary import COLUMNS, read_scores
from methods import contract
from reports import (
    audit_tables,
    claims,
    findings,
    ledger,
    papers,
    published,
    readme,
    reference,
    site,
    tables,
    verdicts,
)
from reports.config import SCALES, ReportError
from reports.config import load as load_config
from reports.contents import Pair, Run, Tables, Whole
from workflow import papers as homes
from workflow import seals, verified
from workflow.files import stacked, write_csv

WHAT = ("all", "tables", "site", "reference", "derived", "readme", "check")
TITLE = "dpbayes-bench: published numbers and privacy claims of differentially private Bayesian inference"


def build(
    experiments: list[tuple[dict[str, Any], pd.DataFrame]],
    fits: Path | None,
    data: Path,
    out: Path,
    scale: str,
    manifest: dict[str, Any],
    with_site: bool = True,
    epsilon_of: ledger.Accountant | None = None,
    extra: Path | None = None,
) -> None:
    """Verdicts, claims, ledger and tables of all experiments under ``out``, and the page that shows them.

    ``fits`` None: of the committed reference, whose ledger is at hand.
    ``experiments``: pairs (config, scores). ``extra``: folder of the tables that are no scores. Raises
    :class:`reports.config.ReportError` where they do not fit.
    """
    folder = out / "tables"
    found = tables.data_info(data)
    committed = reference._committed_ledger(reference.FOLDER)
    judged, said, costs, drawn = [], [], [], []
    every_score = stacked([scores for _, scores in experiments])
    paper, privacy, every = [], [], []
    runs: dict[str, list[Run]] = {}
    sizes: dict[str, tables.Table] = {}
    for config, scores in experiments:
        for row_scale in set(scores["scale"]) - {scale}:
            raise ReportError(
                f"{config['experiment']}: scores of scale '{row_scale}' in a report of scale '{scale}'; name the score "
                "files of that scale with --scores (./bench does), or run it again"
            )
        frame = verdicts.build(config, scores, scale)
        cost = ledger.build(fits, set(scores["cell"]), epsilon_of, committed)
        judged.append(frame)
        said.append(claims.evaluate(config, scores, extra=extra))
        costs.append(cost)
        for table, long in tables.published_tables(frame, scale):
            tables.write(folder, table, long)
            paper.append(table)
        run = Run(config, scores, frame, every_score, scale, fits or out / "fits", data, out / "figures", extra)
        about = homes.paper_of(run.name)
        if about:
            runs.setdefault(about.key, []).append(run)
        own = homes.resolve(about.tables)(run) if about and about.tables else Tables()
        for table, long in all_methods(run) if own.methods is None else own.methods:
            tables.write(folder, table, long)
            every.append(table)
        for table, long in own.privacy:
            tables.write(folder, table, long)
            privacy.append(table)
        if config["answers"]:
            private = ledger.privacy_frame(frame, scores, cost, config["model"])
            banner = tables.SCALE_BANNERS[scale]
            table, long = ledger.privacy_table(private, f"{run.name}_privacy", banner, config["model"])
            tables.write(folder, table, long.assign(scale=scale))
            privacy.append(table)
        if with_site and about and about.figures:
            drawn += homes.resolve(about.figures)(run)
        for table, long in tables.datasets_tables(found, config["sources"], scale):
            tables.write(folder, table, long)
            sizes[table.name] = table
    several = len(runs) > 1
    if several and (audited := audit_tables.read(extra)):
        for table, long in audit_tables.build(audited):
            tables.write(folder, table, long)
            privacy.append(table)
    which = False
    for about in homes.papers():
        if about.page and about.key in runs:
            added = homes.resolve(about.page)(runs[about.key], Whole(out, stacked(costs), found, with_site))
            every, privacy, drawn = every + added.methods, privacy + added.privacy, drawn + added.figures
            which |= bool(added.methods)
    all_verdicts, all_claims = stacked(judged), stacked(said)
    write_csv(out / "verdicts.csv", all_verdicts)
    write_csv(out / "claims.csv", all_claims)
    write_csv(out / "ledger.csv", stacked(costs))
    if not with_site:
        return
    board = verdicts.scoreboard(all_verdicts)
    # papers with a folder of their own stand on the whole page, from what is committed
    housed = papers.load() if scale == "full" and several else []
    distinct = int(board.loc[board["reading"] == "printed", "cells"].sum())
    board = stacked([board, pd.DataFrame([row for paper in housed for row in paper.board], columns=board.columns)])
    index = verdicts.read_findings()
    # what answers no published number (the common tasks) has findings under the name of its folder
    sources = {s for config, _ in experiments for s in config["sources"]} | set(runs)
    sets = {d for config, _ in experiments if config["sources"] for d in config["datasets"]}
    told = findings.about(findings.render(), index, sources, sets) if reference.experiments() else []
    page = site.Page(
        title=TITLE,
        scale=scale,
        banner=tables.SCALE_BANNERS[scale],
        scoreboard=board,
        distinct=distinct,
        tables=paper,
        privacy=privacy,
        figures=drawn,
        claims=all_claims,
        findings=[*told, *(f for paper in housed for f in paper.findings)],
        datasets=list(sizes.values()),
        methods=every,
        credits=site.credits([d for config, _ in experiments for d in config["datasets"]]),
        manifest=manifest,
        pairs=verified.read(),
        which=which,
        broken=contract.broken(),
        titles={paper.key: paper.title for paper in housed},
    )
    site.write(out / "report" / "index.html", page)


def all_methods(run: Run) -> list[Pair]:
    """The table of all methods of an experiment that has scores on real data."""
    if not len(run.real):
        return []
    budgeted = {a["method"] for a in run.config["arms"] if "budget" in a}
    name, answering = f"{run.name}_all_methods", set(run.verdicts["our_method"])
    return [tables.all_methods_table(run.real, name, run.scale, run.title, budgeted, answering)]


def _scores(name: str, files: list[Path], scale: str) -> pd.DataFrame:
    """Scores of one experiment. Below full scale an experiment may have no cell at all: then no rows."""
    if not files:
        if scale == "full":
            raise FileNotFoundError(f"{name}: no scores; run `./bench full` first, or name its files with --scores")
        return pd.DataFrame(columns=COLUMNS, dtype=str)
    seals.check(files)
    scores = read_scores(files)
    foreign = scores[scores["experiment"] != name]
    if len(foreign):
        raise ReportError(f"{files[0].parent}: a row of experiment '{foreign['experiment'].iloc[0]}', not {name}")
    return scores


def _score_files(names: list[str], folder: Path, given: list[Path] | None) -> dict[str, list[Path]]:
    """Score files (``<experiment>/<data set>.csv``) of each experiment: those given, else all below ``folder``.

    A folder keeps the files of an earlier run at another scale, whose data sets may be more: only the caller knows
    which files its own cells have made. Raises :class:`ReportError` for a file of another experiment.
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
    parser.add_argument("--check", action="store_true", help="compare the committed verdicts with the committed scores")
    parser.add_argument("--config", nargs="+", type=Path, help="experiment files (default: of all papers)")
    parser.add_argument("--scores", nargs="*", type=Path, help="score files (default: all in RESULTS/scores/NAME/)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the run")
    parser.add_argument("--out", type=Path, help="where the report goes (default: RESULTS)")
    parser.add_argument("--fits", type=Path, help="default: RESULTS/fits")
    parser.add_argument("--data", type=Path, help="default: RESULTS/data")
    parser.add_argument("--extra", type=Path, help="tables that are no scores (default: RESULTS/extra)")
    parser.add_argument("--manifest", type=Path, help="default: RESULTS/manifest.json")
    parser.add_argument("--reference", type=Path, default=reference.FOLDER, help=argparse.SUPPRESS)
    parser.add_argument("--scale", choices=SCALES, default="full")
    args = parser.parse_args(argv)
    args.out = args.out or args.results
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    for package in ("reports", "papers", "common_tasks"):
        logging.getLogger(package).setLevel(logging.INFO)
    try:
        return _run(args)
    except (ReportError, OSError, ValueError) as e:
        print(f"reports.build: {e}", file=sys.stderr)
        return 1


def _run(args: argparse.Namespace) -> int:
    configs = args.config or list(homes.experiments().values())
    known = homes.experiments() | {p.stem: p for given in configs for p in sorted(given.parent.glob("*.yaml"))}
    if args.check or args.what == "check":
        print(f"against the papers: {reference.check(known, args.reference)} verdicts agree with the committed scores")
        return 0
    if args.what == "derived":
        for path, frame in reference.recompute(known, args.reference).items():
            write_csv(path, frame)
        print("verdicts, claims and comparisons are those of the committed scores")
        return 0
    if args.what == "readme":
        readme.write()
        print("README.md, docs/result.svg and the rendered findings are made from the committed reference")
        return 0
    loaded = [load_config(path) for path in configs]
    files = _score_files([c["experiment"] for c in loaded], args.results / "scores", args.scores)
    pairs = [(c, _scores(c["experiment"], files[c["experiment"]], args.scale)) for c in loaded]
    fits, data = args.fits or args.results / "fits", args.data or args.results / "data"
    extra = args.extra or args.results / "extra"
    path = args.manifest or args.results / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if args.what == "reference":
        for config, scores in pairs:
            reference.write(config, scores, fits, args.scale, manifest, known, args.reference, extra=extra)
        print(f"reference written: {', '.join(c['experiment'] for c in loaded)}")
        return 0
    build(pairs, fits, data, args.out, args.scale, manifest, with_site=args.what != "tables", extra=extra)
    cells = published.load()
    print(f"{len(cells)} published cells known; report in {args.out / 'report' / 'index.html'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
