"""Sorts by a comparator: what is asked, what is kept, and what comes out."""

import asyncio
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise._core.comparator import Comparator as Questions
from rankwise.preference import (
    aquicksort,
    asort_by_degree,
    expected_calls,
    greedy_order,
    quicksort,
    sort_by_degree,
)
from rankwise.preference._all_pairs import all_pairs
from rankwise.preference.sorting import decide

N = 12


def probabilities(n, seed):
    """P[u, v] that u goes before v, consistent, intransitive, some of them 1/2."""
    P = np.triu(np.random.default_rng(seed).integers(0, 9, (n, n)) / 8, 1)
    return P + np.tril(1 - P.T, -1)


class Comparator:
    """Answers from a matrix, counts, and fails when told to."""

    def __init__(self, P, *, fails_at=None, failure=RuntimeError):
        self.P, self.fails_at, self.failure = P, fails_at, failure
        self.asked = []

    def __call__(self, u, v):
        if len(self.asked) == self.fails_at:
            self.fails_at = None
            raise self.failure("no answer")
        self.asked.append((u, v))
        return self.P[u, v]

    def batch(self, U, V):
        return np.array([self(u, v) for u, v in zip(U, V, strict=True)])

    async def later(self, u, v):
        await asyncio.sleep(0)
        return self(u, v)

    async def batch_later(self, U, V):
        await asyncio.sleep(0)
        return self.batch(U, V)


def run(way, items, comparator, **options):
    if way == "one":
        return quicksort(items, comparator, **options)
    if way == "batch":
        return quicksort(items, comparator.batch, batch=True, **options)
    if way == "async":
        return asyncio.run(aquicksort(items, comparator.later, **options))
    return asyncio.run(aquicksort(items, comparator.batch_later, batch=True, **options))


WAYS = ("one", "batch", "async", "async batch")


@pytest.mark.parametrize(
    ("way", "k", "repeats", "symmetrise", "randomise"),
    list(product(WAYS, (None, 3), (1, 3), (False, True), (False, True))),
)
def test_every_way_gives_the_same_order_and_counts(way, k, repeats, symmetrise, randomise):
    for seed in range(5):
        P = probabilities(N, seed)
        options = {"k": k, "randomise": randomise, "random_state": seed}
        expected = quicksort(range(N), Comparator(P), **options)
        comparator, log = Comparator(P), []
        ranking = run(
            way, range(N), comparator, log=log, repeats=repeats, symmetrise=symmetrise, **options
        )
        assert ranking.order == expected.order
        assert_array_equal(ranking.positions, expected.positions)
        assert_array_equal(ranking.certain, expected.certain)
        copies = repeats * (1 + symmetrise)
        assert ranking.n_calls == expected.n_calls * copies == len(comparator.asked) == len(log)
        assert ranking.n_batches == expected.n_batches
        assert ranking.log is log
        pairs = {frozenset(pair) for pair in comparator.asked}
        assert len(pairs) == expected.n_calls
        if symmetrise:
            both = {p for i, j in map(tuple, pairs) for p in ((i, j), (j, i))}
            assert set(comparator.asked) == both


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("k", [None, 1, 5, 12, 40])
def test_a_transitive_comparator_is_sorted(way, k):
    random = np.random.default_rng(1)
    value = random.permutation(40)
    P = (value[:, None] > value) * 1.0
    ranking = run(way, list(range(40)), Comparator(P), k=k)
    best = np.argsort(-value)[:k].tolist()
    assert ranking.order[:k] == best
    assert sorted(ranking.order) == list(range(40))
    assert ranking.certain[:k].all()


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("same_seed", [True, False])
def test_no_answer_is_lost_or_asked_again(failure, same_seed):
    P = probabilities(N, 3)
    whole = quicksort(range(N), Comparator(P), random_state=5)
    for fails_at in range(whole.n_calls):
        comparator, log = Comparator(P, fails_at=fails_at, failure=failure), []
        with pytest.raises(failure):
            quicksort(range(N), comparator, log=log, random_state=5)
        assert [(i, j) for i, j, _ in log] == comparator.asked
        ranking = quicksort(
            range(N), comparator, log=log, random_state=5 if same_seed else 100 + fails_at
        )
        pairs = [frozenset(pair) for pair in comparator.asked]
        assert len(set(pairs)) == len(pairs) == len(log)
        assert ranking.n_calls == len(log) - fails_at
        if same_seed:
            assert ranking.order == whole.order
            assert len(log) == whole.n_calls


def test_a_finished_log_asks_nothing_with_any_seed():
    P = np.round(probabilities(N, 4) + 0.01)
    log = quicksort(range(N), Comparator(P), random_state=0).log
    for seed in range(20):
        ranking = quicksort(range(N), Comparator(P), log=log, random_state=seed)
        assert (ranking.n_calls, ranking.n_batches) == (0, 0)


def test_a_log_can_be_kept_as_json_and_serve_other_demands():
    import json

    P = probabilities(N, 4)
    log = json.loads(json.dumps(quicksort(range(N), Comparator(P), k=2, random_state=0).log))
    comparator = Comparator(P)
    before = len(log)
    ranking = quicksort(range(N), comparator, log=log, symmetrise=True, random_state=0)
    known = {(i, j) for i, j, _ in log[:before]}
    assert not known & set(comparator.asked)
    assert ranking.order == quicksort(range(N), Comparator(P), random_state=0).order


@pytest.mark.parametrize("way", WAYS)
def test_a_limit_leaves_a_complete_order_to_go_on_from(way):
    P = probabilities(N, 6)
    whole = quicksort(range(N), Comparator(P), random_state=2)
    for limit in range(whole.n_calls + 3):
        log = []
        ranking = run(way, range(N), Comparator(P), max_calls=limit, log=log, random_state=2)
        assert ranking.n_calls == len(log) == min(limit, whole.n_calls)
        assert sorted(ranking.order) == list(range(N))
        assert ranking.certain.all() == (limit >= whole.n_calls)
        again = run(way, range(N), Comparator(P), log=log, random_state=2)
        assert again.order == whole.order
        assert again.n_calls == whole.n_calls - ranking.n_calls


def test_without_questions_the_order_is_that_of_the_input():
    ranking = quicksort("hgfedcba", lambda u, v: u < v, max_calls=0)
    assert "".join(ranking.order) == "hgfedcba"
    assert not ranking.certain.any()


def test_a_limit_cuts_between_pairs():
    ranking = quicksort(
        range(9), lambda u, v: u < v, max_calls=7, repeats=3, symmetrise=True, random_state=0
    )
    assert ranking.n_calls == 6


def test_more_questions_bring_the_order_nearer():
    value = np.random.default_rng(0).permutation(200)
    errors = []
    for limit in (0, 300, 900, 3_000):
        order = quicksort(
            range(200), lambda u, v: value[u] < value[v], max_calls=limit, random_state=0
        ).order
        errors.append(np.abs(np.argsort(order) - value).mean())
    assert errors[0] > 1.5 * errors[1] > 4 * errors[2] > errors[3] == 0


def test_half_is_one_coin_for_each_pair():
    i, j = np.array(list(combinations(range(60), 2))).T
    half = np.full(len(i), 0.5)
    coins = decide(half, i, j, 7, randomise=False)
    assert_array_equal(decide(half, j, i, 7, randomise=False), ~coins)
    assert abs(coins.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(coins))
    assert abs((coins == decide(half, i, j, 8, randomise=False)).mean() - 0.5) < 0.05


def test_randomised_answers_follow_their_probabilities():
    i, j = np.array(list(combinations(range(300), 2))).T
    for p in (0.0, 0.2, 0.9, 1.0):
        drawn = decide(np.full(len(i), p), i, j, 3, randomise=True)
        assert abs(drawn.mean() - p) <= 4 * np.sqrt(p * (1 - p) / len(i))
        turned = decide(np.full(len(i), 1 - p), j, i, 3, randomise=True)
        assert_array_equal(turned, ~drawn)


def test_symmetrise_cancels_a_taste_for_a_place():
    value = np.random.default_rng(0).permutation(50)

    def biased(u, v):
        return float(np.clip(0.5 + 0.02 * (value[v] - value[u]) + 0.3, 0, 1))

    straight = quicksort(range(50), biased, random_state=0)
    both = quicksort(range(50), biased, symmetrise=True, random_state=0)
    assert_array_equal(value[both.order], np.arange(50))
    assert (value[straight.order] != np.arange(50)).any()
    always_first = quicksort(range(50), lambda *_: 1, symmetrise=True, random_state=0)
    assert always_first.order != list(range(50))


def drawn_to_the_first(value, near):
    """Say "the first" of two values that are near each other, else the truth."""
    P = (value[:, None] > value) * 1.0
    P[np.abs(value[:, None] - value) < near] = 1.0
    return P


@pytest.mark.parametrize("near", [0.5, 2.0, np.inf])
@pytest.mark.parametrize("k", [None, 1, 10])
@pytest.mark.parametrize("answer", [0.0, 1.0])
def test_a_taste_for_a_place_costs_no_questions(near, k, answer):
    calls = []
    for seed in range(20):
        P = drawn_to_the_first(np.random.default_rng(seed).normal(size=300), near)
        comparator = Comparator(P if answer else P.T * 1.0)
        calls.append(quicksort(range(300), comparator.batch, batch=True, k=k, random_state=seed))
    asked = np.array([ranking.n_calls for ranking in calls])
    error = asked.std() / np.sqrt(len(asked))
    assert asked.mean() <= 1.1 * expected_calls(300, k) + 3 * error


@pytest.mark.parametrize("way", WAYS)
def test_a_coin_of_seed_and_pair_decides_who_is_shown_first(way):
    shown = []
    for seed, k in ((0, None), (0, 20), (1, None)):
        log = []
        run(way, range(60), Comparator(probabilities(60, 0)), k=k, log=log, random_state=seed)
        assert 0.4 < np.mean([i < j for i, j, _ in log]) < 0.6
        shown.append({frozenset(entry[:2]): entry[0] for entry in log})
    same, other = (
        [shown[0][pair] == first for pair, first in shown[r].items() if pair in shown[0]]
        for r in (1, 2)
    )
    assert all(same)
    assert 0.3 < np.mean(other) < 0.7


@pytest.mark.parametrize("way", WAYS)
def test_a_biased_sort_goes_on_with_any_seed(way):
    P = drawn_to_the_first(np.arange(30.0), 6)
    whole = run(way, range(30), Comparator(P), log=[], random_state=0)
    assert all(p == P[i, j] for i, j, p in whole.log)
    for limit in (0, 40, 80):
        log = []
        run(way, range(30), Comparator(P), log=log, max_calls=limit, random_state=0)
        again = run(way, range(30), Comparator(P), log=list(log), random_state=0)
        assert again.order == whole.order
        other = run(way, range(30), Comparator(P), log=log, random_state=9)
        assert len({frozenset(entry[:2]) for entry in log}) == len(log)
        assert sorted(other.order) == list(range(30))


def test_answers_that_depend_on_what_was_asked_are_noticed_once():
    def against_the_pivot(U, V):
        times = np.bincount([*U, *V])
        return times[U] < times[V]

    with pytest.warns(UserWarning, match="pairs were needed so far, where 648 are") as caught:
        ranking = quicksort(range(100), against_the_pivot, batch=True, random_state=0)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert ranking.n_calls == 4_950
    with pytest.warns(UserWarning, match="first 3 of 100 items"):
        quicksort(range(100), against_the_pivot, batch=True, k=3, random_state=0)
    limited = quicksort(range(100), against_the_pivot, batch=True, max_calls=900, random_state=0)
    assert limited.n_calls == 900


@pytest.mark.parametrize("k", [1, 3, None])
def test_chance_alone_is_not_warned_of(k):
    for seed in range(1_000):
        quicksort(np.arange(30), np.less, batch=True, k=k, random_state=seed)


def test_repeats_go_by_the_majority():
    def noisy(random):
        return lambda u, v: (u < v) ^ (random.random() < 0.2)

    wrong = [
        np.mean(
            [
                np.abs(
                    np.array(quicksort(range(30), noisy(random), repeats=r, random_state=s).order)
                    - np.arange(30)
                ).mean()
                for s in range(20)
            ]
        )
        for r, random in ((1, np.random.default_rng(0)), (9, np.random.default_rng(0)))
    ]
    assert wrong[1] < wrong[0] / 4


def test_concurrency_is_bounded_and_what_is_under_way_is_kept():
    under_way = peak = calls = answered = 0

    async def prefer(u, v):
        nonlocal under_way, peak, calls, answered
        under_way += 1
        calls += 1
        fails = calls == 20
        peak = max(peak, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        if fails:
            raise ConnectionError("the line is dead")
        answered += 1
        return u < v

    log = []
    with pytest.raises(ConnectionError, match="dead"):
        asyncio.run(aquicksort(range(40), prefer, log=log, max_concurrency=4, random_state=0))
    assert peak == 4
    assert answered == len(log) <= 23
    assert under_way == 0
    ranking = asyncio.run(aquicksort(range(40), prefer, log=log, random_state=1))
    assert ranking.order == list(range(40))
    assert len({frozenset(entry[:2]) for entry in log}) == len(log)


def test_a_cancelled_sort_has_kept_its_answers():
    answered = 0

    async def prefer(u, v):
        nonlocal answered
        await asyncio.sleep(0.001 * (1 + (u + v) % 3))
        answered += 1
        return u < v

    async def main(log):
        task = asyncio.create_task(aquicksort(range(60), prefer, log=log, random_state=0))
        while answered < 30:
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    log = []
    asyncio.run(main(log))
    assert len(log) == answered


@pytest.mark.parametrize(
    "failure",
    [StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt, SystemExit, RuntimeError],
)
@pytest.mark.parametrize("sort", [quicksort, sort_by_degree])
@pytest.mark.parametrize("batch", [False, True])
def test_any_exception_of_the_comparator_arrives(sort, batch, failure):
    for fails_at in (0, 5, 20):
        comparator, log = Comparator(probabilities(N, 0), fails_at=fails_at, failure=failure), []
        with pytest.raises(failure, match="no answer"):
            sort(range(N), comparator.batch if batch else comparator, batch=batch, log=log)
        if not batch:
            assert [entry[:2] for entry in log] == comparator.asked


@pytest.mark.parametrize("failure", [StopIteration, StopAsyncIteration, GeneratorExit])
def test_any_exception_of_the_progress_arrives(failure):
    def progress(*_):
        raise failure("enough")

    log = []
    with pytest.raises(failure, match="enough"):
        quicksort(range(N), lambda u, v: u < v, log=log, progress=progress)
    assert len(log) == 1


def sorted_later(sort, prefer, log, batch):
    """Run an async sort; no task may be left when it ends."""

    async def main():
        try:
            return await sort(range(N), prefer, log=log, batch=batch, max_concurrency=4)
        finally:
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(main())


@pytest.mark.parametrize(
    "failure",
    [StopAsyncIteration, GeneratorExit, KeyboardInterrupt, SystemExit, asyncio.CancelledError],
)
@pytest.mark.parametrize("sort", [aquicksort, asort_by_degree])
@pytest.mark.parametrize("batch", [False, True])
def test_any_exception_of_an_async_comparator_arrives_and_no_task_is_left(sort, batch, failure):
    for fails_at in (0, 5, 20):
        comparator, log = Comparator(probabilities(N, 0), fails_at=fails_at, failure=failure), []
        prefer = comparator.batch_later if batch else comparator.later
        with pytest.raises(failure):
            sorted_later(sort, prefer, log, batch)
        if not batch:
            assert sorted(entry[:2] for entry in log) == sorted(comparator.asked)


@pytest.mark.parametrize("batch", [False, True])
def test_stop_iteration_cannot_leave_a_coroutine_but_is_the_cause(batch):
    def prefer(*_):
        raise StopIteration("no answer")

    with pytest.raises(RuntimeError) as caught:
        sorted_later(aquicksort, prefer, [], batch)
    assert isinstance(caught.value.__cause__, StopIteration)


@pytest.mark.parametrize("deaf", [False, True])
def test_a_timeout_ends_all_questions_and_keeps_the_answers(deaf):
    log, answered, asked = [], 0, 0

    async def prefer(u, v):
        nonlocal answered, asked
        asked += 1
        try:
            await asyncio.sleep(0.0 if asked < 20 else 60)
        except asyncio.CancelledError:
            if not deaf:
                raise
        answered += 1
        return u < v

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await aquicksort(range(60), prefer, log=log, random_state=0, max_concurrency=4)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert len(log) == answered
    assert asked == 23
    assert answered == (23 if deaf else 19)


@pytest.mark.parametrize(
    "items",
    [
        np.arange(6) * 2,
        np.arange(12).reshape(6, 2),
        pd.DataFrame({"a": np.arange(6), "b": 1}, index=list("uvwxyz")),
        sparse.csr_array(np.arange(12).reshape(6, 2)),
    ],
    ids=["1-D", "2-D", "frame", "sparse"],
)
def test_tables_of_items(items):
    def total(U):
        return np.asarray(U.sum(axis=1)) if getattr(U, "ndim", 1) == 2 else np.sum(U)

    batched = quicksort(
        items,
        lambda U, V: (U if U.ndim == 1 else total(U)) > (V if V.ndim == 1 else total(V)),
        batch=True,
        random_state=0,
    )
    assert_array_equal(batched.positions, [6, 5, 4, 3, 2, 1])
    one = quicksort(items, lambda u, v: total(u) > total(v), random_state=0)
    assert_array_equal(one.positions, batched.positions)
    assert type(one.order) is type(items)
    assert one.order.shape == items.shape
    if isinstance(items, pd.DataFrame):
        assert list(one.order.index) == list("zyxwvu")


def test_items_need_not_be_hashable_or_have_a_length():
    ranking = quicksort(({"v": v} for v in (3, 1, 2)), lambda u, v: u["v"] < v["v"])
    assert [item["v"] for item in ranking] == [1, 2, 3]
    assert quicksort([], lambda *_: 1).order == []
    assert quicksort(["only"], lambda *_: 1).certain.all()


def test_batches_keep_no_log_unless_one_is_passed():
    assert quicksort(range(5), np.less, batch=True).log is None
    assert len(quicksort(range(5), lambda u, v: u < v).log) >= 5


def test_progress():
    seen = []
    ranking = quicksort(
        range(30), lambda u, v: u < v, progress=lambda *state: seen.append(state), random_state=0
    )
    assert [calls for calls, _ in seen] == list(range(1, ranking.n_calls + 1))
    assert all(expected >= calls for calls, expected in seen)
    assert seen[-1][1] == pytest.approx(ranking.n_calls, abs=1)
    batches = []
    sort_by_degree(range(5), np.less, batch=True, progress=lambda *s: batches.append(s))
    assert batches == [(10, 10)]


def literal_degree(P):
    n = len(P)
    wins = [
        sum(1.0 if P[u, v] > 0.5 else 0.5 * (P[u, v] == 0.5) for v in range(n) if v != u)
        for u in range(n)
    ]
    return sorted(range(n), key=lambda u: -wins[u])


@given(st.integers(0, 11), st.integers(0, 2**32))
def test_sort_by_degree(n, seed):
    P = probabilities(n, seed)
    comparator = Comparator(P)
    ranking = sort_by_degree(range(n), comparator)
    assert ranking.order == literal_degree(P)
    assert len({frozenset(pair) for pair in comparator.asked}) == n * (n - 1) // 2
    assert ranking.n_calls == len(comparator.asked)
    assert ranking.certain.all()
    batched = sort_by_degree(range(n), Comparator(P).batch, batch=True)
    later = asyncio.run(asort_by_degree(range(n), Comparator(P).later, max_concurrency=3))
    assert batched.order == later.order == ranking.order


@pytest.mark.parametrize("n", [2, 3, 10, 11, 1_500])
def test_batches_of_all_pairs(n):
    comparator = Questions(range(n), min, batch=False, max_calls=None, log=None, progress=None)
    pairs = np.concatenate([np.column_stack(b) for b in all_pairs(comparator)])
    assert len(pairs) == n * (n - 1) // 2
    assert len(np.unique(np.sort(pairs, axis=1) @ [n, 1])) == len(pairs)
    taken = np.bincount(pairs[: len(pairs) // 2].ravel(), minlength=n)
    assert np.ptp(taken) <= 2


def test_some_of_all_pairs():
    log = []
    part = sort_by_degree(range(20), lambda u, v: u < v, max_calls=50, log=log)
    assert (part.n_calls, part.certain.any()) == (50, False)
    whole = sort_by_degree(range(20), lambda u, v: u < v, log=log)
    assert whole.order == list(range(20))
    assert whole.n_calls == 190 - 50


@pytest.mark.parametrize("answer", [2, -1, None, "1", np.nan, [1, 0]])
def test_bad_answers_are_refused_and_not_kept(answer):
    log = []
    with pytest.raises(ValueError, match=r"prefer returned .* for items \d and \d"):
        quicksort(range(4), lambda *_: answer, log=log)
    assert log == []


@pytest.mark.parametrize("answer", [True, 1, 1.0, np.True_, np.float32(1), np.array(1)])
def test_good_answers(answer):
    log = quicksort(range(2), lambda *_: answer).log
    assert log[0][2] == 1.0
    assert type(log[0][2]) is float


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, "k=0"),
        ({"k": 1.5}, ValueError, "k=1.5"),
        ({"max_calls": -1}, ValueError, "max_calls=-1"),
        ({"repeats": 0}, ValueError, "repeats=0"),
        ({"repeats": True}, ValueError, "repeats=True"),
        ({"log": ()}, TypeError, "log must be a list"),
        ({"log": [(0, 9, 1.0)]}, ValueError, r"log holds \(0, 9, 1.0\)"),
        ({"log": [(0, 0, 1.0)]}, ValueError, "log holds"),
        ({"log": [(0, 1, 2.0)]}, ValueError, "log holds"),
        ({"log": [(0, 1)]}, ValueError, "log holds"),
        ({"log": ["ab1"]}, ValueError, "log holds"),
    ],
)
def test_bad_options_are_refused_before_any_question(options, error, message):
    def prefer(*_):
        raise AssertionError

    with pytest.raises(error, match=message):
        quicksort(range(4), prefer, **options)


def test_comparators_of_the_wrong_kind_are_told_apart():
    async def later(*_):
        return 1

    with pytest.raises(TypeError, match="aquicksort"):
        quicksort(range(3), later)
    with pytest.raises(TypeError, match="aquicksort"):
        quicksort(range(3), later, batch=True)
    with pytest.raises(TypeError, match="use quicksort"):
        asyncio.run(aquicksort(range(3), lambda *_: 1))
    with pytest.raises(TypeError, match="callable"):
        quicksort(range(3), "prefer")
    with pytest.raises(ValueError, match="max_concurrency=0"):
        asyncio.run(aquicksort(range(3), later, max_concurrency=0))
    with pytest.raises(ValueError, match=r"shape \(1,\) for 2 pairs"):
        quicksort(range(3), lambda *_: [1], batch=True)
    with pytest.raises(ValueError, match="prefer returned"):
        quicksort(range(3), lambda *_: [1, 7], batch=True)


def test_a_million_items_in_some_dozen_batches():
    value = np.random.default_rng(0).random(1_000_000)
    ranking = quicksort(value, lambda U, V: U > V, batch=True, random_state=0)
    assert_allclose(ranking.order, np.sort(value)[::-1])
    assert ranking.n_batches < 70
    assert ranking.certain.all()


@pytest.mark.parametrize("k", [4, 2**63, 2**64, 10**400])
def test_the_first_k_of_fewer_are_all(k):
    found = quicksort([3, 1, 2], lambda u, v: float(u < v), k=k, random_state=0)
    assert found.order == [1, 2, 3]
    assert quicksort([], lambda *_: 1.0, k=k).order == []


def agreement(order, P):
    return sum(P[u, v] for u, v in combinations(order, 2))


def greedily(P):
    """Return the greedy order as Cohen, Schapire and Singer write it."""
    left, order = list(range(len(P))), []
    while left:
        potential = {v: sum(P[v, u] - P[u, v] for u in left) for v in left}
        best = max(left, key=lambda v: (round(potential[v], 9), -v))
        order.append(best)
        left.remove(best)
    return order


@pytest.mark.parametrize("seed", range(20))
def test_greedy_order(seed):
    P = probabilities(7, seed)
    comparator, log = Comparator(P), []
    ranking = greedy_order(range(7), comparator, log=log)
    assert ranking.order == greedily(P)
    assert ranking.n_calls == len({frozenset(pair) for pair in comparator.asked}) == 21
    assert ranking.certain.all()
    best = max(agreement(order, P) for order in permutations(range(7)))
    assert agreement(ranking.order, P) >= best / 2
    in_batches = greedy_order(range(7), Comparator(P).batch, batch=True, repeats=2, symmetrise=True)
    assert in_batches.order == ranking.order
    assert greedy_order(range(7), comparator, log=log).n_calls == 0


def test_greedy_order_stops_at_a_limit():
    P = probabilities(7, 1)
    ranking = greedy_order(range(7), Comparator(P), max_calls=5)
    heard = np.full((7, 7), 0.5)
    for i, j, p in ranking.log:
        heard[i, j], heard[j, i] = p, 1 - p
    assert ranking.n_calls == 5
    assert ranking.order == greedily(heard)
    assert not ranking.certain.any()
    assert greedy_order([], Comparator(P)).order == []
