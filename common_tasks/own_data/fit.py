"""``./bench fit``: fits one method once to a private table, and writes what may leave the machine.

    ./bench fit FILE.csv --task regression --target COLUMN --method NAME --epsilon 1 --bounds FILE.yaml --out DIR

Noise comes from the operating system. No score is computed and no row is printed. ``DIR`` appears when everything in it
is written: the two files of ``workflow.release``, draws in original units and a page.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pandas as pd
from datasets.reader import NUMBER, WHOLE, TableError

from common_tasks.own_data import page, study
from common_tasks.own_data.table import TWO_CLASSES, name_of, ranges
from datasets import reader
from datasets.files import ROOT, sheet_text, visible, write_text
from dpbayes_bench import fits
from dpbayes_bench.private_fit import PrivateFit, written
from reports.site.document import plain
from workflow.cli import Several, stated, table_options

#: task -> name of its model in ``dpbayes_bench.fit``.
MODELS = {"regression": "linear", "classification": "logistic"}
#: seconds between two lines of progress.
EVERY = 10.0
DRAWS = "draws.csv"


@click.command(
    "fit", cls=Several,
    epilog="Ranges (--bounds) are lines `column: [lower, upper]`, of what is known without the rows. Killed, the "
    "command leaves nothing, and the same command starts anew.",
)  # fmt: skip
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.csv", help="your private table")
@click.option("--task", required=True, type=click.Choice(list(MODELS)), help="linear or logistic regression")
@click.option("--target", required=True, metavar="COLUMN", help="what is predicted")
@click.option("--method", required=True, metavar="NAME", help="a private method, chosen without these rows")
@click.option("--epsilon", required=True, type=float, metavar="E", help="budget of the whole fit")
@click.option("--delta", type=float, default=1e-5, metavar="D", help="default: 1e-5")
@click.option("--bounds", type=click.Path(path_type=Path), metavar="FILE.yaml", help="public ranges of columns")
@click.option("--citation", metavar="TEXT", help="where the ranges are stated (default: name of the file of ranges)")
@click.option("--estimate-ranges", is_flag=True, help="estimate ranges that are not stated, from the budget")
@click.option("--accept", multiple=True, metavar="LEAK...", help="what epsilon does not count and you accept, by name")
@click.option("--draws", type=click.IntRange(1, 1_000_000), default=4000, metavar="N", help="default: 4000")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="instead of results/fit/NAME")
@table_options
def command(**given) -> None:
    """Fit one private method to a private table: a posterior, its guarantee, and a page that says its limits."""
    args = SimpleNamespace(**given)
    try:
        fit(args, stated(given, rows_are_public=False))
    except (ValueError, OSError, RuntimeError, ImportError) as e:
        raise click.ClickException(visible(" ".join(str(e).split()))) from None


def fit(args: SimpleNamespace, given: reader.Given) -> Path:
    """Read, fit, write, and return the page. Raises ValueError, OSError, RuntimeError or ImportError with one line."""
    model = MODELS[args.task]
    fits.accepted(fits.method_of(args.method, model), fits.kind_of(model), args.accept)
    fits.checked_budget(args.epsilon, args.delta)
    layout, rows = reader.look(args.file, args.target, args.task, given)
    out = args.out.resolve() if args.out else ROOT / "results/fit" / f"{name_of(args.file)}-{args.method}"
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FileExistsError(f"{out} is there already; name another folder with --out")
    study.make(out.parent)
    bounds = bounds_of(args, layout)
    if model == "logistic" and len(layout.column(args.target).levels) != 2:
        raise TableError(f"{args.file}: target '{args.target}' has more than two classes: {TWO_CLASSES}")
    columns = layout.inputs(args.target)
    seconds = study.seconds_a_fit(fits.kind_of(model), rows, len(columns)).get(args.method)
    forecast = f"about {seconds:.2g} s by the committed fits" if seconds else "no committed fit says how long"
    say(f"{visible(args.file.name)}: {rows} rows, {len(columns)} inputs; {forecast}, and the time to read and compile")
    table = reader.table(args.file, layout, args.target)
    x = pd.DataFrame(table.x, columns=list(columns), copy=False)
    with progress(seconds), warnings.catch_warnings():
        warnings.simplefilter("always", fits.PrivacyLeakWarning)
        warnings.showwarning = lambda message, *more: say(f"warning: {message}")
        found = fits.fit(
            x, table.y, model=model, method=args.method, epsilon=args.epsilon, delta=args.delta, bounds=bounds,
            n_public=rows, accept=args.accept,
        )  # fmt: skip
    with written(out) as folder:
        found.write(folder)
        draws = found.draws(args.draws)
        write_text(folder / DRAWS, sheet_text(flat(draws, found.columns)))
        names = [f"{DRAWS}"]
        if netcdf(found, args.draws, folder / "draws.nc"):
            names.append("draws.nc")
        source = markdown(args, found, draws, layout, names)
        write_text(folder / "fit.md", source)
        write_text(folder / "index.html", page.html(source, folder))
    print(visible("\n".join([str(found.privacy), f"Page: {out / 'index.html'}"])))
    return out / "index.html"


def say(text: str) -> None:
    print(f"./bench fit: {text}", file=sys.stderr, flush=True)


@contextmanager
def progress(seconds: float | None) -> Iterator[None]:
    """Print the elapsed time every ``EVERY`` seconds while the block runs."""
    done, start = threading.Event(), time.monotonic()

    def tell() -> None:
        while not done.wait(EVERY):
            of = f" of about {seconds:.0f}" if seconds and seconds > EVERY else ""
            say(f"{time.monotonic() - start:.0f} s{of}")

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def bounds_of(args: SimpleNamespace, layout: reader.Layout) -> fits.Bounds | None:
    """The ranges that are stated and those that the coding fixes. Raises TableError for a column without one.

    No range is computed from the rows. A value outside its range is set to the nearest end.
    """
    numbers = [c.name for c in layout.columns if c.kind in (NUMBER, WHOLE)]
    if args.task == "classification":
        numbers = [name for name in numbers if name != args.target]
    known = ranges(args.bounds, None, numbers) if args.bounds else {}
    missing = [name for name in numbers if name not in known]
    if missing and not args.estimate_ranges:
        some = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
        raise TableError(
            f"no range is stated for {some}; give lines `column: [lower, upper]` with --bounds FILE.yaml, from a "
            "document or a scale and never from the rows, or estimate them from the budget with --estimate-ranges"
        )
    coded = zip(layout.inputs(args.target), layout.bounds(args.target), strict=True)
    x = {name: pair for name, pair in coded if pair is not None}
    x |= {name: (pair[0], pair[1]) for name, pair in known.items() if name != args.target}
    y = known.get(args.target)
    if not x and y is None:
        return None
    source = args.citation or (args.bounds.name if args.bounds else "the coding of columns as 0 and 1")
    return fits.Bounds(x=x, y=None if y is None else (y[0], y[1]), citation=source)


def flat(draws: dict[str, np.ndarray], columns: tuple[str, ...]) -> pd.DataFrame:
    """One column per number, one row per draw. Coefficients are named by their columns."""
    out = {}
    for name, values in draws.items():
        for index in np.ndindex(values.shape[1:]):
            word = f"coef[{columns[index[0]]}]" if name == "coef" else name + "".join(f"[{k + 1}]" for k in index)
            out[word] = values[(slice(None), *index)]
    return pd.DataFrame(out)


def netcdf(found: PrivateFit, n: int, path: Path) -> bool:
    """Write the draws for ArviZ if the extra ``arviz`` is installed. Returns whether it was."""
    try:
        found.to_arviz(n).to_netcdf(path)
    except ImportError:
        return False
    return True


def markdown(
    args: SimpleNamespace,
    found: PrivateFit,
    draws: dict[str, np.ndarray],
    layout: reader.Layout,
    names: list[str],
) -> str:
    """The page: the guarantee and its limits first."""
    p, frame = found.privacy, flat(draws, found.columns)
    title = found.asked["title"]
    shown = frame.iloc[:, :200]
    intervals = "5 % to 95 %" if p.noise_aware else "5 % to 95 %, not counting the privacy noise"
    rows = {"parameter": list(shown), "mean": [f"{v:.4g}" for v in shown.mean()]}
    if not p.is_point:
        low, high = np.percentile(shown, [5, 95], axis=0)
        rows["standard deviation"] = [f"{v:.2g}" for v in shown.std()]
        rows[intervals] = [f"{a:.4g} to {b:.4g}" for a, b in zip(low, high, strict=True)]
    events = [
        {
            "release": e.what, "mechanism": str(e.mechanism), "noise / sensitivity": f"{e.noise_multiplier:.4g}",
            "rows read": str(e.sampling), "steps": str(e.steps), "proof": e.proof,
        }
        for e in p.ledger
    ]  # fmt: skip
    # a single row can decide whether all numbers are whole, and how the file is encoded
    columns = [
        {"column": c.name, "what was done": NUMBER if c.kind == WHOLE else c.words}
        for c in layout.columns
        if c.name != args.target
    ]
    stated_ranges = dict(zip(found.columns, found.asked["bounds"]["x"], strict=True))
    for row in columns:
        if pair := stated_ranges.get(row["column"]):
            row["what was done"] += f"; range [{pair[0]:g}, {pair[1]:g}]"
    parts = [
        f"# Private posterior of {plain(args.target)} by {plain(title)}",
        "## The guarantee",
        plain(p.guarantee),
        "It holds if the limits below are acceptable to you:",
        "\n".join(f"- {plain(sentence)}" for sentence in p.limits),
        "## Parameters",
        f"In original units, from {args.draws} draws. {plain(p.intervals)} No score was computed on your rows, so this "
        "page does not say how good the fit is.",
        page.table(pd.DataFrame(rows)),
        "" if len(shown.columns) == len(frame.columns) else f"The first 200 of {len(frame.columns)} parameters.",
        "## Files",
        f"All files of this folder follow from the release alone: `posterior.npz`, `guarantee.json`, "
        f"{', '.join(f'`{n}`' for n in names)}, `fit.md` and `index.html`. Your table, and what a terminal or a log "
        "shows of it, must stay.",
        '```python\nimport dpbayes_bench as bench\n\nfit = bench.PrivateFit.load(".")\nfit.predict(X_new).mean\n```',
        "## What was done to each column",
        "Values outside a range are set to its nearest end. A file is refused if a row cannot be read, so this page "
        "also says that every row could be read.",
        page.table(pd.DataFrame(columns)),
        "## Releases",
        page.table(pd.DataFrame(events)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
