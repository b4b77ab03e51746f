"""Pairs from clicks, against the rules written as loops over all pairs of rows."""

from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.boosting import RankBoost
from rankwise.pairwise import RankSVM, pairs_from_clicks

RULES = ["skip-above", "last-click", "skip-next", "skip-previous"]


def literal_pairs(position, clicked, qid, rule, time=None):
    """Every pair of rows asked whether the rule makes it a preference."""
    found = []
    rows = range(len(position))
    for i in rows:
        for j in rows:
            if qid[i] != qid[j] or not clicked[j] or clicked[i]:
                continue
            page = [r for r in rows if qid[r] == qid[j]]
            clicks = [r for r in page if clicked[r]]
            last = max(clicks, key=lambda r: position[r] if time is None else time[r])
            between = [
                r
                for r in page
                if min(position[i], position[j]) < position[r] < max(position[i], position[j])
            ]
            above = position[i] < position[j]
            if {
                "skip-above": above,
                "last-click": above and j == last,
                "skip-next": not above and not between,
                "skip-previous": above and not between,
            }[rule]:
                found.append((i, j))
    return found


@st.composite
def logs(draw):
    """Rows in any order: pages, positions that differ on a page, clicks and times."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=0, max_size=4))
    rows = []
    for page, size in enumerate(sizes):
        places = draw(st.lists(st.integers(1, 20), min_size=size, max_size=size, unique=True))
        rows += [(page, place, draw(st.booleans())) for place in places]
    rows = draw(st.permutations(rows))
    time = draw(st.permutations(range(len(rows))))
    columns = np.array([*zip(*rows, strict=True)], dtype=int).reshape(3, -1)
    return (*columns, np.array(time, dtype=float))


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("rule", RULES)
@given(log=logs())
def test_pairs_are_those_of_the_rule(rule, timed, log):
    qid, position, clicked, time = log
    time = time if timed and rule == "last-click" else None
    pairs, weight = pairs_from_clicks(position, clicked, qid=qid, rule=rule, time=time)
    expected = literal_pairs(position, clicked, qid, rule, time)
    assert sorted(map(tuple, pairs.tolist())) == sorted(expected)
    assert pairs.shape == (len(expected), 2)
    assert pairs.dtype == np.int64
    assert (weight == 1).all()
    keys = [(qid[j], position[j], position[i]) for i, j in pairs]
    assert keys == sorted(keys)


@pytest.mark.parametrize("rule", RULES)
@given(log=logs())
def test_the_pairs_of_a_page_weigh_one_together(rule, log):
    qid, position, clicked, _ = log
    pairs, weight = pairs_from_clicks(position, clicked, qid=qid, rule=rule, pair_weight="query")
    for page in set(qid[pairs[:, 1]].tolist()):
        assert weight[qid[pairs[:, 1]] == page].sum() == pytest.approx(1)


@pytest.mark.parametrize("rule", RULES)
def test_names_of_pages_and_order_of_rows_change_nothing(rule):
    random = np.random.default_rng(0)
    qid, position = np.repeat(np.arange(30), 10), np.tile(np.arange(1, 11), 30)
    clicked = random.uniform(size=300) < 0.3
    pairs, _ = pairs_from_clicks(position, clicked, qid=qid, rule=rule)
    shuffled = random.permutation(300)
    texts = np.array([f"page {q:02}" for q in qid])
    others, _ = pairs_from_clicks(
        position[shuffled], clicked[shuffled], qid=texts[shuffled], rule=rule
    )
    assert np.array_equal(shuffled[others], pairs)


def test_above_and_next_have_no_pair_in_common():
    random = np.random.default_rng(1)
    clicked = random.uniform(size=200) < 0.4
    qid, position = np.repeat(np.arange(20), 10), np.tile(np.arange(10), 20)
    both = np.concatenate(
        [
            pairs_from_clicks(position, clicked, qid=qid, rule=rule)[0]
            for rule in ("skip-above", "skip-next")
        ]
    )
    assert len(np.unique(both, axis=0)) == len(both)


def test_rankers_learn_from_them():
    random = np.random.default_rng(2)
    X = random.normal(size=(2_000, 3))
    qid, position = np.repeat(np.arange(200), 10), np.tile(np.arange(10), 200)
    clicked = X[:, 0] + 0.5 * random.normal(size=2_000) > 1
    pairs, weight = pairs_from_clicks(position, clicked, qid=qid, pair_weight="query")
    for model in (RankSVM(), RankBoost(20)):
        model.fit_pairs(X, pairs, pair_weight=weight)
        assert model.score(X, X[:, 0]) > 0.85


def test_a_log_without_a_pair():
    for position, clicked in ([1, 2, 3], [0, 0, 0]), ([1, 2], [1, 0]), ([], []):
        pairs, weight = pairs_from_clicks(position, clicked)
        assert pairs.shape == (0, 2)
        assert weight.shape == (0,)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rule": "skip"}, "rule='skip' must be 'skip-above', 'last-click'"),
        ({"pair_weight": None}, "pair_weight=None must be 'uniform' or 'query'"),
        ({"position": [1, 2, np.nan, 4]}, r"position must be finite .* nan \(row 2\)"),
        ({"position": [[1, 2, 3, 4]]}, "position must be 1-D"),
        ({"position": [1, 2, 1, 3]}, "position=1 is duplicated in rows 0 and 2 of one page"),
        ({"clicked": [0, 1, 2, 0]}, "clicked is 2 in row 2, but must be 0 or 1: .*clicked > 0"),
        ({"clicked": [0, 1, 0]}, r"clicked has the shape \(3,\) for 4 positions"),
        ({"clicked": ["a", "b", "c", "d"]}, "clicked must be numbers"),
        ({"clicked": [0, 1, None, 0]}, "clicked is nan in row 2"),
        ({"clicked": np.ma.masked_equal([0, 1, 5, 0], 5)}, "clicked has a masked entry"),
        ({"qid": [0, 0, 1]}, "qid has 3 entries for 4 rows"),
        ({"time": [1, 2, 3, 4]}, "time is for rule='last-click', but rule='skip-above'"),
        ({"rule": "last-click", "time": [1, 2]}, r"time has the shape \(2,\) for 4 rows"),
        (
            {"rule": "last-click", "time": [0, np.inf, 0, 0]},
            r"time holds inf \(row 1\): drop the row",
        ),
    ],
)
def test_wrong_arguments_are_named(changed, message):
    arguments = {"position": [1, 2, 3, 4], "clicked": [0, 1, 0, 1]} | changed
    with pytest.raises(ValueError, match=message):
        pairs_from_clicks(arguments.pop("position"), arguments.pop("clicked"), **arguments)


def test_what_is_passed_in_is_not_written_to():
    position, clicked = np.array([2, 1, 3]), np.array([True, False, True])
    position.flags.writeable = clicked.flags.writeable = False
    pairs, _ = pairs_from_clicks(position, clicked)
    assert pairs.tolist() == [[1, 0], [1, 2]]


@pytest.mark.parametrize(
    "time",
    [
        np.array(
            ["NaT", "2020-01-01T00:00:00.000000002", "2020-01-01T00:00:00.000000001"], "M8[ns]"
        ),
        [None, datetime(2020, 1, 1, microsecond=2), datetime(2020, 1, 1, microsecond=1)],
        [0, 2**53 + 1, 2**53],
        np.array([None, 2**53 + 1, 2**53], object),
    ],
    ids=["nanoseconds", "datetimes", "integers", "objects"],
)
def test_times_are_compared_exactly(time):
    pairs, _ = pairs_from_clicks([1, 2, 3], [0, 1, 1], rule="last-click", time=time)
    assert pairs.tolist() == [[0, 1]]


def test_a_missing_time_of_a_click_is_named():
    time = np.array(["2020-01-01", "NaT"], "M8[D]")
    with pytest.raises(ValueError, match="time is missing in row 1: drop the row"):
        pairs_from_clicks([1, 2], [0, 1], rule="last-click", time=time)
