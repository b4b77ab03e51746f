"""What is looked at in a step of scikit-learn that comes out of a file.

scikit-learn believes what its estimators have learned. Where a forged one could make compiled code
read or write beside an array, or read a pickle, it is refused here; elsewhere NumPy and SciPy look
at every index themselves.
"""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

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
