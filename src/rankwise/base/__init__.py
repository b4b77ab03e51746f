"""The public door to what all packages share: `Ranking` and the mixins of estimators.

`OrdinalMixin` is a classifier over ordered labels, `OnlineMixin` one that learns from a stream in
any chunks, and `RankerMixin` a regressor of a score that puts rows in order. All follow
scikit-learn.
"""

from rankwise._core.ordinal import OnlineMixin, OrdinalMixin
from rankwise._core.ranker import RankerMixin
from rankwise._core.ranking import Ranking

__all__ = ["OnlineMixin", "OrdinalMixin", "RankerMixin", "Ranking"]
