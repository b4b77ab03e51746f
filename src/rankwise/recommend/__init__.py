"""Ratings of items by people: one ranking for each person, and a new person's now."""

from rankwise.recommend._answers import Explanation, Reason, TasteRanking
from rankwise.recommend._many import fit_many
from rankwise.recommend._model import TasteErrors, TasteModel
from rankwise.recommend._table import RatingTable, TableSummary
from rankwise.recommend.person import TasteRanker

__all__ = [
    "Explanation",
    "RatingTable",
    "Reason",
    "TableSummary",
    "TasteErrors",
    "TasteModel",
    "TasteRanker",
    "TasteRanking",
    "fit_many",
]
