"""What all evidence shares: the `Ranking` that comes out, and the grammar of the estimators.

`OrdinalMixin` is a classifier over ordered labels, `OnlineMixin` one that learns from a stream in
any chunks, `RankerMixin` a regressor of a score, by which things are put in order. All follow
scikit-learn. Estimators check their input with the functions of ``_checks``.
"""

from rankwise.base._checks import TOO_LARGE as TOO_LARGE
from rankwise.base._checks import Ranked as Ranked
from rankwise.base._checks import bad_row as bad_row
from rankwise.base._checks import check_ranked as check_ranked
from rankwise.base._checks import check_rows as check_rows
from rankwise.base._checks import unchanged_on_error as unchanged_on_error
from rankwise.base._explained import explained as explained
from rankwise.base._online import OnlineMixin
from rankwise.base._online import RowSource as RowSource
from rankwise.base._online import State as State
from rankwise.base._ordinal import OrdinalMixin
from rankwise.base._ranker import RankerMixin
from rankwise.base._ranker import warn_without_qid as warn_without_qid
from rankwise.base._ranking import Ranking
from rankwise.base._ranking import positions_of as positions_of

__all__ = ["OnlineMixin", "OrdinalMixin", "RankerMixin", "Ranking"]
