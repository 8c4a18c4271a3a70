"""The site from the command line.

    ./bench site --out DIR                                # from the committed reference
    python -m reports.site --out DIR --results results    # from a run

The site is in DIR itself (``DIR/index.html``); ``DIR/downloads`` and ``DIR/checked.js`` are kept where they are.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click
import pandas as pd

from reports import build, reference, site
from reports.claims import load as load_claims
from reports.config import ReportError
from workflow import cli, committed
from workflow import papers as homes
from workflow.experiments import SCALES
from workflow.experiments import load as load_config

_NUMBERS = ("mean", "std", "difference", "low", "high", "p", "detectable", "median")


def known(folder: Path = reference.FOLDER) -> build.Known:
    """What is committed. Raises ReportError if it is not there."""
    for name in ("verdicts.csv", "claims.csv"):
        if not (folder / name).is_file():
            raise ReportError(f"{folder / name} is missing: check it out again, or build from a run with --results")
    verdicts = pd.read_csv(folder / "verdicts.csv", dtype=str, keep_default_na=False)
    for column in _NUMBERS:
        verdicts[column] = pd.to_numeric(verdicts[column], errors="coerce")
    for column in ("n", "lost"):
        verdicts[column] = verdicts[column].astype(int)
    said = pd.read_csv(folder / "claims.csv", dtype=str, keep_default_na=False).to_dict("records")
    claim_rows = {c.id: c.row() for c in load_claims()}
    claims = pd.DataFrame([claim_rows[r["id"]] | r for r in said if r["id"] in claim_rows])
    costs = committed.ledgers(folder)
    costs["epsilon"] = pd.to_numeric(costs["epsilon"], errors="coerce")
    return build.Known(verdicts, claims, costs)


def from_reference(work: Path, drawn: bool = True) -> site.Content:
    """The site of the committed reference; ``work``: an empty folder for its files.

    ``drawn``: with tables, figures and advice, which take most of the time.
    """
    names = set(committed.experiments(reference.FOLDER))
    pairs = [
        (load_config(path), committed.read(reference.FOLDER, name))
        for name, path in homes.experiments().items()
        if name in names
    ]
    extra = work / "extra"
    extra.mkdir()
    for home in homes.homes(reference.FOLDER):
        for path in sorted(home.glob("*.csv")):
            if path.name != committed.RUNS:  # each home has one, and no page shows it
                (extra / path.name).symlink_to(path)
    if (path := reference.FOLDER / "manifest.json").is_file():
        (work / path.name).symlink_to(path)
    origin = _origin(build.manifest_of(work))
    content = build.collect(pairs, work, work, "full", known=known(), drawn=drawn, origin=origin)
    assert content is not None
    return content


def _origin(manifest: dict) -> str:
    """When, where and by which versions the committed reference was computed."""
    versions = manifest.get("versions", {})
    libraries = ", ".join(f"{k} {versions[k]}" for k in ("numpy", "scipy", "jax", "torch") if k in versions)
    where = f" on {manifest['processor']} ({manifest['system']})" if "processor" in manifest else ""
    commit = f" at commit {manifest['commit'][:12]}" if manifest.get("commit") else ""
    by = f" by {libraries}" if libraries else ""
    last = f" The last run that became reference was made{where}{commit}{by}." if where or commit or by else ""
    return (
        f"These are the committed numbers of runs at full scale.{last} The commit of the run of each method in an "
        "experiment is in runs.csv next to its scores, also of methods that were added later."
    )


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default="results/report", show_default=True, help="folder of the site"
)
@click.option("--results", type=click.Path(path_type=Path), help="folder of a run (default: the committed reference)")
@click.option("--scale", type=click.Choice(SCALES), default="full", help="of the run")
def command(out: Path, results: Path | None, scale: str) -> int:
    """Write the site in DIR itself (DIR/index.html), from the committed reference or from a run."""
    try:
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            site.write(out, build.from_results(results, folder, scale) if results else from_reference(folder))
    except (ReportError, site.SiteError, OSError, ValueError) as e:
        print(f"reports.site: {e}", file=sys.stderr)
        return 1
    print(f"the site is {out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(cli.call(command, sys.argv[1:], "reports.site"))
