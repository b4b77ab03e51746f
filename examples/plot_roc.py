"""
Is one model really better than the other?
==========================================

Two models, 600 rows to compare them on. Each curve has a band that holds the whole true curve with
95 % confidence, whatever the distribution of the scores. The interval of the AUC, in the legend, is
about one number and therefore narrower. The title tests the difference of the two models on the
same rows. It can be clear even if the intervals overlap, since a row that is hard for one model is
hard for the other.
"""

# %%
# One model sees all four features, the other three of them.

import numpy as np
from sklearn.linear_model import LogisticRegression

from rankwise.plots import ROCDisplay

random = np.random.default_rng(0)
X = random.normal(size=(1_600, 4))
y = (X.sum(axis=1) + 2 * random.normal(size=len(X)) > 1).astype(int)
full = LogisticRegression().fit(X[:1_000], y[:1_000])
blind = LogisticRegression().fit(X[:1_000, :3], y[:1_000])

# %%
# Both on the rows that neither has seen.

scores = {
    "four features": full.decision_function(X[1_000:]),
    "three features": blind.decision_function(X[1_000:, :3]),
}
ROCDisplay.from_predictions(y[1_000:], scores)
