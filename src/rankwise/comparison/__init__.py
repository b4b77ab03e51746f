"""Recognise the task of a table, cross-validate the methods that fit it, and advise one."""

from rankwise.comparison._columns import (
    Columns,
    look_at_columns,
    make_transformer,
    prepare,
    prepare_like,
)
from rankwise.comparison._contests import Contests, contests_of
from rankwise.comparison._recognise import Task, recognise
from rankwise.comparison._tables import TableFile, read_table
from rankwise.comparison.final_fit import fit
from rankwise.comparison.methods import BestColumn, GradeProbabilities
from rankwise.comparison.runner import Comparison, compare

__all__ = [
    "BestColumn",
    "Columns",
    "Comparison",
    "Contests",
    "GradeProbabilities",
    "TableFile",
    "Task",
    "compare",
    "contests_of",
    "fit",
    "look_at_columns",
    "make_transformer",
    "prepare",
    "prepare_like",
    "read_table",
    "recognise",
]
