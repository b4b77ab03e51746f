"""What an attack on the service has found, point by point."""

import socket
import sqlite3
import threading
import time
from contextlib import closing, contextmanager, suppress
from unittest.mock import Mock

import pytest
import uvicorn
from sqlalchemy import func, select

from rankwise.web import _store, create_app
from rankwise.web._guard import load_key
from rankwise.web._items import Scale
from rankwise.web._store import visitors

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


def n_visitors(client):
    with client.app.state.service.store.reads.connect() as connection:
        return connection.execute(select(func.count()).select_from(visitors)).scalar_one()


# Headers


@pytest.mark.parametrize("where", ["header", "headers", "query", "path", "cookie"])
def test_a_request_has_at_most_64_kilobytes_of_headers(client, where):
    long = "x" * 60_000
    path = {"query": f"/api/items?search={long}", "path": f"/{long}"}.get(where, "/api/me")
    headers = {"x-more": "x" * 10_000} | {
        "header": {"x-long": long},
        "headers": {f"x-{n}": "x" * 100 for n in range(700)},
        "cookie": {"cookie": f"a={long}"},
    }.get(where, {})
    answer = client.get(path, headers=headers)
    assert answer.status_code == 431
    assert "65,536 bytes" in answer.json()["detail"]


@contextmanager
def listening(settings, monkeypatch, seconds):
    """Serve an app by the protocol of ``rankwise serve``; yield the address."""
    from rankwise.web import server

    monkeypatch.setattr(server, "HEADER_SECONDS", seconds)
    running = uvicorn.Server(uvicorn.Config(create_app(settings), port=0, **server.OPTIONS))
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    try:
        yield running.servers[0].sockets[0].getsockname()
    finally:
        running.should_exit = True
        thread.join()


def test_endless_headers_end_the_connection(settings, monkeypatch):
    """The rest is not read: what is sent after the limit can't fill the memory."""
    with listening(settings, monkeypatch, 10.0) as address:
        sent = 0
        with socket.create_connection(address) as connection:
            connection.settimeout(10)
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
            with suppress(ConnectionError):
                while sent < 50_000_000:
                    sent += connection.send(b"x-many: " + b"x" * 10_000 + b"\r\n")
        assert sent < 10_000_000


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
def test_slow_headers_end_the_connection(settings, monkeypatch, begun):
    with listening(settings, monkeypatch, 0.5) as address:
        with socket.create_connection(address) as connection:
            connection.settimeout(5)
            connection.sendall(begun)
            start = time.monotonic()
            assert connection.recv(1000) in {b"", b"HTTP/1.1 408 \r\nconnection: close\r\n\r\n"}
            assert 0.2 < time.monotonic() - start < 4
        with socket.create_connection(address) as connection:
            connection.settimeout(5)
            for _ in range(2):  # a connection may rest between requests
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                assert connection.recv(10_000).startswith(b"HTTP/1.1 200")
                time.sleep(0.8)
            connection.sendall(b"GET /healthz HTTP/1.1\r\n")
            assert b"200" not in connection.recv(1000)


# Cookies


def test_two_services_on_one_host_leave_each_other_alone(start, tmp_path):
    one = start()
    two = start(database=str(tmp_path / "other.sqlite"))
    jar = {}

    def request(client, method, path, body=None):
        client.cookies.clear()
        client.cookies.update(jar)
        answer = client.request(method, path, json=body)
        jar.clear()
        jar.update(client.cookies)
        return answer

    assert request(one, "PUT", "/api/ratings/1", {"rating": 5}).status_code == 200
    assert request(two, "PUT", "/api/ratings/2", {"rating": 1}).status_code == 200
    assert len(jar) == 2
    for client, item in ((one, "1"), (two, "2"), (one, "1")):
        found = request(client, "GET", "/api/me")
        assert found.status_code == 200
        assert [given["item"]["id"] for given in found.json()["ratings"]] == [item]
    assert request(one, "DELETE", "/api/me").json()["forgotten"]
    assert len(request(two, "GET", "/api/me").json()["ratings"]) == 1


def test_a_cookie_of_an_earlier_version_is_known(client):
    client.put("/api/ratings/1", json={"rating": 5})
    ((name, value),) = client.cookies.items()
    client.cookies.clear()
    assert len(client.get("/api/me", headers={"cookie": f"rankwise={value}"}).json()["ratings"])
    old = client.get("/api/me", headers={"cookie": "rankwise=of another service"})
    assert (old.status_code, old.json()["ratings"]) == (200, [])
    assert name != "rankwise"


# Forgetting


def test_forgetting_says_whether_the_log_still_has_the_name(start):
    client = start()
    client.put("/api/ratings/1", json={"rating": 4})
    name = next(iter(client.cookies.values()))[:32].encode()
    store = client.app.state.service.store
    files = [store.path, store.path.with_name(f"{store.path.name}-wal")]

    def in_files():
        return any(file.exists() and name in file.read_bytes() for file in files)

    assert in_files()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM visitors").fetchall()
        assert client.delete("/api/me").json() == {"forgotten": True, "erased": False}
        assert in_files()
    end = time.monotonic() + 10
    while in_files() and time.monotonic() < end:
        time.sleep(0.05)
    assert not in_files()


def test_the_end_of_the_service_erases_what_a_reader_kept(start, monkeypatch):
    client = start()
    client.put("/api/ratings/1", json={"rating": 4})
    name = next(iter(client.cookies.values()))[:32].encode()
    store = client.app.state.service.store
    monkeypatch.setattr(_store, "Timer", lambda *_: Mock())  # it is not tried again before
    with closing(sqlite3.connect(store.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM visitors").fetchall()
        assert not client.delete("/api/me").json()["erased"]
        reader.execute("COMMIT")
        store.close()
        log = store.path.with_name(f"{store.path.name}-wal")
        assert not log.exists() or name not in log.read_bytes()


def test_erased_without_a_reader(client):
    client.put("/api/ratings/1", json={"rating": 4})
    assert client.delete("/api/me").json() == {"forgotten": True, "erased": True}
    assert client.delete("/api/me").json() == {"forgotten": False, "erased": True}


# Smaller ones


def test_looking_makes_no_row(client):
    for path in ("me", "items", "ranking", "suggest", "progress", "export"):
        assert client.get(f"/api/{path}").status_code == 200
    assert client.post("/api/learn").status_code == 409
    assert client.put("/api/ratings/none", json={"rating": 4}).status_code == 404
    assert client.put("/api/ratings/1", json={"rating": 9}).status_code == 422
    assert not client.cookies
    assert n_visitors(client) == 0
    client.put("/api/ratings/1", json={"rating": 4})
    assert n_visitors(client) == len(client.cookies) == 1


def test_a_rating_is_put_on_the_scale(client):
    answer = client.put("/api/ratings/1", json={"rating": 4.0000000001})
    assert answer.json()["rating"] == 4.0
    assert client.get("/api/export").json()["ratings"][0]["rating"] == 4.0
    assert client.put("/api/ratings/1", json={"rating": 4.001}).status_code == 422


@pytest.mark.parametrize(
    ("scale", "given", "stored"),
    [
        (Scale(0.0, 1.0, 0.1), 0.1 + 0.2, 0.3),
        (Scale(-10.0, 10.0, 2.0), -3.9999999999, -4.0),
        (Scale(1.0, 5.0, 1.0), 5.0000000001, 5.0),
        (Scale(1.0, 5.0, 1.0), 4.5, None),
        (Scale(1.0, 5.0, 1.0), 6, None),
        (Scale(1.0, 5.0, 1.0), 0, None),
    ],
)
@pytest.mark.usefixtures("database")
def test_scales_snap(scale, given, stored):
    assert scale.snap(given) == stored


@pytest.mark.parametrize("method", ["TRACE", "PATCH", "POST", "GET", "OPTIONS", "HEAD"])
def test_methods_that_a_path_does_not_have(client, method):
    answer = client.request(method, "/api/ratings/1")
    assert answer.status_code == 405
    assert answer.headers.get_list("allow") == ["DELETE, PUT"]
    answer = client.request("TRACE", "/api/me")
    assert answer.status_code == 405
    assert answer.headers.get_list("allow") == ["DELETE, GET"]


def test_items_named_by_dots(start, tmp_path):
    path = tmp_path / "dots.csv"
    rows = [f"{user},{item},{1 + (user + k) % 5}" for user in range(9) for k, item in
            enumerate([".", "..", "a/../b", "...", "50%"])]  # fmt: skip
    path.write_text("user,item,rating\n" + "\n".join(rows) + "\n", "utf-8")
    client = start(data=str(path))
    from urllib.parse import quote

    items = client.get("/api/items").json()["items"]
    assert sorted(item["title"] for item in items) == [".", "..", "...", "50%", "a/../b"]
    for item in items:
        url = f"/api/ratings/{quote(item['id'], safe='')}"
        answer = client.put(url, json={"rating": 3})
        assert (answer.status_code, answer.json().get("item")) == (200, item["id"])
    assert len(client.get("/api/me").json()["ratings"]) == 5


def test_ids_that_look_alike_are_refused(start, tmp_path):
    path = tmp_path / "alike.csv"
    path.write_text("user,item,rating\n1,.,3\n1,'.',4\n2,.,5\n", "utf-8")
    with pytest.raises(ValueError, match="item ids"):
        start(data=str(path))


@pytest.mark.parametrize("content", [b"no key", b"\xff" * 64, b""])
@pytest.mark.usefixtures("database")
def test_a_bad_key_file_is_named(tmp_path, content):
    path = tmp_path / "taste.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ValueError, match=r"taste\.key must hold a hexadecimal key.*remove it"):
        load_key(path)


def test_learn_without_a_body_learns_by_the_default_method(client):
    client.put("/api/ratings/1", json={"rating": 4})
    client.put("/api/ratings/2", json={"rating": 2})
    assert client.post("/api/learn", json={"method": "prank"}).json()["method"] == "prank"
    answer = client.post("/api/learn")
    assert (answer.status_code, answer.json()["method"]) == (200, "taste")


def test_a_prediction_needs_no_whole_line(start):
    """The rating is predicted alike, whether the ranking was asked for or not."""
    one, two = start(), start()
    found = []
    for client, looks in ((one, True), (two, False)):
        for item, rating in (("1", 5), ("2", 1), ("3", 4)):
            if looks:
                client.get("/api/ranking")
            answer = client.put(f"/api/ratings/{item}", json={"rating": rating})
        found.append(answer.json()["predicted"])
    assert found[0] == pytest.approx(found[1], rel=1e-12)
