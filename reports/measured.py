"""Sizes, times and counts for texts: computed if possible, otherwise read from ``config/measured.yaml``.

* ``python -m reports.measured`` prints them all.
* ``python -m reports.measured --packages`` asks the package index for the sizes of what ``./bench`` downloads. If the
  index of torch's builds without CUDA gives no sizes, ``UV_FIND_LINKS`` names a folder with that build.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from datasets.files import ROOT

FILE = ROOT / "config" / "measured.yaml"
KEYS = {"value", "unit", "meaning", "measured"}


def recorded(path: Path = FILE) -> dict[str, dict]:
    """Measured numbers by name: value, unit, meaning, and when and how it was measured.

    Raises ValueError for an entry that has other keys.
    """
    sizes = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name, entry in sizes.items():
        if not isinstance(entry, dict) or set(entry) != KEYS:
            raise ValueError(f"{path}: {name} needs the keys {', '.join(sorted(KEYS))}")
    return sizes


def facts() -> dict[str, float]:
    """All numbers by name: those of ``config/measured.yaml``, and these of the full run and of ``./bench``.

    full_cells             cells of the full run
    full_cpu_hours         CPU hours that it is forecast to take, by the committed seconds of its fits
    full_hours_2_cores     hours by the clock on two cores, by the same forecast
    full_download_mb       MB of raw data, if none is there yet
    sample_cells           committed cells that ``./bench`` recomputes where all data can be had
    sample_methods         methods among them
    sample_missing         methods that are too expensive for that sample
    sample_download_mb     MB of raw data that it needs
    """
    return {name: entry["value"] for name, entry in recorded().items()} | _full_run() | _sample()


def _full_run() -> dict[str, float]:
    from workflow.plan import download_mb, estimate

    full = estimate("full")
    return {
        "full_cells": len(full.cells),
        "full_cpu_hours": full.seconds / 3600,
        "full_hours_2_cores": full.seconds / 3600 / 2,
        "full_download_mb": download_mb({c.dataset for c in full.cells}),
    }


def _sample() -> dict[str, float]:
    from workflow import quickcheck
    from workflow.committed import Reference
    from workflow.plan import download_mb

    chosen, missing = quickcheck.choose(quickcheck.candidates(Reference()), lambda unit: "")
    return {
        "sample_cells": sum(len(u.cells) for u in chosen),
        "sample_methods": len({m for u in chosen for m in u.methods}),
        "sample_missing": len({r.method for r in missing}),
        "sample_download_mb": download_mb({u.dataset for u in chosen if not u.program}),
    }


def packages() -> dict[str, float]:
    """The downloads of ``./bench`` on this kind of machine: packages of the first call, their MB, and MB of torch.

    ``torch_mb`` is without CUDA, ``cuda_mb`` with it, both with what only torch needs.
    """
    links = os.environ.get("UV_FIND_LINKS", "")
    core = _sizes("", "suite")
    without = _sizes(links, "suite", "networks", *(() if links else ("--torch-backend", "cpu")))
    sizes = {"packages": core, "torch": without, "cuda": _sizes("", "suite", "networks")}
    mb = {name: sum(of.values()) / 1e6 for name, of in sizes.items()}
    return {
        "packages": len(core),
        "packages_mb": mb["packages"],
        "torch_mb": mb["torch"] - mb["packages"],
        "cuda_mb": mb["cuda"] - mb["packages"],
    }


def _sizes(links: str, *words: str) -> dict[str, int]:
    """Bytes of the file of each pinned package that uv would choose for this Python; ``words``: extras, then options.

    Raises ValueError for a file whose size the index does not give.
    """
    command = ["uv", "pip", "compile", "-q", "--format", "pylock.toml", "--python", sys.executable]
    extras = [w for w in words if w in ("suite", "networks")]
    command += [*words[len(extras) :], *(w for e in extras for w in ("--extra", e))]
    command += ["-c", "constraints.txt", "pyproject.toml"]
    made = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"UV_FIND_LINKS": links}, capture_output=True, text=True, check=True
    )
    return {p["name"]: _bytes(p) for p in tomllib.loads(made.stdout)["packages"]}


def _bytes(package: dict) -> int:
    rank = {tag: i for i, tag in enumerate(sys_tags())}
    fits = []
    for wheel in package.get("wheels", []):
        name = unquote(wheel["url"].rpartition("/")[2])
        best = min((rank[tag] for tag in parse_wheel_filename(name)[3] if tag in rank), default=None)
        if best is not None:
            fits.append((best, wheel))
    file = min(fits, key=lambda found: found[0])[1] if fits else package["sdist"]
    if "size" in file:
        return file["size"]
    url = urlsplit(file["url"])
    if url.scheme != "file":
        raise ValueError(f"{package['name']}: no size is told; UV_FIND_LINKS can name a folder that holds the file")
    return Path(unquote(url.path)).stat().st_size


if __name__ == "__main__":
    for key, number in (packages() if sys.argv[1:] == ["--packages"] else facts()).items():
        print(f"{key:20} {number:10.4g}")
