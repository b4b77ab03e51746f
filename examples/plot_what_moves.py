"""
What moves between machines?
============================

Rows on several machines are learned where they are stored. The network traffic is small for some
models and grows with the rows for others. Here eight partitions represent eight machines, and
everything that would cross the network is counted.
"""

# %%
# Three models, from 4,000 to 256,000 rows of ten columns. `rankwise.distributed.fit` logs how many
# passes it made and how much it sent; the log is read here.

import logging
import re

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from rankwise import distributed
from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank
from rankwise.pairwise import RankSVM


class Moved(logging.Handler):
    """Adds up the megabytes that a fit sent and brought back."""

    def emit(self, record):
        """Read one message of the log."""
        found = re.findall(r"([\d.e+-]+) MB", record.getMessage())
        self.megabytes = sum(map(float, found))


moved = Moved()
logger = logging.getLogger("rankwise.distributed")
logger.setLevel(logging.INFO)
logger.addHandler(moved)

rows = [4_000, 16_000, 64_000, 256_000]
models = {
    "RankSVM": RankSVM(),
    "RankBoost, 20 rounds": RankBoost(20, random_state=0),
    "MPRank": MPRank(),
}
random = np.random.default_rng(0)
fig, ax = plt.subplots(figsize=(6.4, 4.0))
for name, model in models.items():
    curve = []
    for m in rows:
        X = random.normal(size=(m, 10))
        y = np.digitize(X[:, 0] + np.sin(2 * X[:, 1]) + random.normal(size=m), [-1, 0, 1])
        parts = da.from_array(X, chunks=(m // 8, 10)), da.from_array(y, chunks=m // 8)
        distributed.fit(model, *parts)
        curve.append(moved.megabytes)
    ax.plot(rows, curve, marker="o", label=name)
ax.plot(rows, [8 * 10 * m / 1e6 for m in rows], ":", color="gray", label="the rows themselves")
ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="moved in a whole fit, MB")
ax.set_xticks(rows, [f"{m:,}" for m in rows])
ax.minorticks_off()
ax.legend()
plt.tight_layout()
plt.show()

# %%
# `MPRank` sends sums of its columns and their products, however many rows there are. `RankBoost`
# sends histograms, whose size depends on the columns and the bins, and once a sample of 20,000 rows
# from which the bins are made. `RankSVM` sends a score and a slope of every row in each pass. With
# ten columns that is about what the rows take themselves; with a hundred it is far less.
