"""The files of a run: rows and posteriors of splits, whole cells, sealed tables, and notes of attempts.

Every file that is read again carries checksums: one per line, one per array of an npz file, and one file beside each
table. A damaged file is moved aside, so that Snakemake makes it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets.files import unbroken, write_json, write_npz, write_text
from datasets.store import UNREADABLE, Damaged, of_the_file, set_aside

# ---------------------------------------------------------------------------------------------- the record of a split

STATUS = ("ok", "failed", "timeout", "diverged", "not_supported", "no_data")

#: part of the reason of a split whose draws or scores raised an error other than about its numbers.
RAISED = "raised"


def seed_text(seed: list[int] | None) -> str:
    """The seed of a cell (``Cell.seed``) as text for a score row; empty if nothing was fitted."""
    return "" if seed is None else "-".join(f"{word:08x}" for word in seed)


def empty_record(cell, split: int | None, status: str, reason: str, **facts) -> dict:
    """A record without numbers. Each status except ``ok`` has a reason. ``facts``: fields that are known."""
    if status not in STATUS:
        raise ValueError(f"status '{status}'; choose one of {', '.join(STATUS)}")
    if (status == "ok") == bool(reason):
        raise ValueError(f"split {split}: a status but ok needs a reason, and ok has none")
    return {
        "split": split,
        "seed": cell.seed(split, "fit") if split is not None else None,
        "status": status,
        "reason": reason,
        "seconds": None,
        "cpu_seconds": None,
        "compile_seconds": None,
        "peak_mb": None,
        "diagnostics": {},
        "ledger": [],
        "posterior_kind": None,
        **facts,
    }


def parameter_file(cell_id: str, split: int) -> str:
    """The name of the file with one posterior's parameters. It exists until the cell is written."""
    return f"{cell_id}.{split}.npz"


# -------------------------------------------------------------------------------------------------------- checksums

#: of an object's checksum.
KEY = "sha256"


def digest(value: Mapping[str, Any]) -> str:
    """The checksum of an object without its seal."""
    text = json.dumps({k: v for k, v in value.items() if k != KEY}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """The object with its checksum, as JSON would return it."""
    plain = json.loads(json.dumps(value))
    return {**plain, KEY: digest(plain)}


def intact(value: object) -> bool:
    """Whether a value is an object whose checksum matches its content."""
    return isinstance(value, dict) and value.get(KEY) == digest(value)


def whole(path: Path, arrays: int | None = None) -> bool:
    """Whether a file is an npz file whose arrays match their checksums and, if given, their number."""
    try:
        with zipfile.ZipFile(path) as store:
            names = store.namelist()
            return store.testzip() is None and len(set(names)) == len(names) and arrays in (None, len(names))
    except UNREADABLE as error:
        if of_the_file(error):
            return False
        raise


def check(paths: Iterable[Path]) -> None:
    """Raise Damaged for tables that do not match their checksums, after moving them aside."""
    bad = [path for path in map(Path, paths) if path.is_file() and not unbroken(path)]
    if bad:
        for path in bad:
            set_aside(path)
        names = ", ".join(map(str, bad))
        raise Damaged(f"damaged and set aside: {names}. Run the same command again: it makes them anew")


def check_run(results: str | Path) -> list[str]:
    """Move every damaged fit, draw and sealed table of a run aside. Returns messages on what was done.

    It is called before a run is planned, so that the plan includes what is missing.
    """
    results = Path(results)
    bad = [path for path in sorted(results.glob("draws/*.npz")) if not whole(path)]
    for record in sorted(results.glob("fits/*.json")):
        if not record.is_file() or _read(record) is None:
            bad += [path for path in (record, record.with_suffix(".npz")) if os.path.lexists(path)]
    for seal in sorted(results.rglob("*.sha256")):
        path = seal.with_suffix("")
        if path.is_file() and not unbroken(path):
            bad.append(path)
    return [f"{path} is damaged; set aside as {set_aside(path).name}, and made anew" for path in bad]


# ------------------------------------------------------------------------------------------------- cells and draws


def write_cell(fits: Path, record: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
    """Write ``<cell>.npz`` with the posteriors of all splits, and then ``<cell>.json``."""
    write_npz(fits / f"{record['cell']}.npz", parameters)
    write_json(fits / f"{record['cell']}.json", sealed({**record, "arrays": len(parameters)}))


def _read(path: Path) -> dict | None:
    """The record of a cell, or None if it or its file of posteriors is damaged."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        counted = _counted(record)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return record if counted and whole(path.with_suffix(".npz"), record.get("arrays")) else None


def record_of(cell, fits: Path) -> dict:
    """The object in ``<cell>.json``. Raises Damaged if a file of the cell is damaged, after moving both aside."""
    return record_of_file(fits / f"{cell.id}.json")


def record_of_file(path: Path) -> dict:
    """The object in a ``<cell>.json``. Raises as :func:`record_of`."""
    if (record := _read(path)) is None:
        raise damaged(path, path.with_suffix(".npz"))
    return record


def damaged(*paths: Path) -> Damaged:
    """The error that names the files that were moved aside, and the remedy."""
    aside = [set_aside(path).name for path in paths if path.exists()]
    where = f"{paths[0]} is damaged, or not all of it is there"
    return Damaged(f"{where}; set aside: {', '.join(aside)}. Run the same command again: it is made anew")


def _counted(record: object) -> bool:
    """Whether a record matches its checksum or, without one, has all its splits."""
    if not isinstance(record, dict) or not {"splits", "reused"} <= set(record):
        return False
    if KEY in record:
        return intact(record)
    there = {r["split"] for r in record["splits"]} | {int(r.get("split") or -1) for r in record["reused"]}
    return bool(there & {None, -1}) or len(there) == record.get("n_splits", len(there))


def parameters_of(store, split: int) -> dict:
    """Name -> array of one split. ``store``: the open npz file of a cell, with names ``<split>/<parameter>``."""
    prefix = f"{split}/"
    return {n.removeprefix(prefix): store[n] for n in store.files if n.startswith(prefix)}


def draws_of(cell, draws: Path, record: dict) -> dict:
    """Split -> array, or the reason why there is none as text. Raises Damaged if a split of the record is missing."""
    import numpy as np

    path = draws / f"{cell.id}.npz"
    wanted = {str(r["split"]) for r in record["splits"] if r["status"] == "ok"}
    if not whole(path, len(wanted)):
        raise damaged(path)
    with np.load(path) as store:
        return {int(k): store[k] for k in store.files}


def fits_of(cell, fits: Path) -> Iterator[tuple[int, object]]:
    """(split, posterior) of every split with status ok. Empty for a cell that was restored from the reference."""
    import numpy as np

    from models import posteriors

    record = record_of(cell, fits)
    with np.load(fits / f"{cell.id}.npz") as store:
        for row in [r for r in record["splits"] if r["status"] == "ok"]:
            yield row["split"], posteriors.load(row["posterior_kind"], parameters_of(store, row["split"]))


# ------------------------------------------------------------------------------------ rows of a job that is not done


def say(name: str, text: str) -> None:
    """Write a line to the log."""
    print(f"{name}: {text}", file=sys.stderr, flush=True)


def partial_of(results: Path, name: str) -> Path:
    """The file that keeps the rows of a cell or family until all splits are there."""
    return results / "partial" / f"{name}.jsonl"


def append(path: Path, row: dict) -> None:
    """Append a line. It is on disk when this function returns."""
    with open(path, "a", encoding="utf-8") as f:
        f.write(json.dumps(row, sort_keys=True) + "\n")
        f.flush()
        os.fsync(f.fileno())


def begin(partial: Path, head: dict) -> Path:
    """Create the file of rows if it is missing, and the folder of their posteriors, which is returned."""
    keep = partial.with_suffix("")
    keep.mkdir(parents=True, exist_ok=True)
    if not partial.exists():
        append(partial, sealed(head))
    return keep


def has_posterior(row: Mapping[str, Any]) -> bool:
    """Whether a row has a file of parameters. The rows of a paper's own code have none."""
    return row["status"] == "ok" and "posterior_kind" in row


def keep_row(partial: Path, cell_id: str, row: dict, folder: Path = Path()) -> None:
    """Move the posterior of a split from ``folder``, if there is one, and then append the row of the split."""
    file = parameter_file(cell_id, row["split"])
    if has_posterior(row):
        os.replace(folder / file, partial.with_suffix("") / file)  # the posterior first, then the row that names it
    append(partial, sealed({"cell": cell_id, "row": row}))


def read_partial(path: Path, head: dict, again: Sequence[str] = ()) -> dict[tuple[str, int], dict]:
    """Rows of an interrupted run of the SAME code and data, by (cell, split).

    Rows with a status in ``again`` are left out. Other rows, torn or edited lines, and damaged posteriors are dropped.
    """
    if not path.exists():
        return {}
    first, *others = [_opened(line) for line in path.read_bytes().splitlines(keepends=True)] or [None]
    if first != sealed(head):
        drop(path)
        return {}
    found = {(r["cell"], r["row"]["split"]): r for r in others if r is not None}
    keep = path.with_suffix("")
    kept = {
        key: r
        for key, r in found.items()
        if r["row"]["status"] not in again and (not has_posterior(r["row"]) or whole(keep / parameter_file(*key)))
    }
    if len(kept) < len(others):  # written anew: a line is never appended to a torn one
        say(path.stem, f"{len(others) - len(kept)} of {len(others)} stored rows are tried again or were not whole")
        write_text(path, "".join(json.dumps(r, sort_keys=True) + "\n" for r in [first, *kept.values()]))
    return {key: r["row"] for key, r in kept.items()}


def _opened(line: bytes) -> dict | None:
    """The object of a line, or None if the line is torn or was edited."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if line.endswith(b"\n") and intact(value) else None


def kept_parameters(partial: Path, rows: Mapping[int, dict], cell) -> dict:
    """``<split>/<parameter>`` -> array, for the rows with status ok."""
    import numpy as np

    out = {}
    for k, row in rows.items():
        if row["status"] == "ok":
            with np.load(partial.with_suffix("") / parameter_file(cell.id, k)) as z:
                out.update({f"{k}/{name}": z[name] for name in z.files})
    return out


def drop(partial: Path) -> None:
    """Remove the rows of a job and their posteriors."""
    shutil.rmtree(partial.with_suffix(""), ignore_errors=True)
    partial.unlink(missing_ok=True)


# --------------------------------------------------------------------------------------------------------- attempts
#
# A split that timed out is tried again by the next call, one whose fit raised by a call with ``retry=failed``. A job
# writes how many it has lost to ``results/partial/<name>.lost``, with the number of the attempt. The number is a
# parameter of Snakemake's rule: if it differs from that of the last run, the rule runs again. It also grows when a file
# of the job is gone, because Snakemake knows only one file of a job.

#: variable that names the file with the methods that a plan leaves out.
LEFT_OUT = "DPBAYES_LEFT_OUT"
#: variable that names the file in which a plan notes the method that it is importing.
IMPORTING = "DPBAYES_IMPORTING"
#: value of the config's ``retry`` -> statuses that the next call tries again.
RETRIED = {"timeout": ("timeout",), "failed": ("timeout", "failed")}


def importing(file: str) -> None:
    """Note the file of a method that is being imported, or "" after the import (``methods.contract.on_import``)."""
    if note := os.environ.get(IMPORTING):
        if file:
            write_text(Path(note), file)
        else:
            Path(note).unlink(missing_ok=True)


def losses_of(results: str | Path, name: str) -> Path:
    """The file that counts the splits of a job without a score."""
    return Path(results) / "partial" / f"{name}.lost"


def attempt(results: str | Path, name: str, retry: str, files: Iterable[str | Path] = ()) -> int:
    """The number of the attempt that a call makes. It grows if the last attempt left splits that are tried again.

    ``files``: what the job writes. The number also grows if the job was done and one of them is missing.
    """
    try:
        found = json.loads(losses_of(results, name).read_text(encoding="utf-8"))
        again = any(found["lost"].get(status) for status in RETRIED[retry])
        return found["attempt"] + (again or not all(Path(path).exists() for path in files))
    except FileNotFoundError:
        return 0
    except (ValueError, TypeError, KeyError, AttributeError):  # damaged: one attempt more does no harm
        return 1


def lost(rows: Iterable[dict]) -> dict[str, int]:
    """The number of splits per status that can be tried again."""
    statuses = Counter(row["status"] for row in rows)
    return {status: statuses[status] for status in RETRIED["failed"] if statuses[status]}


def write_attempt(results: Path, name: str, number: int, rows: Iterable[dict] = ()) -> None:
    """Note that attempt ``number`` is done, and how many splits it has lost."""
    write_json(losses_of(results, name), {"attempt": number, "lost": lost(rows)})
