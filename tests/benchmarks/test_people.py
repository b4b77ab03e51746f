"""The races of live and new people, at sizes that take no time."""

import numpy as np
import pytest

from benchmarks import live_person, new_people
from rankwise.recommend import RatingTable, TasteModel


def test_live_person(monkeypatch, capsys):
    kept = []
    monkeypatch.setattr(live_person, "FILMS", 60)
    monkeypatch.setattr(live_person, "RATINGS", (3, 5))
    monkeypatch.setattr(live_person, "TURN", 0.0)
    monkeypatch.setattr(live_person, "append", lambda _, record: kept.append(record["kind"]))
    monkeypatch.setattr(live_person, "memory", lambda *_: 1.0)
    live_person.main(["--repeats", "1"])
    assert kept == ["person", "person", "memory", "memory"]
    assert "times the product" in " ".join(capsys.readouterr().out.split())


@pytest.fixture(scope="module")
def model():
    g = np.random.default_rng(0)
    likes = g.normal(size=(120, 2)) @ g.normal(size=(2, 40))
    users, items = np.nonzero(g.random(likes.shape) < 0.7)
    ratings = np.clip(np.rint(3 + likes[users, items]), 1, 5)
    train, test = RatingTable.from_arrays(users, items, ratings).split(
        20, by="user", random_state=0
    )
    return TasteModel(noise=1.0, choice=False).fit(train), new_people.strangers(test, 0)


def test_new_people(model):
    model, people = model
    by_ratings = [new_people.predicted(people, new_people.first(model, n)) for n in (0, 10, None)]
    losses = [found.misranking for found in by_ratings]
    assert losses[0] > losses[1] + 0.1
    assert max(losses[1:]) < 0.05
    assert by_ratings[0].rmse > by_ratings[2].rmse
    assert 0.6 < by_ratings[2].covered(0.8) < 0.95
    pairs = new_people.predicted(people, new_people.pairs(model, 10))
    assert losses[0] > pairs.misranking + 0.05


@pytest.mark.parametrize("way", ["random", "popular", "suggest"])
def test_interviews(model, way):
    model, people = model
    losses, asked = new_people.told_by_questions(model, people[:5], way)
    assert losses[0] > losses[10]
    assert asked[0] == 0
    assert asked[10] >= 10


def test_data_that_is_absent(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    assert new_people.main([]) == 0
    assert "is absent" in " ".join(capsys.readouterr().out.split())
