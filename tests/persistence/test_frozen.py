"""Files of every schema that there has been are read, and predict what they did."""

import json
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankwise import load, save
from rankwise.persistence._models import SCHEMA, read_facts

DATA = Path(__file__).parent / "data"
EXPECTED = {
    (path.stem, name): case
    for path in sorted(DATA.glob("schema-*.json"))
    for name, case in json.loads(path.read_text()).items()
}


def freeze():
    spec = spec_from_file_location("freeze", Path(__file__).parent / "freeze.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def frozen(case):
    with warnings.catch_warnings():
        # of steps of scikit-learn, which change
        warnings.filterwarnings("ignore", "the model has steps of scikit-learn")
        return load(DATA / "{}-{}.rankwise".format(*case))


def test_every_schema_has_its_files():
    assert {schema for schema, _ in EXPECTED} == {f"schema-{n}" for n in range(1, SCHEMA + 1)}
    assert len(EXPECTED) == len(list(DATA.glob("*.rankwise")))


@pytest.mark.parametrize("case", EXPECTED, ids="-".join)
def test_a_frozen_model_predicts_what_it_did(case):
    made = freeze()
    asked = made.given(EXPECTED[case]["asked"])
    said = np.array(made.said(frozen(case), asked))
    expected = np.array(EXPECTED[case]["said"])
    if expected.dtype.kind == "f":
        assert_allclose(said, expected, rtol=1e-9, atol=1e-12)
    else:
        assert_array_equal(said, expected)


@pytest.mark.parametrize("case", EXPECTED, ids="-".join)
def test_a_frozen_model_is_saved_again_in_today_s_schema(case, tmp_path, same):
    model = frozen(case)
    save(model, tmp_path / "m")
    assert read_facts(tmp_path / "m")[0]["schema"] == SCHEMA
    assert same(load(tmp_path / "m"), model)


def test_frozen_streams_go_on():
    X, y, qid = freeze().rows()
    for name in ("members", "budget"):
        model = frozen(("schema-1", name))
        before = model.n_rounds_
        assert model.partial_fit(X, y).n_rounds_ == before + len(y)
    model = frozen(("schema-1", "queries"))
    with pytest.raises(ValueError, match="'a' is closed"):
        model.partial_fit(X, y, qid=qid)
    model.partial_fit(X[1::2], y[1::2], qid=qid[1::2])
