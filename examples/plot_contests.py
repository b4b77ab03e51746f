"""
Who is best, and how sure is that?
==================================

Twelve players meet at random, four judges decide, and one of the judges tosses a coin. The
Bradley-Terry model estimates the strength of each player, which ranks are certain, and who tosses.
"""

# %%
# Strengths fall from player a to player l; being named first helps a little, and a fifth of the
# contests are ties.

import numpy as np

from rankwise.contests import BradleyTerry, next_pairs
from rankwise.plots import RaterDisplay, StrengthDisplay, WinMatrixDisplay

random = np.random.default_rng(0)
names = np.array(list("abcdefghijkl"))
truth = np.linspace(1.5, -1.5, 12)
first = random.integers(12, size=1500)
second = (first + random.integers(1, 12, size=1500)) % 12
judge = random.choice(["Mia", "Noah", "Olga", "Piet"], size=1500)
advantage = np.where(judge == "Piet", 0.0, truth[first] - truth[second] + 0.3)
outcome = (random.random(1500) < 1 / (1 + np.exp(-advantage))).astype(float)
outcome[random.random(1500) < 0.2] = 0.5

# %%
# The fit, with the reliability of each judge: 1 is like everyone on average.

model = BradleyTerry(order_effect=True).fit(names[first], names[second], outcome, rater=judge)
dict(zip(model.raters_, model.reliabilities_.round(2), strict=True)), model.random_raters_

# %%
# Strengths with their intervals.

display = StrengthDisplay.from_estimator(model)

# %%
# Ranks, with intervals that hold simultaneously for all players.

display = StrengthDisplay.from_estimator(model, places=True)

# %%
# Who beat whom: from the upper right to the lower left, as it should if strengths explain it.

display = WinMatrixDisplay.from_estimator(model)

# %%
# The judges.

display = RaterDisplay.from_estimator(model)

# %%
# To find the best three, these contests are the most informative.

next_pairs(model, 5, goal="top", k=3)
