"""A page that lists the API from its schema, without a script and without another host."""

from collections.abc import Sequence
from html import escape
from typing import Any


def docs_page(schema: dict[str, Any]) -> str:
    """Return the page of an OpenAPI schema."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<meta name='color-scheme' content='light dark'>",
        f"<title>{_text(schema['info']['title'])}: API</title></head><body><main>",
        f"<h1>{_text(schema['info']['title'])} {_text(schema['info']['version'])}</h1>",
        "<p>The schema: <a href='openapi.json'>openapi.json</a>. Bodies and answers are JSON.</p>",
    ]
    for path, methods in schema["paths"].items():
        for method, told in methods.items():
            parts.append(_operation(path, method, told))
    parts.append("<h2>Shapes</h2>")
    for name, shape in sorted(schema.get("components", {}).get("schemas", {}).items()):
        parts.append(f"<h3 id='{_text(name)}'>{_text(name)}</h3>")
        parts.append(f"<p>{_text(shape.get('description', ''))}</p>{_fields(shape)}")
    parts.append("</main></body></html>")
    return "".join(parts)


def _operation(path: str, method: str, told: dict[str, Any]) -> str:
    parts = [f"<h2><code>{_text(method.upper())} {_text(path)}</code></h2>"]
    parts.append(f"<p>{_text(told.get('description') or told.get('summary', ''))}</p>")
    given = told.get("parameters", [])
    body = told.get("requestBody", {}).get("content", {}).get("application/json", {})
    rows = [
        (p["name"], p["in"], _kind(p.get("schema", {})), p.get("description", "")) for p in given
    ]
    if body:
        rows.append(("body", "JSON", _kind(body.get("schema", {})), ""))
    if rows:
        parts.append(_table(("name", "in", "kind", ""), rows))
    answers = []
    for status, answer in told.get("responses", {}).items():
        content: dict[str, Any] = next(iter(answer.get("content", {}).values()), {})
        answers.append((status, _kind(content.get("schema", {})), answer.get("description", "")))
    parts.append(_table(("status", "answer", ""), answers))
    return "".join(parts)


def _fields(shape: dict[str, Any]) -> str:
    rows = [(name, _kind(kind)) for name, kind in shape.get("properties", {}).items()]
    return _table(("field", "kind"), rows) if rows else ""


def _kind(schema: dict[str, Any]) -> str:
    """Return what a value is, as text with links, escaped."""
    if "$ref" in schema:
        name = _text(schema["$ref"].rsplit("/", 1)[-1])
        return f"<a href='#{name}'>{name}</a>"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(_kind(one) for one in schema[several])
    if "enum" in schema:
        return " | ".join(_text(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return _text(schema.get("type", "any"))


def _table(head: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> str:
    """Return a table; cells that are links are escaped already."""
    top = "".join(f"<th scope='col'>{_text(name)}</th>" for name in head)
    lines = "".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(text: str) -> str:
    return text if "<a href='#" in text else _text(text)


def _text(value: Any) -> str:
    return escape(str(value), quote=True)
