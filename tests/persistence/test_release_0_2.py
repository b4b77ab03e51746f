"""Files that rankwise 0.2.0 wrote, one of each kind of model, load and answer as they did then."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import load, save

DATA = Path(__file__).parent / "data" / "release-0.2"
ANSWERS = json.loads((DATA / "answers.json").read_text())


def rows():
    """Return 36 rows of small integers."""
    i = np.arange(36)
    return np.column_stack([i % 5 - 2, i % 7 - 3, i % 3]).astype(float)


def answers(model):
    """Return what a model answers, as lists of numbers."""
    if hasattr(model, "person"):
        return model.predict(np.array([0, 3, 7]), np.array([1, 4, 2])).tolist()
    if hasattr(model, "items_"):
        pairs = [(u, v) for u in model.items_ for v in model.items_ if u != v]
        return [float(model.prefer(u, v)) for u, v in pairs]
    if hasattr(model, "prefer"):
        return model.prefer(rows()[:-1], rows()[1:]).tolist()
    return np.asarray(model.predict(rows())).tolist()


@pytest.mark.parametrize("name", ANSWERS)
def test_a_file_of_0_2_answers_as_it_did(name, tmp_path):
    with warnings.catch_warnings():
        # of steps of scikit-learn, which change
        warnings.filterwarnings("ignore", "the model has steps of scikit-learn")
        model = load(DATA / f"{name}.rankwise")
        save(model, tmp_path / "again")
        again = load(tmp_path / "again")
    for copy in (model, again):
        if hasattr(copy, "table"):
            assert copy.table()["p_best"].sum() == pytest.approx(1.0)
        assert_allclose(answers(copy), ANSWERS[name], rtol=1e-9, atol=1e-12)
