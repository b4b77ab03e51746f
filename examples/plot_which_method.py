"""
Which variant of PRank should I take?
=====================================

Three experiments that decide between the last iterate of PRank, its average, its voters, other
steps and many members. They run here with five streams of each kind; ``python -m experiments`` runs
them with more, and prints the numbers with their intervals.
"""

# %%
# How many rows are there? With six features (left) the average wins at once. With a hundred it
# needs some thousand rows, and before that members and passive-aggressive steps are better. The
# other two pictures have 1 to 300 members learn from 1,000 rows, by number and by time.

from experiments import drift, sizes, steps

report = sizes(n_trials=5)

# %%
# What the numbers say:

print("\n".join(report.findings[:3]))

# %%
# Does the truth change? The average and the voters remember what no longer holds. The members
# forget, since they are combined as they are now.

report = drift(n_trials=5)

# %%
# Are the ranks nearly separable? Then large-margin steps learn faster. With noise what matters
# is that steps are averaged, not which steps they are.

report = steps(n_trials=5)
