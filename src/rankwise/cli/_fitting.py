"""The fit behind ``rankwise fit``."""

from pathlib import Path
from typing import Any

import click

from rankwise.cli._shown import table_notes
from rankwise.cli._tables import read_frame
from rankwise.comparison import Task, recognise
from rankwise.comparison.measures import measures_of
from rankwise.comparison.methods import methods_for
from rankwise.comparison.problem import make_problem
from rankwise.comparison.runner import fit_final
from rankwise.comparison.trials import choose
from rankwise.persistence import save
from rankwise.recommend import RatingTable, TasteModel

_DEFAULT = "MPRank"


def read_task(path: Path, parts: dict[str, str], options: dict[str, Any]) -> tuple[Any, Task]:
    """Read a table, and say what it is evidence of; what is told goes before what is found."""
    table = read_frame(path)
    known = table.roles if parts.keys() <= table.roles.keys() else {}
    task = recognise(table.frame, **(known | parts), **options)
    if task.kind == "contests":
        raise click.ClickException(f"{path}: {task.why}; contests are for rankwise duel")
    return table.frame, task


def fit_table(frame: Any, task: Task, method: str | None, path: Path, seed: int) -> dict[str, Any]:
    """Fit a model, save it with what is known of its table, and return what was done."""
    if task.kind == "ratings":
        if method not in {None, "TasteModel"}:
            raise click.ClickException(f"--method {method}: ratings are for TasteModel")
        parts: dict[str, Any] = task.roles
        ratings = RatingTable.from_frame(frame, **parts)
        save(TasteModel().fit(ratings), path, notes=table_notes(task, ratings))
        return {"method": "TasteModel", "setting": {}, "rows": ratings.n_ratings}
    problem = make_problem(frame, task)
    fitting = {one.name: one for one in methods_for(problem) if not one.baseline}
    name = method or _DEFAULT
    if name not in fitting:
        raise click.ClickException(
            f"--method {name}: choose one of {'; '.join(fitting)} for {task.kind}"
            + (" with lists" if problem.qid is not None else "")
        )
    measure = measures_of(problem.kind, lists=problem.qid is not None)[0]
    setting = choose(fitting[name], problem, measure, seed)
    model = fit_final(fitting[name], problem, setting, seed)
    save(model, path, notes=table_notes(task, problem))
    return {"method": name, "setting": setting, "rows": len(problem.y)}
