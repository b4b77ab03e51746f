"""Downloads from a server of our own: whole, cut, corrupted, slow, missing."""

import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from rankwise.datasets import download as _download
from rankwise.datasets import fetch_book_crossing, fetch_jester, fetch_movielens


class Server:
    """Serves one file; ``faults`` are used up, one per request, then it behaves."""

    def __init__(self, content):
        self.content = content
        self.faults = []
        self.ranges = True
        self.log = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, handler):
        span = handler.headers.get("Range")
        self.log.append((handler.path, span))
        fault = self.faults.pop(0) if self.faults else None
        if fault in {404, 500}:
            handler.send_error(fault)
            return
        start = int(span[6:-1]) if span and self.ranges else 0
        if start >= len(self.content):
            handler.send_error(416)
            return
        body = self.content[start:]
        handler.send_response(206 if start else 200)
        if start:
            shown = start + 1 if fault == "shifted" else start
            end = len(self.content) - 1
            handler.send_header("Content-Range", f"bytes {shown}-{end}/{len(self.content)}")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if fault == "cut":
            body = body[: len(body) // 2]
        elif fault == "corrupt":
            body = bytes([body[0] ^ 1]) + body[1:]
        try:
            handler.wfile.write(body[:100])
            if fault == "slow":
                handler.wfile.flush()
                time.sleep(0.6)
            handler.wfile.write(body[100:])
        except OSError:
            pass


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ["RANKWISE_DATA", "RANKWISE_MIRROR"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_download, "_PAUSE", 0)
    return tmp_path / "home"


@pytest.fixture
def server(samples):
    items = np.random.default_rng(0).integers(10**14, size=20_000).tolist()
    rows = b"".join(b"1\t%d\t3\t881250949\n" % item for item in items)
    server = Server(samples.zipped(ml_DOT_100k__u_DOT_data=rows))
    yield server
    server.server.shutdown()
    server.server.server_close()


def digest(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.fixture
def fetch(server, home):
    def call(**changed):
        options = {
            "data_home": home,
            "url": f"{server.base}/ml-100k.zip",
            "checksum": digest(server.content),
            "timeout": 5,
        }
        return fetch_movielens("100k", **(options | changed))

    return call


def test_a_download_happens_once_and_shows_the_terms(server, home, fetch, capsys):
    assert len(fetch()) == 20_000
    shown = capsys.readouterr().err
    assert "no redistribution and no commercial use" in shown
    assert "Harper and J. A. Konstan" in shown
    assert len(fetch()) == 20_000
    assert capsys.readouterr().err == ""
    assert len(server.log) == 1
    assert [path.name for path in home.iterdir()] == ["ml-100k.zip"]


def test_a_cut_download_is_resumed_where_it_was_cut(server, fetch):
    server.faults = ["cut", "cut"]
    assert len(fetch()) == 20_000
    spans = [span for _, span in server.log]
    assert spans[0] is None
    first, second = (int(span[6:-1]) for span in spans[1:])
    assert 0 < first < second < len(server.content)


def test_a_later_process_resumes(server, home, fetch):
    server.faults = ["cut"] * 3
    with pytest.raises(OSError, match=r"ml-100k could not be downloaded.*RANKWISE_MIRROR"):
        fetch()
    (part,) = home.glob("*.part")
    size = part.stat().st_size
    assert 0 < size < len(server.content)
    assert len(fetch()) == 20_000
    assert server.log[3][1] == f"bytes={size}-"
    assert not list(home.glob("*.part"))


@pytest.mark.parametrize("why", ["no ranges", "shifted"])
def test_a_server_that_can_not_resume_starts_again(server, fetch, why):
    server.ranges = why != "no ranges"
    server.faults = ["cut", "shifted"]
    assert len(fetch()) == 20_000


def test_a_part_that_is_too_long_is_thrown_away(server, home, fetch):
    server.faults = ["cut"] * 3
    with pytest.raises(OSError, match="could not be downloaded"):
        fetch()
    (part,) = home.glob("*.part")
    part.write_bytes(server.content + b"more")
    assert len(fetch()) == 20_000


def test_a_corrupted_download_is_refused_and_not_kept(server, home, fetch):
    server.faults = ["corrupt"]
    with pytest.raises(ValueError, match=r"hash of downloaded file"):
        fetch()
    assert list(home.iterdir()) == []
    assert len(fetch()) == 20_000


def test_a_corrupted_copy_is_fetched_again(server, home, fetch):
    fetch()
    (home / "ml-100k.zip").write_bytes(b"PK nonsense")
    assert len(fetch()) == 20_000
    assert len(server.log) == 2


def test_a_short_answer_is_noticed_even_if_the_library_does_not(tmp_path):
    class Answer(SimpleNamespace):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    headers = {"Content-Length": "10"}
    answer = Answer(
        status_code=200,
        headers=headers,
        raise_for_status=lambda: None,
        iter_content=lambda _: [b"12345"],
    )
    library = SimpleNamespace(get=lambda *_, **__: answer, ConnectionError=ConnectionError)
    part = tmp_path / "x.part"
    with pytest.raises(ConnectionError, match="5 of 10 bytes arrived"):
        _download.Resuming(part, 1)._go_on(library, "http://x")
    assert part.read_bytes() == b"12345"


def test_a_slow_server_is_left_and_resumed(server, fetch):
    server.faults = ["slow"]
    assert len(fetch(timeout=0.3)) == 20_000
    assert len(server.log) == 2


@pytest.mark.parametrize("status", [404, 500])
def test_a_missing_file_says_what_to_do(server, fetch, status):
    server.faults = [status] * 10
    with pytest.raises(OSError, match=rf"{status} .*RANKWISE_DATA.*grouplens.org"):
        fetch()


def test_no_server_at_all(home):
    with pytest.raises(OSError, match=r"could not be downloaded. http://127.0.0.1:9/x"):
        fetch_jester(2, data_home=home, url="http://127.0.0.1:9/x", timeout=0.5)


def test_without_a_checksum_the_first_download_is_trusted(server, home, fetch):
    assert len(fetch(checksum=None)) == 20_000
    kept = json.loads((home / "checksums.json").read_text())
    assert kept == {"ml-100k.zip": digest(server.content)}
    assert len(fetch(checksum=None)) == 20_000
    assert len(server.log) == 1
    (home / "ml-100k.zip").unlink()
    server.content += b"changed"
    with pytest.raises(ValueError, match="hash of downloaded file"):
        fetch(checksum=None)


def test_the_registry_knows_the_right_file(fetch):
    with pytest.raises(ValueError, match=r"50d2a982c669"):
        fetch(checksum="registry")


def test_a_mirror_is_asked_first(server, fetch, monkeypatch):
    monkeypatch.setenv("RANKWISE_MIRROR", f"{server.base}/copies/")
    assert len(fetch(url=None)) == 20_000
    assert server.log == [("/copies/ml-100k.zip", None)]


def test_the_offline_folder_is_looked_into_and_never_written(samples, home, tmp_path, monkeypatch):
    offline = tmp_path / "offline"
    (offline / "ml-1m").mkdir(parents=True)
    (offline / "ml-1m" / "ratings.dat").write_bytes(samples.ratings())
    (offline / "ml-latest-small.zip").write_bytes(
        samples.zipped(ml__ratings_DOT_csv=samples.CSV_RATINGS)
    )
    (offline / "jester").mkdir()
    (offline / "jester" / "jester-data-1.zip").write_bytes(
        samples.zipped(jester_DOT_csv=samples.JESTER)
    )
    (offline / "BX-CSV-Dump.zip").write_bytes(
        samples.zipped(**{"BX-Book-Ratings_DOT_csv": samples.BX_RATINGS})
    )
    before = sorted(offline.rglob("*"))
    monkeypatch.setenv("RANKWISE_DATA", str(offline))
    assert len(fetch_movielens("1m")) == 3
    assert len(fetch_movielens()) == 3
    assert len(fetch_jester()) == 5
    assert len(fetch_book_crossing()) == 3
    assert sorted(offline.rglob("*")) == before
    assert not home.exists()


def test_unknown_releases_are_refused(home):
    with pytest.raises(ValueError, match="release='25m' must be '100k', '1m' or 'latest-small'"):
        fetch_movielens("25m", data_home=home)
    with pytest.raises(ValueError, match="part=4 must be 1, 2 or 3"):
        fetch_jester(4, data_home=home)


@pytest.mark.parametrize("fetch", [fetch_movielens, fetch_jester, fetch_book_crossing])
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("url", 2),
        ("url", np.ones((2, 2))),
        ("checksum", np.ones((2, 2))),
        ("timeout", np.inf),
        ("timeout", 0),
        ("timeout", pd.NA),
        ("on_bad_rows", "drop"),
    ],
)
def test_odd_arguments_are_named(home, fetch, argument, value):
    with pytest.raises(ValueError, match=rf"^{argument}="):
        fetch(data_home=home, **{argument: value})
    assert not home.exists()


def test_an_array_is_no_release_and_no_part(home):
    with pytest.raises(ValueError, match="release="):
        fetch_movielens(np.ones(3), data_home=home)
    with pytest.raises(ValueError, match="part="):
        fetch_jester(np.ones(3), data_home=home)
