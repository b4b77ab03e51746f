"""
What does each feature add to the score?
========================================

RankBoost learns a sum of steps, so its score can be drawn feature by feature. Here the truth is a
line, a wave, a bump and a feature whose absence speaks for the item.
"""

import numpy as np

from rankwise.boosting import RankBoost
from rankwise.plots import FeatureScoreDisplay

random = np.random.default_rng(0)
X = random.normal(size=(4000, 8))
unknown = random.uniform(size=4000) < 0.2
score = X[:, 0] + np.sin(2 * X[:, 1]) + 2 * np.exp(-((3 * X[:, 2]) ** 2)) + unknown
y = np.digitize(score + random.normal(0, 0.5, 4000), [0, 1, 2])
X[unknown, 3] = np.nan

model = RankBoost(200, n_iter_no_change=20, random_state=0).fit(X, y)
display = FeatureScoreDisplay.from_estimator(model, n_features=4)
