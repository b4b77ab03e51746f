"""Requests that no honest page sends: answered with 4xx, and nothing is changed."""

import pytest

from rankwise.web._guard import Visitors
from tests.web.conftest import cookie_of

JSON = {"content-type": "application/json"}


@pytest.fixture
def rated(client):
    """A client of a visitor with one rating."""
    assert client.put("/api/ratings/1", json={"rating": 4}).status_code == 200
    return client


def state(client):
    return client.get("/api/export").json()


BAD_RATINGS = [6, 0, -1, 0.7, 1e308, "5", None, True, [], {}, "NaN", 10**400]


@pytest.mark.parametrize("rating", BAD_RATINGS)
def test_ratings_outside_of_the_scale(rated, rating):
    before = state(rated)
    answer = rated.put("/api/ratings/2", json={"rating": rating})
    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], str)
    assert state(rated) == before


BODIES = [
    b"",
    b"{",
    b"[]",
    b'"x"',
    b"null",
    b'{"rating": NaN}',
    b'{"rating": Infinity}',
    b'{"rating": 1e999}',
    b'{"rating": 3, "visitor": "someone"}',
    b"\xff\xfe\x00",
    b"[" * 20_000,
    b'{"rating": ' + b"9" * 10_000 + b"}",
]


@pytest.mark.parametrize("body", BODIES)
def test_bodies_that_are_no_rating(rated, body):
    before = state(rated)
    answer = rated.put("/api/ratings/2", content=body, headers=JSON)
    assert 400 <= answer.status_code < 500, answer.text
    assert isinstance(answer.json()["detail"], str)
    assert state(rated) == before


ITEMS = [
    "0",
    "-1",
    "999999999999999999999999",
    "1'; DROP TABLE ratings; --",
    "%00",
    "..%2f..%2fetc",
]
ITEMS += ["<script>alert(1)</script>", "x" * 5_000, "%ff%fe", "1 OR 1=1", "\U0001f3ac", "a/b/c"]


@pytest.mark.parametrize("item", ITEMS)
def test_items_that_are_not_there(rated, item):
    before = state(rated)
    assert rated.put(f"/api/ratings/{item}", json={"rating": 3}).status_code == 404
    assert rated.delete(f"/api/ratings/{item}").status_code == 404
    assert rated.get(f"/api/explain/{item}").status_code == 404
    body = {"better": item, "worse": "1"}
    assert rated.post("/api/compare", json=body).status_code in {404, 422}
    assert rated.get("/api/suggest", params={"skip": item}).status_code == 404
    assert state(rated) == before


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE visitors; --", "<img src=x onerror=1>", "%", "_", "\0"]
)
def test_searches_are_only_texts(rated, text):
    answer = rated.get("/api/items", params={"search": text, "genre": text})
    assert answer.status_code == 200
    assert answer.json()["items"] == []
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


QUERIES = [
    ("items", {"page": -1}),
    ("items", {"page": 0}),
    ("items", {"page": 10**30}),
    ("items", {"page": "two"}),
    ("items", {"search": "x" * 201}),
    ("ranking", {"set": "mine"}),
    ("ranking", {"k": 0}),
    ("ranking", {"k": -5}),
    ("ranking", {"k": 10**9}),
    ("ranking", {"flip": "perhaps"}),
    ("suggest", {"n": 0}),
    ("suggest", {"n": 1_000}),
    ("suggest", {"skip": ["1"] * 201}),
]


@pytest.mark.parametrize(("path", "query"), QUERIES)
def test_queries_outside_of_their_limits(rated, path, query):
    answer = rated.get(f"/api/{path}", params=query)
    assert answer.status_code == 422
    assert next(iter(query)) in answer.json()["detail"]


def test_methods_that_do_not_exist(rated):
    for body in ({"method": "magic"}, {"method": None}, {}, {"method": "taste", "more": 1}):
        assert rated.post("/api/learn", json=body).status_code == 422


def test_large_bodies(rated):
    before = state(rated)
    large = b'{"rating": 3, "x": "' + b"x" * 10_000_000 + b'"}'
    assert rated.put("/api/ratings/2", content=large, headers=JSON).status_code == 413

    def parts():
        for _ in range(200):
            yield b"x" * 1_000

    assert rated.put("/api/ratings/2", content=parts(), headers=JSON).status_code == 413
    assert state(rated) == before


def test_cookies_that_are_forged(rated):
    name, cookie = cookie_of(rated)
    visitor, signature = cookie.split(".")
    forged = [
        f"{visitor}.{'0' * 64}",
        f"{'0' * 32}.{signature}",
        visitor,
        "",
        "x" * 4_000,
        f"{visitor}.{signature}0",
        f"{visitor.upper()}.{signature}",
        Visitors(b"another key").new()[1],
    ]
    for value in forged:
        headers = {"cookie": f"{name}={value}"}
        rated.cookies.clear()
        for method, path, body in (
            ("GET", "/api/me", None),
            ("PUT", "/api/ratings/5", {"rating": 3}),
            ("DELETE", "/api/me", None),
        ):
            answer = rated.request(method, path, json=body, headers=headers)
            assert answer.status_code == 401, value
            assert "Max-Age=0" in answer.headers["set-cookie"]
    rated.cookies.set(name, cookie)
    assert [r["item"] for r in state(rated)["ratings"]] == ["1"]


def test_other_cookies_do_not_matter(rated):
    name, cookie = cookie_of(rated)
    rated.cookies.clear()
    header = f'a="; {{}}; =; {name}={cookie}; rankwisely=1; é=ü'.encode("latin-1")
    found = rated.get("/api/me", headers={"cookie": header}).json()
    assert len(found["ratings"]) == 1


def test_the_cookie_is_for_the_server_only(client, start):
    header = client.put("/api/ratings/1", json={"rating": 3}).headers["set-cookie"]
    assert "HttpOnly" in header
    assert "SameSite=lax" in header
    assert "Secure" not in header
    other = start(root_path="/taste")
    other.base_url = "https://testserver"
    header = other.put("/api/ratings/1", json={"rating": 3}).headers["set-cookie"]
    assert "Secure" in header
    assert "Path=/taste" in header


FOREIGN = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "none"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://testserver.evil.example"},
    {"sec-fetch-site": "cross-site", "origin": "http://testserver"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_other_sites_change_nothing(rated, headers):
    before = state(rated)
    requests = [
        ("PUT", "/api/ratings/2", {"rating": 3}),
        ("DELETE", "/api/ratings/1", None),
        ("POST", "/api/learn", {"method": "taste"}),
        ("POST", "/api/compare", {"better": "1", "worse": "2"}),
        ("DELETE", "/api/me", None),
    ]
    for method, path, body in requests:
        assert rated.request(method, path, json=body, headers=headers).status_code == 403
    assert state(rated) == before


def test_our_own_page_may(rated):
    headers = {"sec-fetch-site": "same-origin", "origin": "http://testserver"}
    assert rated.put("/api/ratings/2", json={"rating": 3}, headers=headers).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_only_json_is_taken(rated, kind):
    answer = rated.put("/api/ratings/2", content=b'{"rating": 3}', headers={"content-type": kind})
    assert answer.status_code == 415


def test_every_answer_has_the_headers(client):
    for path in ("/api/me", "/api/nothing", "/", "/docs", "/healthz", "/static/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("/api/me").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/static/../_app.py", "/static/%2e%2e/_app.py", "/static//etc/passwd"]
)
def test_no_other_file_is_served(client, path):
    assert client.get(path).status_code == 404


def test_too_many_requests(start):
    client = start(rate_visitor=1)
    client.put("/api/ratings/1", json={"rating": 3})
    found = [client.get("/api/me").status_code for _ in range(6)]
    assert found[:3] == [200] * 3
    assert 429 in found
    client = start(rate_address=1)
    answers = [client.get("/healthz") for _ in range(6)]
    assert answers[0].status_code == 200
    assert answers[-1].status_code == 429
    assert answers[-1].headers["retry-after"] == "1"


def test_too_many_rows(start):
    client = start(max_ratings=3, max_comparisons=2)
    for item in "123":
        assert client.put(f"/api/ratings/{item}", json={"rating": 3}).status_code == 200
    before = state(client)
    answer = client.put("/api/ratings/4", json={"rating": 3})
    assert answer.status_code == 409
    assert "at most 3" in answer.json()["detail"]
    assert state(client) == before
    assert client.put("/api/ratings/3", json={"rating": 5}).status_code == 200
    pairs = [("1", "2"), ("2", "3"), ("3", "4")]
    found = [client.post("/api/compare", json={"better": b, "worse": w}) for b, w in pairs]
    assert [answer.status_code for answer in found] == [200, 200, 409]


def test_visitors_do_not_see_each_other(start):
    one, two = start(), start()
    one.put("/api/ratings/1", json={"rating": 5})
    assert two.get("/api/me").json()["ratings"] == []
    two.delete("/api/me")
    assert len(one.get("/api/me").json()["ratings"]) == 1
