"""TasteModel: predictions, what is exact, what is refused."""

import numpy as np
import pytest
from sklearn.base import clone

from rankwise.recommend import RatingTable, TasteModel
from tests.reference import taste_parts, taste_scores


def draw(n_users=80, n_items=50, seed=0, density=0.35, noise=0.3):
    """Ids, and ratings from 1 to 5 of two tastes."""
    g = np.random.default_rng(seed)
    likes = g.normal(size=(n_users, 2)) @ g.normal(size=(2, n_items))
    likes += noise * g.normal(size=likes.shape)
    users, items = np.nonzero(g.random(likes.shape) < density)
    return users, items, np.clip(np.rint(3 + likes[users, items]), 1, 5)


@pytest.fixture(scope="module")
def parts():
    return RatingTable.from_arrays(*draw()).split(0.2, random_state=0)


@pytest.fixture(scope="module")
def model(parts):
    return TasteModel(n_jobs=1).fit(parts[0])


def test_predicts_what_it_has_not_seen(model, parts):
    errors = model.evaluate(parts[1])
    assert model.form_ == "exact"
    assert errors.misranking < 0.15
    assert errors.rmse < 0.75
    assert errors.mae < errors.rmse
    assert errors.n_ratings == parts[1].n_ratings
    assert model.score(parts[1]) == 1 - errors.misranking


def test_predict_is_a_live_person(model, parts):
    users, items = parts[0].users[[3, 3, 7, 0]], parts[0].items[[4, 9, 4, 1]]
    scores = model.predict(users, items)
    for user, item, score in zip(users, items, scores, strict=True):
        mean, _ = model.person(user).predict([item])
        np.testing.assert_allclose(mean, np.clip(score, 1, 5), atol=1e-10)


def popularity(Y, u):
    """Minus the counts of a person's items, and their squares."""
    counts = np.sum(~np.isnan(Y), axis=0)[~np.isnan(Y[u])]
    return -counts.sum(), -np.square(counts).sum()


def test_new_person_is_the_literal_formula():
    users, items, ratings = draw(40, 25, density=0.5)
    model = TasteModel(noise=1.0).fit(RatingTable.from_arrays(users, items, ratings))
    Y = np.full((40, 25), np.nan)
    Y[users, items] = ratings
    sizes = np.sum(~np.isnan(Y), axis=1)
    by_size = sorted(range(40), key=lambda u: (-sizes[u], *popularity(Y, u)))
    rounds = [by_size[k::3] for k in range(3)] + [by_size]
    literal = taste_parts(Y, n_places=20, noise=1.0, rounds=rounds)
    new = np.full(25, np.nan)
    new[[1, 5, 8]] = [5, 2, 4]
    scores = taste_scores(literal, new, noise=1.0, prior=3.0)
    person = model.person()
    for item in np.flatnonzero(~np.isnan(new)):
        person.rate(item, new[item])
    mean, _ = person.predict()
    np.testing.assert_allclose(mean, np.clip(scores, 1, 5), atol=1e-8)


@pytest.mark.parametrize("rank", [None, 7])
def test_same_bits_for_any_n_jobs(parts, rank):
    one, two = (TasteModel(rank=rank, n_jobs=jobs).fit(parts[0]) for jobs in (1, 2))
    users, items = parts[1].users[:10], parts[1].items[:10]
    np.testing.assert_array_equal(one.predict(users, items), two.predict(users, items))


@pytest.mark.parametrize("rank", [None, 7])
def test_names_and_order_of_rows_do_not_matter(rank):
    users, items, ratings = draw(120, 60)
    g = np.random.default_rng(1)
    new_user, new_item, rows = g.permutation(120), g.permutation(60), g.permutation(len(users))
    model = TasteModel(rank=rank).fit(RatingTable.from_arrays(users, items, ratings))
    other = TasteModel(rank=rank).fit(
        RatingTable.from_arrays(new_user[users[rows]], new_item[items[rows]], ratings[rows])
    )
    assert model.noise_ == other.noise_
    u, i = np.divmod(np.arange(0, 120 * 60, 7), 60)
    scores, renamed = model.predict(u, i), other.predict(new_user[u], new_item[i])
    np.testing.assert_allclose(scores, renamed, atol=1e-8 if rank is None else 1e-5)
    np.testing.assert_allclose(model.taste_.spread, other.taste_.spread, rtol=1e-8)


def test_names_do_not_matter_where_all_have_rated_all():
    users, items, ratings = draw(60, 12, density=1.1)
    new = np.random.default_rng(1).permutation(60)
    model = TasteModel().fit(RatingTable.from_arrays(users, items, ratings))
    other = TasteModel().fit(RatingTable.from_arrays(new[users], items, ratings))
    scores, renamed = model.predict(users, items), other.predict(new[users], items)
    np.testing.assert_allclose(scores, renamed, atol=1e-8)


def test_people_without_ratings_where_all_others_have_rated_all():
    """There are no pseudo-items then, so that nothing is left to solve."""
    table = RatingTable.from_arrays(*draw(60, 12, density=1.1))
    train, test = table.split(5, by="user", random_state=0)
    model = TasteModel().fit(train)
    assert model.taste_.places.shape == (12, 0)
    silent = test.users[np.diff(test.matrix.indptr) > 0]
    found = model.predict(np.repeat(silent, 12), np.tile(table.items, 5))
    np.testing.assert_allclose(found, np.tile(model.person(silent[0]).predict()[0], 5))


def test_noise_is_not_predicted():
    """Were a person's own ratings in the kernel, even noise would seem to be known."""
    users, items, ratings = draw(200, 60, noise=0.0)
    g = np.random.default_rng(2)
    noisy = users < 60
    ratings = np.where(noisy, g.integers(1, 6, len(ratings)), ratings)
    train, test = RatingTable.from_arrays(users, items, ratings).split(0.3, random_state=0)
    model = TasteModel().fit(train)
    matrix = test.matrix[:60]
    rows = np.repeat(np.arange(60), np.diff(matrix.indptr))
    scores = model.predict(test.users[rows], test.items[matrix.indices])
    wrong = total = 0
    for u in range(60):
        s, y = scores[rows == u], matrix.data[rows == u]
        i, j = np.nonzero(y[:, None] > y)
        wrong += (s[i] < s[j]).sum()
        total += len(i)
    assert total > 900
    assert 0.45 < wrong / total < 0.55


def test_partial_fit_is_a_live_person(parts):
    train = parts[0]
    users, items, ratings = draw(5, 50, seed=3)
    more = RatingTable.from_arrays(users + 1000, items, ratings)
    model = TasteModel().fit(train)
    before = model.predict(train.users[:5], train.items[:5])
    model.partial_fit(more)
    np.testing.assert_allclose(model.predict(train.users[:5], train.items[:5]), before, rtol=1e-12)
    person = model.person()
    own = users == users[0]
    for item, rating in zip(items[own], ratings[own], strict=True):
        person.rate(item, rating)
    mean, _ = person.predict(train.items)
    found = model.predict(np.full(train.n_items, users[0] + 1000), train.items)
    np.testing.assert_allclose(np.clip(found, 1, 5), mean, atol=1e-9)


def test_partial_fit_of_known_people(parts):
    train = parts[0]
    model = TasteModel().fit(train)
    user = train.users[4]
    before = model.person(user)
    model.partial_fit(RatingTable.from_arrays([user], [train.items[2]], [1.0]))
    before.rate(train.items[2], 1.0)
    found = model.predict(np.full(train.n_items, user), train.items)
    np.testing.assert_allclose(np.clip(found, 1, 5), before.predict(train.items)[0], atol=1e-9)


def test_partial_fit_refuses_other_items(model, parts):
    state = dict(vars(model))
    with pytest.raises(ValueError, match="items holds 'x'"):
        model.partial_fit(RatingTable.from_arrays([1], ["x"], [3.0]))
    with pytest.raises(ValueError, match="outside of the scale"):
        model.partial_fit(RatingTable.from_arrays([1], [parts[0].items[0]], [9.0]))
    assert vars(model) == state


def test_deviations_of_known_people_cover():
    train, test = RatingTable.from_arrays(*draw(300, 80, noise=0.8)).split(0.3, random_state=1)
    model = TasteModel().fit(train)
    assert model.own_.echo < 1
    inside = []
    for row in range(100):
        own = test.matrix[[row]]
        if own.nnz:
            mean, sd = model.person(test.users[row]).predict(test.items[own.indices])
            inside.append(np.abs(own.data - mean) < 1.2816 * sd)
    assert 0.72 < np.concatenate(inside).mean() < 0.88


def test_table_without_ratings():
    users, items, _ = draw()
    model = TasteModel().fit(RatingTable.from_arrays(users, items))
    assert model.form_ == "choice"
    with pytest.raises(ValueError, match="predict needs ratings"):
        model.predict([0], [0])
    assert len(model.person(0).ranking(3, by="choice").order) == 3


def test_choice_is_learned_when_asked_for(parts):
    late, early = TasteModel().fit(parts[0]), TasteModel(choice=True).fit(parts[0])
    assert late.choice_ is None
    orders = [m.person(3).ranking(5, by="choice").order for m in (late, early)]
    np.testing.assert_array_equal(*orders)
    np.testing.assert_array_equal(late.choice_.weights, early.choice_.weights)


def test_few_and_all_items_are_predicted_alike(model, parts):
    users = np.full(parts[0].n_items, 5)
    together = model.predict(users, parts[0].items)
    alone = [model.predict([5], [item])[0] for item in parts[0].items]
    np.testing.assert_allclose(together, alone, atol=1e-10)


@pytest.mark.parametrize("bad", [None, np.ones((3, 3)), "table"])
def test_refuses_what_is_no_table(bad):
    with pytest.raises(ValueError, match="must be a RatingTable"):
        TasteModel().fit(bad)


@pytest.mark.parametrize("ratings", [[3, 4, 5], None])
def test_refuses_an_empty_table(ratings):
    table = RatingTable.from_arrays([1, 1, 2], ["a", "b", "a"], ratings)
    first, second = table.split(1, by="user", random_state=0)
    empty = next(part.people(0, 1) for part in (first, second) if not part.people(0, 1).n_ratings)
    model = TasteModel().fit(table)
    with pytest.raises(ValueError, match=r"table=RatingTable\(1 users, 2 items, 0 .* is empty"):
        TasteModel().fit(empty)
    with pytest.raises(ValueError, match="is empty: give one with at least one rating"):
        model.partial_fit(empty)
    if ratings is not None:
        with pytest.raises(ValueError, match="is empty: give one with at least one rating"):
            model.evaluate(empty)


@pytest.mark.parametrize("unit", [1e50, 1e-9, 1e-100])
def test_the_unit_of_ratings_does_not_matter(unit):
    users, items, ratings = draw(n_users=60, n_items=20)
    plain, other = (RatingTable.from_arrays(users, items, ratings * s) for s in (1.0, unit))
    model, scaled = TasteModel().fit(plain), TasteModel().fit(other)
    np.testing.assert_allclose(
        scaled.predict(users, items) / unit, model.predict(users, items), rtol=1e-8
    )
    mean, sd = model.person(0).predict()
    also, its = scaled.person(0).predict()
    np.testing.assert_allclose(also / unit, mean, rtol=1e-8)
    np.testing.assert_allclose(its / unit, sd, rtol=1e-8)


@pytest.mark.parametrize("unit", [1e25, 1e-25])
def test_the_unit_of_ratings_does_not_matter_in_single_precision(unit):
    g = np.random.default_rng(0)
    # the last person has rated all items
    items = np.append([g.permutation(2_000)[:100] for _ in range(30)], np.arange(2_000))
    users = np.append(np.repeat(np.arange(30), 100), np.full(2_000, 30))
    ratings = g.integers(1, 6, len(users)).astype(float)
    plain, other = (RatingTable.from_arrays(users, items, ratings * s) for s in (1.0, unit))
    model, scaled = TasteModel(noise=1.0).fit(plain), TasteModel(noise=1.0).fit(other)
    found = scaled.predict(users[:99], items[:99]) / unit
    np.testing.assert_allclose(found, model.predict(users[:99], items[:99]), rtol=1e-4)


def test_predict_is_a_live_person_in_single_precision():
    g = np.random.default_rng(0)
    users, items = (
        np.repeat(np.arange(40), 60),
        g.permuted(np.tile(np.arange(2_000), (40, 1)), axis=1),
    )
    items = np.append(items[:, :60].ravel(), np.arange(2_000))
    users = np.append(users, np.full(2_000, 40))
    ratings = g.integers(1, 6, len(users)).astype(float)
    table = RatingTable.from_arrays(users, items, ratings)
    model = TasteModel(noise=1.0).fit(table)
    assert model.taste_.kernel.matrix.dtype == np.float32
    for user in (0, 40):  # known and new items of one, all items of the other are known
        mean, _ = model.person(user).predict()
        scores = model.predict(np.full(2_000, user), np.arange(2_000))
        np.testing.assert_allclose(np.clip(scores, 1, 5), mean, atol=1e-4)


def test_refuses_unknown_people_and_unequal_lengths(model):
    with pytest.raises(ValueError, match="users holds 'nobody'"):
        model.predict(["nobody"], [0])
    with pytest.raises(ValueError, match="users has 2 entries, but items has 1"):
        model.predict([0, 1], [0])


@pytest.mark.parametrize(
    ("users", "items", "ratings"),
    [
        ([0], [0], [3.0]),
        ([0, 0], [0, 1], [3.0, 3.0]),
        ([0, 1], [0, 0], [1.0, 5.0]),
        ([0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [2.0, 2.0, 2.0, 2.0, 2.0]),
        (np.repeat(np.arange(6), 5), np.tile(np.arange(5), 6), np.arange(30) % 7),
    ],
    ids=["one", "one person", "one item", "constant", "complete"],
)
@pytest.mark.parametrize("rank", [None, 3])
def test_small_tables(users, items, ratings, rank):
    model = TasteModel(rank=rank).fit(RatingTable.from_arrays(users, items, ratings))
    scores = model.predict(users, items)
    assert np.isfinite(scores).all()
    mean, sd = model.person().rate(items[0], ratings[0]).predict()
    assert np.isfinite(mean).all()
    assert np.isfinite(sd).all()


def test_memory_chooses_the_form(parts, capsys):
    model = TasteModel(max_memory=1e-4, verbose=True).fit(parts[0])
    assert model.form_ == "factors"
    assert model.rank_ == 100
    assert "factors of rank 100" in capsys.readouterr().err
    assert model.evaluate(parts[1]).misranking < 0.2


def test_is_an_estimator(model):
    again = clone(model).set_params(noise=2.0)
    assert again.get_params()["noise"] == 2.0
    assert not hasattr(again, "taste_")
    with pytest.raises(ValueError, match="noise"):
        TasteModel(noise=-1.0).fit(model.table_)


def test_features_tell_of_items_that_few_have_rated():
    g = np.random.default_rng(4)
    n_users, n_items = 150, 80
    X = np.column_stack([g.integers(0, 2, n_items), np.full(n_items, 7.0), g.normal(size=n_items)])
    Y = 3 + X[:, 0] - 0.5 + 0.4 * X[:, 2] + 0.4 * g.normal(size=(n_users, n_items))
    rare = np.arange(n_items) < 30
    known = g.random(Y.shape) < np.where(rare, 0.01, 0.3)
    known[0] = known[:, -1] = True
    users, items = np.nonzero(known)
    table = RatingTable.from_arrays(users, items, Y[users, items])
    train = table.split(0.3, random_state=0)[0]
    u, i = np.divmod(np.arange(n_users * n_items), n_items)
    asked = ~known.ravel() & rare[i]
    errors = []
    for features in (None, X):
        for rank in (None, 20):
            model = TasteModel(rank=rank).fit(train, item_features=features)
            scores = model.predict(u[asked], i[asked])
            errors.append(np.sqrt(np.mean((scores - Y.ravel()[asked]) ** 2)))
    assert max(errors[2:]) < 0.85 * min(errors[:2])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((3, 2)), "give a row for each"),
        (np.ones(50), "give a row for each"),
        (np.full((50, 1), np.nan), "holds nan"),
        ([["a"]] * 50, "item_features"),
    ],
)
def test_refuses_features_of_other_items(parts, features, message):
    with pytest.raises(ValueError, match=message):
        TasteModel().fit(parts[0], item_features=features)


def test_features_that_say_nothing_change_little(parts):
    constant = np.full((parts[0].n_items, 2), 3.0)
    model = TasteModel(noise=1.0).fit(parts[0], item_features=constant)
    assert model.evaluate(parts[1]).misranking < 0.15
