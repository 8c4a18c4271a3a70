"""A mirror that has some folders, and a network of one host: every file that can be had is had."""

import hashlib
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import datasets
from datasets.base import DataSet, RawFile, Source, Table, parse_lines
from papers.honkela2018robust import data as honkela
from papers.jalko2017dpvi import checks as jalko_checks
from papers.jalko2017dpvi import data as jalko
from papers.wang2018 import checks as wang_checks
from papers.wang2018 import data as wang
from workflow.recompute import Tables

DEAD = "http://127.0.0.1:9"
ROWS = b"".join(b"%d,%d,%d\n" % (k, k * k % 7, k % 3 + 1) for k in range(40))


@pytest.fixture
def host(monkeypatch):
    """(address, served files, paths that were asked for) of a server on this machine; no other host answers."""
    monkeypatch.setenv("no_proxy", "*")
    served, asked = {}, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = served.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", served, asked
    server.shutdown()
    thread.join()
    server.server_close()


def parse(path) -> Table:
    with path.open() as lines:
        rows = parse_lines(path, lines, ",")
    return Table(rows[:, :2].copy(), rows[:, 2].copy(), ("a", "b"))


def toy(name: str, *addresses: str, content: bytes = ROWS) -> DataSet:
    raw = RawFile("rows.csv", hashlib.sha256(content).hexdigest(), tuple(map(Source, addresses)))
    return DataSet(name, name, 40, 2, ("a", "b"), "y", "", "none", "", raw=(raw,), parse=parse)


@pytest.fixture
def mirror(tmp_path):
    """A mirror with the folders one and two."""
    for name in ("one", "two"):
        (tmp_path / "mirror" / name).mkdir(parents=True)
        (tmp_path / "mirror" / name / "rows.csv").write_bytes(ROWS)
    return tmp_path / "mirror"


def test_experiments_take_what_each_place_has(host, mirror, tmp_path, monkeypatch):
    """A host that fails, between hosts that do not: only what is there alone is missing."""
    address, served, asked = host
    served["/rows.csv"] = ROWS
    known = {
        "one": toy("one", f"{DEAD}/rows.csv"),
        "dead": toy("dead", f"{DEAD}/rows.csv"),
        "gone": toy("gone", f"{address}/gone.csv"),
        "second": toy("second", f"{DEAD}/other.csv", f"{address}/rows.csv"),
        "alive": toy("alive", f"{address}/rows.csv"),
        "two": toy("two"),
    }
    monkeypatch.setattr(datasets, "get", known.__getitem__)
    monkeypatch.setenv("DPBAYES_MIRROR", str(mirror))
    tables = Tables(tmp_path / "results", most_mb=10.0)
    found = {name: tables.get(name) for name in known}
    assert [name for name, table in found.items() if isinstance(table, str)] == ["dead", "gone"]
    assert asked == ["/gone.csv", "/rows.csv", "/rows.csv"]


def test_a_large_download_is_not_begun_because_there_is_a_mirror(host, mirror, tmp_path, monkeypatch):
    address, served, asked = host
    served["/rows.csv"] = ROWS
    large = toy("large", f"{address}/rows.csv")
    known = {
        name: replace(large, name=name, raw=(replace(large.raw[0], megabytes=211.0),)) for name in ("large", "one")
    }
    monkeypatch.setattr(datasets, "get", known.__getitem__)
    monkeypatch.setenv("DPBAYES_MIRROR", str(mirror))
    tables = Tables(tmp_path / "results", most_mb=10.0)
    assert tables.get("large") == "large is a download of 211 MB"
    assert not isinstance(tables.get("one"), str)
    assert asked == []


def _honkela(of: DataSet, mirror: str, raw, monkeypatch) -> None:
    monkeypatch.setattr(honkela.datasets, "get", lambda name: of)
    assert len(honkela.load(mirror, raw).y) == 40


def _wang(of: DataSet, mirror: str, raw, monkeypatch) -> None:
    stated = wang.sizes().copy()
    stated.loc["airfoil", "max_abs_centred_target"] = ""
    monkeypatch.setattr(wang, "sizes", lambda: stated)
    monkeypatch.setattr(wang, "dataset", lambda name: replace(of, name=name))
    assert len(wang.load("airfoil", mirror, raw)[1]) == 40


def _wang_checks(of: DataSet, mirror: str, raw, monkeypatch) -> None:
    suggested = "another target", lambda y: y, (0,), 1
    monkeypatch.setattr(wang_checks, "SUGGESTED", {"airfoil": suggested})
    monkeypatch.setattr(wang, "dataset", lambda name: replace(of, name=name))
    monkeypatch.setattr(wang, "parse", lambda name, path: parse(path))
    monkeypatch.chdir(raw)
    assert len(wang_checks.targets(mirror)) == 2


def _jalko(of: DataSet, mirror: str, raw, monkeypatch) -> None:
    monkeypatch.setattr(jalko, "dataset", lambda name, coding: replace(of, name=name))
    assert len(jalko.table("abalone_coded", mirror, raw).y) == 40


def _jalko_checks(of: DataSet, mirror: str, raw, monkeypatch) -> None:
    monkeypatch.setattr(jalko, "dataset", lambda name, coding="": replace(of, name=name))
    monkeypatch.setattr(datasets.adult, "_rows", lambda path: (parse(path).x, parse(path).y))
    monkeypatch.chdir(raw)
    assert len(jalko_checks.one_hot(mirror).y) == 40


@pytest.mark.parametrize("use", [_honkela, _wang, _wang_checks, _jalko, _jalko_checks])
def test_papers_with_their_own_code_fetch_what_the_mirror_lacks(use, host, mirror, tmp_path, monkeypatch):
    address, served, asked = host
    served["/rows.csv"] = ROWS
    raw = tmp_path / "raw"
    raw.mkdir()
    use(toy("toy", f"{DEAD}/rows.csv", f"{address}/rows.csv"), str(mirror), raw, monkeypatch)
    assert asked == ["/rows.csv"]
