"""Displays in the style of scikit-learn's: build one from estimators or predictions, then plot."""

from rankwise.plots._contests import (
    ContestCalibrationDisplay,
    RaterDisplay,
    StrengthDisplay,
    WinMatrixDisplay,
)
from rankwise.plots._features import FeatureScoreDisplay
from rankwise.plots._online import OnlineLossDisplay
from rankwise.plots._projection import ProjectionDisplay
from rankwise.plots._regions import DecisionRegionDisplay
from rankwise.plots._roc import ROCDisplay

__all__ = [
    "ContestCalibrationDisplay",
    "DecisionRegionDisplay",
    "FeatureScoreDisplay",
    "OnlineLossDisplay",
    "ProjectionDisplay",
    "ROCDisplay",
    "RaterDisplay",
    "StrengthDisplay",
    "WinMatrixDisplay",
]
