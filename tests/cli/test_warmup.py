"""The commands warmup and doctor, and the table of entry points that they share."""

import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from rankwise._core.compilation import is_current
from rankwise.cli import _doctor
from rankwise.cli._commands import rankwise
from rankwise.cli._first_calls import FIRST_CALLS, INPUTS, FirstCall, make_data
from rankwise.testing import all_estimators


def invoke(*arguments):
    return CliRunner().invoke(rankwise, list(arguments))


def test_every_estimator_is_in_the_table():
    named = {name.partition("(")[0] for name in FIRST_CALLS}
    assert set(all_estimators()) <= named


def test_the_packages_of_the_table_exist():
    for first in FIRST_CALLS.values():
        first.load()


@pytest.mark.parametrize(
    "name",
    ["borda", "kemeny", "quicksort", "mean_rank_loss", "WidrowHoff()", "rows of a stream"],
)
def test_calls_give_finite_numbers(name):
    first = FIRST_CALLS[name]
    first.load()
    for kind in INPUTS if first.reads_rows else INPUTS[:1]:
        assert np.isfinite(np.asarray(first.call(make_data(kind)), dtype=float)).all()


def test_warmup_keeps_what_it_compiles_where_it_is_told(tmp_path):
    code = "from rankwise.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, "warmup", "--only", "kwiksort"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1 calls took" in done.stdout
    kept = list(tmp_path.rglob("*.nbc"))
    assert any("count_wins" in path.name for path in kept)
    assert all(any(map(is_current, path.parents)) for path in kept)


@pytest.mark.slow
def test_after_warmup_nothing_is_compiled(tmp_path):
    listen = (
        "from numba.core import event\n"
        "class Note(event.Listener):\n"
        "    def on_start(self, found):\n"
        "        print('compiled', found.data['dispatcher'].py_func)\n"
        "    def on_end(self, found):\n"
        "        pass\n"
    )
    run = "from rankwise.cli import main; main()"
    for before in ("", f"{listen}event.register('numba:compile', Note())\n"):
        done = subprocess.run(
            [sys.executable, "-c", before + run, "warmup"],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "compiled <function" not in done.stdout


def test_warmup_says_what_it_can_not_do(monkeypatch):
    result = invoke("warmup", "--only", "nonsense")
    assert result.exit_code == 1
    assert "not found in the name of an entry point" in result.output
    monkeypatch.setattr(_doctor, "cache_folder", lambda: None)
    result = invoke("warmup", "--only", "borda")
    assert result.exit_code == 1
    assert "set NUMBA_CACHE_DIR" in result.output


def failing(_):
    raise ModuleNotFoundError("no module named pandas")


def test_warmup_leaves_out_what_needs_an_extra(monkeypatch):
    monkeypatch.setitem(_doctor.FIRST_CALLS, "a reader", FirstCall(("datasets",), failing))
    result = invoke("warmup", "--only", "a reader")
    assert result.exit_code == 0, result.output
    assert "a reader is left out: no module named pandas" in result.output


@pytest.fixture
def two_calls(monkeypatch):
    """Let the table hold two calls only."""
    calls = {name: FIRST_CALLS[name] for name in ("borda", "mean_rank_loss")}
    monkeypatch.setattr(_doctor, "FIRST_CALLS", calls)
    return calls


def test_the_doctor_tells_what_is_here(two_calls):
    result = invoke("doctor")
    assert result.exit_code == 0, result.output
    for word in ("scikit-learn", "numba", "processors", "blas", "NUMBA_CACHE_DIR", "extra data"):
        assert word in result.output
    assert f"self-test: {len(two_calls)} of 2 entry points work" in result.output
    assert "self-test" not in invoke("doctor", "--no-test").output


def test_the_doctor_tells_what_fails(two_calls):
    two_calls["broken"] = FirstCall((), failing)
    two_calls["not finite"] = FirstCall((), lambda _: [1.0, np.nan])
    result = invoke("doctor")
    assert result.exit_code == 1
    assert "broken fails: ModuleNotFoundError: no module named pandas" in result.output
    assert "not finite gives numbers that are not finite" in result.output
    assert "2 of 4 entry points work" in result.output


def test_the_doctor_has_ten_seconds(two_calls, monkeypatch):
    times = iter([0.0, 1.0, 11.0])
    monkeypatch.setattr(_doctor, "monotonic", lambda: next(times))
    assert "1 of 1 entry points work; 1 were not tried in 10 s" in invoke("doctor").output
    assert len(two_calls) == 2


def test_the_doctor_tells_where_nothing_can_be_kept(two_calls, monkeypatch, tmp_path):
    monkeypatch.setattr(_doctor, "cache_folder", lambda: None)
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    (tmp_path / "BX-CSV-Dump.zip").touch()
    result = invoke("doctor", "--no-test")
    assert "can't be kept: set NUMBA_CACHE_DIR" in result.output
    assert "book-crossing" in result.output
    assert two_calls
