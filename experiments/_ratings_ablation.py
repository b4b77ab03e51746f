"""What moves RankBoost's numbers: its rounds, on the reviewers with whom settings are chosen."""

import numpy as np

from experiments._reviewers import (
    GROUPS,
    MEASURES,
    METHODS,
    ROUNDS,
    parts_of,
    people_of,
    problems,
)
from experiments._runs import Result, Setting
from rankwise.recommend import RatingTable
from rankwise.reports import Table

SHOWN = ("MSD", "misranking", "misranking, tie half")


def by_rounds(setting: Setting, table: RatingTable) -> Result:
    """Return the errors of RankBoost on the held-out people, a list over ROUNDS a measure."""
    group = GROUPS[setting["group"]]
    people = people_of(table, group)
    chosen = parts_of(setting, people)[0]
    every = problems(people, group, chosen, setting["n_references"], setting["seed"])
    method, errors = METHODS["RankBoost"], []
    for problem, _ in filter(None, every):
        truth = problem.y[problem.test]
        scores = method.scores(problem, method.grid, 1.0)
        errors.append([[MEASURES[name](truth, s) for name in SHOWN] for s in scores])
    return dict(zip(SHOWN, np.mean(errors, axis=0).T, strict=True))


def rounds_table(found: dict[str, Result]) -> Table:
    """Return the errors by rounds, a row for each group and measure."""
    rows = [
        [measure, group, *(f"{error:.{2 if measure == 'MSD' else 3}f}" for error in of[measure])]
        for measure in SHOWN
        for group, of in found.items()
    ]
    columns = ["RankBoost", "data", *(f"{n:g} rounds" for n in ROUNDS)]
    return Table("RankBoost on the held-out reviewers, by its rounds", columns, rows)
