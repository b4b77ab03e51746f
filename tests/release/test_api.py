"""The public API: names, signatures and defaults are those of the snapshot beside this file.

After a deliberate change, run ``python tests/release/test_api.py`` and read its difference.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path

import rankwise

SNAPSHOT = Path(__file__).parent / "api.txt"


def signature(value):
    """Return the parameters with their defaults, without annotations and addresses."""
    found = inspect.signature(value)
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def public_api():
    """Return a line for each public function, class and method."""
    lines = []
    modules = [name for name in rankwise.__all__ if name not in {"compare", "load", "save"}]
    for package in sorted(modules):
        module = import_module(f"rankwise.{package}")
        for name in sorted(getattr(module, "__all__", [])):
            value = getattr(module, name)
            path = f"{package}.{name}"
            described = inspect.isclass(value) or inspect.isroutine(value)
            lines.append(f"{path}{signature(value)}" if described else path)
            if not inspect.isclass(value):
                continue
            for method, _ in inspect.getmembers(value):
                owner = next((c for c in value.__mro__ if method in vars(c)), object)
                routed = method.startswith("set_") and method.endswith("_request")
                if method.startswith("_") or routed or not owner.__module__.startswith("rankwise"):
                    continue
                held = inspect.getattr_static(value, method)
                held = getattr(held, "fn", getattr(held, "__func__", held))
                lines.append(f"{path}.{method}{signature(held) if callable(held) else ''}")
    return "".join(f"{line}\n" for line in lines)


def test_the_public_api_is_that_of_the_snapshot():
    assert public_api() == SNAPSHOT.read_text()


if __name__ == "__main__":
    SNAPSHOT.write_text(public_api())
