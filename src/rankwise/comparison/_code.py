"""The lines of Python that fit what a comparison has kept."""

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

if TYPE_CHECKING:
    from rankwise.comparison.runner import Comparison


def lines_of(found: "Comparison", source: str = "table.csv") -> str:
    """Return a program that reads a table, fits the model that was kept, and saves it."""
    if not found.kept:
        return ""
    if found.task.kind == "ratings":
        return _ratings(found, source)
    return _table(found, source)


def _table(found: "Comparison", source: str) -> str:
    model, task = clone(found.model[-1]), found.task
    room = type(model).__module__.split(".")[1]
    inner = getattr(model, "estimator", None)
    told = [f"{part}={name!r}" for part, name in task.roles.items()]
    told += [f"order={task.order!r}"] if task.order is not None and _texts(task.order) else []
    told += ['text="hash"'] if task.columns.texts else []
    known = {*task.columns.names, *task.roles.values()}
    ignored = [name for name in found.ignored if name not in known]
    told += [f"ignore={ignored!r}"] if ignored else []
    target = f"frame[{task.roles['target']!r}]"
    if task.order is not None and _texts(task.order) and not hasattr(model, "label_order"):
        target += f".map({ {label: rank for rank, label in enumerate(task.order, 1)}!r})"
    reading = [
        "from rankwise.comparison import read_table",
        f"frame = read_table({source!r}).frame",
    ]
    if source == "films":
        reading = ["from rankwise.datasets import load_films", "frame = load_films()"]
    lines = [
        "import rankwise",
        "from rankwise.comparison import make_transformer, prepare, recognise",
        *reading[:1],
        f"from rankwise.{room} import {type(model).__name__}",
        *_import_inner(inner),
        "from sklearn.pipeline import make_pipeline",
        "",
        *reading[1:],
        f"task = recognise(frame, {', '.join(told)})",
        f"frame = frame.dropna(subset={list(task.roles.values())!r})",
        "rows = prepare(frame, task.columns)",
        f"model = make_pipeline(make_transformer(task.columns), {_shown(model)})",
    ]
    query = task.roles.get("query")
    step = type(model).__name__.lower()
    lists = f", {step}__qid=frame[{query!r}]" if query is not None else ""
    lines += [f"model.fit(rows, {target}{lists})", 'rankwise.save(model, "model.rankwise")']
    return "\n".join(lines)


def _import_inner(inner: Any) -> list[str]:
    if inner is None or not type(inner).__module__.startswith("rankwise."):
        return []
    return [f"from rankwise.{type(inner).__module__.split('.')[1]} import {type(inner).__name__}"]


def _ratings(found: "Comparison", source: str) -> str:
    roles = ", ".join(f"{part}={name!r}" for part, name in found.task.roles.items())
    return "\n".join(
        [
            "import rankwise",
            "from rankwise.comparison import read_table",
            "from rankwise.recommend import RatingTable, TasteModel",
            "",
            f"frame = read_table({source!r}).frame",
            f"table = RatingTable.from_frame(frame, {roles})",
            "model = TasteModel().fit(table)",
            'rankwise.save(model, "model.rankwise")',
        ]
    )


def _shown(model: Any) -> str:
    return " ".join(repr(model).split())


def _texts(order: list[Any]) -> bool:
    return isinstance(order[0], str)
