"""The service in processes of its own: killed, several at once, behind a path."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2 as httpx
import pytest

from tests.web.conftest import cookie_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX"),
]


def storm(address, visitor, answered):
    """Rate one item after the other until the server is gone."""
    with httpx.Client(base_url=address, timeout=10) as client:
        try:
            for n in range(10_000):
                item, rating = str(1 + n % 120), 0.5 + 0.5 * ((n + visitor) % 10)
                answer = client.put(f"/api/ratings/{item}", json={"rating": rating})
                if answer.status_code != 200:
                    return
                # what may be there afterwards: the last answered rating, or the one under way
                answered.setdefault("=".join(cookie_of(client)), {})[item] = rating
        except httpx.TransportError:
            return


def test_what_was_answered_is_there_after_a_kill(serving):
    process, address = serving()
    answered = {}
    for n in range(1, 4):
        with ThreadPoolExecutor(8) as pool:
            for visitor in range(8):
                pool.submit(storm, address, visitor, answered)
            time.sleep(1.5)
            end = time.monotonic() + 60  # of a busy machine, until each visitor has an answer
            while len(answered) < 8 * n and time.monotonic() < end:
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process, address = serving()
        assert len(answered) >= 8 * n
        assert sum(map(len, answered.values())) > 50
        for cookie, ratings in answered.items():
            found = httpx.get(f"{address}/api/export", headers={"cookie": cookie})
            stored = {r["item"]: r["rating"] for r in found.json()["ratings"]}
            wrong = {item for item, rating in ratings.items() if stored.get(item) != rating}
            # one rating may have been kept without an answer
            assert len(wrong) <= 1
            assert len(stored.keys() - ratings.keys()) <= 1
            assert ratings.keys() <= stored.keys()
            ratings.update(stored)


def test_workers_answer_alike_and_count_together(serving):
    _, address = serving("--workers", "2")
    with httpx.Client(base_url=address) as client:
        client.post("/api/compare", json={"better": "1", "worse": "2"})
        cookie = {"cookie": "=".join(cookie_of(client))}
    for n in range(30):
        rating = {"rating": 0.5 + 0.5 * (n % 10)}
        answer = httpx.put(f"{address}/api/ratings/{n + 1}", json=rating, headers=cookie)
        assert answer.json()["version"] == n + 2
        pages = [httpx.get(f"{address}/api/ranking", headers=cookie).json() for _ in range(4)]
        assert pages[0]["version"] == n + 2
        assert all(page == pages[0] for page in pages)
    text = httpx.get(f"{address}/metrics").text
    assert 'route="/api/ranking",status="200"} 120.0' in text


def test_an_end_is_graceful(serving):
    process, address = serving()
    with httpx.Client(base_url=address) as client:
        client.put("/api/ratings/1", json={"rating": 3})
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=20) in {0, -signal.SIGTERM}


def test_below_a_root_path(serving):
    _, address = serving("--root-path", "/taste")
    headers = {"x-forwarded-proto": "https"}
    answer = httpx.put(f"{address}/api/ratings/1", json={"rating": 3}, headers=headers)
    assert answer.status_code == 200
    assert "Path=/taste" in answer.headers["set-cookie"]
    assert "Secure" in answer.headers["set-cookie"]
    assert httpx.get(f"{address}/openapi.json").status_code == 200


def test_logs_say_nothing_of_a_visitor(serving, capfd):
    _, address = serving()
    with httpx.Client(base_url=address) as client:
        client.put("/api/ratings/77", json={"rating": 3})
        client.put("/api/ratings/none", json={"rating": 3})
        cookie = cookie_of(client)[1]
    said = "".join(capfd.readouterr())
    assert "items at" in said
    assert cookie[:32] not in said
    assert "/api/ratings" not in said
