"""
Which C, without a grid search?
===============================

`MPRankCV` leaves out every pair of rows once, for every C and every width of the kernel, without
fitting again. The curve shows the mean squared error of the left-out differences: a C that is too
small underfits, one that is too large fits the noise.
"""

# %%
# Two hundred rows of a curved truth.

import matplotlib.pyplot as plt
import numpy as np

from rankwise.magnitude import MPRankCV

random = np.random.default_rng(0)
X = random.uniform(-2, 2, size=(200, 2))
y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * random.normal(size=200)
Cs, gammas = np.logspace(-1, 5, 25), [0.03, 0.3, 3.0]
model = MPRankCV(Cs, kernel="rbf", gammas=gammas).fit(X, y)

# %%
# One line for each width.

fig, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for gamma, errors in zip(gammas, model.lpo_errors_, strict=True):
    ax.semilogx(Cs, errors, label=f"gamma = {gamma:g}")
ax.plot(model.C_, model.lpo_errors_.min(), "ko", label=f"chosen: C = {model.C_:.0f}")
ax.axhline(2 * 0.3**2, color="0.6", linestyle=":", label="noise alone")
ax.set(xlabel="C", ylabel="squared error of a left-out pair", ylim=(0, None))
ax.legend()
