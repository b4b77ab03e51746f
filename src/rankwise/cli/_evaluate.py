"""``rankwise evaluate``: how good a model is on rows that it has not seen."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from rankwise.cli._shared import as_json as json_option
from rankwise.cli._shared import (
    columns,
    count,
    examples,
    model_argument,
    show_json,
    show_table,
    table_argument,
)

if TYPE_CHECKING:
    from rankwise.cli._tables import Kept, Read
    from rankwise.comparison.held_out import HeldOut
    from rankwise.comparison.measures import Answers


@click.command(
    epilog=examples(
        "rankwise evaluate wine.rankwise held-out.csv",
        "rankwise evaluate wine.rankwise held-out.csv --against older.rankwise",
    )
)
@model_argument
@table_argument
@columns("target", "query")
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Another model, to be compared on the same rows.",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
@json_option
def evaluate(
    model: Path,
    table: Path,
    target: str | None,
    query: str | None,
    against: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure MODEL on rows that it has not learned from.

    TABLE has the target that the model was fitted to. Intervals hold in 95 of 100 cases; they
    are found by drawing rows, or whole lists, again. Of two models the differences are tested on
    the same draws.
    """
    paths = [model] if against is None else [model, against]
    facts, found = evaluate_models(paths, table, target, query, seed)
    if as_json:
        measures = [asdict(one) for one in found]
        show_json(facts | {"models": [str(path) for path in paths], "measures": measures})
        return
    rows, lists = facts["rows"], facts["lists"]
    title = count(rows, "row") + (f" in {count(lists, 'list')}" if lists else "")
    heads = [path.name for path in paths]
    extra = ["difference", "p"] if against else []
    cells = [
        [one.name, *(_cell(*both) for both in zip(one.values, one.intervals, strict=True))]
        + ([_cell(one.difference, one.interval), f"{one.pvalue:.2g}"] if against else [])
        for one in found
    ]
    show_table(title, ["measure", *heads, *extra], cells)


def _cell(value: Any, interval: Any) -> str:
    if np.isnan(value):
        return "no two rows differ"
    return f"{value:.3f} ({interval[0]:.3f} to {interval[1]:.3f})"


def evaluate_models(
    paths: Sequence[Path], table: Path, target: str | None, query: str | None, seed: int
) -> tuple[dict[str, Any], "list[HeldOut]"]:
    """Return facts about the rows, and the measures of the models on them."""
    from rankwise.cli._tables import column_of, list_column, load_model, read_frame  # noqa: PLC0415
    from rankwise.comparison.held_out import measure_held_out  # noqa: PLC0415
    from rankwise.comparison.measures import measures_of  # noqa: PLC0415
    from rankwise.datasets.files import pandas  # noqa: PLC0415

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


def _kind(kept: "Kept", held: "Read", goal: str) -> str:
    """Return the task of the target, if the file of the model does not say."""
    from rankwise.comparison import recognise  # noqa: PLC0415

    known = kept.last.classes_.tolist() if kept.graded else [0]
    order = known if isinstance(known[0], str) else None
    return recognise(held.frame, target=goal, order=order).kind


def _labels(models: "Sequence[Kept]", held: "Read", goal: str) -> list[Any]:
    """Return the grades, lowest first."""
    for kept in models:
        if kept.graded:
            return list(kept.last.classes_.tolist())
        if kept.facts.get("labels"):
            return list(kept.facts["labels"])
    return sorted(held.frame[goal].unique().tolist())


def _ranks(values: Any, labels: list[Any], goal: str) -> NDArray[np.float64]:
    """Return the ranks of grades, from 1; raise if a grade is not among the labels."""
    from rankwise.datasets.files import pandas  # noqa: PLC0415

    places = pandas().Index(labels).get_indexer(pandas().Index(values))
    if (places < 0).any():
        row = int(np.argmax(places < 0))
        raise click.ClickException(
            f"{goal} is {values.iloc[row]} in row {values.index[row] + 1}, and the model knows the "
            f"grades {', '.join(map(str, labels))}"
        )
    return places + 1.0


def _answers(kept: "Kept", held: "Read", labels: list[Any] | None) -> "Answers":
    """Return the scores of a model, and the ranks of the grades that it predicts."""
    from rankwise.cli._tables import predictions, scores  # noqa: PLC0415
    from rankwise.comparison.measures import Answers  # noqa: PLC0415
    from rankwise.datasets.files import pandas  # noqa: PLC0415
    from rankwise.magnitude import MPRank, MPRankCV, SVRank  # noqa: PLC0415

    found = scores(kept, held)
    if labels is None:
        return Answers(found, None)
    if kept.graded:
        said = pandas().Series(predictions(kept, held), index=held.frame.index)
        return Answers(found, _ranks(said, labels, f"the prediction of {kept.path}"))
    # Their scores are on the scale of the target, and can be rounded to a grade.
    if isinstance(kept.last, (MPRank, MPRankCV, SVRank)):
        return Answers(found, np.clip(np.rint(found), 1, len(labels)))
    return Answers(found, None)
