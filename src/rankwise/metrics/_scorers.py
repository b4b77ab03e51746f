"""The measures of scores as scorers, for ``scoring=`` in scikit-learn's model selection.

With metadata routing on, ``scorer.set_score_request(qid=True)`` hands them the queries.
"""

from sklearn.metrics import make_scorer

from rankwise.metrics._lists import (
    average_precision_score,
    ndcg_score,
    reciprocal_rank_score,
)
from rankwise.metrics._pairs import (
    auc_score,
    epsilon_insensitive_loss,
    exponential_pair_loss,
    hinge_magnitude_loss,
    hinge_rank_loss,
    magnitude_loss,
    pairwise_misranking_loss,
)

neg_magnitude_loss_scorer = make_scorer(magnitude_loss, greater_is_better=False)
neg_epsilon_insensitive_loss_scorer = make_scorer(epsilon_insensitive_loss, greater_is_better=False)
neg_hinge_rank_loss_scorer = make_scorer(hinge_rank_loss, greater_is_better=False)
neg_hinge_magnitude_loss_scorer = make_scorer(hinge_magnitude_loss, greater_is_better=False)
neg_pairwise_misranking_loss_scorer = make_scorer(pairwise_misranking_loss, greater_is_better=False)
neg_exponential_pair_loss_scorer = make_scorer(exponential_pair_loss, greater_is_better=False)
auc_scorer = make_scorer(auc_score, response_method=("decision_function", "predict"))
ndcg_scorer = make_scorer(ndcg_score)
average_precision_scorer = make_scorer(average_precision_score)
reciprocal_rank_scorer = make_scorer(reciprocal_rank_score)
