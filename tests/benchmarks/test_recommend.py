"""What the race of recommenders measures, by its definition; no real data."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import recommend
from rankwise.recommend import RatingTable


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    user, item = np.nonzero(random.random((40, 30)) < 0.5)
    mixed = random.permutation(len(user))
    rating = random.integers(1, 6, len(user)).astype(float)
    return pd.DataFrame({"user": user[mixed] + 1, "item": item[mixed] + 7, "rating": rating})


@pytest.fixture
def parts(frame, monkeypatch):
    monkeypatch.setattr(recommend, "read", lambda _: frame)
    return recommend.split("1m", 0.2, 1)


def test_misranking_by_all_pairs(parts):
    test = parts[1]
    scores = np.random.default_rng(1).integers(0, 4, test.n_ratings)
    m = test.matrix.tocoo()
    wrong, pairs = 0.0, 0
    for i in range(test.n_ratings):
        for j in range(test.n_ratings):
            if m.row[i] == m.row[j] and m.data[i] > m.data[j]:
                pairs += 1
                wrong += (scores[i] < scores[j]) + 0.5 * (scores[i] == scores[j])
    assert recommend.misranking(test, scores) == pytest.approx(wrong / pairs)


def test_gain_of_a_perfect_and_of_the_worst_order(parts):
    train, test = parts
    liked = (test.matrix.toarray() >= 4).astype(float)
    assert recommend.gain_at_top(lambda u: liked[u], train, test) == pytest.approx(1.0)
    worst = recommend.gain_at_top(lambda u: -liked[u], train, test)
    assert worst < 0.3


def test_blocks_of_lines_are_the_test_sets(frame, monkeypatch):
    long = pd.concat([frame.assign(user=frame.user + 100 * k) for k in range(80)])
    monkeypatch.setattr(recommend, "read", lambda _: long.reset_index(drop=True))
    train, test = recommend.split("100k", 0, 1)
    expected = RatingTable.from_frame(long[:20_000])
    assert test.n_ratings == 20_000
    assert train.n_ratings == len(long) - 20_000
    rows, columns = test.user_index(expected.users), test.item_index(expected.items)
    found = test.matrix[rows][:, columns]
    np.testing.assert_array_equal(found.toarray(), expected.matrix.toarray())


OURS = ["biases", "choice", "popularity", "EASE", "MPRank on 300 raters"]


@pytest.mark.parametrize("name", OURS)
def test_entrants_answer(parts, name):
    train, test = parts
    fitted = recommend.ENTRANTS[name](train, 1)
    if fitted.predict is not None:
        m = test.matrix.tocoo()
        assert np.isfinite(fitted.predict(m.row, m.col)).all()
    if fitted.serve is not None:
        assert len(fitted.serve(3)) == train.n_items
