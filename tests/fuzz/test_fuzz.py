"""Whatever the public functions and estimators are given, they answer or refuse properly."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
CASES, BLOCKS = 12000, 4


def fuzz(*options):
    """Run the fuzz in a process of its own, as a user would."""
    command = [sys.executable, "-m", "fuzz", *map(str, options)]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_public_name_is_attacked_with_good_arguments_too():
    # A name for which the fuzz finds no arguments would only ever raise, and nobody would see.
    status, text = fuzz("--recipes")
    assert status == 0, text


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_argument_does_harm(block):
    first = block * CASES // BLOCKS
    status, text = fuzz("--seed", first, "--cases", CASES // BLOCKS)
    assert status == 0, text
