"""Fetch the raw files of a data set, check and parse them.

    python -m datasets.fetch NAME --raw DIR --out FILE.npz [--mirror DIR] [--retries 3] [--timeout 30] [--offline]
    python -m datasets.fetch --check FILE.csv    # try every address of every data set, without a mirror

A mirror is a folder with each raw file at ``MIRROR/<data set>/<file>``. It is tried before the network. The environment
variable DPBAYES_MIRROR can also name it. A data set that shares the raw files of another one names the folder of that
one (:func:`mirror_folder`). If the data cannot be fetched, the npz holds the reason and the exit status is still 0, so
other data sets continue. A full disk is not a fault of the data, and gives exit status 1.
"""

from __future__ import annotations

import argparse
import csv
import errno
import hashlib
import http.client
import importlib
import io
import os
import queue
import re
import shutil
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import datasets
from datasets.base import DataError, DataSet, RawFile, Source, Table, table_sha256
from datasets.files import write_text
from datasets.store import save

_BLOCK = 1 << 20
_PROGRESS_SECONDS = 5.0
#: bytes per second below which a server counts as stuck.
_SLOWEST = 1000
#: largest allowed number of bytes of a zip member. The largest raw file has a fifth of it.
_MOST_UNPACKED = 2 * 10**9
#: columns of the table of addresses.
ADDRESSES = ("dataset", "file", "address", "member", "date", "right", "reason")
#: factor on the limit of a single wait, for connection, redirections and the head of an answer together.
_WAITS_FOR_HEAD = 3


class DiskFull(OSError):
    """No space is left. The message names the file, the folder and the remedy."""


class _Retry(Exception):
    """A temporary failure (server error, broken connection, truncated answer)."""


class _Failed(Exception):
    """A failure of one source that another attempt would not fix."""


@dataclass(frozen=True)
class _Options:
    retries: int
    timeout: float
    backoff: float
    log: Callable[[str], None]


def _to_stderr(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def mirror_folder(dataset: DataSet) -> str:
    """The mirror's folder with the raw files: the data set's name, unless it names another one."""
    return dataset.folder or dataset.name


def fetch(
    dataset: DataSet,
    mirror: str | Path | None = None,
    raw_dir: str | Path = "results/raw",
    *,
    retries: int = 3,
    timeout: float = 30.0,
    backoff: float = 1.0,
    offline: bool = False,
    log: Callable[[str], None] = _to_stderr,
) -> tuple[Path, ...]:
    """Paths of the verified raw files, in the order of ``dataset.raw``, under ``raw_dir/<data set>/``.

    A file that exists with the right sha256 is reused. Otherwise the mirror is tried, then each source in order.
    ``timeout`` (seconds) limits every wait on the network, and a server that sends almost nothing for so long is given
    up. After a temporary error, ``retries`` further attempts follow after backoff, 2 backoff, 4 backoff, ... seconds.
    They resume the partial download. Raises DataError if a file cannot be fetched, with what was tried and the remedy,
    or if the mirror's file has a wrong checksum. Raises DiskFull if there is no space left.
    """
    if retries < 0 or timeout <= 0:
        raise ValueError(f"fetch: retries = {retries}, timeout = {timeout}; give retries >= 0 and timeout > 0 seconds")
    options = _Options(retries, timeout, backoff, log)
    folder = Path(raw_dir) / dataset.name
    if dataset.raw:
        folder.mkdir(parents=True, exist_ok=True)
    return tuple(_fetch_file(dataset, raw, folder, mirror, offline, options) for raw in dataset.raw)


def _copy(stored: Path, target: Path) -> Path:
    with _disk(target):
        _rename_into(target, lambda temporary: shutil.copyfile(stored, temporary))
    return target


def _fetch_file(
    dataset: DataSet, raw: RawFile, folder: Path, mirror: str | Path | None, offline: bool, options: _Options
) -> Path:
    name, place = dataset.name, f"{mirror_folder(dataset)}/{raw.name}"
    target = folder / raw.name
    if target.is_file():
        if file_sha256(target) == raw.sha256:
            return target
        options.log(f"{name}: {target} has a wrong checksum and is fetched again")
    # Reasons reach the report, so they name the mirror's file by its place in the mirror, not on this machine.
    stored, place = None if mirror is None else Path(mirror) / place, f"MIRROR/{place}"
    tried = []
    if stored is None:
        tried.append(f"{place} (no mirror set)")
    elif stored.is_file():
        found = file_sha256(stored)
        if found != raw.sha256:
            options.log(f"{name}: {stored} has sha256 {found}")
            raise DataError(
                f"{name}: {place} is there with the wrong checksum (sha256 {found}, expected {raw.sha256}); "
                "replace that file or remove it from the mirror, then ./bench --cores 1 --forcerun fetch"
            )
        with _disk(target):
            _rename_into(target, lambda temporary: shutil.copyfile(stored, temporary))
        return target
    else:
        tried.append(f"{place} (no such file)")
    for source in raw.sources:
        if offline:
            tried.append(f"{source.url} (not tried: offline)")
            continue
        try:
            with _disk(target):
                _from_source(name, raw, source, target, options)
            return target
        except _Failed as error:
            options.log(f"{name}: {source.url}: {error}")
            tried.append(f"{source.url} ({error})")
    raise DataError(
        f"{name}: {raw.name} could not be had. Tried: {'; '.join(tried)}. Remedy: put the file at {place} and name the "
        "mirror's folder in DPBAYES_MIRROR, or go online; then ./bench --cores 1 --forcerun fetch"
    )


def _from_source(name: str, raw: RawFile, source: Source, target: Path, options: _Options) -> None:
    part = _part_path(target.parent, source.url)
    pause = options.backoff
    for attempt in range(options.retries + 1):
        resumed = part.exists() and part.stat().st_size > 0
        try:
            _download(name, source.url, part, options)
            _accept(name, raw, source, part, target, options)
            return
        except (_Retry, _Failed) as error:
            # A wrong file that was resumed may have begun as another version, so it is fetched again from the start.
            again = isinstance(error, _Retry) or (resumed and not part.exists())
            if attempt == options.retries or not again:
                tries = f", {attempt + 1} attempts" if attempt else ""
                raise _Failed(f"{error}{tries}") from error
            options.log(f"{name}: {source.url}: {error}; again in {pause:g} s")
            time.sleep(pause)
            pause *= 2


def _part_path(folder: Path, url: str) -> Path:
    # One partial file per address: a resumed download never continues another source's bytes.
    base = re.sub(r"[^\w.+-]", "_", urllib.parse.unquote(urllib.parse.urlsplit(url).path.rsplit("/", 1)[-1]))
    return folder / f"{base}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part"


def _download(name: str, url: str, part: Path, options: _Options) -> None:
    """Download the rest of ``part``, up to the full length that the server states."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "dpbayes-bench", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with _open(urllib.request.Request(url, headers=headers), options.timeout) as answer:
            if have and not _continues(answer, have):
                have = 0  # the server sends the whole file again
            length = answer.headers.get("Content-Length")
            total = None if length is None else have + int(length)
            done = _write(name, answer, part, have, total, options)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416 and have:  # asked for bytes past the end: the partial file is as long or longer
                if error.headers.get("Content-Range") == f"bytes */{have}":
                    return
                part.unlink()
                raise _Retry("the partial download did not fit") from error
            failure = _Retry if error.code >= 500 or error.code in (408, 429) else _Failed
            raise failure(f"HTTP {error.code}") from error
    except urllib.error.URLError as error:  # no connection: no such host, no network, refused, not answering
        raise _Failed(f"no connection: {_short(error.reason)}") from error
    except TimeoutError as error:
        raise _Retry(f"no answer in {options.timeout:g} s") from error
    except (ConnectionError, http.client.HTTPException) as error:
        raise _Retry(f"connection broken: {_short(error)}") from error
    if total is not None and done != total:
        raise _Retry(f"truncated at {done} of {total} bytes")


def _continues(answer, have: int) -> bool:
    return answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")


def _open(request: urllib.request.Request, timeout: float):
    """The answer to a request after its head has arrived.

    The timeout of a socket starts again with every byte, so a server that sends its head very slowly could block for
    hours. Therefore a thread waits for it, and is abandoned if it takes too long.
    """
    found: queue.SimpleQueue = queue.SimpleQueue()
    left = threading.Event()

    def ask() -> None:
        try:
            answer = urllib.request.urlopen(request, timeout=timeout)
        except Exception as error:  # raised again in the waiting thread
            found.put(error)
            return
        if left.is_set():
            answer.close()
        else:
            found.put(answer)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = found.get(timeout=_WAITS_FOR_HEAD * timeout)
    except queue.Empty:
        left.set()
        raise _Retry(f"no whole answer in {_WAITS_FOR_HEAD * timeout:g} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _write(name: str, answer, part: Path, have: int, total: int | None, options: _Options) -> int:
    """Write what the server sends and return the total number of bytes. Raises _Retry if it sends almost nothing."""
    done, told = have, time.monotonic()
    since, before = told, have
    with part.open("ab" if have else "wb", buffering=0) as file:
        while block := answer.read1(_BLOCK):  # what has arrived; `read` would wait for a whole block
            view = memoryview(block)
            while view:
                view = view[file.write(view) :]
            done += len(block)
            now = time.monotonic()
            if now - since > options.timeout:
                if done - before < _SLOWEST * (now - since):
                    raise _Retry(f"stuck: {done - before} bytes in {now - since:.3g} s")
                since, before = now, done
            if now - told > _PROGRESS_SECONDS:
                told = now
                options.log(f"{name}: {done / 1e6:.1f} of {'unknown' if total is None else f'{total / 1e6:.1f}'} MB")
    return done


def _accept(name: str, raw: RawFile, source: Source, part: Path, target: Path, options: _Options) -> None:
    """Check a complete download and put the raw file in its place. A wrong download is deleted."""
    try:
        _place(name, raw, source, part, target, options)
    except (_Retry, _Failed):
        part.unlink()
        raise
    part.unlink(missing_ok=True)


def _place(name: str, raw: RawFile, source: Source, part: Path, target: Path, options: _Options) -> None:
    if source.member is None:
        _expect(raw.name, file_sha256(part), raw.sha256)
        part.replace(target)
        return
    if source.zip_sha256 is not None and file_sha256(part) != source.zip_sha256:
        options.log(f"{name}: {source.url} is not the published zip; its member's checksum decides")

    def extract(temporary: Path) -> None:
        try:
            with zipfile.ZipFile(part) as archive:
                if source.member not in archive.namelist():
                    raise _Failed(f"the zip has no member '{source.member}' (it has {_some(archive.namelist())})")
                with archive.open(source.member) as member, temporary.open("wb") as file:
                    while block := member.read(_BLOCK):
                        if file.tell() + len(block) > _MOST_UNPACKED:
                            raise _Failed(f"member '{source.member}' has more than {_MOST_UNPACKED / 1e9:g} GB")
                        file.write(block)
        except (zipfile.BadZipFile, EOFError, zlib.error) as error:
            raise _Retry(f"the zip is truncated or damaged: {_short(error)}") from error
        except RuntimeError as error:  # it was packed again, with a password or in a way that Python does not know
            raise _Failed(f"the zip cannot be unpacked: {_short(error)}") from error
        _expect(f"member '{source.member}'", file_sha256(temporary), raw.sha256)

    _rename_into(target, extract)


def _expect(what: str, found: str, expected: str) -> None:
    if found != expected:
        raise _Failed(f"wrong checksum of {what}: sha256 {found}, expected {expected}")


def _rename_into(target: Path, fill: Callable[[Path], object]) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        fill(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _disk(target: Path):
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(
            error.errno,
            f"no space left while writing {target}; free space in {target.parent} or name another folder with --raw "
            "and --out, then run the same command again (it resumes)",
        ) from error


def check(
    of: Iterable[DataSet], retries: int = 3, timeout: float = 30.0, log: Callable[[str], None] = _to_stderr
) -> list[dict]:
    """Fetch from each address of these data sets into a temporary folder: rows of the table ``ADDRESSES``.

    ``right`` is "yes" if the file has the sha256 that its data set states, otherwise "no" with the reason. ``date`` is
    the day in UTC. Two data sets with the same raw file share a row, under the first one's name. Raises DiskFull.
    """
    options = _Options(retries, timeout, 1.0, log)
    todo: dict[tuple[str, str | None, str], tuple[str, RawFile, Source]] = {}
    for name, raw in ((d.name, r) for d in of for r in d.raw):
        for source in raw.sources:
            todo.setdefault((source.url, source.member, raw.sha256), (name, raw, source))
    rows: list[dict] = []
    for name, raw, source in todo.values():
        reason = ""
        with tempfile.TemporaryDirectory() as folder:
            try:
                with _disk(target := Path(folder) / "file"):
                    _from_source(name, raw, source, target, options)
            except DiskFull:
                raise
            except (_Failed, OSError) as error:
                reason = _short(error)
        date = datetime.now(UTC).date().isoformat()
        values = (name, raw.name, source.url, source.member or "", date, "no" if reason else "yes", reason)
        rows.append(dict(zip(ADDRESSES, values, strict=True)))
        log(f"{len(rows)} of {len(todo)}: {name}: {source.url}: {reason or 'right'}")
    return rows


def _check(out: Path, also: list[str], options: argparse.Namespace) -> int:
    """Write the table of addresses. Returns 1 if one of them fails."""
    of = [datasets.get(name) for name in datasets.names("table")]
    for named in also:
        module, _, function = named.partition(":")
        of += vars(importlib.import_module(module))[function]()
    rows = check(of, options.retries, options.timeout)
    text = io.StringIO()
    writer = csv.DictWriter(text, ADDRESSES, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(out, text.getvalue())
    wrong = sum(row["right"] == "no" for row in rows)
    _to_stderr(f"{len(rows) - wrong} of {len(rows)} addresses are right; {out} has them all")
    return 1 if wrong else 0


def file_sha256(path: Path) -> str:
    """sha256 of a file (hexadecimal)."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _short(error: object) -> str:
    return str(getattr(error, "strerror", None) or error).replace("\n", " ")[:200] or type(error).__name__


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "") if names else "none"


def build(dataset: DataSet, paths: tuple[Path, ...] = ()) -> tuple[Table, str]:
    """The checked table and its fingerprint, from raw files or from the generator of a simulated set.

    A generator's random stream depends only on the name of the set. Raises DataError if the table does not have the
    size or the fingerprint that the data set states.
    """
    if dataset.kind != "table":
        seed = int.from_bytes(hashlib.sha256(dataset.name.encode()).digest()[:8], "big")
        table = dataset.generate(np.random.default_rng(seed))
    else:
        try:
            table = dataset.parse(*paths)
        except DataError as error:
            raise DataError(f"{dataset.name}: {error}") from error
    expected = (dataset.n_rows, dataset.n_inputs)
    if table.x.shape != expected or table.y.shape != expected[:1]:
        raise DataError(
            f"{dataset.name}: the parsed table is {table.x.shape[0]} x {table.x.shape[1]}, expected {expected[0]} x "
            f"{expected[1]}; delete the raw file and run ./bench --cores 1 --forcerun fetch"
        )
    for what, values in (("x", table.x), ("y", table.y)):
        if not np.isfinite(values).all():
            raise DataError(
                f"{dataset.name}: {what} has a NaN or an infinity; correct parse in datasets/{dataset.name}.py"
            )
    fingerprint = table_sha256(table.x, table.y, table.extra)
    if dataset.table_sha256 and fingerprint != dataset.table_sha256:
        raise DataError(
            f"{dataset.name}: the parsed table has fingerprint {fingerprint}, expected {dataset.table_sha256}; correct "
            f"parse in datasets/{dataset.name}.py (column order, row order, exact numbers)"
        )
    return table, fingerprint


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m datasets.fetch", description="Fetch, check and parse one data set into an npz."
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="data set, a file of datasets/")
    parser.add_argument(
        "--check", type=Path, metavar="FILE", help="instead: try every address, and write a table of them"
    )
    parser.add_argument(
        "--also", action="append", default=[], metavar="MODULE:FUNCTION", help="further data sets to check"
    )
    parser.add_argument("--raw", default="results/raw", metavar="DIR", help="folder of the raw files")
    parser.add_argument("--out", metavar="FILE", help="npz to write (default: results/data/NAME.npz)")
    parser.add_argument("--mirror", default=os.environ.get("DPBAYES_MIRROR") or None, metavar="DIR")
    parser.add_argument("--retries", type=int, default=3, help="further attempts after an error that may pass")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="for every wait on the network")
    parser.add_argument("--offline", action="store_true", help="use the raw folder and the mirror only")
    options = parser.parse_args(argv)
    if options.retries < 0 or options.timeout <= 0:
        parser.error("give --retries of at least 0 and a --timeout above 0 seconds")
    if (options.name is None) != (options.check is not None):
        parser.error("give NAME, or --check FILE without a name")
    if options.check:
        try:
            return _check(options.check, options.also, options)
        except DiskFull as error:
            _to_stderr(error.strerror)
            return 1
    try:
        dataset = datasets.get(options.name)
    except KeyError as error:
        parser.error(error.args[0])
    out = Path(options.out or f"results/data/{options.name}.npz")
    try:
        try:
            paths = fetch(
                dataset,
                options.mirror,
                options.raw,
                retries=options.retries,
                timeout=options.timeout,
                offline=options.offline,
            )
            table, fingerprint = build(dataset, paths)
            reason = ""
        except DataError as error:
            table, fingerprint, reason = None, "", str(error)
            _to_stderr(f"no data: {reason}")
        with _disk(out):
            save(out, dataset, table, reason, fingerprint)
    except DiskFull as error:
        _to_stderr(f"{options.name}: {error.strerror}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
