"""
What should I watch tonight, and how sure is that?
==================================================

Three ratings of a new person, and the fifteen best of 1,311 films. Each point is the expected
rating, each bar has two standard deviations on each side. Three ratings are too few: all bars
overlap. Sixteen say more about the order, and the bars are shorter.
"""

# %%
# Learn from everyone's ratings which films are liked together.

import matplotlib.pyplot as plt

from rankwise.datasets import load_movies
from rankwise.recommend import RatingTable, TasteModel

movies = load_movies()
known = movies[movies.groupby("title")["rating"].transform("size") >= 20]
table = RatingTable.from_frame(known, item="title", duplicates="mean")
model = TasteModel().fit(table)

# %%
# A new person rates three films; nothing is trained again.

me = model.person().rate("Alien", 5).rate("Blade Runner", 5).rate("Titanic", 1)
more = [
    "Matrix, The",
    "Terminator, The",
    "Brazil",
    "Psycho",
    "Fargo",
    "Pulp Fiction",
    "Usual Suspects, The",
]
less = ["Pretty Woman", "Ghost", "Sleepless in Seattle", "Mrs. Doubtfire", "Babe", "Speed"]

fig, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for ax, ratings in zip(
    axes, [{}, {**dict.fromkeys(more, 5), **dict.fromkeys(less, 2)}], strict=True
):
    for title, rating in ratings.items():
        me.rate(title, rating)
    ranking = me.ranking(15)
    places = range(len(ranking.order))
    ax.errorbar(ranking.scores, places, xerr=2 * ranking.sd, fmt="o", capsize=3)
    ax.set_yticks(places, [title[:32] for title in ranking.order])
    ax.invert_yaxis()
    ax.axvline(5, color="0.6", linewidth=0.8)
    ax.set(xlabel="rating to expect", title=f"after {len(me.ratings)} ratings")
