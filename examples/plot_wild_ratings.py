"""
What do a few wild ratings do?
==============================

One rating in twenty is entered with a wrong sign. The squared cost of `MPRank` follows them, the
absolute one of `SVRank` hardly does.
"""

# %%
# Clean ratings, and the same with errors.

import matplotlib.pyplot as plt
import numpy as np

from rankwise.magnitude import MPRank, SVRank
from rankwise.metrics import magnitude_loss

random = np.random.default_rng(0)
X = random.normal(size=(600, 5))
clean = X @ [2.0, -1.0, 0.5, 0.0, 0.0] + 0.3 * random.normal(size=600)
shares = np.linspace(0, 0.2, 9)

# %%
# Error on new, clean rows.

fig, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for name, model in {"MPRank": MPRank(100), "SVRank": SVRank(100, epsilon=0.1)}.items():
    losses = []
    for share in shares:
        wild = np.where(random.random(300) < share, -8 * np.sign(clean[:300]), clean[:300])
        scores = model.fit(X[:300], wild).predict(X[300:])
        losses.append(magnitude_loss(clean[300:], scores, power=1))
    ax.plot(100 * shares, losses, "o-", label=name)
ax.set(xlabel="wild ratings, %", ylabel="error of a difference", ylim=(0, None))
ax.legend()
