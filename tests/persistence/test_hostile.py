"""Files that somebody made on purpose: their digests are right, and what they say is not.

Loading one raises nothing but ValueError. If it loads, the model answers or raises; a compiled loop
that took it at its word would crash, which is best seen with `make test-bounds`.
"""

import copy
import io
import json
import subprocess
import sys
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from rankwise import load, save
from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank, MPRankCV, SVRank
from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank, WidrowHoff
from rankwise.pairwise import RankSVM
from rankwise.persistence import _registry
from rankwise.persistence._archive import Archive, write_archive
from rankwise.preference import PreferenceRanker

random = np.random.default_rng(0)
X = random.normal(size=(30, 3)).round(1)
y = np.digitize(X @ [1.0, -1.0, 0.5], [-0.7, 0.7])
words = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
MODELS = [
    PRank(),
    PRank(vote="averaged", random_state=np.random.RandomState(0), shuffle=True),
    PRank(vote="voted", kernel="rbf", budget=5),
    PRank(kernel="poly", degree=2, label_order=[0, 1, 2]),
    PRank(kernel="precomputed"),
    OAPRank(5, random_state=0, combine="voted"),
    OAPRank(5, random_state=0, kernel="rbf"),
    WidrowHoff(),
    WidrowHoff(kernel="rbf", budget=5),
    MulticlassPerceptron(),
    MulticlassPerceptron(kernel="rbf"),
    MPRank(),
    MPRank(kernel="rbf"),
    MPRankCV(kernel="poly", degree=2),
    SVRank(kernel="rbf"),
    RankSVM(),
    RankBoost(5),
    PreferenceRanker(random_state=0),
    PreferenceRanker(words, random_state=0),
    make_pipeline(SimpleImputer(), PolynomialFeatures(2), StandardScaler(), PRank()),
    make_pipeline(Nystroem(n_components=5, random_state=0), MPRank()),
    make_pipeline(make_column_transformer((OneHotEncoder(), [0, 1])), RankSVM()),
]
ANSWERS = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError)
ANSWERS += (ValueError,)


def rows_for(model):
    return X @ X.T if getattr(model, "kernel", None) == "precomputed" else X


def parts(model, sparse_rows=False):
    """Return the JSON and the arrays of a fitted model."""
    rows = rows_for(model)
    fitted = copy.deepcopy(model).fit(sparse.csr_array(rows) if sparse_rows else rows, y)
    with pytest.MonkeyPatch.context() as patch:
        kept = {}
        patch.setattr(
            "rankwise.persistence._models.write_archive",
            lambda _, facts, arrays: kept.update(facts=facts, arrays=arrays),
        )
        patch.setattr("rankwise.persistence._models.replacing", lambda _: _Nowhere())
        save(fitted, "nowhere")
    return json.loads(json.dumps(kept["facts"])), kept["arrays"]


class _Nowhere:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def open(self, _):
        return io.BytesIO()


def nodes(value, path=()):
    """Yield the paths of all values of some JSON."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from nodes(value[key], (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


LEAVES = [
    None, True, 0, -1, 1, 7, 10**6, 2**62, 2**63, 10**30, 0.5, -0.5, 1e300, "", "x", "coef_", "rbf",
    "precomputed", [], [1], [[1]], {}, {"x": 1}, {"float": "nan"}, {"float": "x"}, {"array": "x"},
    {"tuple": []}, {"dict": {}}, {"items": {"keys": [[]], "values": [1]}}, {"range": [0, 1, 0]},
    {"range": [0, 10**15, 1]}, {"scalar": ["<f8", "00"]}, {"scalar": ["<i8", "ffffffffffffff7f"]},
    {"estimator": {"class": "os.system", "params": {}, "learned": {}, "requests": {}}},
    {"estimator": {"class": "rankwise.base.Ranking", "params": {}, "learned": {}, "requests": {}}},
    {"record": {"class": "rankwise.ordinal.PRank", "fields": {}}},
    {"record": {"class": "rankwise._core.kernels.Kernel", "fields": {"kernel": 1}}},
    {"set": [[1]]}, {"dtype": "O8"}, {"type": "eval"}, {"slice": [1]}, {"bytes": "zz"},
]  # fmt: skip


def damaged(facts, arrays, draw):
    """Change one to three things in the JSON or the arrays, at random."""
    facts, arrays = copy.deepcopy(facts), dict(arrays)
    for _ in range(draw.integers(1, 4)):
        kind = draw.integers(8)
        if kind < 4 or not arrays:
            paths = [p for p in nodes(facts["model"]) if p]
            path = paths[draw.integers(len(paths))]
            holder = at(facts["model"], path[:-1])
            if kind == 0:
                other = copy.deepcopy(at(facts["model"], paths[draw.integers(len(paths))]))
                holder[path[-1]] = other
            elif kind == 1 and isinstance(holder, dict):
                del holder[path[-1]]
            elif kind == 2 and isinstance(holder, dict):
                names = ["predict", "_state", "coef_", "__class__", "_parameter_constraints", "é"]
                holder[names[draw.integers(len(names))]] = holder.pop(path[-1])
            else:
                holder[path[-1]] = copy.deepcopy(LEAVES[draw.integers(len(LEAVES))])
        else:
            name = list(arrays)[draw.integers(len(arrays))]
            arrays[name] = other_array(arrays[name], draw)
    return facts, arrays


def other_array(array, draw):
    """Return an array of another shape, type or content."""
    kind = draw.integers(8)
    if kind == 0:
        return array[: len(array) // 2] if array.ndim else array
    if kind == 1:
        return np.concatenate([array, array]) if array.ndim else array[None]
    if kind == 2:
        return array[None]
    if kind == 3:
        return array.ravel()
    if array.dtype.kind not in "iuf" or not array.size:
        return array[:0].astype("U3") if array.ndim else array
    changed = array.copy()
    if kind == 4:
        return changed.astype([np.float32, np.int64, np.int8, bool, "U9"][draw.integers(5)])
    wild = [-1, 0, 1, 2, 10**6, -(10**6), 100, 127]
    if array.dtype.kind == "f":
        wild += [np.nan, np.inf, -np.inf, 1e300]
    value = wild[draw.integers(len(wild))]
    with np.errstate(all="ignore"):
        value = np.array(value).astype(array.dtype)
    if kind == 5:
        changed[...] = value
    else:
        changed.ravel()[draw.integers(changed.size)] = value
    return changed


def use(model):
    """Ask all of a model; it may answer or raise."""
    rows = rows_for(model)
    given = {
        "predict": (rows,),
        "decision_function": (rows,),
        "project": (rows,),
        "rank": (rows,),
        "prefer": (rows, rows),
        "partial_fit": (rows, y),
        "partial_fit_predict": (rows, y),
        "__repr__": (),
    }
    for name, arguments in given.items():
        for asked in (
            (arguments, tuple(map(sparse.csr_array, arguments))) if name[0] == "p" else (arguments,)
        ):
            with suppress(*ANSWERS):
                method = getattr(copy.deepcopy(model), name, None)
                if method is not None:
                    method(*asked)


def attack(model, seed, turns, path, sparse_rows):
    facts, arrays = parts(model, sparse_rows)
    loaded = 0
    for turn in range(turns):
        bad = damaged(facts, arrays, np.random.default_rng([seed, turn]))
        try:
            with path.open("wb") as file:
                write_archive(file, *bad)
        except ValueError:
            continue
        try:
            found = load(path)
        except ValueError:
            continue
        loaded += 1
        use(found)
    return loaded


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(MODELS)))
def test_altered_models_are_refused_or_answer(tmp_path, number):
    model = MODELS[number]
    assert attack(model, 0, 30, tmp_path / "m", sparse_rows=False) > 2
    if getattr(model, "kernel", "linear") != "linear":
        assert attack(model, 0, 15, tmp_path / "m", sparse_rows=True) > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(MODELS)))
def test_many_altered_models(tmp_path, number):
    assert attack(MODELS[number], 1, 500, tmp_path / "m", sparse_rows=False) > 50


def forged(tmp_path, facts, arrays):
    path = tmp_path / "forged"
    with path.open("wb") as file:
        write_archive(file, facts, arrays)
    return path


class TestNamed:
    """Attacks that somebody would think of."""

    @pytest.mark.parametrize(
        "name",
        [
            "os.system", "builtins.eval", "subprocess.Popen", "sklearn.decomposition.PCA", "PRank",
            "rankwise.ordinal", "rankwise.ordinal._prank.PRank", "rankwise.ordinal.np", "",
            "rankwise.datasets.load_movies", "rankwise.cli.main", "rankwise.absent.Model",
            "rankwise.recommend.Absent", "rankwise.ordinal.PRank.fit", "a" * 999, None, 3, ["a"],
            "rankwise.preference.quicksort", "rankwise.base.Ranking",
        ],
    )  # fmt: skip
    def test_other_classes(self, tmp_path, name):
        facts, arrays = parts(PRank())
        facts["model"]["class"] = name
        with pytest.raises(ValueError, match=r"not a class|not an estimator|no parameter|should"):
            load(forged(tmp_path, facts, arrays))

    def test_no_module_is_imported_for_a_name(self, tmp_path):
        facts, arrays = parts(PRank())
        facts["model"]["class"] = "antigravity.thing"
        path = forged(tmp_path, facts, arrays)
        code = (
            "import sys, rankwise\n"
            "try:\n    rankwise.load(sys.argv[1])\n"
            "except ValueError:\n    print('antigravity' in sys.modules)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "False"

    @pytest.mark.parametrize(
        "name",
        ["predict", "fit", "__class__", "__dict__", "_parameter_constraints", "_validate_params",
         "_metadata_request", "epochs", "a b", "", "_pass", "__sklearn_tags__"],
    )  # fmt: skip
    def test_attributes_that_hide_others(self, tmp_path, name):
        facts, arrays = parts(PRank())
        facts["model"]["learned"][name] = 1
        with pytest.raises(ValueError, match=r"can't have"):
            load(forged(tmp_path, facts, arrays))

    @pytest.mark.parametrize(
        ("name", "value"),
        [("epochs", 0), ("epochs", "x"), ("kernel", "eval"), ("nonsense", 1), ("vote", ["voted"])],
    )
    def test_parameters_that_are_not_valid(self, tmp_path, name, value):
        facts, arrays = parts(PRank())
        facts["model"]["params"][name] = value
        with pytest.raises(ValueError, match=name):
            load(forged(tmp_path, facts, arrays))

    @pytest.mark.parametrize("requests", [{"fit": {"x": True}}, {"eval": {}}, {"fit": 1}, 3,
                                          {"fit": {"classes": None}}])  # fmt: skip
    def test_requests(self, tmp_path, requests):
        facts, arrays = parts(PRank())
        facts["model"]["requests"] = requests
        with pytest.raises(ValueError, match="request"):
            load(forged(tmp_path, facts, arrays))

    @pytest.mark.parametrize("pos", [625, -1, 2**31, 2**63, 1.0])
    def test_a_generator_that_would_read_beside_its_key(self, tmp_path, pos):
        facts, arrays = parts(PRank(random_state=np.random.RandomState(0)))
        facts["model"]["params"]["random_state"]["RandomState"]["pos"] = pos
        with pytest.raises(ValueError, match="RandomState is not valid"):
            load(forged(tmp_path, facts, arrays))

    @pytest.mark.parametrize(
        ("attribute", "value"),
        [
            ("_n_features_outs", [1, 1, 1]),
            ("_n_features_outs", None),
            ("_infrequent_indices", [np.array([0]), None, None]),
            ("_infrequent_indices", [np.array([99]), None, None]),
            ("_infrequent_indices", [None]),
            ("_default_to_infrequent_mappings", [np.full(4, 9), None, None]),
            ("_default_to_infrequent_mappings", [np.zeros(2, int), None, None]),
            ("_default_to_infrequent_mappings", None),
            ("_drop_idx_after_grouping", np.array([0, 0, 99], dtype=object)),
            ("_drop_idx_after_grouping", np.array([0], dtype=object)),
            ("_drop_idx_after_grouping", np.array([0, None, -1], dtype=object)),
            ("categories_", [np.array([3.0, 1.0, 2.0])] * 3),
            ("categories_", [np.array([3.0, 1.0, 2.0], dtype=object)] * 3),
            ("categories_", [np.array(["3", "1", "2"])] * 3),
            ("categories_", [np.array(["a", "a", "b"])] * 3),
            ("categories_", [np.array([np.nan, 1.0, 2.0])] * 3),
            ("categories_", [np.array([])] * 3),
            ("categories_", [np.array([1.0, 2.0, 3.0])]),
            ("categories_", np.array([[1.0, 2.0, 3.0]] * 3)),
            ("n_features_in_", 2),
        ],
        ids=str,
    )
    def test_an_encoder_that_would_write_beside_its_columns(self, tmp_path, attribute, value):
        rows = np.array([[0, 1, 2], [1, 0, 0], [1, 1, 1], [2, 1, 1], [3, 2, 0]])
        encoder = OneHotEncoder(min_frequency=2, drop="first").fit(rows)
        save(make_pipeline(encoder, PRank()), tmp_path / "m")
        setattr(encoder, attribute, value)
        with pytest.raises(ValueError, match="OneHotEncoder"):
            save(make_pipeline(encoder, PRank()), tmp_path / "m")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rankwise.persistence._encode.check_loaded", lambda _: None)
            save(make_pipeline(encoder, PRank()), tmp_path / "m")
        with pytest.raises(ValueError, match="OneHotEncoder"):
            load(tmp_path / "m")

    @pytest.mark.parametrize(
        ("attribute", "value"),
        [
            ("_max_degree", 2**63),
            ("_max_degree", 3),
            ("_min_degree", 1),
            ("_n_out_full", 9),
            ("n_output_features_", 10**12),
            ("n_features_in_", 10**9),
            ("n_features_in_", 2),
            ("n_features_in_", 3.0),
            ("degree", 10**6),
            ("degree", (0, 10**6)),
        ],
        ids=str,
    )
    def test_monomials_without_end(self, tmp_path, attribute, value):
        facts, arrays = parts(make_pipeline(PolynomialFeatures(2), PRank()))
        step = facts["model"]["params"]["steps"][0]["tuple"][1]["estimator"]
        step["params" if attribute == "degree" else "learned"][attribute] = (
            {"tuple": list(value)} if isinstance(value, tuple) else value
        )
        with pytest.raises(ValueError, match="PolynomialFeatures"):
            load(forged(tmp_path, facts, arrays))

    @pytest.mark.parametrize("jobs", [512, 10**6, 1e9, {"scalar": ["<i8", "0002000000000000"]}])
    def test_a_file_starts_no_processes(self, tmp_path, jobs):
        facts, arrays = parts(OAPRank(2, random_state=0))
        facts["model"]["params"]["n_jobs"] = jobs
        assert load(forged(tmp_path, facts, arrays)).n_jobs is None
        step = make_pipeline(make_column_transformer((StandardScaler(), [0, 1])), PRank())
        facts, arrays = parts(step)
        columns = facts["model"]["params"]["steps"][0]["tuple"][1]["estimator"]
        columns["params"]["n_jobs"] = jobs
        assert load(forged(tmp_path, facts, arrays))[0].n_jobs is None

    @pytest.mark.parametrize("jobs", [None, 1, 2, 8, -1])
    def test_few_workers_are_kept(self, tmp_path, jobs):
        save(OAPRank(2, n_jobs=jobs), tmp_path / "m")
        assert load(tmp_path / "m").n_jobs == jobs

    @pytest.mark.parametrize("kind", ["set", "frozenset", "items"])
    def test_values_of_one_hash(self, tmp_path, kind):
        """A set of 20,000 of them took 7 s and more: n values take O(n^2)."""
        multiples = [k * (2**61 - 1) for k in range(1, 2_001)]
        pairs = [{"tuple": [k, "a"]} for k in multiples]
        facts, arrays = parts(PRank())
        for values in (multiples, pairs):
            content = {"keys": values, "values": values} if kind == "items" else values
            facts["model"]["learned"]["more_"] = {kind: content}
            with pytest.raises(ValueError, match="have one hash"):
                load(forged(tmp_path, facts, arrays))

    def test_many_values_of_many_hashes(self, tmp_path):
        facts, arrays = parts(PRank())
        facts["model"]["learned"]["more_"] = {"set": list(range(-20_000, 20_000))}
        assert len(load(forged(tmp_path, facts, arrays)).more_) == 40_000

    def test_an_array_that_is_used_many_times(self, tmp_path):
        """Each use takes time: a class that checks its arrays would check them again."""
        facts, arrays = parts(PRank())
        facts["model"]["learned"]["more_"] = [{"array": "x"}] * 20_000
        with pytest.raises(ValueError, match="max_bytes"):
            load(forged(tmp_path, facts, {**arrays, "x": np.zeros(10**6)}))

    def test_many_steps_that_take_long_to_check(self, tmp_path):
        """Each counts its monomials again: 27,000 of 10^6 columns took minutes."""
        facts, arrays = parts(make_pipeline(PolynomialFeatures(2), PRank()))
        step = facts["model"]["params"]["steps"][0]["tuple"][1]
        n = step["estimator"]["learned"]["n_features_in_"] = 10**6
        step["estimator"]["learned"]["_n_out_full"] = 1 + n + n * (n + 1) // 2
        step["estimator"]["learned"]["n_output_features_"] = 1 + n + n * (n + 1) // 2
        assert load(forged(tmp_path, facts, arrays))[0].n_features_in_ == n
        facts["model"]["params"]["steps"] = [{"tuple": ["a", step]}] * 300
        with pytest.raises(ValueError, match="max_bytes"):
            load(forged(tmp_path, facts, arrays), max_bytes=25 * 10**6)

    @pytest.mark.parametrize(
        ("part", "value"),
        [
            ("indices", [0, 99]),
            ("indices", [0, -1]),
            ("indptr", [0, 5]),
            ("indptr", [2, 0]),
            ("indptr", [-1, 0]),
        ],
    )
    def test_sparse_rows_that_lead_elsewhere(self, tmp_path, part, value):
        facts, arrays = parts(MPRank(kernel="rbf"), sparse_rows=True)
        place, number = value
        changed = arrays[f"X_fit_.{part}"].copy()
        changed[place] = number
        arrays[f"X_fit_.{part}"] = changed
        with pytest.raises(ValueError, match="sparse matrix is not valid"):
            load(forged(tmp_path, facts, arrays))

    @pytest.mark.parametrize("dtype", [np.int32, np.int64])
    def test_rows_whose_lengths_overflow(self, tmp_path, dtype):
        """Each difference of neighbours is at least 0, in the integers of the machine."""
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        rows = sparse.csr_array(np.eye(4))
        facts, arrays = parts(make_pipeline(PRank()))
        held = {"data": np.ones(4), "indices": np.arange(4, dtype=dtype)}
        held["indptr"] = np.array([0, most, least, -1, 4], dtype=dtype)
        assert (np.diff(held["indptr"]) >= 0).all()
        names = {part: {"array": part} for part in held}
        content = {**names, "shape": list(rows.shape)}
        facts["model"]["params"]["steps"].append({"csr_array": content})
        with pytest.raises(ValueError, match="sparse matrix is not valid"):
            load(forged(tmp_path, facts, {**arrays, **held}))

    def test_strings_whose_lengths_overflow(self, tmp_path):
        facts, arrays = parts(PRank())
        ends = np.array([2**63 - 1, -(2**63), -1, 4])
        facts["model"]["learned"]["more_"] = {"list": {"texts": ["u", "e"]}}
        held = {"u": np.full(4, 97, dtype=np.uint8), "e": ends}
        with pytest.raises(ValueError, match="do not end where they should"):
            load(forged(tmp_path, facts, {**arrays, **held}))

    @pytest.mark.parametrize("model", [PRank(kernel="rbf"), WidrowHoff(kernel="rbf", budget=5)])
    @pytest.mark.parametrize("place", [0, 2, -1])
    def test_kept_rows_that_lead_elsewhere(self, tmp_path, model, place):
        facts, arrays = parts(model, sparse_rows=True)
        for name, number in (("indptr", 0), ("indptr", 10**6), ("indices", -1), ("indices", 99)):
            changed = arrays[f"_state.supports_{name}"].copy()
            changed[place] = number
            if (changed == arrays[f"_state.supports_{name}"]).all():
                continue
            path = forged(tmp_path, facts, {**arrays, f"_state.supports_{name}": changed})
            with pytest.raises(ValueError, match=r"indptr|ind[ei][xc]"):
                load(path)

    def test_kept_rows_whose_lengths_overflow(self, tmp_path):
        facts, arrays = parts(PRank(kernel="rbf"), sparse_rows=True)
        ends = arrays["_state.supports_indptr"]
        limits = np.iinfo(ends.dtype)
        arrays["_state.supports_indptr"] = changed = np.full_like(ends, ends[-1])
        changed[:4] = 0, limits.max, limits.min, -1
        assert (np.diff(changed) >= 0).all()
        with pytest.raises(ValueError, match="supports_indptr falls"):
            load(forged(tmp_path, facts, arrays))

    @pytest.mark.parametrize("name", ["norms", "supports"])
    def test_kept_rows_of_another_type(self, tmp_path, name):
        facts, arrays = parts(PRank(kernel="rbf"), sparse_rows=True)
        arrays[f"_state.{name}"] = arrays[f"_state.{name}"].astype("U9")
        with pytest.raises(ValueError, match=f"{name} is <U9"):
            load(forged(tmp_path, facts, arrays))

    def test_an_array_that_belongs_to_nothing(self, tmp_path):
        facts, arrays = parts(PRank())
        with pytest.raises(ValueError, match="belongs to nothing"):
            load(forged(tmp_path, facts, {**arrays, "more": np.zeros(3)}))

    @pytest.mark.parametrize("missing", ["model", "schema", "made_with", "format"])
    def test_facts_that_are_missing(self, tmp_path, missing):
        facts, arrays = parts(PRank())
        del facts[missing]
        with pytest.raises(ValueError, match=r"it is not|it does|it lacks|it has no"):
            load(forged(tmp_path, facts, arrays))

    @pytest.mark.parametrize("schema", [0, -1, 1.0, "1", None, True, [1]])
    def test_schemas(self, tmp_path, schema):
        facts, arrays = parts(PRank())
        path = forged(tmp_path, {**facts, "schema": schema}, arrays)
        with pytest.raises(ValueError, match="not a model"):
            load(path)


class TestMemory:
    def test_what_grows_when_it_is_loaded_is_counted(self, tmp_path):
        """A small file whose texts, numbers or generators become many objects."""
        facts, arrays = parts(PRank(random_state=np.random.RandomState(0)))
        n = 5_000
        key = facts["model"]["params"]["random_state"]["RandomState"]
        grown = {
            "texts": ({"list": {"texts": ["u", "e"]}}, 20),
            "numbers": ({"list": {"numbers": "i"}}, 20),
            "objects": ({"objects": {"shape": [n], "values": {"numbers": "i"}}}, 20),
            "names": ({"items": {"keys": {"numbers": "i"}, "values": {"numbers": "i"}}}, 10),
            "generators": ({"RandomState": key}, 200),
        }
        more = {
            "u": np.zeros(2 * n, dtype=np.uint8) + 97,
            "e": np.arange(2, 2 * n + 2, 2),
            "i": np.arange(n) + 10**6,
        }
        used = {"texts": ("u", "e"), "generators": ()}
        cap = 3 * 10**6
        for kind, (value, times) in grown.items():
            bad = copy.deepcopy(facts)
            bad["model"]["learned"]["more_"] = [value] * times
            held = {name: more[name] for name in used.get(kind, ("i",))}
            path = forged(tmp_path, bad, {**arrays, **held})
            tracemalloc.start()
            with suppress(ValueError):
                load(path, max_bytes=cap)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < cap, kind

    @pytest.mark.parametrize("numbers", [[0, 2**62, 1], [2**70, 0, -1], [0, 10**9, 7]])
    def test_a_range_without_end(self, tmp_path, numbers):
        facts, arrays = parts(PRank())
        facts["model"]["params"]["label_order"] = {"range": numbers}
        with pytest.raises(ValueError, match="max_bytes"):
            load(forged(tmp_path, facts, arrays))


def test_the_packages_that_are_trusted_are_few():
    """A change here deserves a thought: what these export can be made by a file."""
    trusted = "ordinal magnitude pairwise boosting preference contests recommend"
    assert tuple(trusted.split()) == _registry._PACKAGES


def test_reading_needs_no_pickle(tmp_path):
    """No module that unpickles is asked for by the archive; NumPy's is told not to."""
    save(PRank(epochs=1).fit(X, y), tmp_path / "m")
    with (tmp_path / "m").open("rb") as file, pytest.MonkeyPatch.context() as patch:
        for name in ("load", "loads", "Unpickler"):
            patch.setattr(f"pickle.{name}", None)
        archive = Archive(file, max_bytes=2**30)
        assert archive.array("coef_").shape == (3,)
        assert load(tmp_path / "m").n_rounds_ == 30
