"""Bounds checking, when it is compiled in, finds an index beyond an array."""

import os
import subprocess
import sys

import numpy as np
import pytest

from rankwise._core._loops.rows import as_rows, scores

checked = pytest.mark.skipif(
    os.environ.get("NUMBA_BOUNDSCHECK") != "1", reason="loops are compiled without bounds checking"
)


def overrun():
    """Enter a loop with a direction that is too long, which no public call does."""
    scores(as_rows(np.ones((1, 3))), np.ones((1, 4)), np.empty((1, 1)))


@checked
def test_every_index_is_checked_in_this_run():
    with pytest.raises(IndexError, match="out of bounds"):
        overrun()


def test_the_flag_makes_an_overrun_an_error(tmp_path):
    code = (
        "import numpy as np; from rankwise._core._loops.rows import as_rows, scores; "
        "scores(as_rows(np.ones((1, 3))), np.ones((1, 4)), np.empty((1, 1)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "IndexError: index is out of bounds" in done.stderr
