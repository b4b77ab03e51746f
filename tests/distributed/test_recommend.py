"""A taste learned in blocks of people is that of one machine, and so is a fleet of models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankwise.distributed import fit_taste
from rankwise.distributed._recommend import People
from rankwise.magnitude import MPRank
from rankwise.recommend import RatingTable, TasteModel, fit_many


def table(n_users=120, n_items=30, seed=0):
    random = np.random.default_rng(seed)
    likes = random.normal(size=(n_users, 3)) @ random.normal(size=(3, n_items))
    users, items = np.nonzero(random.random(likes.shape) < 0.4)
    ratings = np.clip(np.rint(3 + likes[users, items]), 1, 5)
    return RatingTable.from_arrays(users, items, ratings)


def assert_alike(found, alone, ratings):
    assert found.form_ == alone.form_
    assert found.noise_ == alone.noise_
    things = np.arange(len(alone.taste_.kernel.diagonal))
    assert_allclose(
        found.taste_.kernel.between(things, things),
        alone.taste_.kernel.between(things, things),
        rtol=1e-8,
        atol=1e-8,
    )
    users, items = np.repeat(ratings.users[:10], 5), np.tile(ratings.items[:5], 10)
    assert_allclose(found.predict(users, items), alone.predict(users, items), rtol=1e-8)
    live, other = found.person(), alone.person()
    for person in (live, other):
        person.rate(ratings.items[0], 5)
    assert_allclose(live.predict(ratings.items)[0], other.predict(ratings.items)[0], rtol=1e-8)


@pytest.mark.parametrize("options", [{}, {"rank": 5}, {"noise": 2.0}, {"rank": 4, "noise": 1.0}])
def test_a_taste_in_blocks(options):
    ratings = table()
    model = TasteModel(**options)
    assert fit_taste(model, ratings) is model
    assert_alike(model, TasteModel(**options).fit(ratings), ratings)


def test_features_of_items_and_one_person():
    ratings = table(40, 12)
    side = np.random.default_rng(1).normal(size=(ratings.n_items, 2))
    found = fit_taste(TasteModel(), ratings, item_features=side)
    assert_alike(found, TasteModel().fit(ratings, item_features=side), ratings)
    single = RatingTable.from_arrays([1, 1, 1], ["a", "b", "c"], [1, 2, 3])
    assert_allclose(
        fit_taste(TasteModel(), single).predict([1], ["a"]),
        TasteModel().fit(single).predict([1], ["a"]),
    )


@pytest.mark.parametrize("rank", [None, 3])
def test_nobody_takes_part_in_the_rounds(rank):
    # all have rated more items than those who take part may have
    likes = np.random.default_rng(0).integers(1, 6, size=(10, 850))
    users, items = np.nonzero(likes)
    ratings = RatingTable.from_arrays(users, items, likes.ravel())
    found = fit_taste(TasteModel(rank=rank), ratings)
    assert_alike(found, TasteModel(rank=rank).fit(ratings), ratings)


def test_ratings_in_partitions(tmp_path):
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    ratings = table()
    matrix = ratings.matrix.tocoo()
    frame = pd.DataFrame({"who": matrix.row, "what": matrix.col, "rating": matrix.data})
    parts = dd.from_pandas(frame, npartitions=3)
    alone = TasteModel().fit(ratings)
    names = {"user": "who", "item": "what"}
    assert_alike(fit_taste(TasteModel(), parts, **names), alone, ratings)
    for k in range(2):
        frame[k::2].to_parquet(tmp_path / f"{k}.parquet")
    assert_alike(fit_taste(TasteModel(), tmp_path, **names), alone, ratings)


def test_refused():
    with pytest.raises(ValueError, match=r"model=MPRank\(\) must be a TasteModel"):
        fit_taste(MPRank(), table())
    with pytest.raises(ValueError, match="must be a RatingTable, a dask dataframe"):
        fit_taste(TasteModel(), [1, 2])
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame({"user": [1], "item": [1]}), npartitions=1)
    with pytest.raises(ValueError, match="ratings has no column 'rating'"):
        fit_taste(TasteModel(), frame)
    model = fit_taste(TasteModel(), table())
    before = model.taste_
    with pytest.raises(ValueError, match="item_features has the shape"):
        fit_taste(model, table(), item_features=np.ones((2, 2)))
    assert model.taste_ is before


def test_a_fleet_on_features_of_items():
    ratings = table(40, 12)
    factors = np.random.default_rng(0).normal(size=(ratings.n_items, 3))
    for user, model in fit_many(ratings, MPRank(), item_features=factors, n_jobs=2):
        _, y, items = ratings.problem_for(user)
        alone = MPRank().fit(factors[ratings.item_index(items)], y)
        assert_array_equal(model.coef_, alone.coef_)
    with pytest.raises(ValueError, match="two kinds of columns"):
        fit_many(ratings, MPRank(), item_features=factors, raters=3)
    with pytest.raises(ValueError, match="item_features has the shape"):
        fit_many(ratings, MPRank(), item_features=factors[1:])
    factors[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"item_features holds nan \(row 2, column 1\)"):
        fit_many(ratings, MPRank(), item_features=factors)


def test_a_table_says_its_size():
    ratings = table()
    assert ratings.__sizeof__() > ratings.matrix.data.nbytes


@pytest.mark.slow
class TestCluster:
    def test_a_taste(self, client):
        ratings = table()
        found = fit_taste(TasteModel(), ratings, client=client)
        assert_alike(found, TasteModel().fit(ratings), ratings)

    def test_a_worker_is_killed_and_the_taste_is_the_same(self, client, kill, monkeypatch):
        ratings, rounds, step = table(), [], People.multiply_scores

        def step_and_kill(self, *arguments):
            rounds.append(1)
            if len(rounds) == 2:
                kill()
            return step(self, *arguments)

        monkeypatch.setattr(People, "multiply_scores", step_and_kill)
        found = fit_taste(TasteModel(), ratings, client=client)
        assert len(rounds) > 2
        assert_alike(found, TasteModel().fit(ratings), ratings)

    @pytest.mark.usefixtures("client")
    def test_a_fleet(self):
        import joblib

        ratings, seen = table(200), []
        alone = dict(fit_many(ratings, MPRank(), raters=8))
        with joblib.parallel_config("dask"):
            fleet = fit_many(
                ratings, MPRank(), raters=8, progress=lambda done, total: seen.append((done, total))
            )
        found = dict(fleet)
        assert list(found) == list(alone)
        assert seen == [(k + 1, len(alone)) for k in range(len(alone))]
        for user, model in alone.items():
            assert_array_equal(found[user].coef_, model.coef_)
        factors = np.random.default_rng(0).normal(size=(ratings.n_items, 3))
        alone = dict(fit_many(ratings, MPRank(), item_features=factors))
        with joblib.parallel_config("dask"):
            found = dict(fit_many(ratings, MPRank(), item_features=factors))
        for user, model in alone.items():
            assert_array_equal(found[user].coef_, model.coef_)
