"""Tables of contests: two items and who won, as evalica, FastChat and others write them."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from io import BytesIO

import numpy as np
from sklearn.utils import Bunch

from rankwise._core.arguments import check_text
from rankwise.io import read_table
from rankwise.io.dialect import START, Dialect, guess_dialect
from rankwise.io.files import BadRows, PathLike, Source, clean, first_line, read_source
from rankwise.io.formats import guess_format
from rankwise.io.text import (
    MAX_COLUMNS,
    TEXT,
    Array,
    Column,
    Layout,
    read_columns,
)

# Names of the columns that are known: of evalica, of FastChat, of a sort's answers, and our own.
LAYOUTS = (
    ("left", "right", "winner"),
    ("model_a", "model_b", "winner"),
    ("first", "second", "outcome"),
)
_FIRST = ("first", "left", "model_a", "a", "x", "1", "1.0")
_SECOND = ("second", "right", "model_b", "b", "y", "0", "0.0")
_TIE = ("tie", "tie (bothbad)", "both_bad", "draw", "0.5", ".5")


def read_contests(
    path: PathLike,
    *,
    first: str | None = None,
    second: str | None = None,
    outcome: str | None = None,
    on_bad_rows: str = "raise",
) -> Bunch:
    r"""Read a table of contests, one a row.

    Parameters
    ----------
    path : path
        A text with a header and any usual separator, JSON, JSON lines or Parquet (as the battles
        of LMArena and FastChat come), also within gzip or alone in a zip archive.
    first, second, outcome : str, default=None
        The columns of the two items and of who won. By default ``left,right,winner`` (evalica),
        ``model_a,model_b,winner`` (FastChat) or ``first,second,outcome``, whichever is there.
        An outcome is ``first``, ``left``, ``model_a``, ``a`` or 1, the same of the second (0), a
        tie (``tie``, ``tie (bothbad)``, ``draw`` or 0.5), the name of the winner, or the
        probability that the first one wins. If items are called 0 or 1, the other outcomes of the
        column tell whether these are names.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a row that can't be read is an error, or is skipped; then a warning says how many,
        and so does ``skipped_rows`` of the result.

    Returns
    -------
    Bunch
        ``first``, ``second`` (lists of str), ``outcome`` (list of float: what the first one got),
        ``others`` (dict of the other columns, lists of str), ``skipped_rows``.

    Raises
    ------
    ValueError
        With file, line and reason: no such column, an outcome that is none of these, an item that
        meets itself or has no name, too few or too many fields, an empty or binary file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_contests
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "arena.csv"
    ...     _ = path.write_text("model_a,model_b,winner\ncat,dog,model_b\ncat,eel,tie (bothbad)\n")
    ...     contests = read_contests(path)
    >>> contests.first, contests.second, contests.outcome
    (['cat', 'cat'], ['dog', 'eel'], [0.0, 0.5])
    """
    wanted = [first, second, outcome]
    for name, value in zip(("first", "second", "outcome"), wanted, strict=True):
        if value is not None:
            check_text(value, name)
    source = read_source(path)
    bad = BadRows(source, on_bad_rows)
    table, lines = _read(source, bad)
    names = list(table)
    if not 3 <= len(names) <= MAX_COLUMNS:
        raise ValueError(
            f"{bad.label}:1: {str(names)[:60]} is not a header of three or more names, of the two "
            "items and who won; a table of winners and losers needs a third column that is 1"
        )
    chosen = _choose(names, wanted, bad.label)
    scores = contest_scores(*(table[name] for name in chosen))
    kept = [i for i, score in enumerate(scores) if isinstance(score, float)]
    if len(kept) < len(scores):
        row = next(i for i, score in enumerate(scores) if isinstance(score, str))
        bad.refuse(int(lines[row]), str(scores[row]), count=len(scores) - len(kept))
    columns = {name: [values[i] for i in kept] for name, values in table.items()}
    bad.finish(len(kept))
    return Bunch(
        first=columns.pop(chosen[0]),
        second=columns.pop(chosen[1]),
        outcome=[scores[i] for i in kept],
        others={name: values for name, values in columns.items() if name != chosen[2]},
        skipped_rows=bad.count,
    )


def _read(source: Source, bad: BadRows) -> tuple[dict[str, list[str]], Array]:
    """Return all columns as texts, and the line of each row."""
    if guess_format(source.raw[:START], source.label) not in {"csv", "svmlight"}:
        frame = read_table(BytesIO(source.raw))
        texts = frame.astype(object).where(frame.notna(), "").map(str)
        return dict(texts.to_dict("list")), np.arange(1, 1 + len(frame))
    source = clean(source)
    bad.cut = source.cut
    dialect = guess_dialect(source.raw, source.label, Dialect(header=True, comment=""))
    head = first_line(source).decode().replace('"', "").strip()
    columns = [Column(name, TEXT) for name in dialect.columns or ()]
    layout = Layout(columns, dialect.sep or ",", bool(dialect.quote), head)
    frame, lines = read_columns(source, layout, bad)
    return {name: frame[name].tolist() for name in frame}, lines


def _choose(names: Sequence[str], wanted: Sequence[str | None], label: str) -> list[str]:
    """Return the names of the three columns."""
    usual = next((layout for layout in LAYOUTS if set(layout) <= set(names)), (None, None, None))
    found = [given or known for given, known in zip(wanted, usual, strict=True)]
    for what, name in zip(("first", "second", "outcome"), found, strict=True):
        if name is None or name not in names:
            missing = "" if name is None else f", no {name!r}"
            raise ValueError(
                f"{label}:1: the columns are {', '.join(names)[:80]}{missing}: name that of the "
                f"{what} with {what}="
            )
    if len(set(found)) < len(found):
        raise ValueError(f"{label}:1: first, second and outcome must be three columns, not {found}")
    return [str(name) for name in found]


def contest_scores(
    first: Iterable[str], second: Iterable[str], outcome: Iterable[str]
) -> list[float | str]:
    """Return what the first ones got, or why that is unclear.

    An outcome may be both the name of an item and a word such as 1. It is a name, unless other
    outcomes can only be words and none can only be a name.
    """
    rows = list(zip(first, second, outcome, strict=True))
    only_words = only_names = False
    for one, other, told in rows:
        named, score = told.strip() in {one, other}, _score_of_word(told)
        only_words |= not named and score not in {None, 0.5}
        only_names |= named and score is None
    words_first = only_words and not only_names
    return [contest_score(*row, words_first=words_first) for row in rows]


def contest_score(
    first: str, second: str, outcome: str, *, words_first: bool = False
) -> float | str:
    """Return what the first one got, or why that is unclear."""
    if not first or not second:
        return "an item has no name"
    if first == second:
        return f"{first[:40]!r} meets itself"
    word, score = outcome.strip(), _score_of_word(outcome)
    if word in {first, second} and not (words_first and score is not None):
        return float(word == first)
    if score is not None:
        return score
    return f"the outcome is {outcome[:40]!r}, expected first, second, tie or a name of the two"


@lru_cache(1024)
def _score_of_word(outcome: str) -> float | None:
    """Return what the first one got by a word or a probability, None for other texts."""
    word = outcome.strip()
    for words, score in ((_FIRST, 1.0), (_SECOND, 0.0), (_TIE, 0.5)):
        if word.lower() in words:
            return score
    try:
        chance = float(word)
    except ValueError:
        return None
    return chance if 0 <= chance <= 1 else None
