"""Columns of a table: their kinds, and how they become numbers."""

import re
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rankwise._core.arguments import shortened
from rankwise.io.files import pandas

if TYPE_CHECKING:
    from pandas import DataFrame, Series

HASHED = 32
MISSING = "(missing)"
# A text column is of categories up to so many values, and if values come back so often.
_MOST_CATEGORIES, _LEAST_ROWS_EACH = 100, 3
_DATE = re.compile(r"[0-9]{4}[-/][0-9]{1,2}([-/][0-9]{1,2})?([T ][0-9:.,]+(Z|[+-][0-9:]+)?)?")
# What is made of a date: days since 1970, and where that is on each of these cycles.
DAYS = " (days)"
_CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}
_WAVES = {"sin": np.sin, "cos": np.cos}
_MADE = re.compile(
    r"(.*)( \(days\)| \((?:year|week|day) (?:sin|cos)\)| \(word ([0-9]+) of ([0-9]+)\))"
)
_IDENTIFIER = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|index|idx|key|rownames?|row|code|nr|no|number|num)$"
)
# Columns of whose values several rows may be of one person or place.
_GROUPS = re.compile(
    r"(^|[^a-z])(id|subject|patient|person|participant|respondent|student|pupil|school|class|user|"
    r"customer|client|family|household|worker|rater|judge|assessor|reviewer|player|team|animal|"
    r"batch|site|hospital|village|cluster|group)s?([^a-z]*id)?$"
)
_UNNAMED = re.compile(r"|Unnamed: [0-9]+")
_MOST_WORDS = 8


class Columns(NamedTuple):
    """The columns of a table by their kinds, each a list of names."""

    numbers: list[str]
    categories: list[str]
    dates: list[str]
    texts: list[str]

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [*self.numbers, *self.categories, *self.dates, *self.texts]


def as_frame(frame: Any) -> "DataFrame":
    """Return a table as a pandas frame whose columns are named by strings."""
    pd = pandas()
    found = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    if not isinstance(found, pd.DataFrame):
        raise ValueError(f"frame={type(frame).__name__} must be a dataframe of pandas or polars")
    named = found.rename(columns=str)
    if named.columns.duplicated().any():
        twice = named.columns[named.columns.duplicated()][0]
        raise ValueError(f"two columns are named {twice!r}: rename one of them")
    return named


def look_at_columns(frame: "DataFrame", names: Sequence[str]) -> Columns:
    """Return columns by their kinds.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    names : sequence of str
        The columns to look at.
    """
    found = Columns([], [], [], [])
    for name in names:
        getattr(found, kind_of(frame[name])).append(name)
    return found


def kind_of(column: "Series[Any]") -> str:
    """Return numbers, categories, dates or texts."""
    pd = pandas()
    types = pd.api.types
    if types.is_datetime64_any_dtype(column):
        return "dates"
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "categories"
    known = column.dropna()
    few = known.nunique() <= min(_MOST_CATEGORIES, max(2, len(known) / _LEAST_ROWS_EACH))
    if types.is_numeric_dtype(column):  # bool is one
        return "categories" if few and _is_identifier(str(column.name), column) else "numbers"
    known = known.astype(str)
    if known.empty or 2 * odd_values(column).size < len(known):
        return "numbers"
    if all(_DATE.fullmatch(value.strip()) for value in known.iloc[:200]) and _are_dates(known):
        return "dates"
    return "categories" if few else "texts"


def odd_values(column: "Series[Any]") -> "Series[Any]":
    """Return the values of a column that are not numbers."""
    known = column.dropna()
    return known[pandas().to_numeric(known, errors="coerce").isna()]


def _is_identifier(name: str, column: "Series[Any]") -> bool:
    """Whether a column of integers is named like an identifier."""
    return (
        pandas().api.types.is_integer_dtype(column)
        and _IDENTIFIER.search(_spaced(name)) is not None
    )


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def may_be_group(column: "Series[Any]") -> bool:
    """Whether the rows of one value may belong together, such as those of one patient.

    The column is named like that, or is of names that come back a few times.
    """
    values = column.dropna()
    n, rows = values.nunique(), len(values)
    if not 5 <= n <= rows / 1.5 or values.dtype.kind == "f":
        return False
    if _GROUPS.search(_spaced(str(column.name))):
        return True
    names = not pandas().api.types.is_numeric_dtype(column) and kind_of(column) == "categories"
    return names and n >= 10 and rows <= 10 * n


def identifiers(frame: "DataFrame", names: Sequence[str]) -> dict[str, str]:
    """Return columns that name rows, or count them, and why that is believed."""
    reasons = {name: _why_identifier(frame[name], first=name == frame.columns[0]) for name in names}
    return {name: why for name, why in reasons.items() if why}


def _why_identifier(column: "Series[Any]", *, first: bool) -> str:
    pd, name, n = pandas(), str(column.name), len(column)
    if first and _UNNAMED.fullmatch(name):
        return "has no name, like an index that was written to the file"
    integers = pd.api.types.infer_dtype(column, skipna=True) == "integer"
    distinct = column.nunique()
    # integers that no float tells apart are no numbers to compute with
    named = integers and (_is_identifier(name, column) or column.astype(float).nunique() < distinct)
    if distinct < n:
        if named and kind_of(column) == "numbers":
            return "is an identifier with many values"
        return ""
    if integers:
        low = column.min()
        if low in {0, 1} and column.max() - low == n - 1:
            return "counts the rows"
        return "is another integer in each row" if named else ""
    if kind_of(column) != "texts":
        return ""
    words = column.astype(str).str.split().str.len()
    return "names the rows" if words.mean() <= _MOST_WORDS else ""


def _are_dates(known: "Series[Any]") -> bool:
    return not pandas().to_datetime(known, errors="coerce", utc=True, format="mixed").isna().any()


def prepare(frame: "DataFrame", columns: Columns) -> "DataFrame":
    """Return numbers and categories alone: dates become numbers, words are hashed.

    Missing values stay missing in numbers, and are a separate category.
    """
    parts: dict[str, Any] = {name: _numbers(frame[name], name) for name in columns.numbers}
    parts |= {name: _categories(frame[name]) for name in columns.categories}
    for name in columns.dates:
        parts |= _parts_of_date(frame[name], name)
    for name in columns.texts:
        parts |= _hashed(frame[name], name, HASHED)
    return pandas().DataFrame(parts, index=frame.index)


def prepare_like(frame: "DataFrame", transformer: Any) -> "DataFrame":
    """Return the columns that a fitted transformer, or a pipeline, takes of a new table.

    Columns are found by their names, and all others are left aside.

    Raises
    ------
    ValueError
        If columns are not found; it names all of them.
    """
    step = transformer[0] if isinstance(transformer, Pipeline) else transformer
    while isinstance(step, Pipeline):
        step = step[0]
    groups = getattr(step, "transformers_", ())
    categories = {name for part, _, names in groups if part == "categories" for name in names}
    parts: dict[str, Any] = {}
    names = [str(name) for name in step.feature_names_in_]
    absent = []
    for name in names:
        source, made = name, None if name in frame else _MADE.fullmatch(name)
        if made:
            source = made[1]
        if source not in frame:
            absent.append(source)
        elif made and name not in parts:
            parts |= (
                _hashed(frame[source], source, int(made[4]))
                if made[3]
                else _parts_of_date(frame[source], source)
            )
        elif not made:
            values = frame[name]
            parts[name] = _categories(values) if name in categories else _numbers(values, name)
    if absent:
        listed = ", ".join(map(repr, dict.fromkeys(absent)))
        raise ValueError(f"the model learned from {listed}, which this table does not have")
    return pandas().DataFrame({name: parts[name] for name in names}, index=frame.index)


def source_of(name: str) -> str:
    """Return the column of the table that a column was made of."""
    made = _MADE.fullmatch(name)
    return made[1] if made else name


def make_transformer(columns: Columns, *, scale: bool = True) -> Any:
    """Return an unfitted transformer of what `prepare` gives; it can be saved once it is fitted.

    Numbers have missing values replaced by the median and are brought to mean 0 and variance 1;
    categories become columns of 0 and 1. A category that was not seen is all 0.

    Parameters
    ----------
    columns : Columns
        From `look_at_columns`.
    scale : bool, default=True
        Whether numbers are scaled. Trees do not need it.
    """
    numbers = [
        *columns.numbers,
        *(name + part for name in columns.dates for part in _parts()),
        *(f"{name} (word {j + 1} of {HASHED})" for name in columns.texts for j in range(HASHED)),
    ]
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    steps = make_pipeline(imputer, StandardScaler()) if scale else make_pipeline(imputer)
    if not columns.categories:
        return steps
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = [("numbers", steps, numbers)] if numbers else []
    return ColumnTransformer(
        [*parts, ("categories", encoder, columns.categories)], verbose_feature_names_out=False
    )


def _numbers(column: "Series[Any]", name: str) -> Any:
    """Return numbers; texts among them are missing, unless they are the most."""
    odd = odd_values(column)
    if len(odd) and 2 * len(odd) >= column.count():
        raise ValueError(f"column {name!r} has {shortened(odd.iloc[0])}: expected numbers")
    values = pandas().to_numeric(column, errors="coerce").astype("float64").to_numpy(copy=True)
    values[~np.isfinite(values)] = np.nan
    return values


def _categories(column: "Series[Any]") -> Any:
    values = column.astype(object).where(column.notna(), MISSING)
    return np.array([_plain(value) for value in values], object)


def _plain(value: Any) -> str:
    """Return a category as text; 3.0 is 3, since a column with gaps is read as floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _parts() -> list[str]:
    return [DAYS, *(f" ({cycle} {wave})" for cycle in _CYCLES for wave in _WAVES)]


def _parts_of_date(column: "Series[Any]", name: str) -> dict[str, Any]:
    """Return days since 1970, and the sine and cosine of the time of year, week and day."""
    pd = pandas()
    if pd.api.types.is_numeric_dtype(column):
        raise ValueError(f"column {name!r} has numbers: expected dates")
    times = pd.to_datetime(column, errors="coerce", utc=True, format="mixed")
    days = ((times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(float)
    waves = [
        wave(2 * np.pi * days / period) for period in _CYCLES.values() for wave in _WAVES.values()
    ]
    return dict(zip([name + part for part in _parts()], [days, *waves], strict=True))


def _hashed(column: "Series[Any]", name: str, width: int) -> dict[str, Any]:
    """Count words into columns by a checksum of each, which is the same on every machine."""
    counts = np.zeros((len(column), width))
    for row, text in enumerate(column.fillna("").astype(str)):
        for word in re.findall(r"\w+", text.lower()):
            counts[row, zlib.crc32(word.encode()) % width] += 1
    return {f"{name} (word {j + 1} of {width})": counts[:, j] for j in range(width)}
