"""Displays in the style of scikit-learn's: build one from estimators or predictions, then plot."""

from rankwise.plots._online import OnlineLossDisplay
from rankwise.plots._projection import ProjectionDisplay

__all__ = ["OnlineLossDisplay", "ProjectionDisplay"]
