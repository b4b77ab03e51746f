"""The model of a stream: predict each row, learn it, and keep the position in the input."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from rankwise._core.arguments import shortened
from rankwise.cli._loops import scale_as_seen
from rankwise.cli._shared import column_not_found, count
from rankwise.comparison import Columns, look_at_columns, make_transformer, prepare
from rankwise.io.files import pandas
from rankwise.ordinal import OAPRank, PRank
from rankwise.persistence import load, read_notes, save

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Rows = NDArray[np.float64]
# A row, and what is wrong with it; the number of rows and "" if all are good.
Problem = tuple[int, str]
METHODS: dict[str, Callable[[], Any]] = {
    "averaged": lambda: PRank(vote="averaged"),
    "prank": lambda: PRank(vote=None),
    "pa": lambda: PRank(vote="averaged", update="pa"),
    "oap": lambda: OAPRank(random_state=0),
}
_MAX_LABELS = 1000
# Categories of a column that get a coefficient. A column with more of them in its first rows holds
# free text, as `look_at_columns` has it for a table of that many rows.
_MAX_CATEGORIES, _FIRST_ROWS = 100, 300
# The squares of larger numbers overflow.
_LARGEST = 1e100
# Rows at the start of an input by which it is recognised.
_MARK = 1000
START: dict[str, Any] = {"rows": 0, "digest": 0, "mark": [0, 0]}


class Learner:
    """Columns prepared as by `compare`, and an online model: the same bits for any blocks of rows.

    Attributes
    ----------
    notes : dict
        Saved with the model: columns by their ``kinds``, the ``categories`` seen so far, the
        position in the input (``rows``), the checksum of the rows before it (``digest``), and the
        number and the checksum of its first rows (``mark``).
    """

    def __init__(self, model: Any, notes: dict[str, Any], moments: Rows | None = None) -> None:
        self.model, self.notes, self.target = model, notes, notes["target"]
        self.columns = columns = Columns(*notes["kinds"])
        row: dict[str, Any] = dict.fromkeys(columns.names, "")
        row |= dict.fromkeys(columns.numbers, 0.0) | dict.fromkeys(columns.dates, "2000-01-01")
        self._example = prepare(pandas().DataFrame(row, index=[0]), columns)
        self._n_numbers = self._example.shape[1] - len(columns.categories)
        self._moments = np.zeros((3, self._n_numbers)) if moments is None else moments
        self._is_text = isinstance(notes["labels"][0], str)
        self._labels = pandas().Index(notes["labels"], dtype=object if self._is_text else None)

    @classmethod
    def new(cls, method: str, target: str, labels: Sequence[Any], columns: Columns) -> "Learner":
        """Return a model that has learned nothing."""
        if not 2 <= len(labels) <= _MAX_LABELS:
            raise click.ClickException(
                f"{target} has {count(len(labels), 'different value')}: expected 2 to "
                f"{_MAX_LABELS} grades; for numbers whose differences matter, use rankwise fit"
            )
        notes: dict[str, Any] = {"method": method, "target": target, "labels": [*labels]}
        notes |= {"kinds": [*columns], "categories": {name: [] for name in columns.categories}}
        model = METHODS[method]().set_params(label_order=[*labels])
        return cls(model, {**notes, **START, "loss": 0, "wrong": 0, "out": None})

    @classmethod
    def load(cls, path: Path) -> "Learner":
        """Return the model of a file that a stream has written."""
        notes, pipeline = read_notes(path).get("stream", {}), load(path)
        try:
            if "rows" not in notes:  # saved by rankwise 0.2, whose columns are all numbers
                notes |= {**START, "kinds": [notes["columns"], [], [], []], "categories": {}}
                rows = pipeline[1].n_rounds_
                # a row a line and a header, or the input is not recognised
                mark = [0, 0] if notes["line"] - rows in {0, 1} else [1, None]
                notes |= {"rows": rows, "digest": None, "mark": mark}
            learner = cls(pipeline[1], notes, _moments_of(pipeline[0]))
            n, model = learner._n_numbers, learner.model
            known = isinstance(model, PRank | OAPRank) and not learner._labels.empty
            known = known and notes.keys() >= {*START, "method", "out", "loss", "wrong"}
            widths = learner._moments.shape[1], model.n_features_in_
            if not known or widths != (n, n + _MAX_CATEGORIES * len(notes["categories"])):
                raise ValueError("other columns than the model's")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise click.ClickException(
                f"{path} was not written by rankwise stream: give --model another file"
            ) from error
        return learner

    @property
    def rounds(self) -> int:
        """The number of rows that were learned."""
        return int(getattr(self.model, "n_rounds_", 0))

    def losses(self) -> tuple[float, float]:
        """Return the mean rank loss and the share of mistakes over all rows so far."""
        n = max(self.rounds, 1)
        return self.notes["loss"] / n, self.notes["wrong"] / n

    def encode(self, frame: "DataFrame", start: int) -> tuple[Rows, str]:
        """Return the rows before the first bad one, and what is wrong with that one, or "".

        A row holds its numbers, NaN where one is missing; the place of each category among those of
        its column, -1 if it has none; and the rank of its grade. New categories get a place.

        Parameters
        ----------
        frame : pandas.DataFrame
            Rows of the input.
        start : int
            The position of the first one.
        """
        frame = frame.reset_index(drop=True)
        frame.attrs = {}  # pandas copies them at each step
        columns, target = self.columns, self.target
        known = [*columns.numbers] if self._is_text else [*columns.numbers, target]
        named = [*columns.categories, target] if self._is_text else [*columns.categories]
        problems = [_odd_cell(frame[name]) for name in known]
        frame = frame[: min(problems)[0]]
        # a date column without dates is read as numbers
        empty = [name for name in columns.dates if frame[name].isna().all()]
        frame = frame.astype(dict.fromkeys(empty, "datetime64[ns]"))
        prepared = prepare(frame, Columns(known, named, columns.dates, []))
        numbers = prepared.drop(columns=[target, *columns.categories]).to_numpy(np.float64)
        ranks = self._labels.get_indexer(prepared[target])
        problems.append(self._not_a_grade(frame[target], ranks))
        problems += [self._free_text(prepared[name], start) for name in columns.categories]
        n, why = min(problems, key=lambda problem: (problem[0], not problem[1]))
        codes = [self._places(prepared[name][:n]) for name in columns.categories]
        rows = np.column_stack([numbers[:n], *codes, ranks[:n]])
        return np.ascontiguousarray(rows) + 0.0, why  # no -0.0

    def _not_a_grade(self, grades: "Series[Any]", ranks: NDArray[np.intp]) -> Problem:
        for row in np.flatnonzero(ranks < 0)[:1].tolist():
            listed = ", ".join(map(str, self._labels[:12]))
            what = f"{grades[row]} is not among the labels {listed}; --labels names all of them"
            missing = pandas().isna(grades[row])
            return row, f"column {self.target!r}: {'the grade is missing' if missing else what}"
        return len(grades), ""

    def _free_text(self, values: "Series[Any]", start: int) -> Problem:
        """Return the row at which there are too many categories, if it is one of the first."""
        known = self.notes["categories"][values.name]
        late = values[~values.isin(known)].drop_duplicates()[_MAX_CATEGORIES - len(known) :].index
        before = self.rounds - self.notes["rows"] + start
        if len(late) and before + late[0] < _FIRST_ROWS:
            why = f"more than {_MAX_CATEGORIES} different values in {_FIRST_ROWS} rows"
            text = f"column {values.name!r} holds free text, {why}: leave it out with --ignore"
            return int(late[0]), f"{text} {values.name}"
        return len(values), ""

    def _places(self, values: "Series[Any]") -> NDArray[np.intp]:
        """Return the places of categories in their column; new ones get the next places."""
        known = self.notes["categories"][values.name]
        new = values[~values.isin(known)].drop_duplicates()
        known.extend(new[: _MAX_CATEGORIES - len(known)])
        return pandas().Index(known, dtype=object).get_indexer(values)

    def learn(self, rows: Rows) -> NDArray[Any]:
        """Predict each row by the model that has learned all rows before it, and learn it."""
        moments, notes = self._moments.copy(), self.notes
        width = self._n_numbers
        numbers = scale_as_seen(np.ascontiguousarray(rows[:, :width].T), *moments)
        places = np.arange(_MAX_CATEGORIES)
        indicators = [codes[:, None] == places for codes in rows[:, width:-1].T]
        ranks = rows[:, -1].astype(np.int64)
        labels = self._labels.to_numpy()[ranks]
        guesses = self.model.partial_fit_predict(np.hstack([numbers, *indicators]), labels)
        apart = np.abs(self._labels.get_indexer(guesses) - ranks)
        notes["loss"] += int(apart.sum())
        notes["wrong"] += int(np.count_nonzero(apart))
        n_first, digest = notes["mark"]
        if n_first == notes["rows"] < _MARK:
            first = rows[: _MARK - n_first]
            notes["mark"] = [n_first + len(first), crc32(first.data, digest)]
        notes["digest"] = crc32(rows.data, notes["digest"])
        notes["rows"] += len(rows)
        self._moments = moments
        return guesses

    def save(self, path: Path) -> None:
        """Write the model, with the columns as it takes them, and its notes."""
        categories, transformer = self.notes["categories"], make_transformer(self.columns)
        if categories:
            free = [f"(free {place})" for place in range(_MAX_CATEGORIES)]
            slots = [np.array([*c, *free[len(c) :]], object) for c in categories.values()]
            transformer.set_params(categories__categories=slots)
        transformer.fit(self._example)
        if steps := _steps_of(transformer):
            counts, mean, variance = self._moments
            steps[0].statistics_ = mean
            steps[-1].mean_, steps[-1].var_ = mean, variance
            steps[-1].scale_ = np.where(variance > 0, np.sqrt(variance), 1.0)
            steps[-1].n_samples_seen_ = counts.astype(np.int64)
        pipeline = Pipeline([("columns", transformer), ("model", self.model)])
        save(pipeline, path, notes={"stream": self.notes})


def _steps_of(transformer: Any) -> Any:
    """Return the steps for columns of numbers; None without such columns."""
    parts = getattr(transformer, "named_transformers_", {"numbers": transformer})
    return parts.get("numbers")


def _moments_of(transformer: Any) -> NDArray[np.float64]:
    """Return how many numbers each column has had, their mean and variance."""
    steps = _steps_of(transformer)
    scaler = steps[-1] if isinstance(steps, Pipeline) else steps
    if scaler is None:
        return np.empty((3, 0))
    counts = np.broadcast_to(scaler.n_samples_seen_, np.shape(scaler.mean_))
    return np.array([counts, scaler.mean_, scaler.var_], np.float64)


def not_numbers(column: "Series[Any]") -> NDArray[np.bool_]:
    """Return which cells are neither missing nor numbers that can be learned."""
    pd, known = pandas(), column.notna().to_numpy()
    if pd.api.types.is_datetime64_any_dtype(column):
        return known
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return known & ~(np.abs(numbers) < _LARGEST) & ~np.isinf(numbers)


def _odd_cell(column: "Series[Any]") -> Problem:
    """Return the first cell that is not a number."""
    odd = not_numbers(column)
    if not odd.any():
        return len(odd), ""
    row = int(odd.argmax())
    remedy = f"correct it, or leave the column out with --ignore {column.name}"
    what = f"{shortened(column.tolist()[row])} is not a number below {_LARGEST:g}"
    return row, f"column {column.name!r}: {what}: {remedy}"


def columns_of(first: "DataFrame", target: str, ignored: Sequence[str]) -> Columns:
    """Return the columns to learn from, by what most of the first rows have."""
    names = [str(name) for name in first.columns]
    for option, name in [("--target", target), *(("--ignore", name) for name in ignored)]:
        if name not in names:
            raise column_not_found(option, name, names)
    if target in ignored:
        raise ValueError(f"--ignore {target}: it is the target; name other columns")
    features = [name for name in names if name != target and name not in ignored]
    if not features:
        raise ValueError(f"no column is left to learn {target} from")
    categorical = pandas().CategoricalDtype
    numbers = [
        name
        for name in features
        if not isinstance(first[name].dtype, categorical)
        and 2 * not_numbers(first[name]).sum() <= first[name].notna().sum()
    ]
    others = [name for name in features if name not in numbers]
    # two values are never taken for free text, of which `Learner.encode` decides
    kinds = [look_at_columns(first[[name]].dropna()[:2], [name]) for name in others]
    dates = [name for kind in kinds for name in kind.dates]
    return Columns(numbers, [name for name in others if name not in dates], dates, [])


def parse_labels(text: str) -> list[Any]:
    """Return labels from the lowest to the highest: "1-5" is five, a list keeps its order."""
    first, dash, last = text.partition("-")
    if dash and first.strip().isdigit() and last.strip().isdigit():
        low, high = int(first), int(last)
        if not 0 < high - low < _MAX_LABELS:
            raise click.ClickException(
                f"--labels {text}: give 2 to {_MAX_LABELS} grades, from the lowest to the highest"
            )
        return list(range(low, high + 1))
    labels = as_numbers([part.strip() for part in text.split(",") if part.strip()])
    if not labels or len(set(labels)) < len(labels):
        problem = "a grade is duplicated" if labels else "no grade is named"
        raise click.ClickException(
            f"--labels {text}: {problem}; expected a list such as 1-5 or poor,fair,good"
        )
    return labels


def as_numbers(labels: Sequence[Any]) -> list[Any]:
    """Return labels as integers if all are, as numbers if all are that, else unchanged."""
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        return list(labels)
    return [int(x) for x in numbers] if all(x.is_integer() for x in numbers) else numbers
