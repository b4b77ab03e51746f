"""fit_many: the same models as a loop, in any number of threads."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge

from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank, SVRank
from rankwise.ordinal import OAPRank, PRank
from rankwise.recommend import RatingTable, fit_many


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    users, items = np.nonzero(random.random((30, 25)) < 0.5)
    ratings = random.integers(1, 6, len(users))
    ratings[users == 4] = 2
    return RatingTable.from_arrays([f"u{u:02}" for u in users], items, ratings)


MODELS = [
    PRank(),
    OAPRank(5, random_state=0),
    MPRank(),
    SVRank(power=2),
    RankBoost(10),
    Ridge(),
]


def learned(model):
    """Return all that a model has learned."""
    return {k: v for k, v in vars(model).items() if k.endswith("_") and k != "n_iter_"}


def same(one, two, *, exactly):
    assert one.keys() == two.keys()
    for name, value in one.items():
        if not isinstance(value, np.ndarray):
            continue
        if exactly:
            np.testing.assert_array_equal(value, two[name])
        elif value.dtype.kind == "f":
            np.testing.assert_allclose(value, two[name], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("center", ["scale", None])
def test_a_loop_fits_the_same(table, model, center):
    options = {"raters": 8, "missing": "zero", "center": center}
    users = ["u07", "u00", "u29", *table.users[10:18]]
    models = dict(fit_many(table, model, users, n_jobs=2, **options))
    alone = dict(fit_many(table, model, users, n_jobs=1, **options))
    assert list(models) == list(alone) == users
    for user in users:
        X, y, _ = table.problem_for(user, **options)
        same(learned(models[user]), learned(clone(model).fit(X, y)), exactly=False)
        same(learned(models[user]), learned(alone[user]), exactly=True)
    assert not hasattr(model, "n_features_in_")


def test_all_who_can_be_learned_from(table):
    users = [user for user, _ in fit_many(table, Ridge())]
    assert users == [user for user in table.users if user != "u04"]


class Counted(BaseEstimator):
    """Counts how many are alive."""

    alive, most, fitted = 0, 0, 0

    def fit(self, _X, _y):
        Counted.alive += 1
        Counted.fitted += 1
        Counted.most = max(Counted.most, Counted.alive)
        self.done_ = True
        return self

    def __del__(self):
        if hasattr(self, "done_"):
            Counted.alive -= 1


def test_few_models_are_held_at_a_time(table):
    Counted.alive = Counted.most = Counted.fitted = 0
    steps = []
    models = fit_many(table, Counted(), progress=lambda *step: steps.append(step))
    assert Counted.fitted == 0
    for _, model in models:
        del model
    assert Counted.fitted == 29
    assert Counted.most <= 9
    assert steps == [(i, 29) for i in range(1, 30)]


class Refusing(BaseEstimator):
    def fit(self, _X, _y):
        raise RuntimeError("no")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_names_the_person(table, n_jobs):
    with pytest.raises(RuntimeError) as caught:
        list(fit_many(table, Refusing(), ["u03"], n_jobs=n_jobs))
    assert caught.value.__notes__ == ["while a model of user 'u03' was fitted"]


BAD = {
    "table": ({"table": [[1]]}, r"table=\[\[1\]\] must be a RatingTable"),
    "estimator": ({"estimator": "MPRank"}, "estimator='MPRank' must be a model"),
    "constant": ({"users": ["u03", "u04"]}, "users holds 'u04', who gave no two different"),
    "unknown": ({"users": ["x"]}, "users holds 'x'"),
    "empty": ({"users": []}, "users is empty"),
    "missing": ({"missing": "mode"}, "missing='mode'"),
    "raters": ({"raters": ["x"]}, "raters holds 'x'"),
    "n_jobs": ({"n_jobs": 0}, "'n_jobs' parameter of fit_many"),
    "progress": ({"progress": 5}, "progress=5 must be a function"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_arguments_are_named_at_the_call(table, arguments, message):
    with pytest.raises(ValueError, match=message):
        fit_many(**({"table": table, "estimator": MPRank()} | arguments))


def test_nobody_to_learn_from():
    with pytest.raises(ValueError, match="nobody in the table"):
        fit_many(RatingTable.from_arrays([1, 2], [1, 1], [3, 4]), MPRank())
    with pytest.raises(ValueError, match="fit_many needs ratings"):
        fit_many(RatingTable.from_arrays([1, 2], [1, 1]), MPRank())
