"""The whole walk through the API."""

import numpy as np
import pytest

from tests.web.conftest import cookie_of

METHODS = ["taste", "prank", "prank_paper", "oap", "mprank", "rankboost"]


def rate(client, ratings):
    for item, rating in ratings.items():
        answer = client.put(f"/api/ratings/{item}", json={"rating": rating})
        assert answer.status_code == 200, answer.text
    return answer.json()


def get(client, path, status=200, **query):
    answer = client.get(f"/api/{path}", params=query)
    assert answer.status_code == status, answer.text
    return answer.json()


SOME = {"1": 5, "2": 1, "3": 4.5, "4": 2, "5": 3, "6": 4, "7": 0.5, "8": 3.5}


def test_items_are_searched_and_paged(client):
    first = get(client, "items")
    assert (first["page"], first["pages"], first["total"]) == (1, 5, 120)
    assert len(first["items"]) == 24
    assert first["genres"] == ["Comedy", "Drama", "Science fiction", "Thriller"]
    shown = {"id", "title", "year", "genres", "rating", "image", "url", "description", "author"}
    assert shown == set(first["items"][0])
    assert get(client, "items", page=5)["items"] != get(client, "items", page=4)["items"]
    assert get(client, "items", page=6)["items"] == []
    assert [i["title"] for i in get(client, "items", search="the FILM 17")["items"]] == [
        "The Film 17",
        "The Film 117",
    ]
    assert get(client, "items", search="cafe 1950")["total"] == 2
    assert get(client, "items", genre="Science fiction")["total"] == 30
    assert get(client, "items", genre="none")["total"] == 0


def test_a_visitor_rates_learns_and_flips(client):
    me = get(client, "me")
    assert me["ratings"] == []
    assert not me["learned"]
    assert me["scale"] == {"low": 0.5, "high": 5.0, "step": 0.5}
    assert [m["name"] for m in me["methods"]] == METHODS
    assert rate(client, SOME)["version"] == 8
    learned = client.post("/api/learn", json={"method": "taste"}).json()
    assert learned["learned"]
    assert learned["version"] == 9
    own = get(client, "ranking", set="rated")
    assert own["total"] == len(own["entries"]) == 8
    assert {e["item"]["id"]: e["item"]["rating"] for e in own["entries"]} == SOME
    unseen = get(client, "ranking", set="unseen", k=200)
    assert unseen["total"] == len(unseen["entries"]) == 112
    assert not {e["item"]["id"] for e in unseen["entries"]} & set(SOME)
    for page in (own, unseen):
        scores = [e["score"] for e in page["entries"]]
        assert scores == sorted(scores, reverse=True)
        assert [e["position"] for e in page["entries"]] == list(range(1, len(scores) + 1))
        assert page["thresholds"] == sorted(page["thresholds"])
        assert all(e["sd"] > 0 for e in page["entries"])
        for entry in page["entries"]:
            above = np.searchsorted(page["thresholds"], entry["score"], side="right")
            assert entry["rank"] == page["levels"][above]
    flipped = get(client, "ranking", set="unseen", k=200, flip=1)
    assert [e["item"]["id"] for e in flipped["entries"]] == [
        e["item"]["id"] for e in unseen["entries"]
    ][::-1]
    for one, same in zip(get(client, "ranking", k=7)["entries"], unseen["entries"], strict=False):
        # the last digit of a standard deviation depends on how many are asked for
        assert one == {**same, "sd": pytest.approx(same["sd"], rel=1e-12)}
    assert get(client, "me")["learned"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_and_is_live(client, method):
    rate(client, SOME)
    answer = client.post("/api/learn", json={"method": method})
    assert answer.status_code == 200, answer.text
    before = get(client, "ranking", k=120)
    assert before["method"] == get(client, "me")["method"] == method
    assert (before["entries"][0]["sd"] is None) == (method != "taste")
    own = get(client, "ranking", set="rated")
    order = [e["item"]["rating"] for e in own["entries"]]
    assert np.corrcoef(order, range(len(order)))[0, 1] < -0.5
    answer = rate(client, {before["entries"][0]["item"]["id"]: 0.5})
    assert answer["predicted"] is not None
    after = get(client, "ranking", k=120)
    assert after["version"] == answer["version"]
    assert after["total"] == before["total"] - 1
    assert [e["score"] for e in after["entries"]] != [e["score"] for e in before["entries"]][1:]


def test_what_was_predicted_is_kept(client):
    answer = client.put("/api/ratings/1", json={"rating": 5}).json()
    mean = answer["predicted"]
    assert 0.5 <= mean <= 5
    again = client.put("/api/ratings/1", json={"rating": 2}).json()
    assert again["predicted"] == mean
    assert again["version"] == 2
    other = client.put("/api/ratings/2", json={"rating": 4}).json()["predicted"]
    found = get(client, "progress")
    assert [r["predicted"] for r in found["rounds"]] == [mean, other]
    errors = [abs(2 - mean), abs(4 - other)]
    assert found["loss"] == pytest.approx([errors[0], np.mean(errors)])
    assert client.delete("/api/ratings/1").json() == {"version": 4}
    assert [r["item"]["id"] for r in get(client, "progress")["rounds"]] == ["2"]
    assert client.delete("/api/ratings/1").status_code == 404


def test_a_prediction_is_that_of_the_ranking_before(client):
    rate(client, SOME)
    entry = get(client, "ranking", k=1)["entries"][0]
    answer = client.put(f"/api/ratings/{entry['item']['id']}", json={"rating": 3}).json()
    assert answer["predicted"] == pytest.approx(min(entry["score"], 5.0))


def test_an_explanation_adds_up(client):
    rate(client, SOME)
    client.post("/api/compare", json={"better": "9", "worse": "10"})
    entry = get(client, "ranking", k=1)["entries"][0]
    why = get(client, f"explain/{entry['item']['id']}")
    total = why["mean"] + why["rest"] + sum(part["contribution"] for part in why["parts"])
    assert total == pytest.approx(why["score"])
    assert why["score"] == pytest.approx(entry["score"])
    assert why["sentence"].startswith(entry["item"]["title"])
    client.post("/api/learn", json={"method": "prank"})
    assert "taste kernel" in get(client, f"explain/{entry['item']['id']}", status=409)["detail"]


@pytest.mark.parametrize("method", METHODS)
def test_one_number_is_expected_everywhere(client, method):
    """The list, the reasons, the sentence and the prediction of the next rating agree."""
    rate(client, {**dict.fromkeys(map(str, range(20, 40)), 5), "1": 0.5})
    assert client.post("/api/learn", json={"method": method}).status_code == 200
    entries = get(client, "ranking", k=120)["entries"]
    for entry in (entries[0], entries[-1]):
        assert 0.5 <= entry["expected"] <= 5
        if method in {"taste", "mprank"}:  # their scores are ratings
            assert entry["expected"] == min(max(entry["score"], 0.5), 5)
        else:
            assert entry["expected"] == entry["rank"]
        if method == "taste":
            why = get(client, f"explain/{entry['item']['id']}")
            assert why["expected"] == pytest.approx(entry["expected"])
            assert f"give it {entry['expected']:.1f};" in why["sentence"]
    answer = client.put(f"/api/ratings/{entries[0]['item']['id']}", json={"rating": 3}).json()
    assert answer["predicted"] == pytest.approx(entries[0]["expected"])


def test_the_page_has_its_words_and_shows_pictures_of_the_items_hosts_only(start, tmp_path):
    path = tmp_path / "books.csv"
    rows = [
        f"{u},{b},{1 + (u + int(b)) % 5},https://img.example/{b}" for u in range(9) for b in "123"
    ]
    path.write_text("user,item,rating,image\n" + "\n".join(rows) + "\n", "utf-8")
    client = start(data=str(path), noun="book,<books>", title='Books & "more"')
    page = client.get("/")
    assert '<h1 id="title">Books &amp; &quot;more&quot;</h1>' in page.text
    assert 'data-noun="book" data-nouns="&lt;books&gt;"' in page.text
    assert "$" not in page.text
    policy = page.headers["content-security-policy"]
    assert "img-src 'self' data: https://img.example;" in policy
    assert "img.example" not in client.get("/docs").headers["content-security-policy"]
    assert "<books>" in client.get("/api/me").json()["methods"][0]["sentence"]
    assert "Which items do you like?" in start(data=str(path)).get("/").text


def test_suggestions_are_not_rated(client):
    first = get(client, "suggest")["items"]
    assert len(first) == 1
    three = [i["id"] for i in get(client, "suggest", n=3)["items"]]
    assert three[0] == first[0]["id"]
    assert len({*three}) == 3
    assert get(client, "suggest", skip=three[0])["items"][0]["id"] != three[0]
    rate(client, {three[0]: 4})
    assert three[0] not in [i["id"] for i in get(client, "suggest", n=20)["items"]]


def test_comparisons_teach_and_the_last_word_counts(client):
    before = {e["item"]["id"]: e["score"] for e in get(client, "ranking", k=200)["entries"]}
    for pair in (("30", "31"), ("31", "30"), ("40", "41")):
        body = {"better": pair[0], "worse": pair[1]}
        assert client.post("/api/compare", json=body).status_code == 200
    assert get(client, "me")["preferences"] == 2
    after = {e["item"]["id"]: e["score"] for e in get(client, "ranking", k=200)["entries"]}
    for better, worse in (("31", "30"), ("40", "41")):
        assert after[better] - after[worse] > before[better] - before[worse]
    assert client.post("/api/compare", json={"better": "1", "worse": "1"}).status_code == 422


def test_two_ratings_that_differ_are_needed_by_the_papers(client):
    rate(client, {"1": 4, "2": 4})
    answer = client.post("/api/learn", json={"method": "prank"})
    assert answer.status_code == 409
    assert "two different ratings" in answer.json()["detail"]
    me = get(client, "me")
    assert me["method"] == "taste"
    assert not me["learned"]


def test_nothing_is_learned_from_nothing(client):
    assert client.post("/api/learn", json={"method": "taste"}).status_code == 409


def test_an_export_has_all_and_forgetting_leaves_nothing(client):
    rate(client, SOME)
    client.post("/api/compare", json={"better": "9", "worse": "10"})
    answer = client.get("/api/export")
    assert "attachment" in answer.headers["content-disposition"]
    found = answer.json()
    assert {r["item"]: r["rating"] for r in found["ratings"]} == SOME
    assert found["comparisons"] == [{"better": "9", "worse": "10"}]
    name, cookie = cookie_of(client)
    store = client.app.state.service.store
    assert client.delete("/api/me").json() == {"forgotten": True, "erased": store.path is not None}
    assert not client.cookies
    if store.path:
        for file in ("taste.sqlite", "taste.sqlite-wal"):
            assert cookie[:32].encode() not in store.path.with_name(file).read_bytes()
    client.cookies.set(name, cookie)
    for method, path, body in (
        ("GET", "me", None),
        ("PUT", "ratings/1", {"rating": 3}),
        ("GET", "ranking", None),
        ("DELETE", "me", None),
    ):
        answer = client.request(method, f"/api/{path}", json=body)
        assert answer.status_code == 401
        assert "Max-Age=0" in answer.headers["set-cookie"]
        client.cookies.set(name, cookie)
    client.cookies.clear()
    assert get(client, "me")["ratings"] == []


def test_who_was_forgotten_by_one_process_is_in_the_memory_of_none(start):
    one, two = start(), start()
    rate(one, SOME)
    two.cookies.update(one.cookies)
    get(two, "ranking")
    assert one.delete("/api/me").status_code == 200
    get(two, "ranking", status=401)
    for client in (one, two):
        assert client.app.state.service.people._kept.cache_info().currsize == 0


def test_what_was_said_is_there_after_a_restart(start):
    first = start()
    rate(first, SOME)
    before = get(first, "ranking", k=200)
    second = start()
    second.cookies.update(first.cookies)
    assert get(second, "ranking", k=200) == before


def test_two_processes_answer_alike_and_read_all_writes(start):
    one, two = start(), start()
    rate(one, {"9": 3})
    two.cookies.update(one.cookies)
    for n, (item, rating) in enumerate(SOME.items()):
        rate(two if n % 2 else one, {item: rating})
        assert get(one, "ranking", k=200) == get(two, "ranking", k=200)
        assert get(one, "me") == get(two, "me")
    one.delete("/api/ratings/3")
    assert get(one, "ranking", set="rated") == get(two, "ranking", set="rated")


def count_of(text, name):
    (line,) = [line for line in text.splitlines() if line.startswith(name)]
    return float(line.rsplit(" ", 1)[1])


def test_pages_that_watch(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    name = 'rankwise_requests_total{method="GET",route="/api/me",status="200"}'
    get(client, "me")  # the numbers are those of the process: other apps counted, too
    before = count_of(client.get("/metrics").text, name)
    get(client, "me")
    rate(client, {"1": 3})
    rate(client, {"2": 3})
    text = client.get("/metrics").text
    assert count_of(text, name) == before + 1
    assert count_of(text, 'rankwise_people_total{found="database"}') >= 1
    assert cookie_of(client)[1].split(".")[0] not in text


def test_the_documentation_needs_no_other_host(client):
    page = client.get("/docs")
    assert page.status_code == 200
    assert "<script" not in page.text
    assert "http" not in page.text.replace("/healthz", "")
    schema = client.get("/openapi.json").json()
    for path in schema["paths"]:
        assert path in page.text
    rating = schema["components"]["schemas"]["NewRating"]["properties"]["rating"]
    assert rating["examples"] == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]
