"""A model and a table: which columns are what, rows as the model takes them, what it says."""

from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from rankwise._core.labels import to_ranks
from rankwise.cli._shared import column_not_found, note
from rankwise.comparison import prepare_like, read_table
from rankwise.comparison.trials import project
from rankwise.io.files import pandas
from rankwise.persistence import load, read_notes
from rankwise.recommend import TasteModel

_STRINGS = {"kind", "target", "query", "user", "item", "rating", "name"}


class Kept(NamedTuple):
    """A model out of a file, and what is known of the table that it was fitted to.

    ``facts`` has of ``kind``, ``target``, ``query``, ``user``, ``item``, ``rating``, ``labels`` and
    ``columns`` what the file says.
    """

    path: Path
    model: Any
    facts: dict[str, Any]

    @property
    def last(self) -> Any:
        """The model without the steps before it."""
        return self.model[-1] if isinstance(self.model, Pipeline) else self.model

    @property
    def before(self) -> Any:
        """The steps before the model, None if there are none."""
        many = isinstance(self.model, Pipeline) and len(self.model) > 1
        return self.model[:-1] if many else None

    @property
    def graded(self) -> bool:
        """Whether it predicts grades."""
        return hasattr(self.last, "classes_")

    @property
    def labels(self) -> list[Any] | None:
        """The grades, lowest first, None if nothing says them."""
        return self.last.classes_.tolist() if self.graded else self.facts.get("labels")


class Read(NamedTuple):
    """The rows of a table, a data frame, and the parts of columns that its format tells."""

    frame: Any
    roles: dict[str, str]


def load_model(path: Path) -> Kept:
    """Load a model and the facts that are stored with it."""
    notes = read_notes(path)
    table, stream = notes.get("table"), notes.get("stream")
    facts = {"kind": "grades", **stream} if isinstance(stream, dict) else table
    return Kept(path, load(path), _valid_facts(facts) if isinstance(facts, dict) else {})


def _valid_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that are used, as far as they have their types: a stranger wrote them."""
    return {
        part: value
        for part, value in facts.items()
        if (part in _STRINGS and isinstance(value, str))
        or (
            part in {"labels", "columns"}
            and isinstance(value, list)
            and all(isinstance(one, str | int | float) for one in value)
        )
    }


def read_frame(path: Path, reading: dict[str, Any]) -> Read:
    """Read a table of rows; ``reading`` overrides what is guessed."""
    table = read_table(path, **reading)
    if table.frame is None:
        raise click.ClickException(f"{path} holds rankings: they are for rankwise aggregate {path}")
    note(f"{path}: {len(table.frame):,} rows, {table.what}")
    # rows are counted from the first of the file, also when some of them are taken
    return Read(table.frame.reset_index(drop=True), table.roles)


def rows_for(kept: Kept, table: Read) -> Any:
    """Return the rows of a table as a model takes them."""
    if "columns" in kept.facts:
        return _numbers(table.frame, kept.facts["columns"])
    if hasattr(kept.model, "feature_names_in_"):
        rows = prepare_like(table.frame, kept.model)
        if kept.before is None and not get_tags(kept.model).input_tags.allow_nan:
            _check_finite(rows)
        return rows
    known = {kept.facts.get("target"), kept.facts.get("query"), *table.roles.values()}
    features = [name for name in table.frame.columns if name not in known]
    expected = getattr(kept.model, "n_features_in_", None)
    if len(features) != expected:
        raise click.ClickException(
            f"{kept.path} was fitted to {expected} columns without names, and the table has "
            f"{len(features)}: keep only the columns of the model"
        )
    return _numbers(table.frame, features)


def predictions(kept: Kept, table: Read) -> NDArray[Any]:
    """Return what a model says of each row: a grade, or a score."""
    if isinstance(kept.last, TasteModel):
        user, item = (column_of(kept, table, part) for part in ("user", "item"))
        return np.asarray(kept.last.predict(table.frame[user], table.frame[item]))
    return np.asarray(kept.model.predict(rows_for(kept, table)))


def scores(kept: Kept, table: Read) -> NDArray[np.float64]:
    """Return the scores by which a model ranks rows."""
    if not kept.graded:
        return predictions(kept, table).astype(np.float64)
    projections = project(kept.model, rows_for(kept, table))
    if projections is not None:
        return projections
    # there is no line, such as with a score for each grade: by the grades, then
    return to_ranks(predictions(kept, table), kept.last.classes_).astype(np.float64)


def column_of(kept: Kept, table: Read, part: str, given: str | None = None) -> str:
    """Return the column of a part: the one that is given, else the model's, else the format's."""
    name = given or kept.facts.get(part) or table.roles.get(part)
    if not name:
        listed = ", ".join(map(str, table.frame.columns[:12]))
        raise click.ClickException(f"--{part}: name one of the columns {listed}")
    if name not in table.frame:
        raise column_not_found(f"--{part}", str(name), table.frame.columns)
    return str(name)


def list_column(kept: Kept, table: Read, given: str | None) -> str | None:
    """Return the column of lists: users, of a model of ratings. None if the table has no lists."""
    part = "user" if kept.facts.get("kind") == "ratings" else "query"
    known = given or kept.facts.get(part) or table.roles.get("query")
    if not given and known not in table.frame:
        return None
    return column_of(kept, table, part, known)


def _numbers(frame: Any, names: list[str]) -> NDArray[np.float64]:
    absent = [name for name in names if name not in frame]
    if absent:
        raise click.ClickException(
            f"the model learned from {', '.join(absent)}, which this table does not have"
        )
    return _check_finite(frame[names].apply(pandas().to_numeric, errors="coerce"))


def _check_finite(rows: Any) -> NDArray[np.float64]:
    """Return rows as an array; raise if a number is missing, and count its row from 1."""
    numbers: NDArray[np.float64] = rows.to_numpy(np.float64)
    for row, column in np.argwhere(~np.isfinite(numbers))[:1]:
        raise click.ClickException(
            f"row {rows.index[row] + 1} has no number in column {str(rows.columns[column])!r}: "
            "remove the row, or correct the number"
        )
    return numbers
