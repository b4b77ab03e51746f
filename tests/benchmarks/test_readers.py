"""The race of the readers, at sizes that take no time: all entrants read what was written."""

import pytest

from benchmarks import harness, readers


@pytest.mark.parametrize("name", readers.RACES)
def test_all_entrants_read_the_same(name, monkeypatch):
    monkeypatch.setattr(harness, "TURN", 0.0)
    results = harness.time_race(readers.RACES[name], repeats=1, m=200)
    assert [result.note for result in results if "absent" not in result.note] == [""] * sum(
        "absent" not in result.note for result in results
    )
    assert {result.error for result in results} <= {None, 0.0}
    assert results[1].error == 0.0
