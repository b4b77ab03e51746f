"""What other packages import of `rankwise.base`, from the package itself."""

import pytest

from rankwise import base

HELPERS = ["Ranked", "State", "TOO_LARGE", "bad_row", "check_ranked", "check_rows"]
NAMES = [*base.__all__, *HELPERS, "unchanged_on_error"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_found(name):
    assert hasattr(base, name)
