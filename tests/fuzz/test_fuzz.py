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


def test_every_public_name_has_arguments():
    status, text = fuzz("--recipes", "draw")
    assert status == 0, text


def test_functions_on_hard_problems():
    status, text = fuzz("--hard", 5)
    assert status == 0, text


@pytest.mark.slow
def test_functions_on_many_hard_problems():
    status, text = fuzz("--hard", 300)
    assert status == 0, text


@pytest.mark.slow
def test_good_arguments_are_accepted():
    # Else the fuzz of a name would only ever raise, and nobody would see.
    status, text = fuzz("--recipes", "call")
    assert status == 0, text


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_argument_does_harm(block):
    first = block * CASES // BLOCKS
    status, text = fuzz("--seed", first, "--cases", CASES // BLOCKS)
    assert status == 0, text
