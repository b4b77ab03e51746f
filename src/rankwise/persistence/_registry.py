"""Classes that may be in a file, and checks of the steps of scikit-learn among them.

A class is named in a file as ``module.Class``, and only these names are ever imported:

- every estimator that a package of algorithms exports (`_PACKAGES`);
- the steps and classifiers of scikit-learn in `_SKLEARN`;
- the small records in `_RECORDS` that models keep: NamedTuples, dataclasses and other classes.

**To make a class savable**, export it from its package if it is an estimator, or else add its name
to the records. What it holds must be of the kinds that `rankwise.persistence._encode` lists: the
fields of a NamedTuple or dataclass, what ``__getstate__`` returns if the class has that and
``__setstate__``, or else all attributes. A ``functools.cached_property`` is left out, and so are
the names in a class attribute ``_not_saved``: what is made again when it is asked for.

A class may have a method ``_check_loaded(self)``, which is called when all attributes are there,
and raises a ValueError if they do not belong together. It has to look at whatever a compiled loop
would take on trust.

scikit-learn does not check what its estimators have learned. Where a forged one could make compiled
code read or write outside an array, or read a pickle, it is refused here; elsewhere NumPy and SciPy
check every index.
"""

import itertools
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from inspect import getattr_static, isclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

# Packages whose exported estimators can be saved.
_PACKAGES = (
    "ordinal",
    "magnitude",
    "pairwise",
    "boosting",
    "preference",
    "contests",
    "recommend",
)

# Classes of scikit-learn: the steps before a model, the default classifier of pairs, a score of
# thresholds, and what these make for themselves when they are fitted.
_SKLEARN = {
    "sklearn.compose.ColumnTransformer": "",
    "sklearn.dummy.DummyRegressor": "",
    "sklearn.impute.SimpleImputer": "",
    "sklearn.kernel_approximation.Nystroem": "",
    "sklearn.linear_model.LogisticRegression": "",
    "sklearn.linear_model.Ridge": "",
    "sklearn.pipeline.Pipeline": "",
    "sklearn.preprocessing.MinMaxScaler": "",
    "sklearn.preprocessing.OneHotEncoder": "",
    "sklearn.preprocessing.PolynomialFeatures": "",
    "sklearn.preprocessing.StandardScaler": "",
    "sklearn.impute.MissingIndicator": "made by SimpleImputer",
    "sklearn.preprocessing.FunctionTransformer": "made by ColumnTransformer for 'passthrough'",
}

_RECORDS = (
    "rankwise.base.Ranking",
    "rankwise.comparison.methods.BestColumn",
    "rankwise.comparison.methods.GradeProbabilities",
    "rankwise._core.kernels.Anchored",
    "rankwise._core.kernels.Kernel",
    "rankwise.contests._loops.Cells",
    "rankwise.magnitude._online.Points",
    "rankwise.magnitude.statistics.Query",
    "rankwise.magnitude.statistics.Scatter",
    "rankwise.magnitude.statistics.Statistics",
    "rankwise.recommend.taste.DenseKernel",
    "rankwise.recommend.taste.FactorKernel",
    "rankwise.recommend.taste.Taste",
    "rankwise.recommend.taste.OwnRows",
    "rankwise._core.votes.Votes",
    "rankwise.ordinal._landmarks.LandmarkRidge",
    "rankwise.contests._likelihood.Met",
    "rankwise.recommend.RatingTable",
    "rankwise.recommend.person.Catalogue",
    "rankwise.recommend._choice.ChoiceModel",
    "rankwise.recommend._ids.Ids",
)

# Names in files that version 0.2 wrote, and what they are now.
_RENAMED = {
    "rankwise.engine.kernels.Anchored": "rankwise._core.kernels.Anchored",
    "rankwise.engine.kernels.Kernel": "rankwise._core.kernels.Kernel",
    "rankwise.engine.loops.contests.likelihood.Cells": "rankwise.contests._loops.Cells",
    "rankwise.engine.solvers.statistics.Query": "rankwise.magnitude.statistics.Query",
    "rankwise.engine.solvers.statistics.Scatter": "rankwise.magnitude.statistics.Scatter",
    "rankwise.engine.solvers.statistics.Statistics": "rankwise.magnitude.statistics.Statistics",
    "rankwise.engine.solvers.taste.DenseKernel": "rankwise.recommend.taste.DenseKernel",
    "rankwise.engine.solvers.taste.FactorKernel": "rankwise.recommend.taste.FactorKernel",
    "rankwise.engine.solvers.taste.Taste": "rankwise.recommend.taste.Taste",
    "rankwise.engine.solvers.taste_fit.OwnRows": "rankwise.recommend.taste.OwnRows",
    "rankwise.engine.votes.Votes": "rankwise._core.votes.Votes",
    "rankwise.pairwise.RankBoost": "rankwise.boosting.RankBoost",
    "rankwise.preference.BradleyTerry": "rankwise.contests.BradleyTerry",
    "rankwise.preference.EloRating": "rankwise.contests.EloRating",
    "rankwise.preference.PlackettLuce": "rankwise.contests.PlackettLuce",
    "rankwise.preference._goodness.Met": "rankwise.contests._likelihood.Met",
    "rankwise.recommend._catalogue.Catalogue": "rankwise.recommend.person.Catalogue",
}

# What code raises if it gets something that it never was made for.
STUMBLES = (ArithmeticError, AttributeError, LookupError, TypeError)
# Monomials are counted again when they come out of a file, which takes time and memory.
_MOST_DEGREE, _MOST_COLUMNS = 255, 10**6


def name_of(cls: type) -> str | None:
    """Return the name of a class in files, None if it can't be in one."""
    package = ".".join(cls.__module__.split(".")[:2])
    for name in (f"{package}.{cls.__name__}", *_SKLEARN, *_RECORDS):
        if name.rpartition(".")[2] == cls.__name__ and _find(name) is cls:
            return name
    return None


def class_of(name: str) -> type:
    """Return the class of a name in a file.

    Raises
    ------
    ValueError
        If the name is not one of those that may be. Nothing is imported then.
    """
    found = _find(_RENAMED.get(name, name)) if isinstance(name, str) else None
    if found is None:
        raise ValueError(
            f"{str(name)[:120]!r} is not a class that rankwise loads from a file, or this version "
            "does not have it: update rankwise, if you trust who made the file"
        )
    return found


def _find(name: str) -> type | None:
    """Return the class of a name, None if it is not one that may be in a file."""
    module, _, short = name.rpartition(".")
    if name in _SKLEARN or name in _RECORDS:
        return getattr(import_module(module), short)
    if module not in [f"rankwise.{package}" for package in _PACKAGES]:
        return None
    package = import_module(module)
    found = getattr(package, short) if short in package.__all__ else None
    return found if isclass(found) and issubclass(found, BaseEstimator) else None


def savable_steps() -> list[str]:
    """Return the names of scikit-learn's classes that a user may put into a pipeline."""
    return [name.rpartition(".")[2] for name, made_by in _SKLEARN.items() if not made_by]


def check_attributes(cls: type, names: set[str]) -> None:
    """Raise if an instance of a class can't have attributes of these names.

    Those of a NamedTuple or dataclass are its fields; a field of a dataclass that has a default may
    be absent, since files of older versions don't have it. No attribute may hide one of the class,
    such as a method.
    """
    if is_dataclass(cls) or issubclass(cls, tuple):
        needed = known = set(getattr(cls, "_fields", ()))
        if is_dataclass(cls):
            known = {field.name for field in fields(cls)}
            needed = {field.name for field in fields(cls) if field.default is MISSING}
        if not needed <= names <= known:
            raise ValueError(f"a {cls.__name__} has {sorted(known)}, not {sorted(names)[:20]}")
        return
    for name in sorted(names):
        hidden = getattr_static(cls, name, None) is not None
        if not name.isidentifier() or name.startswith("__") or hidden:
            raise ValueError(f"a {cls.__name__} can't have the attribute {name[:80]!r}")


def has_own_state(cls: type) -> bool:
    """Return whether a record says itself what its state is."""
    return hasattr(cls, "__setstate__") and not is_dataclass(cls)


def check_loaded(value: Any) -> None:
    """Raise if the attributes of an object do not belong together."""
    check = _CHECKS.get(type(value).__name__, getattr(type(value), "_check_loaded", None))
    try:
        if check is not None:
            check(value)
    except STUMBLES as error:
        raise ValueError(
            f"what a {type(value).__name__} has learned does not belong together: {error}"
        ) from error


def _check_pipeline(pipeline: Any) -> None:
    """Raise if there is a cache, which holds pickles, or what is not a list of steps."""
    if pipeline.memory is not None:
        raise ValueError(
            f"memory={str(pipeline.memory)[:80]!r} of a Pipeline can't be in a file, since the "
            "cache there would be of pickles: use memory=None"
        )
    _check_steps("steps", pipeline.steps, 2)


def _check_columns(transformer: Any) -> None:
    _check_steps("transformers", transformer.transformers, 3)
    _check_steps("transformers_", getattr(transformer, "transformers_", []), 3)


def _check_steps(name: str, steps: Any, width: int) -> None:
    for step in steps if isinstance(steps, list | tuple) else [steps]:
        named = isinstance(step, list | tuple) and len(step) == width and isinstance(step[0], str)
        if not (named and (step[1] is None or isinstance(step[1], str | BaseEstimator))):
            raise ValueError(f"{name} has {str(step)[:80]}, where a name and a step are expected")


def _check_encoder(encoder: Any) -> None:
    """Raise if the columns of a OneHotEncoder would lie outside of its CSR rows.

    They are made of the positions of values among the categories, groups of rare ones and dropped
    ones taken into account, and of counts that were kept apart.
    """
    if not hasattr(encoder, "categories_"):
        return
    categories, n = encoder.categories_, encoder.n_features_in_
    good = type(n) is int and isinstance(categories, list) and len(categories) == n
    _require_encoder(good and all(map(_are_categories, categories)))
    sizes = [len(values) for values in categories]
    if encoder._infrequent_enabled:
        rare, groups = encoder._infrequent_indices, encoder._default_to_infrequent_mappings
        _require_encoder(len(rare) == len(groups) == n)
        sizes = [_n_groups(*column) for column in zip(sizes, rare, groups, strict=True)]
    drop = encoder._drop_idx_after_grouping
    dropped = [None] * n if drop is None else drop.tolist()
    _require_encoder(len(dropped) == n)
    for column, (place, size) in enumerate(zip(dropped, sizes, strict=True)):
        if place is not None:
            _require_encoder(type(place) is int and 0 <= place < size)
            sizes[column] -= 1
    _require_encoder(encoder._n_features_outs == sizes)


def _require_encoder(condition: bool) -> None:
    if not condition:
        raise ValueError("the categories and columns of a OneHotEncoder contradict each other")


def _are_categories(values: Any) -> bool:
    """Return whether values are distinct and, if numbers may be looked for among them, sorted.

    scikit-learn finds numbers by bisection, which leads outside of what is not sorted. Strings are
    looked up, but for those that numbers could be compared with. What is missing is at the end.
    """
    if not (isinstance(values, np.ndarray) and values.ndim == 1 and len(values)):
        return False
    present = values.tolist()
    while present and (present[-1] is None or present[-1] != present[-1]):
        present.pop()
    if all(isinstance(value, str | bytes) and not _is_number(value) for value in present):
        return len(set(present)) == len(present)
    return all(a < b for a, b in itertools.pairwise(present))


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _n_groups(size: int, rare: Any, groups: Any) -> int:
    """Return the number of categories after the rare ones became one."""
    if rare is None and groups is None:
        return size
    n_groups = size - len(rare) + 1
    _require_encoder(1 <= len(rare) == len(set(rare.tolist())) and len(groups) == size)
    for positions, most in ((rare, size), (groups, n_groups)):
        _require_encoder(positions.ndim == 1 and positions.dtype.kind in "iu")
        _require_encoder(bool(((positions >= 0) & (positions < most)).all()))
    return n_groups


def _check_monomials(step: Any) -> None:
    """Raise if the counts of PolynomialFeatures are not those that follow from its parameters."""
    learned = ("_min_degree", "_max_degree", "_n_out_full", "n_output_features_")
    if not any(hasattr(step, name) for name in learned):
        return
    n = step.n_features_in_
    degrees = step.degree if isinstance(step.degree, list | tuple) else [step.degree]
    small = all(type(degree) is int and degree <= _MOST_DEGREE for degree in degrees)
    if not (small and type(n) is int and 1 <= n <= _MOST_COLUMNS):
        raise ValueError(
            f"PolynomialFeatures of degree {str(step.degree)[:80]} on {str(n)[:80]} columns can't "
            f"be in a file: {_MOST_DEGREE} and {_MOST_COLUMNS:,} are the most"
        )
    again = clone(step).fit(sparse.csr_array((1, n)))
    if any(getattr(step, name) != getattr(again, name) for name in learned):
        raise ValueError("PolynomialFeatures has other numbers of columns than its degree gives")


_CHECKS = {
    "ColumnTransformer": _check_columns,
    "OneHotEncoder": _check_encoder,
    "Pipeline": _check_pipeline,
    "PolynomialFeatures": _check_monomials,
}
