"""The races of aggregation, at sizes that take no time: the exact entrants agree."""

import pytest

from benchmarks import aggregation, harness


@pytest.mark.parametrize("name", aggregation.RACES)
def test_races(name):
    race = aggregation.RACES[name]
    results = harness.time_race(race, repeats=1, n=10)
    by_name = {result.name: result for result in results if not result.note}
    assert {entrant.name for entrant in race.ours} <= set(by_name)
    for exact in ("kemeny", "local search", "plain HiGHS"):
        if exact in by_name:
            assert by_name[exact].error == 65


def test_proofs(capsys):
    aggregation.proofs((10,))
    assert "proven" in capsys.readouterr().out
