"""
What has an ordinal model learned?
==================================

PRank projects every row on one line and cuts the line by thresholds. The picture below shows 500
unseen rows, after 30, 300 and 5,000 rounds of learning. A lane holds the rows of one true rank, a
band is the range of one predicted rank, and a red cross is a row with a wrong prediction.
"""

# %%
# A stream of 5,000 rows, and 500 rows to look at.

import matplotlib.pyplot as plt
from sklearn.preprocessing import PolynomialFeatures

from rankwise.datasets import make_herbrich
from rankwise.ordinal import PRank
from rankwise.plots import ProjectionDisplay

X, y = make_herbrich(5_500, random_state=0)
X = PolynomialFeatures(2).fit_transform(X)
X_seen, y_seen = X[:5_000], y[:5_000]
X_new, y_new = X[5_000:], y[5_000:]

# %%
# The same model continues to learn between the pictures.

model = PRank(vote="averaged")
fig, axes = plt.subplots(3, figsize=(7.5, 10), layout="constrained")
start = 0
for stop, ax in zip([30, 300, 5_000], axes, strict=True):
    model.partial_fit(X_seen[start:stop], y_seen[start:stop], classes=[1, 2, 3, 4, 5])
    display = ProjectionDisplay.from_estimator(model, X_new, y_new, ax=ax)
    ax.set_title(f"after {stop:,} rounds: {display.n_mistakes} of {len(y_new)} rows misplaced")
    start = stop
