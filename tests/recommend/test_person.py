"""A live person: what may be said, what is answered, and that both agree."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import kendalltau

from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank, SVRank
from rankwise.ordinal import OAPRank, PRank
from rankwise.recommend import RatingTable, TasteModel, TasteRanker, TasteRanking
from rankwise.recommend._choice import weigh_by_rating
from rankwise.recommend.fold_in import Evidence, fold_in
from rankwise.recommend.person import Catalogue, person_of, smallest
from rankwise.recommend.taste import DenseKernel, Taste

N, U, Q = 30, 40, 3


class ByCount:
    """A choice model whose scores are easy to know."""

    def scores(self, own):
        return np.arange(1, N + 1) / N + len(own)


def make_table(*, graded=True):
    random = np.random.default_rng(0)
    users, items = np.nonzero(random.random((U, N)) < 0.5)
    ratings = random.integers(1, 6, len(users)) if graded else None
    return RatingTable.from_arrays(users, [f"film {i:02}" for i in items], ratings)


def make_taste():
    random = np.random.default_rng(1)
    F = random.normal(size=(N + Q, 5)) / 2
    return Taste(
        means=random.uniform(2.5, 4.0, N),
        kernel=DenseKernel(F @ F.T + 0.1 * np.eye(N + Q)),
        places=random.normal(size=(N, Q)) / 3,
        noise=0.7,
        prior=3 / 0.7,
        low=1.0,
        high=5.0,
        sigma=0.9,
        spread=0.8,
    )


TABLE, TASTE = make_table(), make_taste()
CATALOGUE = Catalogue.of(TABLE, TASTE, ByCount())
FILMS = TABLE.items.tolist()


def new():
    return TasteRanker(CATALOGUE)


def state(person):
    return dict(person.ratings), person.preferences


def test_of_the_table():
    person = person_of(CATALOGUE, TABLE, 7)
    _, y, items = TABLE.problem_for(7)
    assert person.ratings == dict(zip(items.tolist(), y.tolist(), strict=True))
    again = new()
    for item, rating in person.ratings.items():
        again.rate(item, rating)
    np.testing.assert_array_equal(again.predict()[0], person.predict()[0])
    with pytest.raises(ValueError, match="99"):
        person_of(CATALOGUE, TABLE, 99)


def test_nothing_said():
    person = new()
    mean, sd = person.predict()
    np.testing.assert_allclose(mean, TASTE.means)
    assert (sd > 0).all()
    assert person.ranking().order.tolist() == [FILMS[i] for i in np.argsort(-TASTE.means)]
    assert person.explain(FILMS[3]).score == TASTE.means[3]
    assert len(person.suggest(3)) == 3
    assert repr(person) == "TasteRanker(0 ratings, 0 preferences, 30 items)"


def test_what_was_said_first_does_not_matter():
    steps = [("rate", FILMS[i], 1.0 + i % 5) for i in range(8)]
    steps += [("prefer", FILMS[9], FILMS[2]), ("prefer", FILMS[12], FILMS[13])]
    first, second = new(), new()
    for name, *arguments in steps:
        getattr(first, name)(*arguments)
    for name, *arguments in reversed(steps):
        getattr(second, name)(*arguments)
    for one, other in zip(first.predict(), second.predict(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_rate_again_and_forget():
    person = new().rate(FILMS[0], 5).rate(FILMS[1], 2).prefer(FILMS[2], FILMS[0])
    other = new().rate(FILMS[1], 4)
    person.rate(FILMS[1], 4)
    assert list(person.ratings.items()) == [(FILMS[0], 5.0), (FILMS[1], 4.0)]
    person.forget(FILMS[0])
    assert state(person) == state(other)
    np.testing.assert_array_equal(person.predict()[0], other.predict()[0])
    person.prefer(FILMS[5], FILMS[6]).prefer(FILMS[6], FILMS[5]).prefer(FILMS[5], FILMS[7])
    assert person.preferences == [(FILMS[6], FILMS[5]), (FILMS[5], FILMS[7])]
    with pytest.raises(TypeError):
        person.ratings["x"] = 1


def test_a_preference_that_contradicts_the_order():
    person = new()
    order = person.ranking().order
    best, worst = order[0], order[-1]
    before = person.ranking().positions
    person.prefer(worst, best)
    after = person.ranking().positions
    i, j = FILMS.index(worst), FILMS.index(best)
    assert after[i] < before[i]
    assert after[j] > before[j]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: p.rate("no film", 3), "item holds 'no film'"),
        (lambda p: p.rate(["film 01"], 3), "item="),
        (lambda p: p.rate(FILMS[0], 6), "rating=6 must be a number from 1 to 5"),
        (lambda p: p.rate(FILMS[0], float("nan")), "rating=nan"),
        (lambda p: p.rate(FILMS[0], "5"), "rating='5'"),
        (lambda p: p.rate(FILMS[0]), "rating=None"),
        (lambda p: p.forget(FILMS[9]), "neither rated nor compared"),
        (lambda p: p.forget(None), "item"),
        (lambda p: p.prefer(FILMS[0], FILMS[0]), "are the same item"),
        (lambda p: p.prefer(FILMS[0], "x"), "worse holds 'x'"),
        (lambda p: p.prefer("x", FILMS[0]), "better holds 'x'"),
        (lambda p: p.predict("film 01"), "items='film 01' is invalid: expected a list of ids"),
        (lambda p: p.predict(["x"]), "items holds 'x'"),
        (lambda p: p.ranking(0), "k=0"),
        (lambda p: p.ranking(2.5), "k=2.5"),
        (lambda p: p.ranking(by="love"), "by='love' must be 'rating' or 'choice'"),
        (lambda p: p.ranking(flip=1), "flip=1"),
        (lambda p: p.ranking(rated="no"), "rated='no'"),
        (lambda p: p.ranking(gap=None), "gap=None"),
        (lambda p: p.explain("x"), "item holds 'x'"),
        (lambda p: p.suggest(0), "n=0"),
        (lambda p: p.suggest(skip="film 01"), "skip='film 01' must be a list"),
        (lambda p: p.suggest(skip=["x"]), "skip holds 'x'"),
    ],
)
def test_bad_input(call, words):
    person = new().rate(FILMS[0], 4).prefer(FILMS[1], FILMS[2])
    before = state(person)
    with pytest.raises(ValueError, match=words):
        call(person)
    assert state(person) == before


def test_ranking_options():
    person = new().rate(FILMS[0], 4).rate(FILMS[7], 1)
    scores = fold_in(TASTE, Evidence.of([0, 7], [4, 1])).scores()
    everything = person.ranking(rated=True)
    assert everything.order.tolist() == [FILMS[i] for i in np.argsort(-scores)]
    np.testing.assert_allclose(everything.scores, np.sort(scores)[::-1])
    assert everything.positions[np.argmax(scores)] == 1
    worst = person.ranking(4, flip=True, rated=True)
    assert worst.order.tolist() == everything.order[::-1][:4].tolist()
    unseen = person.ranking()
    assert len(unseen) == N - 2
    assert not {FILMS[0], FILMS[7]} & set(unseen)
    assert unseen.positions[[0, 7]].tolist() == [0, 0]
    top = person.ranking(5)
    assert top.order.tolist() == unseen.order[:5].tolist()
    np.testing.assert_array_equal(
        top.positions, np.where(unseen.positions <= 5, unseen.positions, 0)
    )
    mean, sd = person.predict(top.order)
    np.testing.assert_allclose(top.sd, sd)
    np.testing.assert_allclose(np.clip(top.scores, 1, 5), mean)
    assert len(person.ranking(100)) == N - 2
    assert repr(top).startswith(f"TasteRanking({top.order[0]} {top.scores[0]:.2f}, ")


@pytest.mark.parametrize("k", [1, 2, 7, 30, 31])
def test_ties_stay_in_the_order_of_the_table(k):
    keys = np.random.default_rng(k).integers(0, 4, 30).astype(float)
    expected = np.argsort(keys, kind="stable")[:k]
    np.testing.assert_array_equal(smallest(keys, k), expected)


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("k", [1, 5, 20, None])
def test_gap(flip, k):
    person = new().rate(FILMS[0], 4).rate(FILMS[7], 1)
    full = person.ranking(flip=flip)
    cut = person.ranking(k, flip=flip, gap=True)
    most = N - 2 if k is None else k
    gaps = np.abs(np.diff(full.scores))[:most]
    expected = 1 + int(np.argmax(gaps))
    assert cut.order.tolist() == full.order[:expected].tolist()


def test_the_deviations_of_a_ranking_are_of_its_time():
    person = new().rate(FILMS[0], 4)
    ranking = person.ranking(5)
    expected = person.predict(ranking.order)[1]
    person.rate(FILMS[1], 1).rate(FILMS[2], 5)
    np.testing.assert_array_equal(ranking.sd, expected)


def test_all_rated():
    person = new()
    for film in FILMS:
        person.rate(film, 3)
    assert len(person.ranking()) == 0
    assert len(person.ranking(3, gap=True)) == 0
    assert len(person.ranking(rated=True)) == N
    assert person.suggest() == []
    assert person.predict([])[0].shape == (0,)


def test_deviations_shrink_with_ratings():
    person = new()
    before = person.predict(FILMS[10:])[1]
    for film, rating in zip(FILMS[:10], TASTE.means, strict=False):
        person.rate(film, float(np.clip(rating, 1, 5)))
    assert (person.predict(FILMS[10:])[1] < before).all()


def test_explanations_add_up():
    person = new().prefer(FILMS[20], FILMS[3]).rate(FILMS[0], 4)
    for i in (5, 9, 11, 25):
        person.rate(FILMS[i], 1 + i % 5)
    scores = person.ranking(rated=True)
    for item, score in zip(scores.order, scores.scores, strict=True):
        why = person.explain(item)
        parts = why.mean + why.place + sum(r.effect for r in why.ratings)
        parts += sum(effect for _, _, effect in why.preferences)
        np.testing.assert_allclose([why.score, parts], score, rtol=0, atol=1e-12)
        sizes = [abs(reason.effect) for reason in why.ratings]
        assert sizes == sorted(sizes, reverse=True)
    weight = next(r.weight for r in person.explain(FILMS[1]).ratings if r.item == FILMS[0])
    before = person.explain(FILMS[1]).score
    after = person.rate(FILMS[0], 5).explain(FILMS[1]).score
    np.testing.assert_allclose(after - before, weight)


def test_a_model_and_a_refit():
    """A live person with the ratings of someone of the table is that someone, and needs no fit."""
    train = TABLE.people(0, 30)
    model = TasteModel(noise=1.0).fit(train)
    ratings = TABLE.matrix[[35]]
    items = TABLE.items[ratings.indices]
    person = model.person()
    for item, rating in zip(items.tolist(), ratings.data.tolist(), strict=True):
        person.rate(item, rating)
    added = RatingTable.from_arrays([35] * len(items), items, ratings.data, scale=(1, 5))
    scores = model.partial_fit(added).predict([35] * N, FILMS)
    found = person.ranking(rated=True)
    np.testing.assert_allclose(found.scores, np.sort(scores)[::-1], atol=1e-10)
    known = model.person(3)
    np.testing.assert_allclose(
        np.clip(model.predict([3] * N, FILMS), 1, 5), known.predict(FILMS)[0], atol=1e-10
    )
    assert len(person.ranking(3, by="choice")) == 3
    assert len(model.person(3, estimator=MPRank()).ranking(3)) == 3


def test_sentence():
    person = new().rate(FILMS[0], 4.5).rate(FILMS[5], 1).prefer(FILMS[20], FILMS[3])
    said = str(person.explain(FILMS[20]))
    assert said.startswith(f"{FILMS[20]}: {person.explain(FILMS[20]).score:.2f}. Its mean is ")
    assert f"that you prefer {FILMS[20]} to {FILMS[3]} adds" in said
    assert f"{FILMS[0]}, which you gave 4.5," in said
    for film in FILMS[6:12]:
        person.rate(film, 3)
    assert "; the rest of your answers " in str(person.explain(FILMS[20]))


def test_a_ranking_of_scores_alone():
    ranking = TasteRanking.from_scores([1.0, 3.0])
    assert ranking.sd is None
    assert repr(ranking).startswith("Ranking(order=array([1, 0])")


def test_suggest():
    person = new()
    first = person.suggest(4)
    assert person.suggest() == first[:1]
    assert first[0] not in person.suggest(4, skip=first[:1])
    person.rate(first[0], 5)
    assert first[0] not in person.suggest(N)
    assert sorted([*person.suggest(N), first[0]]) == FILMS


def test_choice():
    person = new().rate(FILMS[0], 4).rate(FILMS[7], 1)
    rating = person.ranking(rated=True)
    scores = np.array([rating.scores[rating.order.tolist().index(film)] for film in FILMS])
    sd = TABLE.matrix.data.std()
    expected = weigh_by_rating(ByCount().scores([0, 7]), np.clip(scores, 1, 5) / sd)
    found = person.ranking(by="choice", rated=True)
    assert found.order.tolist() == [FILMS[i] for i in np.argsort(-expected)]
    np.testing.assert_allclose(found.scores, np.sort(expected)[::-1])
    assert found.sd is None
    assert len(new().ranking(3, by="choice")) == 3
    with pytest.raises(ValueError, match="choice"):
        TasteRanker(Catalogue.of(TABLE, TASTE, None)).ranking(by="choice")


def test_table_without_ratings():
    table = make_table(graded=False)
    person = person_of(Catalogue.of(table, None, ByCount()), table)
    assert person.ranking(by="choice").order.tolist() == FILMS[::-1]
    person.rate(FILMS[29])
    assert person.ranking(2, by="choice").order.tolist() == [FILMS[28], FILMS[27]]
    for call in (
        person.ranking,
        person.predict,
        person.suggest,
        lambda: person.explain(FILMS[0]),
        lambda: person.prefer(FILMS[0], FILMS[1]),
    ):
        with pytest.raises(ValueError, match=r"needs ratings, .* ranking\(by='choice'\)"):
            call()


@pytest.mark.parametrize(
    "estimator",
    [PRank(), OAPRank(random_state=0), MPRank(), SVRank(), RankBoost(10)],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("user", [None, 7])
def test_estimator(estimator, user):
    person = person_of(CATALOGUE, TABLE, user, estimator)
    if user is None:
        with pytest.raises(ValueError, match="needs two different ratings"):
            person.ranking()
        for i in range(10):
            person.rate(FILMS[i], 1 + i % 5)
    ranking = person.ranking(5)
    assert len(set(ranking)) == 5
    assert ranking.sd is None
    assert not set(ranking) & set(person.ratings)
    mean, sd = person.predict(FILMS[:4])
    assert mean.shape == (4,)
    assert np.isnan(sd).all()
    assert not hasattr(estimator, "classes_")
    for call in (lambda: person.explain(FILMS[0]), lambda: person.prefer(FILMS[0], FILMS[1])):
        with pytest.raises(ValueError, match="leave estimator out"):
            call()


def test_estimator_is_fitted_on_the_problem_of_the_table():
    X, y, _ = TABLE.problem_for(7)
    everything, _ = TABLE.features_for(7, FILMS)
    expected = MPRank().fit(X, y).predict(everything)
    person = person_of(CATALOGUE, TABLE, 7, MPRank())
    np.testing.assert_allclose(person.predict()[0], expected, atol=1e-8)
    found = person.ranking(rated=True)
    assert kendalltau(found.positions, -expected).statistic == pytest.approx(1.0)


@pytest.mark.parametrize("bad", [3, PRank, "MPRank"])
def test_bad_estimator(bad):
    with pytest.raises(ValueError, match="estimator="):
        person_of(CATALOGUE, TABLE, None, bad)


def test_reading_threads():
    person = new().rate(FILMS[0], 5).rate(FILMS[1], 2)
    expected = person.ranking().order.tolist()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: person.ranking().order.tolist(), range(40)))
    assert all(order == expected for order in found)
