"""Private names of scikit-learn that rankwise uses, gathered in one place.

scikit-learn may move or change these without notice: a new version of it is met here, and nowhere
else.
"""

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "num_samples",
    "safe_indexing",
    "safe_split",
    "validate_parameter_constraints",
    "validate_params",
]
