"""
Which model learns a stream with the fewest errors?
===================================================

Five models read the same ten streams, one row at a time. Each predicts the rank of a row, gets the
right one, and learns. The curves show the MAE of the predictions up to each round; the bands are
95 % confidence intervals of the mean over the streams.

Around round 50 Widrow-Hoff regression with eta 0.1 is ahead. From about round 200 on the averaged
iterate of PRank is, and stays so.
"""

# %%
# Ten streams of 5,000 points of the unit square, with five ranks cut from a saddle. No straight
# line separates them, so squares and products of the coordinates are added as features.

from sklearn.preprocessing import PolynomialFeatures

from rankwise.datasets import make_herbrich
from rankwise.ordinal import MulticlassPerceptron, PRank, WidrowHoff
from rankwise.plots import OnlineLossDisplay

streams = []
for seed in range(10):
    X, y = make_herbrich(5_000, random_state=seed)
    streams.append((PolynomialFeatures(2).fit_transform(X), y))

# %%
# The display runs every model over every stream by progressive validation and draws the result.

papers = {"step": "plain", "fit_intercept": False}
models = {
    "PRank": PRank(vote=None),
    "PRank, averaged": PRank(vote="averaged"),
    "Widrow-Hoff, eta 0.1": WidrowHoff(eta=0.1, **papers),
    "Widrow-Hoff, eta 0.01": WidrowHoff(eta=0.01, **papers),
    "multiclass perceptron": MulticlassPerceptron(vote=None, fit_intercept=False),
}
display = OnlineLossDisplay.from_estimators(models, streams)

# %%
# On a logarithmic axis the first rounds are easier to read.

display = display.plot()
display.ax_.set_xscale("log")
display.ax_.set_xlim(10, 5_000)
