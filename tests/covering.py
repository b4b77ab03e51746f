"""Fewer combinations of options where a full product proves nothing more."""

from itertools import combinations, product


def pairwise_cover(*factors):
    """Return combinations in which every two values of two factors occur together, greedily.

    A defect of one option, or of two together, is found as by the full product.
    """
    factors = [list(factor) for factor in factors]
    cases = list(product(*(range(len(factor)) for factor in factors)))
    pairs = {case: set(combinations(enumerate(case), 2)) for case in cases}
    missing, chosen = set().union(*pairs.values()), []
    while missing:
        best = max(cases, key=lambda case: len(pairs[case] & missing))
        missing -= pairs[best]
        chosen.append(tuple(factor[i] for factor, i in zip(factors, best, strict=True)))
    return chosen


def spread(cases, values):
    """Return each case with one of the values, which are dealt evenly to all options."""
    return [(case, values[i.bit_count() % len(values)]) for i, case in enumerate(cases)]
