"""Tables and figures of the committed reference, drawn once, so that its site stands in seconds.

    python -m reports.site --prepare

writes ``reports/reference/site.zip``: ``tables/``, ``figures/`` and what pages show of them as ``content.json``, with
the digest of the committed files that they are made from. Where those are others now, the site draws everything itself,
which takes minutes. A test reads the legends of the figures, and fails if a method looks otherwise by now.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from datasets.files import write_bytes
from reports import reference
from reports.blocks import Block, Entry, Table
from reports.contents import Advice, AdviceSection
from reports.figure import Figure
from reports.site.content import Content
from workflow import committed

NAME = "site.zip"
#: of each part of a site, what is drawn.
FIELDS = ("tables", "methods", "privacy", "datasets", "figures")
_CLASSES = {c.__name__: c for c in (Table, Block, Entry, Figure, Advice, AdviceSection)}
#: the oldest time that a zip can say: the same content is the same file.
_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Drawn:
    """What was drawn: key of a part -> field -> tables or figures, and what belongs to no part."""

    parts: dict[str, dict[str, list[Any]]]
    privacy: list[Table]
    advice: Advice | None


def digest(folder: Path = reference.FOLDER) -> str:
    """sha256 of all committed tables, but for what is prepared itself, the names of runs and the short runs."""
    out = hashlib.sha256()
    for path in reference.files_of(folder):
        if path.suffix in (".csv", ".gz") and path.name not in (committed.RUNS, committed.SHORT_RUNS):
            out.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return out.hexdigest()


def encode(value: Any) -> Any:
    """Records, sequences and plain values as JSON has them."""
    if dataclasses.is_dataclass(value):
        told = {f.name: encode(vars(value)[f.name]) for f in dataclasses.fields(value)}
        return {"class": type(value).__name__, **told}
    return [encode(v) for v in value] if isinstance(value, list | tuple) else value


def decode(value: Any) -> Any:
    """The inverse of :func:`encode`; a record of another package comes back with its fields alone."""
    if isinstance(value, dict):
        told = {k: decode(v) for k, v in value.items() if k != "class"}
        return _CLASSES.get(value["class"], SimpleNamespace)(**told)
    return tuple(decode(v) for v in value) if isinstance(value, list) else value


def save(content: Content, path: Path, of: str) -> None:
    """What ``content`` shows, into ``path``. ``of``: digest of what it was made from."""
    told = {
        "of": of,
        "parts": {p.key: {f: encode(vars(p)[f]) for f in FIELDS} for p in content.parts},
        "privacy": encode(list(content.privacy)),
        "advice": encode(content.advice),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        files = [p for folder in ("tables", "figures") for p in sorted((content.files / folder).iterdir())]
        texts = [(f"{p.parent.name}/{p.name}", p.read_bytes()) for p in files]
        for name, text in [("content.json", json.dumps(told).encode()), *texts]:
            archive.writestr(zipfile.ZipInfo(name, _TIME), text, zipfile.ZIP_DEFLATED, 9)
    write_bytes(path, buffer.getvalue())


def load(path: Path, work: Path, of: str) -> Drawn | None:
    """What was drawn, its files below ``work``; None where it is not there or was made from something else."""
    if not path.is_file():
        return None
    with zipfile.ZipFile(path) as archive:
        told = json.loads(archive.read("content.json"))
        if told["of"] != of:
            return None
        for name in archive.namelist():
            folder, _, file = name.partition("/")
            if folder in ("tables", "figures") and file and "/" not in file:
                (work / folder).mkdir(exist_ok=True)
                (work / folder / file).write_bytes(archive.read(name))
    parts = {key: {f: list(decode(v)) for f, v in of_part.items()} for key, of_part in told["parts"].items()}
    return Drawn(parts, list(decode(told["privacy"])), decode(told["advice"]))
