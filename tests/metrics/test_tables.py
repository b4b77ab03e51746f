"""The table of list measures: each has a scorer, a literal form, and its place in the documents."""

import re
from inspect import getmembers, isfunction
from pathlib import Path

import numpy as np
import pytest

from rankwise import metrics
from rankwise.cli._first_calls import FIRST_CALLS, make_data
from rankwise.metrics import lists
from rankwise.metrics.lists import LIST_MEASURES
from tests.reference import LIST_MEASURES as LITERAL

DOCS = Path(__file__).parents[2] / "docs"
# They need an argument or listed pairs, or a model's own ``score`` is the same.
WITHOUT_SCORER = {
    "labelled_pairs_loss",
    "pair_accuracy_score",
    "partial_auc_score",
    "positives_at_top_score",
    "precision_at_top_score",
}


def test_every_function_is_in_the_table_under_its_name():
    functions = {name for name, _ in getmembers(lists, isfunction) if name.endswith("_score")}
    assert functions == {f"{name}_score" for name in LIST_MEASURES}
    for name, measure in LIST_MEASURES.items():
        assert measure.__name__ == f"{name}_score"


def test_every_list_measure_has_a_literal_form():
    assert LIST_MEASURES.keys() == LITERAL.keys()


@pytest.mark.parametrize("name", LIST_MEASURES)
def test_every_list_measure_is_exported_with_its_scorer(name):
    assert getattr(metrics, f"{name}_score") is LIST_MEASURES[name]
    assert getattr(metrics, f"{name}_scorer")._score_func is LIST_MEASURES[name]
    assert {f"{name}_score", f"{name}_scorer"} <= set(metrics.__all__)


def measures():
    """Return the names of the public losses and scores."""
    return [name for name in metrics.__all__ if re.search(r"_(loss|error|score)$", name)]


def test_every_measure_is_in_the_guide():
    pages = "".join(
        path.read_text(encoding="utf-8") for path in sorted((DOCS / "user_guide").glob("*.md"))
    )
    assert [name for name in measures() if not re.search(rf"\b{name}\b", pages)] == []


def test_every_list_measure_is_in_the_changelog():
    text = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [name for name in LIST_MEASURES if f"{name}_score" not in text] == []


def test_every_loss_of_pairs_and_lists_has_a_scorer():
    without = [
        name
        for name in measures()
        if not {f"{name.removesuffix('_score')}_scorer", f"neg_{name}_scorer"}
        & set(metrics.__all__)
    ]
    assert set(without) == WITHOUT_SCORER


def test_warmup_calls_every_list_measure():
    found = FIRST_CALLS["all list measures"].call(make_data())
    assert len(found) == len(LIST_MEASURES)
    assert np.isfinite(found).all()
