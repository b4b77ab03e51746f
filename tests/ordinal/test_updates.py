"""The table of updates: each has all that an update needs, and its memory goes where it goes."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils._param_validation import StrOptions

from rankwise import load, save
from rankwise.ordinal import OAPRank, PRank
from rankwise.ordinal._loops.prank import UPDATES
from tests.reference import PRANK_UPDATES

DOCS = Path(__file__).parents[2] / "docs"


def stream(n=90):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    return X, np.digitize(X @ [1.0, -1.0, 0.5], [-0.7, 0.7])


@pytest.fixture
def memory(monkeypatch):
    """Give an update three numbers to keep, though it uses none."""
    monkeypatch.setitem(UPDATES, "pa", UPDATES["pa"]._replace(memory=3))


def test_every_update_has_a_code_of_its_own():
    assert [update.code for update in UPDATES.values()] == list(range(len(UPDATES)))


def test_every_update_has_a_reference_implementation():
    assert UPDATES.keys() == PRANK_UPDATES.keys()


@pytest.mark.parametrize("cls", [PRank, OAPRank])
def test_every_update_is_an_option_and_in_the_docstring(cls):
    assert cls._parameter_constraints["update"][0].options == StrOptions(set(UPDATES)).options
    listed = re.search(r"update : {(.*?)}", cls.__doc__)
    assert listed
    assert listed[1] == ", ".join(f'"{name}"' for name in UPDATES)


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("page", ["online_variants.md", "ensembles.md"])
def test_every_update_is_in_the_user_guide(name, page):
    assert f'"{name}"' in (DOCS / "user_guide" / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", UPDATES)
def test_every_update_is_in_the_changelog(name):
    assert name in (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8").lower()


@pytest.mark.parametrize("name", UPDATES)
def test_a_rule_with_fixed_steps_warns_of_long_rows(name):
    X, y = stream()
    model = PRank(update=name, epochs=1)
    if UPDATES[name].fixed_steps:
        with pytest.warns(UserWarning, match="thresholds of PRank move by 1"):
            model.fit(1e6 * X, y)
    else:
        model.fit(1e6 * X, y)


@pytest.mark.parametrize("update", UPDATES)
def test_the_state_of_members_is_what_grows_with_them(update):
    X, y = stream()
    states = [OAPRank(n, update=update, epochs=1, random_state=0).fit(X, y)._state for n in (5, 9)]
    growing = [name for name in states[0] if states[0][name].shape != states[1][name].shape]
    assert set(growing) == set(OAPRank._member_state) & states[0].keys()
    for name in growing:
        assert [len(state[name]) for state in states] == [5, 9]


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    "model",
    [
        PRank(update="pa", vote=None),
        PRank(update="pa"),
        PRank(update="pa", vote="voted"),
        PRank(update="pa", kernel="rbf"),
        OAPRank(7, update="pa", random_state=0),
        OAPRank(7, update="pa", kernel="rbf", random_state=0),
    ],
    ids=str,
)
def test_a_memory_is_kept_within_a_stream_and_in_a_file(model, tmp_path):
    X, y = stream()
    members = (7,) if isinstance(model, OAPRank) else ()
    model.partial_fit(X, y, classes=[0, 1, 2])
    memory = model._state["memory"]
    assert_array_equal(memory, np.zeros((*members, 3)))
    model._state["memory"] = np.arange(memory.size, dtype=float).reshape(memory.shape)
    save(model, tmp_path / "model")
    for one in (model, load(tmp_path / "model")):
        one.partial_fit(X, y)
        assert_array_equal(one._state["memory"].ravel(), np.arange(memory.size))
    model.set_params(update="perceptron").partial_fit(X, y)
    assert "memory" not in model._state


@pytest.mark.usefixtures("memory")
def test_a_memory_of_the_wrong_shape_or_kind_is_not_used():
    X, y = stream()
    model = OAPRank(7, update="pa", random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    for bad in (np.zeros((6, 3)), np.zeros(20), np.zeros((7, 3), dtype=np.int64)):
        model._state["memory"] = bad
        with pytest.raises(ValueError, match="memory"):
            model.partial_fit(X, y)
    model._state["memory"] = np.ones((7, 2))
    assert_array_equal(model.partial_fit(X, y)._state["memory"], np.zeros((7, 3)))


@pytest.mark.usefixtures("memory")
def test_a_memory_travels_with_the_members_of_a_block():
    da = pytest.importorskip("dask.array")
    from dask.distributed import Client, LocalCluster

    from rankwise.distributed import fit

    X, y = stream()
    estimator = OAPRank(9, update="pa", epochs=1, shuffle=False, random_state=0)
    alone = OAPRank(9, update="pa", epochs=1, shuffle=False, random_state=0).fit(X, y)
    with (
        LocalCluster(
            n_workers=2, processes=False, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        found = fit(estimator, da.from_array(X, (30, 3)), da.from_array(y, 30), client=client)
    assert found._state["memory"].shape == (9, 3)
    assert found._state.keys() == alone._state.keys()
    for name, array in alone._state.items():
        assert_array_equal(found._state[name], array)
