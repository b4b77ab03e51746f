"""A model whose learned arrays or parameters were changed answers or says so, and never crashes.

Compiled loops look at no length, so this is worth most with bounds checking, `make test-bounds`.
"""

import copy

import numpy as np
import pytest
from scipy import sparse

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
    "RankBoost": [{"n_estimators": 5}],
}
MODELS = [
    cls(**params) for name, cls in all_estimators().items() for params in VARIANTS.get(name, [{}])
]
OTHERS = {
    "kernel": ["linear", "poly", "rbf", "precomputed", "nonsense"],
    "vote": [None, "averaged", "voted"],
    "update": ["perceptron", "pa", "romma", "uniform", "max"],
    "combine": ["bpm", "bagging", "voted", "nonsense"],
    "budget": [None, 2, 50],
    "degree": [1, 5, "a"],
    "gamma": [None, 0.5],
    "label_order": [None, [1, 0], [0, 1, 2, 3]],
    "n_estimators": [1, 50],
    "max_voters": [1],
    "n_jobs": [0, 2],
}
REFUSALS = (ValueError, TypeError)
# These predict by NumPy alone, which looks at every index.
NUMPY_ONLY = {"RankBoost"}

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
    """Ask all of a model, and accept answers and sentences."""
    rows = rows_for(model)
    given = {
        "predict": (rows,),
        "decision_function": (rows,),
        "project": (rows,),
        "agreement": (rows,),
        "rank": (rows,),
        "score": (rows, y),
        "partial_fit": (rows, y),
        "partial_fit_predict": (rows, y),
    }
    said = [refusal_of(model, name, *arguments) for name, arguments in given.items()]
    said.append(refusal_of(model, "predict", sparse.csr_array(rows)))
    assert all(refusal is None or " " in refusal for refusal in said)


def refusal_of(model, name, *arguments):
    allowed = (*REFUSALS, IndexError) if type(model).__name__ in NUMPY_ONLY else REFUSALS
    try:
        method = getattr(copy.deepcopy(model), name, None)
        if method is not None:
            method(*arguments)
    except allowed as refusal:
        return str(refusal)
    return None


def arrays_of(model):
    """Yield the holder and the name of each learned array."""
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            yield vars(model), name
    state = vars(model).get("_state", {})
    yield from ((state, name) for name in state)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS, ids=str)
class TestTampered:
    def test_learned_arrays(self, model):
        fitted = copy.deepcopy(model).fit(rows_for(model), y)
        for holder, name in list(arrays_of(fitted)):
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
