"""The Containerfile, built on a bare Debian, and the values of a small run in its image beside those of a local one.

    python -m pytest -m container tests/container        (as root; Debian: apt-get install buildah debootstrap)

Where the base image that the Containerfile names is not in the store already, a Debian of the same release takes its
place, with Debian's own Python: no image is fetched. The image is large, because torch comes as PyPI has it, with CUDA:
some 20 GB of disk while it is built. ``DPBAYES_CONTAINERS`` names a folder that keeps images between two calls.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/slurm"), str(ROOT / "tests/workflow")]

from project import copy_project, drop_toy, environment, only_experiment, place_data  # noqa: E402
from test_slurm import TARGET, rows, snakemake  # noqa: E402

#: seconds after which one step counts as hanging.
LIMIT_S = 2 * 3600
#: of the Debian that stands for the base image
RELEASE, PACKAGES = "bookworm", "ca-certificates,python3.11,python3-pip"

EXPERIMENT = """
experiment: toy_experiment
title: toy
sources: []
model: {kind: bnn_regression, hidden: 3}
datasets: [wine]
protocols: {literature: {splits: 3}}
arms:
  - {method: toy, protocols: [literature]}
  - {method: ridge, protocols: [literature]}
  - {method: adassp, protocols: [literature], budget: {epsilon: 1.0, delta: 1.0e-5}}
scales: {full: {}, quick: {}, tiny: {}}
answers: []
"""


class Store:
    """Images and containers in one folder, by buildah: no daemon, and no namespace of its own."""

    def __init__(self, folder: Path) -> None:
        self.command = ["buildah", "--root", str(folder / "images"), "--runroot", str(folder / "run")]

    def __call__(self, *arguments: str | Path) -> str:
        variables = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
        command = [*self.command, *map(str, arguments)]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, f"{' '.join(command)}:\n{(done.stdout + done.stderr)[-4000:]}"
        return done.stdout.strip()

    def has(self, image: str) -> bool:
        return (
            subprocess.run(
                [*self.command, "inspect", "--type", "image", image], capture_output=True, check=False
            ).returncode
            == 0
        )


def base_image(store: Store, name: str, folder: Path) -> None:
    """A bare Debian under the name of the base image."""
    root = folder / "debian"
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", RELEASE, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    (root / "usr/bin/python").symlink_to("python3.11")
    (root / "usr/lib/python3.11/EXTERNALLY-MANAGED").unlink()  # the base image lets pip install, too
    container = store("from", "scratch")
    store("copy", "--quiet", container, root, "/")
    store("config", "--env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
    store("commit", "--quiet", "--rm", container, name)
    shutil.rmtree(root)


def built(store: Store, folder: Path) -> str:
    """The image of the Containerfile as it is now; its name."""
    recipe = (ROOT / "Containerfile").read_bytes()
    image = f"dpbayes-bench:{hashlib.sha256(recipe + (ROOT / 'requirements.lock').read_bytes()).hexdigest()[:12]}"
    if store.has(image):
        return image
    base = re.search(r"^FROM ([^\s@]+)", recipe.decode(), re.MULTILINE)[1]  # a Debian in its place has another digest
    if not store.has(base):
        base_image(store, base, folder)
    # what this machine trusts, the image trusts while it is built
    here = ["--pull-never", "--from", base, "--network", "host", "--volume", "/etc/ssl/certs:/etc/ssl/certs:ro"]
    store("bud", *here, "-f", ROOT / "Containerfile", "-t", image, ROOT)
    return image


def project_at(folder: Path) -> Path:
    project = copy_project(folder)
    drop_toy(project)
    only_experiment(project, EXPERIMENT)
    place_data(project, "wine")
    return project


@pytest.mark.container
def test_a_run_in_the_image_gives_the_values_of_a_local_run(tmp_path, capsys):
    if lacking := [p for p in ("buildah", "debootstrap") if shutil.which(p) is None]:
        pytest.skip(f"this machine has no {', '.join(lacking)}; Debian: apt-get install buildah debootstrap")
    if os.geteuid():
        pytest.skip("needs root")
    store = Store(Path(os.environ.get("DPBAYES_CONTAINERS") or tmp_path / "store"))
    image = built(store, tmp_path)
    local, inside = project_at(tmp_path / "local"), project_at(tmp_path / "inside")
    snakemake(local, environment(), "--cores", "1")
    container = store("from", "--pull-never", image)
    try:
        run = ["run", "--volume", f"{inside}:/suite", "--workingdir", "/suite", container, "--"]
        told = store(*run, "python", "-c", "import sys, jax, numba, numpyro, torch; print(sys.version.split()[0])")
        store(*run, "snakemake", "--cores", "1", TARGET)
    finally:
        store("rm", container)
    expected = rows(local)
    assert {r["status"] for r in expected} == {"ok"}
    assert {r["method"] for r in expected} == {"toy", "ridge", "adassp"}
    assert rows(inside) == expected
    with capsys.disabled():
        print(f"\nPython {told} in the image, {len(expected)} rows equal to those of the local run")
