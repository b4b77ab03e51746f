"""Which classes may be in a file.

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
"""

from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from inspect import getattr_static, isclass
from typing import Any

from sklearn.base import BaseEstimator

from rankwise.persistence._steps import (
    check_columns,
    check_encoder,
    check_jobs,
    check_monomials,
    check_pipeline,
)

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
    "rankwise._core.kernels.Anchored",
    "rankwise._core.kernels.Kernel",
    "rankwise.contests._loops.likelihood.Cells",
    "rankwise.magnitude.statistics.Query",
    "rankwise.magnitude.statistics.Scatter",
    "rankwise.magnitude.statistics.Statistics",
    "rankwise.recommend.taste.DenseKernel",
    "rankwise.recommend.taste.FactorKernel",
    "rankwise.recommend.taste.Taste",
    "rankwise.recommend.taste_fit.OwnRows",
    "rankwise._core.votes.Votes",
    "rankwise.ordinal._landmarks.LandmarkRidge",
    "rankwise.contests._goodness_of_fit.Met",
    "rankwise.recommend.RatingTable",
    "rankwise.recommend.catalogue.Catalogue",
    "rankwise.recommend._choice.ChoiceModel",
    "rankwise.recommend._ids.Ids",
)

# Names in files that version 0.2 wrote, and what they are now.
_RENAMED = {
    "rankwise.engine.kernels.Anchored": "rankwise._core.kernels.Anchored",
    "rankwise.engine.kernels.Kernel": "rankwise._core.kernels.Kernel",
    "rankwise.engine.loops.contests.likelihood.Cells": "rankwise.contests._loops.likelihood.Cells",
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
    "rankwise.preference._goodness.Met": "rankwise.contests._goodness_of_fit.Met",
    "rankwise.recommend._catalogue.Catalogue": "rankwise.recommend.catalogue.Catalogue",
}

_LOOKS = {
    "ColumnTransformer": check_columns,
    "OneHotEncoder": check_encoder,
    "Pipeline": check_pipeline,
    "PolynomialFeatures": check_monomials,
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
