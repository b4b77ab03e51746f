"""Classes that may be in a file, and checks of the steps of scikit-learn among them.

A class is named in a file as ``module.Class``, and only these names are ever imported:

- every estimator that a package of algorithms exports (`_PACKAGES`);
- the steps and classifiers of scikit-learn in `_SKLEARN`;
- the small records in `_RECORDS` that models keep: NamedTuples, dataclasses and other classes.

**To make a class savable**, export it from its package if it is an estimator, or else add its name
to the records. What it holds must be of the kinds that `rankwise.persistence._kinds` lists: the
fields of a NamedTuple or dataclass, what ``__getstate__`` returns if the class has that and
``__setstate__``, or else all attributes. A ``functools.cached_property`` is left out, and so are
the names in a class attribute ``_not_saved``: what is made again when it is asked for.

A class may have a method ``_check_loaded(self)``, which is called when all attributes are there,
and raises a ValueError if they do not belong together. It has to look at whatever a compiled loop
would take on trust.

scikit-learn believes what its estimators have learned. Where a forged one could make compiled code
read or write beside an array, or read a pickle, it is refused here; elsewhere NumPy and SciPy look
at every index themselves.
"""

import itertools
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from inspect import getattr_static, isclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
    "rankwise.recommend.taste_fit.OwnRows",
    "rankwise._core.votes.Votes",
    "rankwise.ordinal._landmarks.LandmarkRidge",
    "rankwise.contests._likelihood.Met",
    "rankwise.recommend.RatingTable",
    "rankwise.recommend.catalogue.Catalogue",
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
    "rankwise.engine.solvers.taste_fit.OwnRows": "rankwise.recommend.taste_fit.OwnRows",
    "rankwise.engine.votes.Votes": "rankwise._core.votes.Votes",
    "rankwise.pairwise.RankBoost": "rankwise.boosting.RankBoost",
    "rankwise.preference.BradleyTerry": "rankwise.contests.BradleyTerry",
    "rankwise.preference.EloRating": "rankwise.contests.EloRating",
    "rankwise.preference.PlackettLuce": "rankwise.contests.PlackettLuce",
    "rankwise.preference._goodness.Met": "rankwise.contests._likelihood.Met",
    "rankwise.recommend._catalogue.Catalogue": "rankwise.recommend.catalogue.Catalogue",
}

# What our own code raises if it is given something that it never was made for.
_STUMBLES = (ArithmeticError, AttributeError, LookupError, TypeError)


def name_of(cls: type) -> str | None:
    """Return the name of a class in files, None if it can't be in one."""
    parts = cls.__module__.split(".")
    known = [*_SKLEARN, *_RECORDS]
    if parts[0] == "rankwise" and len(parts) > 1 and parts[1] in _PACKAGES:
        known.append(f"rankwise.{parts[1]}.{cls.__name__}")
    for name in known:
        if name.rpartition(".")[2] == cls.__name__ and name.startswith(f"{parts[0]}."):
            try:
                if class_of(name) is cls:
                    return name
            except ValueError:
                continue
    return None


def class_of(name: str) -> type:
    """Return the class of a name in a file.

    Raises
    ------
    ValueError
        If the name is not one of those that may be. Nothing is imported then.
    """
    name = _RENAMED.get(name, name)
    module, _, short = name.rpartition(".")
    packages = [f"rankwise.{package}" for package in _PACKAGES]
    found = None
    if name in _SKLEARN or name in _RECORDS:
        found = getattr(_module(module), short, None)
    elif module in packages and short.isidentifier():
        found = _exported(module, short)
    if not isclass(found):
        raise ValueError(
            f"{name[:120]!r} is no class that rankwise loads from a file, or this version does not "
            "have it: update rankwise, if you trust who made the file"
        )
    return found


def is_sklearn(name: str) -> bool:
    """Whether the class of a name is one of scikit-learn's."""
    return name in _SKLEARN


def savable_steps() -> list[str]:
    """Return the names of scikit-learn's classes that a user may put into a pipeline."""
    return [name.rpartition(".")[2] for name, made_by in _SKLEARN.items() if not made_by]


def check_attributes(cls: type, names: set[str]) -> None:
    """Refuse names that an instance of a class can't have as attributes.

    Those of a NamedTuple or dataclass are its fields; a field of a dataclass that has a default may
    be absent, since files of older versions don't have it. No attribute may hide one of the class,
    such as a method.
    """
    wanted: set[str] | None = None
    if is_dataclass(cls):
        wanted = {field.name for field in fields(cls)}
        needed = {field.name for field in fields(cls) if field.default is MISSING}
    elif issubclass(cls, tuple):
        wanted = needed = set(cls._fields)  # type: ignore[attr-defined]
    if wanted is not None:
        if not needed <= names <= wanted:
            raise ValueError(f"a {cls.__name__} has {sorted(wanted)}, not {sorted(names)[:20]}")
        return
    for name in sorted(names):
        hidden = getattr_static(cls, name, None) is not None
        if not name.isidentifier() or name.startswith("__") or hidden:
            raise ValueError(f"a {cls.__name__} can't have the attribute {name[:80]!r}")


def has_own_state(cls: type) -> bool:
    """Whether a record says itself what its state is."""
    return hasattr(cls, "__setstate__") and not is_dataclass(cls)


def set_state(record: Any, values: dict[str, Any]) -> None:
    """Give a new record its attributes, frozen or not."""
    if not has_own_state(type(record)):
        for name, value in values.items():
            object.__setattr__(record, name, value)
        return
    try:
        record.__setstate__(values)
    except _STUMBLES as error:
        raise ValueError(f"a {type(record).__name__} can't be made of this: {error}") from error


def check_loaded(value: Any) -> None:
    """Refuse an object whose attributes do not belong together."""
    look = _LOOKS.get(type(value).__name__, getattr(type(value), "_check_loaded", None))
    try:
        check_jobs(value)
        if look is not None:
            look(value)
    except _STUMBLES as error:
        raise ValueError(
            f"what a {type(value).__name__} has learned does not belong together: {error}"
        ) from error


def _exported(module: str, name: str) -> Any:
    """Return an estimator that a package exports, or None."""
    package = _module(module)
    found = getattr(package, name, None) if name in getattr(package, "__all__", ()) else None
    return found if isclass(found) and issubclass(found, BaseEstimator) else None


def _module(name: str) -> Any:
    """Return a module of the list, None if this version does not have it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None


# Workers are started by their number, whether there is work for them or not.
_MOST_JOBS = 512
# Monomials are counted again when they come out of a file, which takes time and memory.
_MOST_DEGREE, _MOST_COLUMNS = 255, 10**6


def check_jobs(model: Any) -> None:
    """Refuse more workers than any machine has."""
    jobs = getattr(model, "n_jobs", None)
    if isinstance(jobs, int) and jobs > _MOST_JOBS:
        raise ValueError(f"n_jobs={jobs} can't be in a file: use {_MOST_JOBS} or fewer")


def check_pipeline(pipeline: Any) -> None:
    """Refuse a cache, which holds pickles, and what is no list of steps."""
    if pipeline.memory is not None:
        raise ValueError(
            f"memory={str(pipeline.memory)[:80]!r} of a Pipeline can't be in a file, since the "
            "cache there would be of pickles: use memory=None"
        )
    _check_steps("steps", pipeline.steps, 2)


def check_columns(transformer: Any) -> None:
    """Refuse what is no list of transformers."""
    _check_steps("transformers", transformer.transformers, 3)
    _check_steps("transformers_", getattr(transformer, "transformers_", []), 3)


def check_encoder(encoder: Any) -> None:
    """Refuse a OneHotEncoder whose columns would lie outside of its CSR rows.

    They are made of the places of values among the categories, groups of rare ones and dropped ones
    taken into account, and of counts that were kept apart.
    """
    if not hasattr(encoder, "categories_"):
        return
    categories = encoder.categories_
    n = encoder.n_features_in_
    good = type(n) is int and isinstance(categories, list) and len(categories) == n
    if not (good and all(map(_are_categories, categories))):
        raise ValueError("the categories of a OneHotEncoder are not valid, or not sorted")
    sizes = [len(values) for values in categories]
    if encoder._infrequent_enabled:
        rare, groups = encoder._infrequent_indices, encoder._default_to_infrequent_mappings
        if not len(rare) == len(groups) == n:
            raise ValueError("the rare categories of a OneHotEncoder are not valid")
        sizes = [_grouped(*one) for one in zip(sizes, rare, groups, strict=True)]
    dropped = encoder._drop_idx_after_grouping
    left = [None] * n if dropped is None else dropped.tolist()
    if len(left) != n or any(
        place is not None and not (type(place) is int and 0 <= place < size)
        for place, size in zip(left, sizes, strict=True)
    ):
        raise ValueError("what a OneHotEncoder drops is none of its categories")
    columns = [size - (place is not None) for size, place in zip(sizes, left, strict=True)]
    if encoder._n_features_outs != columns:
        raise ValueError("a OneHotEncoder has other numbers of columns than of categories")


def check_monomials(step: Any) -> None:
    """Refuse PolynomialFeatures whose counts are not those that follow from its parameters."""
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
    again = clone(step).fit(np.zeros((1, n)))
    if any(getattr(step, name) != getattr(again, name) for name in learned):
        raise ValueError("PolynomialFeatures has other numbers of columns than its degree gives")


def _check_steps(name: str, steps: Any, width: int) -> None:
    if not isinstance(steps, list | tuple):
        raise ValueError(f"{name} is {type(steps).__name__}, where a list of steps is wanted")
    for step in steps:
        named = isinstance(step, list | tuple) and len(step) == width and isinstance(step[0], str)
        if not (named and (step[1] is None or isinstance(step[1], str | BaseEstimator))):
            raise ValueError(f"{name} has {str(step)[:80]}, where a name and a step are wanted")


def _are_categories(values: Any) -> bool:
    """Whether values are distinct and, if numbers may be looked for among them, sorted.

    scikit-learn finds numbers by bisection, which leads outside of what is not sorted. Texts are
    looked up, but for those that numbers could be compared with. What is missing stands at the end.
    """
    if not (isinstance(values, np.ndarray) and values.ndim == 1 and len(values)):
        return False
    listed = values.tolist()
    while listed and _is_missing(listed[-1]):
        listed.pop()
    if all(isinstance(value, str | bytes) and not _is_number(value) for value in listed):
        return len(set(listed)) == len(listed)
    return all(a < b for a, b in itertools.pairwise(listed))


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _grouped(size: int, rare: Any, groups: Any) -> int:
    """Return how many categories are left when the rare ones are one."""
    if rare is None and groups is None:
        return size
    left = size - len(rare) + 1
    good = _are_places(rare, size) and 1 <= len(rare) == len(set(rare.tolist()))
    if not (good and _are_places(groups, left) and len(groups) == size):
        raise ValueError("the rare categories of a OneHotEncoder are not valid")
    return left


def _are_places(places: NDArray[Any] | Any, size: int) -> bool:
    whole = isinstance(places, np.ndarray) and places.ndim == 1 and places.dtype.kind in "iu"
    return whole and bool(((places >= 0) & (places < size)).all())


_LOOKS = {
    "ColumnTransformer": check_columns,
    "OneHotEncoder": check_encoder,
    "Pipeline": check_pipeline,
    "PolynomialFeatures": check_monomials,
}
