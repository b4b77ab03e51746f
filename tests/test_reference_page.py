"""The reference page lists every public name."""

import re
from inspect import ismodule
from pathlib import Path

import pytest

import rankwise

PAGE = (Path(__file__).parents[1] / "docs" / "reference.md").read_text(encoding="utf-8")
PACKAGES = [name for name in rankwise.__all__ if ismodule(getattr(rankwise, name))]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_listed(package):
    names = getattr(rankwise, package).__all__
    assert [name for name in names if not re.search(rf"\b{name}\b", PAGE)] == []
