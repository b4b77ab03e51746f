"""Tiny random logs of contests and rankings, with options of the models that learn from them."""

import warnings

OUTCOMES = ([0, 1], [0, 0.5, 1], [0, 0.5, 0.5, 1], [0, 0.3, 0.5, 0.9, 1])


def draw_contests(random):
    """Return options of a BradleyTerry, columns of contests, and more columns by name."""
    n, m = random.integers(2, 6), random.integers(1, 9)
    first = random.integers(n, size=m)
    second = (first + random.integers(1, n, size=m)) % n
    outcome = random.choice(OUTCOMES[random.integers(4)], m)
    options = {
        "ties": str(random.choice(["davidson", "rao-kupper", "half"])),
        "order_effect": bool(random.random() < 0.3),
        "prior": random.choice([None, 5.0]),
        "n_draws": 100,
    }
    extra = {}
    if random.random() < 0.3:
        extra["sample_weight"] = random.choice([0.1, 1.0, 2.0, 30.0], m)
    if random.random() < 0.2:
        extra["covariates"] = random.normal(size=(m, random.integers(1, 3))).round(1)
    if random.random() < 0.2:
        extra["rater"] = random.integers(2, size=m)
    return options, (first, second, outcome), extra


def draw_rankings(random):
    """Return options of a PlackettLuce, rankings and their weights."""
    n, rankings = random.integers(2, 6), []
    for _ in range(random.integers(1, 7)):
        listed = random.permutation(n)[: random.integers(1, n + 1)].tolist()
        if len(listed) > 2 and random.random() < 0.4:
            cut = random.integers(len(listed) - 1)
            listed[cut : cut + 2] = [tuple(listed[cut : cut + 2])]
        rankings.append(listed)
    options = {
        "prior": random.choice([None, 5.0]),
        "unlisted": str(random.choice(["ignored", "last"])),
        "n_draws": 100,
    }
    return options, rankings, random.choice([0.1, 1.0, 2.0, 30.0], len(rankings))


def quietly(call, *args, **options):
    """Call without the warnings of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return call(*args, **options)
