"""``./bench fit``: fits one method once to a private table, and writes what may leave the machine.

    ./bench fit FILE.csv --schema schema.yaml --method NAME --epsilon 1 --out DIR

Noise comes from the operating system. No score is computed and no row is printed. A refusal follows from the schema,
the header line and the arguments, never from a row. ``DIR`` appears when everything in it is written: the two files of
``workflow.release``, the schema, draws in original units and a page.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pandas as pd

from common_tasks.own_data import page, schemas, study
from common_tasks.own_data.schemas import SCHEMA, schema_of, schema_options
from common_tasks.own_data.table import TWO_CLASSES, name_of
from datasets import records
from datasets.files import ROOT, sheet_text, visible, write_text
from datasets.schema import Problems, Schema
from dpbayes_bench import fits
from dpbayes_bench.accountant import Accountant, BudgetFileError
from dpbayes_bench.private_fit import PrivateFit, written
from reports.site.document import plain
from workflow.cli import Several

#: task -> name of its model in ``dpbayes_bench.fit``.
MODELS = {"regression": "linear", "classification": "logistic"}
#: seconds between two lines of progress.
EVERY = 10.0
DRAWS = "draws.csv"


@click.command(
    "fit", cls=Several,
    epilog="Without --schema, one is drafted from the options and the header line. Killed, the command leaves nothing, "
    "and the same command starts anew.",
)  # fmt: skip
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.csv", help="your private table")
@schema_options
@click.option("--method", required=True, metavar="NAME", help="a private method, chosen without these rows")
@click.option("--epsilon", required=True, type=float, metavar="E", help="budget of the whole fit")
@click.option("--delta", type=float, default=1e-5, metavar="D", help="default: 1e-5")
@click.option("--accept", multiple=True, metavar="LEAK...", help="what epsilon does not count and you accept, by name")
@click.option("--budget", type=click.Path(path_type=Path), metavar="FILE.json", help="budget of all fits of the table")
@click.option("--unchecked", is_flag=True, help="fit without ./bench check-rows")
@click.option("--draws", type=click.IntRange(1, 1_000_000), default=4000, metavar="N", help="default: 4000")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="instead of results/fit/NAME")
def command(**given) -> None:
    """Fit one private method to a private table: a posterior, its guarantee, and a page that says its limits."""
    args = SimpleNamespace(**given)
    try:
        fit(args)
    except (ValueError, OSError, RuntimeError, ImportError) as e:
        raise click.ClickException(visible(" ".join(str(e).split()))) from None


def fit(args: SimpleNamespace) -> Path:
    """Check, read, fit, write, and return the page. Raises ValueError, OSError, RuntimeError or ImportError."""
    schema, drafted, accountant, out = checked(args)
    model = MODELS[schema.task]
    study.make(out.parent)
    columns = schema.coded
    seconds = study.seconds_a_fit(fits.kind_of(model), schema.n, len(columns)).get(args.method)
    forecast = f"about {seconds:.2g} s by the committed fits" if seconds else "no committed fit says how long"
    say(f"{visible(args.file.name)}: {schema.n} rows and {len(columns)} inputs by the schema; {forecast}, and the time "
        "to read and compile")  # fmt: skip
    if drafted:
        say(f"the schema is drafted from the options and the header line, and is written to {out / SCHEMA}; a number "
            "that does not fit makes its row an empty row")  # fmt: skip
    if accountant is not None:
        accountant.charge(args.epsilon, args.delta, args.method)
    rows = records.read(args.file, schema)
    x = pd.DataFrame(rows.x, columns=list(columns), copy=False)
    with progress(seconds), warnings.catch_warnings():
        for category in (fits.PrivacyLeakWarning, fits.HiddenRangeWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = lambda message, *more: say(f"warning: {message}")
        found = fits.fit(
            x, rows.y, model=model, method=args.method, epsilon=args.epsilon, delta=args.delta,
            accept=args.accept, empty=rows.empty, replaced=rows.replaced,
            schema=schema,
        )  # fmt: skip
    with written(out) as folder:
        found.write(folder)
        draws = found.draws(args.draws)
        write_text(folder / DRAWS, sheet_text(flat(draws, found.columns)))
        write_text(folder / SCHEMA, schema.text())
        names = [DRAWS, SCHEMA]
        if netcdf(found, args.draws, folder / "draws.nc"):
            names.append("draws.nc")
        source = markdown(args, found, draws, schema, names)
        write_text(folder / "fit.md", source)
        write_text(folder / "index.html", page.html(source, folder))
    print(visible("\n".join([str(found), f"Page: {out / 'index.html'}"])))
    return out / "index.html"


def checked(args: SimpleNamespace) -> tuple[Schema, bool, Accountant | None, Path]:
    """The schema, whether it was drafted, the budget of the table and the folder to write.

    Raises :class:`Problems` with everything that the arguments, the schema and the header line decide. No row is read.
    """
    wrong: list[str] = []

    def tried(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Problems as e:
            wrong.extend(e.all)
        except (ValueError, OSError, BudgetFileError) as e:
            wrong.append(str(e))
        return None

    schema, drafted = tried(lambda: schema_of(args)) or (None, False)
    task = schema.task if schema else args.task
    if task in MODELS:
        model = MODELS[task]
        tried(lambda: fits.accepted(fits.method_of(args.method, model), fits.kind_of(model), args.accept))
    elif schema:
        wrong.append(f"the schema is of the task {task}, which has no fit; give {' or '.join(MODELS)}")
    tried(lambda: fits.checked_budget(args.epsilon, args.delta))
    if schema:
        if task == "classification" and len(schema.classes) != 2:
            wrong.append(f"the target has {len(schema.classes)} classes: {TWO_CLASSES}")
        tried(lambda: header_fits(args.file, schema))
        if task in MODELS and not wrong:
            tried(lambda: fits.checked_public(MODELS[task], args.method, schema, args.epsilon, args.delta))
        schema = schemas.looked(args.file, schema)
        if not args.unchecked and schema.sha256 not in schemas.marks(args.file):
            wrong.append(
                "nobody looked whether the rows fit this schema: run ./bench check-rows with the same schema or "
                "options first, or give --unchecked"
            )
    accountant = tried(lambda: Accountant(file=args.budget)) if args.budget else None
    out = args.out.resolve() if args.out else ROOT / "results/fit" / f"{name_of(args.file)}-{args.method}"
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        wrong.append(f"{out} is there already; name another folder with --out")
    if wrong or schema is None:
        raise Problems(args.file, wrong)
    return schema, drafted, accountant, out


def header_fits(path: Path, schema: Schema) -> None:
    """Raise TableError unless the file is there and its header line is that of the schema."""
    with records.opened(path) as file:
        records.check_header(path, records.header(file, schema), schema)


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
    schema: Schema,
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
    columns = [{"column": c.name, "what was done": c.words} for c in schema.inputs]
    classes = ""
    if schema.classes:
        classes = f"Class 1 is '{plain(schema.classes[1])}', and class 0 is '{plain(schema.classes[0])}'. A positive "
        classes += f"coefficient makes '{plain(schema.classes[1])}' more probable."
    parts = [
        f"# Private posterior of {plain(schema.target or '')} by {plain(title)}",
        "## The guarantee",
        plain(p.guarantee),
        "It holds if the limits below are acceptable to you:",
        "\n".join(f"- {plain(sentence)}" for sentence in (*p.limits, *found.asked["limits"])),
        "## Parameters",
        f"In original units, from {args.draws} draws. {plain(p.intervals)} No score was computed on your rows, so this "
        "page does not say how good the fit is.",
        classes,
        f"Left out, because the noise hides their scale: {plain(', '.join(found.left_out))}. Their coefficients are 0."
        if found.left_out
        else "",
        page.table(pd.DataFrame(rows)),
        "" if len(shown.columns) == len(frame.columns) else f"The first 200 of {len(frame.columns)} parameters.",
        "## Files",
        f"All files of this folder follow from the release alone: `posterior.npz`, `guarantee.json`, "
        f"{', '.join(f'`{n}`' for n in names)}, `fit.md` and `index.html`. Your table, and what a terminal or a log "
        "shows of it, must stay.",
        '```python\nimport dpbayes_bench as bench\n\nfit = bench.PrivateFit.load(".")\nfit.predict(X_new).mean\n```',
        "## What was done to each column",
        "Each line of the file was read alone, by `schema.yaml`. Values outside a range are set to its nearest end. A "
        "line that cannot be read, or whose target does not fit, is an empty row, which has no weight.",
        page.table(pd.DataFrame(columns)),
        "## Releases",
        page.table(pd.DataFrame(events)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
