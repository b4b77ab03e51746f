"""A model whose public arrays, parameters or file were changed predicts or raises, never crashes.

Compiled loops check no index, so these tests find most with bounds checking, `make test-bounds`.
"""

import copy

import numpy as np
import pytest
from scipy import sparse

import rankwise
from rankwise.ordinal._loops.prank import UPDATES
from rankwise.testing import all_estimators

VARIANTS = {
    "PRank": [
        {},
        {"vote": "averaged"},
        {"vote": "voted"},
        {"update": "romma", "vote": "averaged"},
        {"kernel": "poly", "degree": 2},
        {"kernel": "rbf", "vote": "averaged"},
        {"kernel": "rbf", "vote": "voted", "budget": 5},
        {"kernel": "precomputed"},
    ],
    "OAPRank": [
        {"n_estimators": 5, "random_state": 0},
        {"n_estimators": 5, "random_state": 0, "combine": "voted"},
        {"n_estimators": 5, "random_state": 0, "kernel": "rbf", "combine": "bagging"},
    ],
    "WidrowHoff": [{}, {"kernel": "rbf", "budget": 5}],
    "MulticlassPerceptron": [{}, {"kernel": "rbf"}],
    "MPRank": [{}, {"kernel": "rbf"}],
    "SVRank": [{}, {"kernel": "rbf"}],
    "RankSVM": [{}, {"kernel": "rbf"}],
    "RankBoost": [{"n_estimators": 5}, {"n_estimators": 5, "max_leaf_nodes": 4}],
}
MODELS = [
    cls(**params) for name, cls in all_estimators().items() for params in VARIANTS.get(name, [{}])
]
OTHERS = {
    "kernel": ["linear", "poly", "rbf", "precomputed", "nonsense"],
    "vote": [None, "averaged", "voted"],
    "update": [*UPDATES, "uniform", "max"],
    "combine": ["bpm", "bagging", "voted", "nonsense"],
    "budget": [None, 2, 50],
    "degree": [1, 5, "a"],
    "gamma": [None, 0.5],
    "label_order": [None, [1, 0], [0, 1, 2, 3]],
    "n_estimators": [1, 50],
    "max_voters": [1],
    "n_jobs": [0, 2],
}
ERRORS = (ValueError, TypeError)

random = np.random.default_rng(0)
X = random.normal(size=(30, 3))
y = np.digitize(X @ [1.0, -1.0, 0.5], [-0.7, 0.7])


def rows_for(model):
    return X @ X.T if getattr(model, "kernel", None) == "precomputed" else X


def changed(array):
    """Yield arrays of other lengths, numbers of axes and types."""
    for axis in range(array.ndim):
        some = [slice(None)] * array.ndim
        for part in (slice(0, 0), slice(0, -1), slice(1, None)):
            some[axis] = part
            yield array[tuple(some)]
        yield np.concatenate([array, array], axis=axis)
    yield array[None]
    yield array.ravel()
    yield np.array(array.ravel()[:1].sum() if array.dtype.kind in "biuf" else 0.0)
    yield np.asfortranarray(array)
    for kind in (np.float32, np.int64, np.complex128, object, "U9"):
        if array.dtype.kind in "biufc":
            yield np.nan_to_num(array.astype(np.float64)).astype(kind)


def use(model):
    """Call the methods of a model, each of which returns or raises."""
    rows = rows_for(model)
    arguments = {
        "predict": (rows,),
        "decision_function": (rows,),
        "project": (rows,),
        "agreement": (rows,),
        "rank": (rows,),
        "score": (rows, y),
        "partial_fit": (rows, y),
        "partial_fit_predict": (rows, y),
    }
    for name, given in arguments.items():
        call(model, name, *given)
    call(model, "predict", sparse.csr_array(rows))


def call(model, name, *given):
    """Call a method of a copy, if there is one."""
    method = getattr(copy.deepcopy(model), name, None)
    if method is None:
        return
    try:
        method(*given)
    except ERRORS as error:
        check_sentence(error)


def check_sentence(error):
    """Raise if the message of an error is not a sentence."""
    assert len(str(error).split()) >= 4, repr(error)


def arrays_of(model, *, private):
    """Yield the holder and the name of each learned array."""
    for name, value in vars(model).items():
        public = name.endswith("_") and not name.startswith("_")
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and (public or private):
            yield vars(model), name
    if private:
        state = vars(model).get("_state", {})
        yield from ((state, name) for name in state)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS, ids=str)
class TestTampered:
    def test_public_arrays(self, model):
        fitted = copy.deepcopy(model).fit(rows_for(model), y)
        for holder, name in list(arrays_of(fitted, private=False)):
            whole = holder[name]
            for other in changed(whole):
                holder[name] = other
                use(fitted)
            holder[name] = whole
        use(fitted)

    def test_parameters(self, model):
        fitted = copy.deepcopy(model).fit(rows_for(model), y)
        for name in sorted(OTHERS.keys() & fitted.get_params()):
            for value in OTHERS[name]:
                use(copy.deepcopy(fitted).set_params(**{name: value}))

    def test_files(self, model, tmp_path):
        fitted = copy.deepcopy(model).fit(rows_for(model), y)
        for holder, name in list(arrays_of(fitted, private=True)):
            whole = holder[name]
            factor = np.uint64(9) if whole.dtype.kind == "u" else -9
            others = whole[:-1], np.concatenate([whole, whole]), whole[None], whole * factor
            for other in others:
                holder[name] = other
                try:
                    rankwise.save(fitted, tmp_path / "model")
                    loaded = rankwise.load(tmp_path / "model")
                except ValueError as error:
                    check_sentence(error)
                    continue
                call(loaded, "predict", rows_for(model))
                call(loaded, "partial_fit", rows_for(model), y)
            holder[name] = whole
