"""What to use, in two or three sentences."""

from typing import TYPE_CHECKING

from rankwise.comparison._significance import SURE

if TYPE_CHECKING:
    from rankwise.comparison.runner import Comparison, Row


def advise(found: "Comparison") -> list[str]:
    """Return plain advice: which method and how good it is, how sure that is, what is kept."""
    best, measure = found.row(found.best), found.measures[0]
    low, high = measure.within(best.means[0] - best.halves[0], best.means[0] + best.halves[0])
    said = measure.meaning.format(f"{best.means[0]:.3f} ({low:.3f} to {high:.3f})")
    what = "ratings" if found.task.kind == "ratings" else "rows"
    first = f"Use {best.name} ({best.about}): on {what} it has not seen, {said}"
    constant = next((row for row in found.rows if row.name == "constant" and not row.failure), None)
    if constant is not None and constant is not best:
        first += f"; with the same answer to all it would be {constant.means[0]:.3f}"
    return [first + ".", _how_sure(found, best, constant), *_kept(found)]


def _how_sure(found: "Comparison", best: "Row", constant: "Row | None") -> str:
    if constant is best or (constant is not None and constant.pvalue > SURE):
        return "Nothing here is surely better than that: the columns say little about the target."
    first = found.rows[0]
    others = [row for row in found.rows if row is not best and not row.failure]
    equal = [row for row in others if row.pvalue > SURE]
    if first is not best:
        gap = abs(first.means[0] - best.means[0])
        return (
            f"The mean of {first.name} is better by {gap:.3f}, which could be chance; on other "
            f"tables {best.name} did better{_listed('; as good may be', equal)}."
        )
    if not others:
        return "Nothing else was tried."
    if not equal:
        gap = abs(others[0].means[0] - best.means[0])
        return (
            f"The next, {others[0].name}, is worse by {gap:.3f}, more than chance explains "
            f"({_p(others[0].pvalue)}{_corrected(len(others))})."
        )
    return f"{_listed('These may be as good, the difference could be chance', equal)}."


def _listed(what: str, rows: "list[Row]") -> str:
    """Return some names after a few words; a semicolon between them, as some have a comma."""
    named = "; ".join(row.name for row in rows[:3]) + ("; and more" if len(rows) > 3 else "")
    return f"{what}: {named}" if rows else ""


def _kept(found: "Comparison") -> list[str]:
    if found.kept == found.best:
        return []
    if not found.kept:
        return [f"No model is kept: {found.best} is not one that rankwise saves."]
    row = found.row(found.kept)
    text = f"The model that is kept is {row.name}, the best of ours, at {row.means[0]:.3f}"
    return [f"{text}; rankwise does not save {found.best}."]


def _corrected(n_tests: int) -> str:
    return f" after correction for {n_tests} tests" if n_tests > 1 else ""


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
