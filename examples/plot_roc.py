"""
How sure is an AUC
==================

Two models, 200 rows to compare them on. Each curve has a band that holds the whole true curve with
95 % confidence, whatever the distribution of the scores. The interval of the AUC, in the legend, is
about one number and therefore narrower. The title tests the difference of the two models on the
same rows, which can be clear though the intervals overlap.
"""

# %%
# One model sees all features, the other only the noisier half.

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rankwise.plots import ROCDisplay

X, y = make_classification(
    2_000, n_features=12, n_informative=8, weights=[0.8], class_sep=0.6, random_state=3
)
X_seen, X_new, y_seen, y_new = train_test_split(X, y, test_size=200, stratify=y, random_state=0)
half = FunctionTransformer(lambda rows: np.asarray(rows)[:, :6])
models = {
    "all features": LogisticRegression().fit(X_seen, y_seen),
    "half of them": make_pipeline(half, LogisticRegression()).fit(X_seen, y_seen),
}

# %%
# Both on the rows that neither has seen.

ROCDisplay.from_estimator(models, X_new, y_new)
