"""The measures behind ``rankwise evaluate``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from rankwise.cli._tables import (
    Kept,
    Read,
    column_of,
    list_column,
    load_model,
    predictions,
    read_frame,
    scores,
)
from rankwise.comparison import recognise
from rankwise.comparison.held_out import HeldOut, measure_held_out
from rankwise.comparison.measures import Answers, measures_of
from rankwise.datasets.files import pandas
from rankwise.magnitude import MPRank, MPRankCV, SVRank

# Their scores are on the scale of the target, and can be rounded to a grade.
_ON_SCALE = (MPRank, MPRankCV, SVRank)


def evaluate_models(
    paths: Sequence[Path], table: Path, target: str | None, query: str | None, seed: int
) -> tuple[dict[str, Any], list[HeldOut]]:
    """Return facts about the rows, and the measures of the models on them."""
    read, models = read_frame(table), [load_model(path) for path in paths]
    first = models[0]
    ratings = first.facts.get("kind") == "ratings"
    goal = column_of(first, read, "rating" if ratings else "target", target)
    known = read.frame[goal].notna().to_numpy()
    lists = list_column(first, read, query)
    if lists is not None:
        known = known & read.frame[lists].notna().to_numpy()
    if not known.any():
        raise click.ClickException(f"{table}: no row has a {goal}")
    held = read._replace(frame=read.frame[known])
    kind = "relevance" if ratings else first.facts.get("kind") or _kind(first, held, goal)
    labels = _labels(models, held, goal) if kind == "grades" else None
    y = _ranks(held.frame[goal], labels, goal) if labels else held.frame[goal].to_numpy(np.float64)
    qid = None if lists is None else pandas().factorize(held.frame[lists])[0].astype(np.int64)
    answers = [_answers(kept, held, labels) for kept in models]
    measures = measures_of(kind, lists=qid is not None)
    if any(one.ranks is None for one in answers):
        measures = [m for m in measures if m.name not in {"rank loss", "exact"}]
    found = measure_held_out(measures, y, answers, qid, seed)
    if all(np.isnan(one.values).all() for one in found):
        raise click.ClickException(
            f"{table}: no two rows can be compared: is {goal} the same in all?"
        )
    facts = {
        "rows": len(y),
        "lists": 0 if qid is None else len(np.unique(qid)),
    }
    return facts, found


def _kind(kept: Kept, held: Read, goal: str) -> str:
    """Return what the target is evidence of, if the file of the model does not say."""
    known = kept.last.classes_.tolist() if kept.graded else [0]
    order = known if isinstance(known[0], str) else None
    return recognise(held.frame, target=goal, order=order).kind


def _labels(models: Sequence[Kept], held: Read, goal: str) -> list[Any]:
    """Return the grades, lowest first."""
    for kept in models:
        if kept.graded:
            return list(kept.last.classes_.tolist())
        if kept.facts.get("labels"):
            return list(kept.facts["labels"])
    return sorted(held.frame[goal].unique().tolist())


def _ranks(values: Any, labels: list[Any], goal: str) -> NDArray[np.float64]:
    """Return the ranks of grades, from 1; refuse a grade that is none of the labels."""
    places = pandas().Index(labels).get_indexer(pandas().Index(values))
    if (places < 0).any():
        row = int(np.argmax(places < 0))
        raise click.ClickException(
            f"{goal} is {values.iloc[row]} in row {values.index[row] + 1}, and the model knows the "
            f"grades {', '.join(map(str, labels))}"
        )
    return places + 1.0


def _answers(kept: Kept, held: Read, labels: list[Any] | None) -> Answers:
    """Return the scores of a model, and the ranks of the grades that it predicts."""
    found = scores(kept, held)
    if labels is None:
        return Answers(found, None)
    if kept.graded:
        said = pandas().Series(predictions(kept, held), index=held.frame.index)
        return Answers(found, _ranks(said, labels, f"the prediction of {kept.path}"))
    if isinstance(kept.last, _ON_SCALE):
        return Answers(found, np.clip(np.rint(found), 1, len(labels)))
    return Answers(found, None)
