"""The circumstances of a run: processor, versions, linear algebra, commit, command.

python -m workflow.manifest --scale full --out results/manifest.json
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from datasets.files import ROOT, write_json
from workflow import noise

PACKAGES = ("numpy", "scipy", "numba", "jax", "numpyro", "torch", "autodp", "dp-accounting", "prv-accountant")
TOOLS = ("pandas", "scikit-learn", "snakemake")


def processor() -> str:
    """Model name of the processor, if the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    out = {}
    for name in PACKAGES + TOOLS:
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            out[name] = "not installed"
    return out


def blas() -> str:
    """The kernel that the linear algebra library chose for this processor."""
    from threadpoolctl import threadpool_info

    libraries = {f"{i['internal_api']} {i['version']} {i.get('architecture', '')}".strip() for i in threadpool_info()}
    return ", ".join(sorted(libraries))


def commit() -> str:
    """The commit of the checkout, with a mark if files differ from it; empty outside of a checkout."""
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
        dirty = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.stdout.strip() + (" (with changes)" if dirty.stdout.strip() else "")


def manifest(scale: str) -> dict:
    import numpy  # noqa: F401 - loads the linear algebra library that blas() asks

    return {
        "scale": scale,
        "noise": noise.of_run(),
        "command": os.environ.get("DPBAYES_COMMAND", ""),
        "commit": commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "blas": blas(),
        "versions": versions(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the run's manifest.")
    parser.add_argument("--scale", required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    write_json(args.out, manifest(args.scale))


if __name__ == "__main__":
    main()
