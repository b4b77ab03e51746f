"""Ordered scales that are known by their words, such as low, medium, high."""

import re
from collections.abc import Sequence
from typing import Any

# Lowest first; scales end with a semicolon, and words of one step are joined by a bar.
_SCALES = """
no|n, yes|y;
false|f, true|t;
negative|neg, neutral, positive|pos;
absent, present;
dead|died, alive|survived;
fail|failed, pass|passed, distinction;
none|nil, very little, little|few, some, much|many|a lot, very much|a great deal;
none, very mild, mild|slight|minor|some, moderate, severe|marked|major, very
    severe|extreme, fatal;
none, very low, low|lo, medium|middle|med|moderate|mid|average|normal, high|hi, very high;
xxs, xs, s|small, m|medium, l|large, xl|extra large, xxl, xxxl;
tiny, small, medium, large|big, huge;
very bad|terrible|awful, bad|poor, fair|average|ok|okay|so so, good, very good,
    excellent|great|best|outstanding;
very poor, poor|bad, below average, fair|average|satisfactory, above average, good, very
    good, excellent, ideal;
fair, good, very good, premium, ideal;
worse, same|unchanged|no change, better;
never, almost never|hardly ever|very rarely, rarely|seldom, occasionally, sometimes,
    often, frequently|usually, very often|almost always, always;
not at all, not very|slightly|a little, somewhat|moderately|fairly, very|quite, extremely;
strongly disagree|disagree strongly|sd, disagree|d, somewhat disagree|slightly disagree,
    neutral|neither|neither agree nor disagree|undecided|n, somewhat agree|slightly agree,
    agree|a, strongly agree|agree strongly|sa;
very dissatisfied, dissatisfied, somewhat dissatisfied, neutral|neither, somewhat
    satisfied, satisfied, very satisfied;
very unlikely, unlikely, neutral|undecided, somewhat likely, likely, very likely;
first|one, second|two, third|three, fourth|four, fifth|five, sixth|six;
poor, middle, rich;
lower, middle, upper;
f, e, d-, d, d+, c-, c, c+, b-, b, b+, a-, a, a+;
monday|mon, tuesday|tue, wednesday|wed, thursday|thu, friday|fri, saturday|sat,
    sunday|sun;
too little, about right, too much
"""
_FIRST_NUMBER = re.compile(
    r"(<=?|>=?|under|below|less than|over|above|more than)?\D{0,8}?([0-9.]*[0-9])"
)
_MOST = 20
_BELOW, _ABOVE = (
    {"<", "<=", "under", "below", "less than"},
    {">", ">=", "over", "above", "more than"},
)


def known_order(values: Sequence[Any]) -> list[Any] | None:
    """Return distinct strings from the lowest to the highest, None if their order is not known.

    Examples
    --------
    >>> from rankwise.comparison._scales import known_order
    >>> known_order(["High", "low", "medium"]), known_order(["2nd", "1st", "10th"])
    (['low', 'medium', 'High'], ['1st', '2nd', '10th'])
    """
    words = [re.sub(r"[\s_.]+", " ", str(value)).strip().lower() for value in values]
    dashed = [word.replace("-", " ") for word in words]
    for scale in _SCALES.split(";"):
        steps = [step.strip().split("|") for step in " ".join(scale.split()).split(",")]
        place = {word: rank for rank, step in enumerate(steps) for word in step}
        for spelled in (words, dashed):
            ranks = [place.get(word) for word in spelled]
            if None not in ranks and len(set(ranks)) == len(ranks) > 1:
                return [value for _, value in sorted(zip(ranks, values, strict=True))]
    keys = [_number(word) for word in words]
    if not 2 <= len(words) <= _MOST or None in keys or len(set(keys)) < len(keys):
        return None
    return [value for _, value in sorted(zip(keys, values, strict=True))]


def _number(word: str) -> tuple[float, int] | None:
    """Return the number that a word begins with, such as 1st, 10-19, > 65, 3 = often, grade 4."""
    found = _FIRST_NUMBER.match(word)
    if not found or found[2].count(".") > 1:
        return None
    return float(found[2]), (found[1] in _ABOVE) - (found[1] in _BELOW)
