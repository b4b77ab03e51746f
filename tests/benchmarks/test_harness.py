"""The arithmetic and the records of the race harness; time is a fake clock's."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import harness, report
from benchmarks.__main__ import main, races
from benchmarks.harness import (
    Entrant,
    Growth,
    Race,
    Target,
    check_target,
    fit_exponent,
    load,
    time_growth,
    time_race,
)


class Clock:
    """A clock that moves only when an entrant runs."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[str] = []

    def __call__(self) -> float:
        return self.now

    def entrant(self, name: str, *seconds: float, outcome: float | None = 0.25, **kw) -> Entrant:
        """Take the given seconds, call after call, and the last of them ever after."""
        times = chain(seconds, repeat(seconds[-1]))

        def run() -> float | None:
            self.calls.append(name)
            self.now += next(times)
            return outcome

        return Entrant(name, lambda *_: run, **kw)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(harness, "perf_counter", clock)
    monkeypatch.setattr("gc.collect", lambda: 0)
    return clock


@pytest.fixture
def race(clock: Clock) -> Race:
    return Race(
        data=lambda m=40, d=2: ((np.ones((m, d)), np.zeros(m)), (np.zeros(3),)),
        measure="error",
        judge=lambda outcome, test: outcome + len(test),
        limit=clock.entrant("limit", 9.0, 1.0, outcome=None),
        ours=(clock.entrant("ours", 9.0, 4.0, 2.0, 3.0),),
        peers=(
            clock.entrant("peer", 7.0, 5.0, rows=10),
            Entrant("missing", lambda *_: load("no_such_package.Model"), needs="no-such-package"),
            Entrant("broken", lambda *_: {}["key"], needs="numpy"),
            clock.entrant("once", 8.0, 6.0, repeats=1, growth=True),
        ),
        targets=(Target("peer", over="ours", at_least=11),),
    )


def by_name(results: list[harness.Result]) -> dict[str, harness.Result]:
    return {result.name: result for result in results}


def test_seconds_are_minima_without_the_first_call(race: Race) -> None:
    results = by_name(time_race(race, repeats=3))
    assert (results["ours"].first_call, results["ours"].seconds) == (9.0, 2.0)
    assert (results["limit"].first_call, results["limit"].seconds) == (9.0, 1.0)
    assert (results["ours"].calls, results["once"].calls) == (3, 1)


def test_first_call_may_be_the_shortest_and_still_does_not_count(race: Race, clock: Clock) -> None:
    quick = clock.entrant("ours", 0.5, 2.0)
    race = replace(race, ours=(quick,))
    assert by_name(time_race(race, repeats=2))["ours"].seconds == 2.0


def test_entrants_take_turns(race: Race, clock: Clock) -> None:
    time_race(race, repeats=2)
    first = turn = ["limit", "ours", "peer", "once"]
    assert clock.calls == first + turn + turn[:3]


def test_short_calls_fill_their_turn(race: Race, clock: Clock) -> None:
    short = clock.entrant("ours", 1.01 * harness.TURN / 4)
    results = time_race(replace(race, ours=(short,)), repeats=2)
    assert by_name(results)["ours"].calls == 8


def test_ratios_are_per_example(race: Race) -> None:
    limit, ours, peer, *_ = time_race(race, repeats=3)
    record = peer.record(ours, limit)
    assert (ours.rows, peer.rows) == (40, 10)
    assert record["examples_per_second"] == 10 / 5.0
    assert record["ratio"] == (5.0 / 10) / (2.0 / 40)
    assert record["ratio_to_limit"] == (5.0 / 10) / (1.0 / 40)


def test_sizes_reach_the_generator_and_cap_the_rows(race: Race) -> None:
    results = by_name(time_race(race, repeats=1, m=8))
    assert (results["ours"].rows, results["peer"].rows) == (8, 8)
    assert race.sizes(m=8) == {"m": 8, "d": 2}


def test_outcomes_are_judged_on_the_test_data_and_none_is_not(race: Race) -> None:
    results = by_name(time_race(race, repeats=1))
    assert (results["ours"].error, results["limit"].error) == (3.25, None)


def test_absent_and_broken_peers_are_listed(
    race: Race, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    results = time_race(race, repeats=1)
    assert by_name(results)["missing"].note == "absent (pip install no-such-package)"
    assert by_name(results)["broken"].note == "failed (KeyError: 'key')"
    monkeypatch.setattr(report.console, "_width", 200)
    report.show_race(race, results)
    shown = capsys.readouterr().out
    assert "missing: absent (pip install no-such-package)" in shown
    assert "broken: failed" in shown


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (Target("ours", over="limit", at_most=2), (2.0, "met")),
        (Target("ours", over="limit", at_most=1.9), (2.0, "not met")),
        (Target("peer", over="ours", at_least=11), (10.0, "not met")),
        (Target("ours", at_most=3.25), (3.25, "met")),
        (Target("missing", over="ours", at_least=1), (None, "unknown")),
    ],
)
def test_targets(race: Race, target: Target, expected: tuple[float | None, str]) -> None:
    assert check_target(target, time_race(race, repeats=3)) == expected


def test_a_target_of_zero_is_told(race: Race) -> None:
    race = replace(race, targets=(Target("ours", at_most=0), Target("ours", at_least=1, at_most=4)))
    assert report.target_lines(race, time_race(race, repeats=1)) == [
        ("not met", "ours 3.25 error, target at most 0"),
        ("met", "ours 3.25 error, target at least 1, at most 4"),
    ]


def test_a_race_that_names_what_it_lacks_is_refused(race: Race) -> None:
    with pytest.raises(ValueError, match="must name unique entrants"):
        replace(race, targets=(Target("nobody", over="ours"),))
    with pytest.raises(ValueError, match="must name unique entrants"):
        replace(race, peers=(*race.peers, *race.ours))
    with pytest.raises(TypeError, match="unexpected keyword argument 'height'"):
        replace(race, growth=(Growth("height", (1, 2)),))


@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
def test_exponent_of_a_power_law(slope: float) -> None:
    sizes = [10, 30, 100, 300]
    seconds: list[float | None] = [3e-6 * size**slope for size in sizes]
    assert fit_exponent(sizes, seconds) == pytest.approx(slope)
    assert fit_exponent(sizes, [None, *seconds[1:]]) == pytest.approx(slope)
    assert fit_exponent(sizes, [None, None, None, 1.0]) is None


def test_growth_runs_cheap_entrants_along_the_axis(clock: Clock, race: Race) -> None:
    def linear(X: Any, _y: Any) -> Callable[[], None]:
        return clock.entrant("ours", 1e-3 * X.size, outcome=None).prepare()

    growth = Growth("d", (2, 4, 8), fixed={"m": 100})
    race = replace(race, ours=(Entrant("ours", linear),), growth=(growth,))
    curves = time_growth(race, growth, repeats=1)
    limit, ours, once = report.growth_record(growth, curves)
    assert ours["seconds"] == pytest.approx([0.2, 0.4, 0.8])
    assert ours["exponent"] == pytest.approx(1)
    assert limit["exponent"] == pytest.approx(0)
    assert once["name"] == "once"


def test_options_reach_every_entrant_and_may_grow(clock: Clock, race: Race) -> None:
    def rounds_long(*_: Any, rounds: int) -> Callable[[], None]:
        return clock.entrant("ours", 1e-3 * rounds, outcome=None).prepare()

    growth = Growth("rounds", (300, 600), fixed={"m": 10})
    each = (Entrant("ours", rounds_long), Entrant("half", rounds_long, rows=20))
    limit = Entrant("limit", rounds_long)
    race = replace(
        race, limit=limit, ours=each, peers=(), targets=(), growth=(growth,), options={"rounds": 5}
    )
    assert race.sizes(m=8) == {"m": 8, "d": 2, "rounds": 5}
    assert by_name(time_race(race, repeats=1))["half"].seconds == pytest.approx(5e-3)
    assert by_name(time_race(race, repeats=1, rounds=40))["ours"].seconds == pytest.approx(0.04)
    found = report.growth_record(growth, time_growth(race, growth, repeats=1))
    assert [entry["name"] for entry in found] == ["limit", "ours"], "others have fewer rows"
    assert found[1]["seconds"] == pytest.approx([0.3, 0.6])
    with pytest.raises(TypeError, match="unexpected keyword argument 'members'"):
        replace(race, growth=(Growth("members", (1, 2)),))


def test_every_run_is_one_line_of_json(
    race: Race, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    fine = report.run_race("test", race, repeats=3, sizes={"m": 20})
    growth = Growth("m", (20, 40))
    report.run_growth("test", replace(race, growth=(growth,)), repeats=1)
    text = (tmp_path / "results" / "test.jsonl").read_text()
    first, second = map(json.loads, text.splitlines())
    assert text.endswith("\n")
    assert not fine, "a broken entrant is a failure"
    assert first["sizes"] == {"m": 20, "d": 2}
    assert first["machine"]["libraries"]["no-such-package"] is None
    assert [entrant["name"] for entrant in first["entrants"]][-2:] == ["broken", "once"]
    assert first["entrants"][2]["ratio"] == (5.0 / 10) / (2.0 / 20)
    assert first["entrants"][3]["seconds"] is None
    assert (first["limit"], first["ours"]) == ("limit", ["ours"])
    assert first["targets"] == [], "targets are for the default sizes"
    report.run_race("default", race, repeats=3, sizes={})
    last = json.loads((tmp_path / "results" / "default.jsonl").read_text())
    assert last["targets"] == [["not met", "peer 6.67 x ours, target at least 11"]]
    assert (second["kind"], second["values"]) == ("growth", [20, 40])


def test_an_unknown_race_gets_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no_such_race"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("no race is called 'no_such_race': choose ")
    assert all(name in message for name in races())


def test_without_a_name_the_races_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(races())
    assert {"online_ordinal", "out_of_core"} <= races().keys()
    assert not {"harness", "report"} & races().keys()
    assert all(races().values()), "every race has a description"


def test_the_command_line_does_not_import_numpy_before_it_sets_the_threads() -> None:
    code = "import sys, benchmarks.__main__; sys.exit('numpy' in sys.modules)"
    root = Path(harness.__file__).parents[1]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_ctrl_c_ends_with_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "run_race", interrupt)
    monkeypatch.setattr("benchmarks.__main__.THREAD_VARIABLES", ())
    assert main(["online_ordinal"]) == 130
    assert capsys.readouterr().err.strip() == "interrupted: the unfinished race is not recorded"
