"""Contract checks and hypothesis strategies, for rankwise's tests and for yours.

``parametrize_with_contract([MyRanker()])`` runs over an estimator what scikit-learn's
``parametrize_with_checks`` can't know: streams, chunks, ordered labels. The strategies are in
`rankwise.testing.strategies`, which needs hypothesis.
"""

from rankwise.testing._contract import (
    EXEMPTIONS,
    all_estimators,
    contract_checks,
    parametrize_with_contract,
)

__all__ = ["EXEMPTIONS", "all_estimators", "contract_checks", "parametrize_with_contract"]
