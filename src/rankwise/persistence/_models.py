"""Save and load models, and read the notes of a model file."""

import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

import rankwise
from rankwise._core.arguments import check_whole, shortened, warn_user
from rankwise._core.files import replacing
from rankwise.persistence._archive import Archive, write_archive
from rankwise.persistence._decode import Decoder
from rankwise.persistence._encode import Encoder
from rankwise.persistence._registry import name_of

FORMAT = "rankwise model"
# Raised when a file of today could be read wrongly by the rankwise of yesterday.
SCHEMA = 1
MAX_BYTES = 2**30
# Names and labels that are written out for people, who find more of them in the arrays only.
_LISTED = 10_000


def save(
    model: BaseEstimator, path: str | os.PathLike[str], *, notes: dict[str, Any] | None = None
) -> None:
    """Save a model as one file of arrays and JSON, without pickle.

    The file is complete or, if anything goes wrong, not there; one that it replaces stays until
    then. Equal models give equal files, byte for byte. Takes O(size of the model).

    Parameters
    ----------
    model : estimator
        A model of rankwise, fitted or not, or a `Pipeline` of one with scikit-learn's
        ``StandardScaler``, ``MinMaxScaler``, ``SimpleImputer``, ``PolynomialFeatures``,
        ``Nystroem``, ``ColumnTransformer`` and ``OneHotEncoder``.
    path : str or path
        The file is written at exactly this path.
    notes : dict, default=None
        Something small to keep with the model, such as where its data ended: what JSON can hold.

    Raises
    ------
    ValueError
        If the model has something in it that a file can't hold, such as a function for a kernel
        or another step. Nothing is written then.

    See Also
    --------
    load : Load what was saved.
    read_notes : Read what was kept with it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import rankwise
    >>> from rankwise.ordinal import PRank
    >>> model = PRank(epochs=1).fit([[0.0], [1.0], [2.0]], [1, 2, 3])
    >>> path = Path(tempfile.mkdtemp()) / "grades.rankwise"
    >>> rankwise.save(model, path)
    >>> rankwise.load(path).partial_fit([[3.0]], [3]).n_rounds_
    4
    """
    target, kept = _checked(path), _checked_notes(notes)
    if not isinstance(model, BaseEstimator) or isinstance(model, type):
        raise ValueError(f"model={shortened(model)} must be an estimator")
    encoder = Encoder()
    encoded = encoder.encode(model)
    facts = {
        "format": FORMAT,
        "schema": SCHEMA,
        "class": name_of(type(model)),
        "made_with": {
            "rankwise": rankwise.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "input": _input(model),
        "training": _training(model),
        **({"notes": kept} if kept else {}),
        "model": encoded["estimator"],
    }
    with replacing(target) as temporary, temporary.open("wb") as file:
        write_archive(file, facts, encoder.arrays)
        file.flush()


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Load a model that `save` has saved.

    Nothing in the file is run. Every size in it is checked before memory is asked for, and every
    byte against a digest. Takes O(size of the file).

    Parameters
    ----------
    path : str or path
        The file.
    max_bytes : int, default=2**30
        How much memory the model may take, 40 bytes for each of the JSON in the file included.

    Returns
    -------
    estimator
        With the parameters and all that was learned, to the last bit. An online model goes on as
        if it had not been away.

    Raises
    ------
    ValueError
        If the file is not a model, was truncated or altered, was written by a newer rankwise whose
        files this one can't read, or would take more memory.
    OSError
        If it can't be opened.

    Warns
    -----
    UserWarning
        If the model has steps of scikit-learn and was saved with another version of it, 1.9
        instead of 1.8, say: what these have learned may have another meaning.

    See Also
    --------
    save : Save a model.

    Notes
    -----
    A digest shows that a file is unchanged, not who wrote it. A model of somebody you do
    not trust can't run code or crash your program, but it can predict what its maker likes, and
    take time and memory for it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import rankwise
    >>> from rankwise.magnitude import MPRank
    >>> path = Path(tempfile.mkdtemp()) / "ratings.rankwise"
    >>> rankwise.save(MPRank(C=10.0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0]), path)
    >>> rankwise.load(path)
    MPRank(C=10.0)
    """
    source, most = _checked(path), check_whole(max_bytes, "max_bytes")
    with _opened(source) as file:
        try:
            archive = Archive(file, max_bytes=most)
            made_with = _check_facts(archive.facts)
            decoder = Decoder(archive)
            model = decoder.decode({"estimator": archive.facts["model"]})
            decoder.finish()
        except ValueError as error:
            raise ValueError(f"{source} can't be loaded: {error}") from error
    if decoder.of_sklearn:
        _compare(made_with.get("scikit-learn"), sklearn.__version__)
    return model


def read_notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `save` kept with a model, without loading the model.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    dict
        Empty if nothing was kept. A stranger may have written it: check what you use.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rankwise.magnitude import MPRank
    >>> from rankwise.persistence import read_notes, save
    >>> path = Path(tempfile.mkdtemp()) / "ratings.rankwise"
    >>> save(MPRank(), path, notes={"target": "rating"})
    >>> read_notes(path)
    {'target': 'rating'}
    """
    notes = read_facts(path)[0].get("notes", {})
    return notes if isinstance(notes, dict) else {}


def read_facts(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the JSON of a file, and what it says of its arrays, of which none is read."""
    with _opened(_checked(path)) as file:
        try:
            archive = Archive(file, max_bytes=2**63)
            _check_facts(archive.facts)
        except ValueError as error:
            raise ValueError(f"{path} can't be read: {error}") from error
        return archive.facts, archive.arrays


def _checked(path: Any) -> Path:
    if not (isinstance(path, str | os.PathLike) and os.fspath(path)):
        raise ValueError(f"path={shortened(path)} must be the path of a file")
    return Path(path)


def _checked_notes(notes: Any) -> dict[str, Any]:
    """Return notes as they will be read again."""
    if notes is not None and not isinstance(notes, dict):
        raise ValueError(f"notes={shortened(notes)} must be a dict")
    try:
        return json.loads(json.dumps(notes or {}, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"notes={shortened(notes)} must be what JSON can hold: {error}") from error


def _opened(path: Path) -> BinaryIO:
    """Open a regular file: others would not end, or never begin."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"path={str(path)!r} is a folder, a pipe or a device: name a file")
    return path.open("rb")


def _check_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Raise unless this is a model that can be read; return the versions that made it."""
    schema, made_with = facts.get("schema"), facts.get("made_with")
    if facts.get("format") != FORMAT or type(schema) is not int or schema < 1:
        raise ValueError("it is not a model of rankwise")
    if not isinstance(made_with, dict):
        raise ValueError("it lacks the versions that made it")
    if schema > SCHEMA:
        raise ValueError(
            f"it was saved by rankwise {str(made_with.get('rankwise'))[:40]!r} in schema {schema}, "
            f"and this version reads schemas up to {SCHEMA}: update rankwise"
        )
    if "model" not in facts:
        raise ValueError("it has no model")
    return made_with


def _compare(then: Any, now: str) -> None:
    """Warn if steps of scikit-learn come from another version of it, patches apart."""
    if not isinstance(then, str) or then.split(".")[:2] != now.split(".")[:2]:
        warn_user(
            f"the model has steps of scikit-learn {str(then)[:40]!r}, and this is {now}: compare "
            "some predictions with those of before, or fit again"
        )


def _input(model: Any) -> dict[str, Any]:
    """Return what rows a model takes, and its labels in their order, for people to read."""
    names, labels = getattr(model, "feature_names_in_", None), getattr(model, "classes_", None)
    return {
        "n_features": getattr(model, "n_features_in_", None),
        "feature_names": None if names is None else _plain(names),
        "feature_dtypes": _dtypes(model),
        "labels": None if labels is None else _plain(labels),
        "label_dtype": None if labels is None else np.asarray(labels).dtype.str,
    }


def _dtypes(model: Any) -> Any:
    """Return the dtypes of the columns as far as a model tells: of all, or by the column."""
    if isinstance(model, Pipeline):
        return _dtypes(model.steps[0][1]) if model.steps else None
    if isinstance(model, OneHotEncoder):
        return [values.dtype.str for values in getattr(model, "categories_", [])] or None
    if isinstance(model, ColumnTransformer):
        parts = [
            {
                "columns": _plain(columns)
                if isinstance(columns, list | tuple | np.ndarray)
                else str(columns),
                "dtypes": dtypes,
            }
            for _, step, columns in getattr(model, "transformers_", [])
            if (dtypes := _dtypes(step)) is not None
        ]
        return parts or None
    if isinstance(model, SimpleImputer):
        return model._fit_dtype.str if hasattr(model, "_fit_dtype") else None
    return "<f8" if hasattr(model, "n_features_in_") else None


def _training(model: Any) -> dict[str, Any]:
    """Return the numbers and words that a model has learned: rows, mistakes, steps, objective."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) and model.steps else model
    if not isinstance(last, BaseEstimator):
        return {}
    found = {k: v for k, v in sorted(vars(last).items()) if k[-1] == "_" and k[0] != "_"}
    numbers = {k: v.item() if isinstance(v, np.generic) else v for k, v in found.items()}
    return {k: _word(v) for k, v in numbers.items() if isinstance(v, bool | int | float | str)}


def _plain(values: Any) -> list[Any] | None:
    """Return values that JSON has, and others as strings; None for very many."""
    if len(values) > _LISTED:
        return None
    return [_word(value) for value in np.asarray(values).tolist()]


def _word(value: Any) -> Any:
    finite = isinstance(value, float) and np.isfinite(value)
    return value if finite or isinstance(value, int | str) else str(value)
