"""
Ranking, classification or regression of grades?
================================================

The illustration of K. Crammer's slides: five concentric ellipses, ranked from the centre outwards,
and 50 points to learn them from. Three models learn with the same quadratic features, and each
colours the plane as it would rank it. The dashed lines are the true borders; a cross is a point in
the region of another rank.

PRank learns one score and where to cut it. The multiclass perceptron learns a score for each
rank, which takes more points than it has here. Widrow-Hoff regression has one score and takes its
cuts to be evenly spaced; these are not, so it can't even fit the points that it has seen.
"""

# %%
# The same 300 passes over the 50 points for all three, and 10,000 new points to count mistakes on.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from rankwise.datasets import make_ellipses
from rankwise.ordinal import MulticlassPerceptron, PRank, WidrowHoff
from rankwise.plots import DecisionRegionDisplay

passes = {"epochs": 300, "shuffle": True, "random_state": 0}
models = {
    "PRank": PRank(vote=None, **passes),
    "multiclass perceptron": MulticlassPerceptron(vote=None, fit_intercept=False, **passes),
    "Widrow-Hoff": WidrowHoff(eta=0.01, step="plain", fit_intercept=False, **passes),
}
models = {
    name: make_pipeline(StandardScaler(), PolynomialFeatures(2), model)
    for name, model in models.items()
}
X, y = make_ellipses(50, random_state=0)
X_new, y_new = make_ellipses(10_000, random_state=1)


def squared_radius(x1, x2):
    return x1**2 + (x2 / 0.6) ** 2


# %%
# Draw the three decisions side by side.

fig, axes = plt.subplots(1, 3, figsize=(12, 3.5), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y, grid_resolution=400, ax=ax)
    ax.contour(
        display.x1, display.x2, squared_radius(display.x1, display.x2[:, None]),
        levels=(np.arange(1, 5) / 5) ** 2, colors="white", linestyles="dashed",
    )  # fmt: skip
    new = 1 - model.score(X_new, y_new)
    ax.set_title(f"{name}\nmistakes: {display.n_mistakes} of 50 seen, {new:.0%} of new")
    ax.set(aspect="equal", xticks=[-1, -0.5, 0, 0.5], yticks=[-0.5, 0, 0.5])
    ax.label_outer()
    if ax is not axes[-1]:
        ax.get_legend().remove()

# %%
# One draw of 50 points may be lucky. Over 20 draws, the share of mistakes on new points:


def share_of_mistakes(model, rank):
    shares = []
    for seed in range(20):
        X, _ = make_ellipses(50, random_state=seed)
        model.fit(X, rank(X))
        shares.append(1 - model.score(X_new, rank(X_new)))
    return f"{np.mean(shares):.1%} ± {np.std(shares):.1%}"


def by_width(X):
    return np.ceil(5 * np.sqrt(squared_radius(*X.T))).astype(int)


for name, model in models.items():
    print(f"{name:22} {share_of_mistakes(model, by_width)}")

# %%
# That is a matter of these ellipses, not of regression. Rank the same points by five rings of equal
# area, so that the cuts of the score are evenly spaced, and regression does as well as PRank.


def by_area(X):
    return np.ceil(5 * squared_radius(*X.T)).astype(int)


for name, model in models.items():
    print(f"{name:22} {share_of_mistakes(model, by_area)}")
