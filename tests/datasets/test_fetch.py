"""Fetching from a server on this machine that misbehaves on purpose, from a mirror, and from nowhere."""

import csv
import dataclasses
import gzip
import hashlib
import io
import re
import sys
import threading
import time
import types
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import datasets
from datasets import fetch as module
from datasets.base import DataError, DataSet, RawFile, Source, Table
from datasets.fetch import DiskFull, build, fetch, main
from datasets.store import load, save

CONTENT = b"a,b,y\n" + b"".join(b"%d,%d,%d\n" % (i, i * i, -i) for i in range(2000))
SHA = hashlib.sha256(CONTENT).hexdigest()


def parse(path) -> Table:
    rows = datasets.base.read_delimited(path, ",", ("a", "b", "y"))
    return Table(rows[:, :2].copy(), rows[:, 2].copy(), ("a", "b"))


def dataset(*sources: Source, sha256: str = SHA) -> DataSet:
    raw = (RawFile("toy.csv", sha256, sources or (Source("http://127.0.0.1:9/toy.csv"),)),)
    return DataSet("toy", "Toy", 2000, 2, ("a", "b"), "y", "", "none", "", raw=raw, parse=parse)


def zipped(member: str = "in/toy.csv", content: bytes = CONTENT) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return buffer.getvalue()


class Server:
    """Serves ``files``; ``faults`` holds what goes wrong with the next requests, in order."""

    def __init__(self):
        self.files, self.faults, self.ranges, self.honour_range = {}, [], [], True
        self.closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def answer(self, request):
        wanted = request.headers.get("Range")
        self.ranges.append(wanted)
        fault = self.faults.pop(0) if self.faults else None
        body = self.files.get(request.path)
        if isinstance(fault, int) or body is None:
            request.send_response(fault or 404)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        if fault == "silence":
            time.sleep(1.0)
        if fault == "dripping head":
            self.drip(request, b"HTTP/1.0 200 OK\r\n" + b"X: " + b"x" * 10**6)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.honour_range else 0
        if wanted and self.honour_range and start >= len(body):
            request.send_response(416)
            request.send_header("Content-Range", f"bytes */{len(body)}")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        request.send_header("Content-Length", str(len(body) - start))
        request.end_headers()
        if fault == "drip":
            self.drip(request, body[start:])
            return
        request.wfile.write(body[start:][: 1000 if fault == "truncate" else None])

    def drip(self, request, body):
        """Byte by byte: never silent for long, and never done; until the other side hangs up or the test ends."""
        for k in range(len(body)):
            if self.closing.wait(0.02):
                return
            try:
                request.wfile.write(body[k : k + 1])
            except OSError:
                return

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}{path}"

    def close(self):
        self.closing.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    server.files["/toy.csv"] = CONTENT
    yield server
    server.close()


def get(data, folder, **options):
    options = {"timeout": 60.0, "backoff": 0.01, "retries": 3} | options
    return fetch(data, options.pop("mirror", None), folder, **options)


def test_plain_download_and_reuse(server, tmp_path):
    data = dataset(Source(server.url("/toy.csv")))
    (path,) = get(data, tmp_path)
    assert path == tmp_path / "toy" / "toy.csv"
    assert path.read_bytes() == CONTENT
    assert get(data, tmp_path) == (path,)
    assert len(server.ranges) == 1  # the second call found the file
    assert [p.name for p in path.parent.iterdir()] == ["toy.csv"]


def test_truncated_download_resumes(server, tmp_path):
    server.faults = ["truncate", "truncate"]
    (path,) = get(dataset(Source(server.url("/toy.csv"))), tmp_path)
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=1000-", "bytes=2000-"]


def test_download_resumes_in_a_later_call(server, tmp_path):
    data = dataset(Source(server.url("/toy.csv")))
    server.faults = ["truncate"]
    with pytest.raises(DataError, match=rf"truncated at 1000 of {len(CONTENT)} bytes"):
        get(data, tmp_path, retries=0)
    (path,) = get(data, tmp_path)
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=1000-"]


def test_whole_partial_file_is_used(server, tmp_path):
    url = server.url("/toy.csv")
    folder = tmp_path / "toy"
    folder.mkdir()
    module._part_path(folder, url).write_bytes(CONTENT)
    (path,) = get(dataset(Source(url)), tmp_path)
    assert path.read_bytes() == CONTENT
    assert server.ranges == [f"bytes={len(CONTENT)}-"]


@pytest.mark.parametrize("stale", [b"x" * 500, CONTENT + b"more"])
def test_a_partial_file_of_another_version_is_begun_again(stale, server, tmp_path):
    url = server.url("/toy.csv")
    folder = tmp_path / "toy"
    folder.mkdir()
    module._part_path(folder, url).write_bytes(stale)
    (path,) = get(dataset(Source(url)), tmp_path)
    assert path.read_bytes() == CONTENT
    assert server.ranges[-1] is None


def test_server_that_ignores_ranges(server, tmp_path):
    server.honour_range = False
    server.faults = ["truncate"]
    (path,) = get(dataset(Source(server.url("/toy.csv"))), tmp_path)
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=1000-"]  # its whole answer replaces the part, at once


def test_retry_after_500(server, tmp_path):
    server.faults = [500, 503]
    (path,) = get(dataset(Source(server.url("/toy.csv"))), tmp_path)
    assert path.read_bytes() == CONTENT
    assert len(server.ranges) == 3


def test_gives_up_after_the_retries(server, tmp_path):
    server.faults = [500] * 9
    with pytest.raises(DataError, match="HTTP 500, 3 attempts"):
        get(dataset(Source(server.url("/toy.csv"))), tmp_path, retries=2)
    assert len(server.ranges) == 3


def test_not_found_is_not_retried_and_the_next_source_serves(server, tmp_path):
    data = dataset(Source(server.url("/gone.csv")), Source(server.url("/toy.csv")))
    (path,) = get(data, tmp_path)
    assert path.read_bytes() == CONTENT
    assert len(server.ranges) == 2


def test_a_silent_server_is_left_after_the_timeout(server, tmp_path):
    server.faults = ["silence"]
    with pytest.raises(DataError, match=r"no answer in 0.1 s"):
        get(dataset(Source(server.url("/toy.csv"))), tmp_path, timeout=0.1, retries=0)


@pytest.mark.parametrize(
    ("fault", "words"), [("drip", r"stuck: \d+ bytes in"), ("dripping head", "no whole answer in")]
)
def test_a_dripping_server_is_left_and_the_next_source_serves(fault, words, server, tmp_path):
    """50 bytes a second: each comes well within the limit of a wait, the whole would take minutes."""
    server.faults, log = [fault], []
    data = dataset(Source(server.url("/toy.csv")), Source(server.url("/toy.csv")))
    (path,) = get(data, tmp_path, timeout=2.0, retries=0, log=log.append)
    assert path.read_bytes() == CONTENT
    assert len(server.ranges) == 2
    (line,) = log
    assert re.search(words, line)


def test_wrong_checksum_names_both_and_moves_on(server, tmp_path):
    server.files["/other.csv"] = CONTENT + b"1,2,3\n"
    other = hashlib.sha256(server.files["/other.csv"]).hexdigest()
    with pytest.raises(DataError, match=f"toy.csv.*wrong checksum of toy.csv: sha256 {other}, expected {SHA}"):
        get(dataset(Source(server.url("/other.csv"))), tmp_path)
    assert len(server.ranges) == 1  # the same bytes would come again
    assert list((tmp_path / "toy").iterdir()) == []
    (path,) = get(dataset(Source(server.url("/other.csv")), Source(server.url("/toy.csv"))), tmp_path)
    assert path.read_bytes() == CONTENT


def test_zip_by_its_hash_or_by_its_members(server, tmp_path):
    server.files["/toy.zip"] = zipped()
    good = hashlib.sha256(server.files["/toy.zip"]).hexdigest()
    for i, (stated, told) in enumerate([(good, 0), (None, 0), ("0" * 64, 1)]):
        log = []
        source = Source(server.url("/toy.zip"), "in/toy.csv", stated)
        (path,) = get(dataset(source), tmp_path / str(i), log=log.append)
        assert path.read_bytes() == CONTENT
        assert [p.name for p in path.parent.iterdir()] == ["toy.csv"]
        assert len(log) == told


def test_zip_with_a_wrong_member(server, tmp_path):
    server.files["/toy.zip"] = zipped(content=b"other")
    with pytest.raises(DataError, match=r"wrong checksum of member 'in/toy\.csv'"):
        get(dataset(Source(server.url("/toy.zip"), "in/toy.csv")), tmp_path)


def test_a_zip_that_was_packed_in_another_way_is_left_and_the_next_source_serves(server, tmp_path):
    """Deflate64, as other programs pack large files, and a password: tracebacks before."""
    packed = bytearray(zipped())
    head, entry = packed.index(b"PK\x03\x04"), packed.index(b"PK\x01\x02")
    for name, at, value in (("/deflate64.zip", 8, 9), ("/password.zip", 6, 1)):
        body = bytearray(packed)
        body[head + at] = body[entry + at + 2] = value
        server.files[name] = bytes(body)
        only = Source(server.url(name), "in/toy.csv")
        with pytest.raises(DataError, match="the zip cannot be unpacked"):
            get(dataset(only), tmp_path / name[1:])
    server.files["/toy.csv"] = CONTENT
    assert get(dataset(only, Source(server.url("/toy.csv"))), tmp_path / "two")


def test_zip_without_the_member(server, tmp_path):
    server.files["/toy.zip"] = zipped("elsewhere.csv")
    with pytest.raises(DataError, match=r"no member 'in/toy.csv' \(it has elsewhere.csv\)"):
        get(dataset(Source(server.url("/toy.zip"), "in/toy.csv")), tmp_path)


@pytest.mark.parametrize("damage", ["end", "middle"])
def test_truncated_or_damaged_zip(damage, server, tmp_path):
    whole = zipped()
    body = whole[:-300] if damage == "end" else whole[:200] + bytes(100) + whole[300:]
    server.files["/toy.zip"] = body
    with pytest.raises(DataError, match=r"the zip is truncated or damaged.*2 attempts"):
        get(dataset(Source(server.url("/toy.zip"), "in/toy.csv")), tmp_path, retries=1)
    assert list((tmp_path / "toy").iterdir()) == []


def test_progress_of_a_long_download(server, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PROGRESS_SECONDS", 0.0)
    log = []
    get(dataset(Source(server.url("/toy.csv"))), tmp_path, log=log.append)
    assert log
    assert log[-1] == f"toy: {len(CONTENT) / 1e6:.1f} of {len(CONTENT) / 1e6:.1f} MB"


def test_disk_full(server, tmp_path):
    url = server.url("/toy.csv")
    folder = tmp_path / "toy"
    folder.mkdir()
    module._part_path(folder, url).symlink_to("/dev/full")  # every write to it fails as on a full disk
    with pytest.raises(DiskFull, match=r"no space left while writing .*toy.csv; free space .* --raw"):
        get(dataset(Source(url)), tmp_path)


def test_nothing_listens_or_no_such_host(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    data = dataset(Source("http://127.0.0.1:9/toy.csv"), Source("http://no-such-host.invalid/toy.zip", "m"))
    with pytest.raises(DataError) as error:
        get(data, tmp_path, retries=5, backoff=60.0)  # a retry would wait a minute
    message = str(error.value)
    for part in ("http://127.0.0.1:9/toy.csv (no connection", "http://no-such-host.invalid/toy.zip (no connection"):
        assert part in message
    assert "put the file at MIRROR/toy/toy.csv" in message
    assert "./bench --cores 1 --forcerun fetch" in message
    assert str(tmp_path) not in message


def test_offline_tries_no_source(server, tmp_path):
    with pytest.raises(DataError, match="not tried: offline"):
        get(dataset(Source(server.url("/toy.csv"))), tmp_path, offline=True)
    assert server.ranges == []


def _mirror(folder, content: bytes):
    (folder / "toy").mkdir(parents=True)
    (folder / "toy" / "toy.csv").write_bytes(content)
    return folder


def test_mirror_comes_first(server, tmp_path):
    mirror = _mirror(tmp_path / "mirror", CONTENT)
    (path,) = get(dataset(Source(server.url("/toy.csv"))), tmp_path / "raw", mirror=mirror)
    assert path.read_bytes() == CONTENT
    assert server.ranges == []


def test_wrong_checksum_in_the_mirror_is_no_reason_to_go_elsewhere(server, tmp_path):
    mirror = _mirror(tmp_path / "mirror", b"wrong")
    with pytest.raises(DataError, match=rf"MIRROR/toy/toy.csv is there with the wrong checksum .*expected {SHA}"):
        get(dataset(Source(server.url("/toy.csv"))), tmp_path / "raw", mirror=mirror)
    assert server.ranges == []


def test_damaged_raw_file_is_replaced(server, tmp_path):
    data = dataset(Source(server.url("/toy.csv")))
    (path,) = get(data, tmp_path)
    path.write_bytes(b"damaged")
    log = []
    assert get(data, tmp_path, log=log.append)[0].read_bytes() == CONTENT
    assert "wrong checksum" in log[0]


def test_bad_options(tmp_path):
    with pytest.raises(ValueError, match="retries = -1"):
        get(dataset(), tmp_path, retries=-1)
    with pytest.raises(ValueError, match="timeout = 0"):
        get(dataset(), tmp_path, timeout=0)


def test_build_checks_size_fingerprint_and_numbers(tmp_path):
    path = tmp_path / "toy.csv"
    path.write_bytes(CONTENT)
    table, fingerprint = build(dataset(), (path,))
    assert table.x.shape == (2000, 2)
    assert build(dataclasses.replace(dataset(), table_sha256=fingerprint), (path,))[1] == fingerprint
    with pytest.raises(DataError, match="fingerprint"):
        build(dataclasses.replace(dataset(), table_sha256="0" * 64), (path,))
    with pytest.raises(DataError, match="2000 x 2, expected 2001 x 2"):
        build(dataclasses.replace(dataset(), n_rows=2001), (path,))
    nan = Table(np.full((2000, 2), np.nan), np.zeros(2000), ("a", "b"))
    with pytest.raises(DataError, match="NaN"):
        build(dataclasses.replace(dataset(), parse=lambda p: nan), (path,))
    path.write_bytes(CONTENT.replace(b"a,b,y", b"a,b,z"))
    with pytest.raises(DataError, match=r"toy: toy.csv has no column 'y'"):
        build(dataset(), (path,))


@pytest.fixture
def registered(monkeypatch):
    def register(data):
        monkeypatch.setattr(datasets, "get", lambda name: {data.name: data}[name])

    return register


def _cli(tmp_path, *more) -> int:
    return main(["toy", "--raw", str(tmp_path / "raw"), "--out", str(tmp_path / "out" / "toy.npz"), *more])


def test_command_line(server, tmp_path, registered, monkeypatch):
    monkeypatch.delenv("DPBAYES_MIRROR", raising=False)
    registered(dataset(Source(server.url("/toy.csv"))))
    assert _cli(tmp_path) == 0
    first = (tmp_path / "out" / "toy.npz").read_bytes()
    loaded = load(tmp_path / "out" / "toy.npz")
    assert loaded.ok
    assert (loaded.name, loaded.kind, loaded.reason, loaded.authors_order) == ("toy", "table", "", None)
    assert loaded.columns == ("a", "b")
    assert loaded.raw_sha256 == (SHA,)
    np.testing.assert_array_equal(loaded.y, -np.arange(2000))
    assert not loaded.x.flags.writeable
    assert _cli(tmp_path) == 0
    assert (tmp_path / "out" / "toy.npz").read_bytes() == first  # equal data, equal bytes: nothing re-runs
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["toy.npz"]


def test_command_line_takes_the_mirror_of_the_environment(tmp_path, registered, monkeypatch):
    monkeypatch.setenv("DPBAYES_MIRROR", str(_mirror(tmp_path / "mirror", CONTENT)))
    registered(dataset())
    assert _cli(tmp_path, "--offline") == 0
    assert load(tmp_path / "out" / "toy.npz").ok


@pytest.mark.parametrize("content", [None, b"wrong"])
def test_command_line_without_data_goes_on(content, tmp_path, registered, monkeypatch, capsys):
    monkeypatch.delenv("DPBAYES_MIRROR", raising=False)
    registered(dataset())
    mirror = [] if content is None else ["--mirror", str(_mirror(tmp_path / "mirror", content))]
    assert _cli(tmp_path, "--offline", *mirror) == 0
    loaded = load(tmp_path / "out" / "toy.npz")
    assert loaded.status == "no_data"
    assert not loaded.ok
    assert loaded.x.shape == (0, 2)
    assert loaded.data_hash == ""
    assert ("could not be had" if content is None else "wrong checksum") in loaded.reason
    assert "./bench --cores 1 --forcerun fetch" in loaded.reason
    assert str(tmp_path) not in loaded.reason  # reasons are published: no path of this machine
    assert loaded.reason in capsys.readouterr().err


def test_command_line_on_a_full_disk(server, tmp_path, registered, monkeypatch, capsys):
    monkeypatch.delenv("DPBAYES_MIRROR", raising=False)
    url = server.url("/toy.csv")
    registered(dataset(Source(url)))
    (tmp_path / "raw" / "toy").mkdir(parents=True)
    module._part_path(tmp_path / "raw" / "toy", url).symlink_to("/dev/full")
    assert _cli(tmp_path) == 1
    assert "no space left" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [[], ["wine", "--check", "x.csv"], ["nonsense"], ["wine", "--retries", "-1"], ["wine", "--timeout", "0"]],
)
def test_command_line_with_bad_arguments(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err


def test_every_address_is_tried_once_and_said_to_be_right_or_not(server, tmp_path, monkeypatch, capsys):
    """Without the mirror, though one is named."""
    monkeypatch.setenv("DPBAYES_MIRROR", str(_mirror(tmp_path / "mirror", CONTENT)))
    server.files |= {"/changed.csv": CONTENT + b"0,0,0\n", "/toy.zip": zipped(), "/page.html": b"<html>moved</html>"}
    server.faults = ["truncate"]
    urls = [server.url(p) for p in ("/toy.csv", "/changed.csv", "/gone.csv")]
    data = dataset(
        *map(Source, urls), Source(server.url("/toy.zip"), "in/toy.csv"), Source(server.url("/page.html"), "x")
    )
    again = dataclasses.replace(data, name="again")
    monkeypatch.setattr(datasets, "names", lambda kind: ["toy"])
    monkeypatch.setattr(datasets, "get", lambda name: data)
    monkeypatch.setitem(sys.modules, "elsewhere", types.SimpleNamespace(more=lambda: [again]))
    monkeypatch.setattr(module.time, "sleep", lambda s: None)
    out = tmp_path / "addresses.csv"
    assert main(["--check", str(out), "--also", "elsewhere:more"]) == 1
    with out.open(newline="") as f:
        rows = list(csv.DictReader(f))
    assert [(r["dataset"], r["file"]) for r in rows] == [("toy", "toy.csv")] * 5
    assert [r["right"] for r in rows] == ["yes", "no", "no", "yes", "no"]
    assert [r["address"] for r in rows[:3]] == urls
    assert rows[3]["member"] == "in/toy.csv"
    assert "wrong checksum" in rows[1]["reason"]
    assert rows[2]["reason"] == "HTTP 404"
    assert "the zip is truncated or damaged" in rows[4]["reason"]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", r["date"]) for r in rows)
    said = capsys.readouterr().err
    assert f"1 of 5: toy: {urls[0]}: right\n" in said
    assert f"3 of 5: toy: {urls[2]}: HTTP 404\n" in said
    assert said.endswith(f"2 of 5 addresses are right; {out} has them all\n")
    assert not {p.name for p in tmp_path.iterdir()} - {"mirror", "addresses.csv"}


def test_addresses_that_are_all_right(server, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "names", lambda kind: ["toy"])
    monkeypatch.setattr(datasets, "get", lambda name: dataset(Source(server.url("/toy.csv"))))
    assert main(["--check", str(tmp_path / "addresses.csv")]) == 0


def test_a_member_that_does_not_end_is_not_unpacked(server, tmp_path, monkeypatch):
    """A few kB of zip may be a disk full of zeros; the checksum would come too late."""
    server.files["/toy.zip"] = zipped(content=CONTENT + bytes(10**7))
    monkeypatch.setattr(module, "_MOST_UNPACKED", 2 * 10**6)
    with pytest.raises(DataError, match=r"member 'in/toy.csv' has more than 0.002 GB"):
        get(dataset(Source(server.url("/toy.zip"), "in/toy.csv")), tmp_path)
    assert list(tmp_path.glob("*/*")) == []


def values() -> str:
    """The fingerprint of the toy table."""
    return datasets.table_sha256(np.array([[i, i * i] for i in range(2000)], float), np.arange(0.0, -2000.0, -1.0))


def test_other_bytes_with_the_same_values_are_accepted_from_everywhere(server, tmp_path):
    other = CONTENT.replace(b"\n", b"\r\n")
    server.files |= {"/other.csv": other, "/other.zip": zipped(content=other)}
    for k, source in enumerate((Source(server.url("/other.csv")), Source(server.url("/other.zip"), "in/toy.csv"))):
        with pytest.raises(DataError, match="wrong checksum"):
            get(dataset(source), tmp_path / f"strict{k}")
        data = dataclasses.replace(dataset(source), table_sha256=values())
        (path,) = get(data, tmp_path / str(k))
        assert path.read_bytes() == other
        server.files.clear()
        assert get(data, tmp_path / str(k)) == (path,)  # it is reused
        server.files |= {"/other.csv": other, "/other.zip": zipped(content=other)}
    (path,) = get(data, tmp_path / "mirrored", mirror=_mirror(tmp_path / "mirror", other), offline=True)
    assert path.read_bytes() == other


@pytest.mark.parametrize(
    "content",
    [
        CONTENT.replace(b"\n3,9,-3\n", b"\n3,9.000000000000002,-3\n"),  # one bit of one value
        CONTENT.replace(b"\n3,9,-3\n4,16,-4\n", b"\n4,16,-4\n3,9,-3\n"),  # another order
        b"a,b,y\n",
        b"<html>moved</html>",
        b"\xff\xfe\x00",
    ],
)
def test_other_values_are_refused(content, server, tmp_path):
    server.files["/other.csv"] = content
    data = dataclasses.replace(dataset(Source(server.url("/other.csv"))), table_sha256=values())
    with pytest.raises(DataError, match=r"wrong checksum of toy\.csv: .*, and its values are not those of the table"):
        get(data, tmp_path)
    assert list((tmp_path / "toy").iterdir()) == []
    with pytest.raises(DataError, match="is there with the wrong checksum"):
        get(data, tmp_path, mirror=_mirror(tmp_path / "mirror", content))


def test_what_is_compressed_or_large_is_not_read_to_compare_it(server, tmp_path, monkeypatch):
    data = dataclasses.replace(dataset(Source(server.url("/toy.csv"))), table_sha256=values())
    read = []
    monkeypatch.setattr(module, "build", lambda *a: read.append(a))
    server.files["/toy.csv"] = CONTENT + b"\n"
    (raw,) = data.raw
    with pytest.raises(DataError, match="wrong checksum"):
        get(dataclasses.replace(data, raw=(dataclasses.replace(raw, name="toy.xlsx"),)), tmp_path)
    monkeypatch.setattr(module, "_MOST_READ", 1000)
    with pytest.raises(DataError, match="wrong checksum"):
        get(data, tmp_path)
    assert read == []


def test_a_gzipped_file_is_known_by_its_content(server, tmp_path, monkeypatch):
    ours, other = gzip.compress(CONTENT, 9, mtime=0), gzip.compress(CONTENT, 1, mtime=1)
    assert ours != other
    server.files |= {"/a.gz": other, "/b.gz": gzip.compress(CONTENT + b"0"), "/c.gz": other[:-9], "/d": CONTENT}
    raw = RawFile("toy.csv.gz", hashlib.sha256(ours).hexdigest(), (), unpacked_sha256=SHA)

    def of(path: str, **more) -> DataSet:
        one = dataclasses.replace(raw, sources=(Source(server.url(path), **more),))
        return dataclasses.replace(dataset(), raw=(one,))

    assert get(of("/a.gz"), tmp_path)[0].read_bytes() == other
    assert get(of("/d", convert=lambda b: gzip.compress(b, mtime=0)), tmp_path / "converted")[0].is_file()
    for path in ("/b.gz", "/c.gz", "/d"):
        with pytest.raises(DataError, match="wrong checksum"):
            get(of(path), tmp_path / path[1:])
    monkeypatch.setattr(module, "_MOST_READ", 1000)  # a few bytes may unpack to a full disk
    with pytest.raises(DataError, match="wrong checksum"):
        get(of("/a.gz"), tmp_path / "large")


def test_a_source_is_converted_before_its_checksum(server, tmp_path):
    server.files |= {"/upper.csv": CONTENT.upper(), "/upper.zip": zipped(content=CONTENT.upper())}
    for k, source in enumerate((Source(server.url("/upper.csv")), Source(server.url("/upper.zip"), "in/toy.csv"))):
        (path,) = get(dataset(dataclasses.replace(source, convert=bytes.lower)), tmp_path / str(k))
        assert path.read_bytes() == CONTENT
        with pytest.raises(DataError, match="wrong checksum"):
            get(dataset(dataclasses.replace(source, convert=bytes.title)), tmp_path / f"wrong{k}")
    with pytest.raises(DataError, match="the file cannot be converted: "):
        get(dataset(Source(server.url("/upper.csv"), convert=lambda b: {}[b"x"])), tmp_path / "fails")


def test_a_host_that_is_not_reached_costs_no_other(server, tmp_path, monkeypatch):
    """A host that answers is never left out, whatever it answers."""
    monkeypatch.setenv("no_proxy", "*")
    dead, missed = "http://127.0.0.1:9", set()
    data = dataset(Source(f"{dead}/a.csv"), Source(f"{dead}/b.csv"), Source(server.url("/gone.csv")))
    with pytest.raises(DataError) as error:
        get(data, tmp_path, unreachable=missed)
    assert missed == {"127.0.0.1:9"}
    for words in ("a.csv (no connection", "b.csv (not tried again: not reached before)", "gone.csv (HTTP 404)"):
        assert words in str(error.value)
    data = dataset(Source(f"{dead}/toy.csv"), Source(server.url("/toy.csv")))
    assert get(data, tmp_path, unreachable=missed)[0].read_bytes() == CONTENT
    server.faults = ["silence", "silence"]
    with pytest.raises(DataError, match=r"no answer in 0.1 s"):
        get(dataset(Source(server.url("/toy.csv"))), tmp_path / "new", timeout=0.1, retries=0, unreachable=missed)
    assert missed == {"127.0.0.1:9", server.url("").removeprefix("http://")}


def test_load_names_file_and_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.npz does not exist; .*bench --cores 1 .*none.npz"):
        load(tmp_path / "none.npz")
    path = tmp_path / "bad.npz"
    path.write_bytes(b"PK\x03\x04 no zip")
    with pytest.raises(ValueError, match=r"bad.npz is damaged"):
        load(path)
    np.savez(path, x=np.zeros((1, 1)))
    with pytest.raises(ValueError, match=r"bad.npz has no array"):
        load(path)


def test_save_wants_a_table_or_a_reason(tmp_path):
    with pytest.raises(ValueError, match="reason"):
        save(tmp_path / "t.npz", dataset(), None)
    assert list(tmp_path.iterdir()) == []
