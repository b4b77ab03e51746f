"""
Does the error that chooses C tell the truth?
=============================================

The leave-pair-out error of MPRank for many values of C comes from one eigendecomposition. Compared
with the errors on new rows and on the training rows, it shows where the model begins to overfit.
"""

# %%
# Ratings that are a smooth function of two features, and noise.

import matplotlib.pyplot as plt
import numpy as np

from rankwise.magnitude import MPRank, MPRankCV
from rankwise.metrics import magnitude_loss

random = np.random.default_rng(0)
X = random.uniform(-2, 2, size=(1_100, 2))
y = np.sin(2 * X[:, 0]) + np.cos(X[:, 1]) + 0.5 * random.standard_normal(1_100)
train, new = slice(100), slice(100, None)

# %%
# One call for the errors of all pairs of the 100 training rows, for 25 values of C.

Cs = np.geomspace(0.1, 1e5, 25)
search = MPRankCV(Cs, kernel="rbf", gammas=[1.0]).fit(X[train], y[train])
models = [MPRank(C, kernel="rbf", gamma=1.0).fit(X[train], y[train]) for C in Cs]

# %%
# Draw it with the errors that need a fit for each C, one of them also rows that we would not have.

fig, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
ax.plot(Cs, search.lpo_errors_[0], lw=2, label="left-out pairs of the training rows")
for rows, style, label in [(new, "--", "1,000 new rows"), (train, ":", "training rows")]:
    errors = [magnitude_loss(y[rows], model.predict(X[rows])) for model in models]
    ax.plot(Cs, errors, style, color="0.4", label=label)
ax.axvline(search.C_, color="crimson", lw=1, label=f"chosen: C = {search.C_:.0f}")
ax.set(xscale="log", xlabel="C", ylabel="mean squared difference", ylim=(0, None))
ax.set_title("The leave-pair-out error knows where to stop")
ax.legend(frameon=False)
