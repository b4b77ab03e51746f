import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

from experiments import _runs
from experiments._data import absent, embedded_films, films, find
from experiments._index import claim, index
from experiments._runs import run_all, tidy, versions
from rankwise.reports import FORMATS, Report, Table

# Each trial notes that it began, and takes so long that a run can be killed in its midst.
SCRIPT = """
import json, sys, time
from pathlib import Path
import numpy as np
from experiments._runs import run_all

def trial(setting, scale, log):
    with open(log, "a") as file:
        file.write(f"{setting['number']}\\n")
    time.sleep(0.1)
    draws = np.random.default_rng([setting["seed"], setting["number"]]).normal(size=40)
    return {"mean": scale * draws.mean(), "curve": np.cumsum(draws), "odd": float("nan")}

if __name__ == "__main__":
    keep, jobs, log = sys.argv[1:]
    settings = [{"number": i, "seed": 3} for i in range(12)]
    shared = (1 / 3, log)
    print(json.dumps(run_all(trial, settings, shared=shared, keep=Path(keep), jobs=int(jobs))))
"""


def double(setting, table):
    return {"sum": table[setting["row"]].sum() / 3, "parts": {"first": table[setting["row"], 0]}}


@pytest.fixture
def start(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def begin(keep, jobs):
        arguments = [sys.executable, script, tmp_path / keep, str(jobs), tmp_path / "log"]
        root = str(Path(__file__).parents[2])
        paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), root]))
        environment = {**os.environ, "PYTHONPATH": paths}
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)

    return begin


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("jobs", "how"), [(1, signal.SIGKILL), (2, signal.SIGKILL), (1, signal.SIGINT)]
)
def test_a_killed_run_goes_on_with_the_same_numbers(tmp_path, start, jobs, how):
    names = runpy.run_path(str(tmp_path / "script.py"))
    settings = [{"number": i, "seed": 3} for i in range(12)]
    unbroken = run_all(names["trial"], settings, shared=(1 / 3, tmp_path / "other"))
    broken = start("broken", jobs)
    kept = tmp_path / "broken"
    end = time.monotonic() + 60
    while len(list(kept.glob("[!.]*.json"))) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    broken.send_signal(how)
    assert broken.wait(timeout=60) != 0
    broken.stdout.close()
    end = time.monotonic() + 60
    while time.monotonic() < end:  # processes that outlive the first finish what they have
        done = len(list(kept.glob("[!.]*.json")))
        time.sleep(0.4)
        if len(list(kept.glob("[!.]*.json"))) == done:
            break
    assert 3 <= done < 12
    begun = len((tmp_path / "log").read_text().split())
    assert begun - done <= jobs
    (tmp_path / "log").unlink()
    assert start("broken", jobs).communicate(timeout=60)[0] == json.dumps(unbroken) + "\n"
    assert len((tmp_path / "log").read_text().split()) == 12 - done


def test_results_are_the_same_fresh_and_kept(tmp_path):
    table = np.random.default_rng(0).normal(size=(4, 3))
    settings = [{"row": i} for i in (2, 0, 3, 2)]
    fresh = run_all(double, settings, shared=(table,))
    assert fresh[0] == fresh[3] == {
        "sum": table[2].sum() / 3, "parts": {"first": table[2, 0]}
    }  # fmt: skip
    assert run_all(double, settings, shared=(table,), keep=tmp_path) == fresh
    assert len(list(tmp_path.iterdir())) == 3
    assert run_all(double, settings, shared=(table,), keep=tmp_path, track=refuse) == fresh
    rows = tidy(settings, fresh)
    assert rows[0] == {"row": 2, "measure": "sum", "value": fresh[0]["sum"]}
    assert [row["measure"] for row in rows[:2]] == ["sum", "parts/first"]


def refuse(work):
    assert len(work) == 0
    return work


@pytest.mark.parametrize("text", ["", "{"])
def test_a_file_that_can_not_be_read_is_run_again(tmp_path, text):
    table = np.ones((2, 2))
    fresh = run_all(double, [{"row": 1}], shared=(table,), keep=tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_text()
    path.write_text(text)
    assert run_all(double, [{"row": 1}], shared=(table,), keep=tmp_path) == fresh
    assert path.read_text() == whole


def test_other_data_settings_and_versions_are_other_trials(tmp_path, monkeypatch):
    run_all(double, [{"row": 1}], shared=(np.ones((2, 2)),), keep=tmp_path)
    run_all(double, [{"row": 1}], shared=(np.zeros((2, 2)),), keep=tmp_path)
    run_all(double, [{"row": 0}], shared=(np.zeros((2, 2)),), keep=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    monkeypatch.setattr("experiments._runs.__version__", "another")
    run_all(double, [{"row": 0}], shared=(np.zeros((2, 2)),), keep=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_an_edit_in_a_room_that_is_named_makes_other_trials(tmp_path, monkeypatch):
    room = tmp_path / "rankwise" / "comparison"
    room.mkdir(parents=True)
    (room / "_rule.py").write_text("A = 1\n", "utf-8")
    monkeypatch.setattr(_runs, "__file__", str(tmp_path / "rankwise" / "experiments" / "_runs.py"))

    def kept(rooms):
        shared = (np.ones((2, 2)),)
        run_all(double, [{"row": 1}], shared=shared, keep=tmp_path / "keep", rooms=rooms)
        return len(list((tmp_path / "keep").iterdir()))

    assert [kept(()), kept(("comparison",)), kept(("comparison",))] == [1, 2, 2]
    (room / "_rule.py").write_text("A = 2\n", "utf-8")
    assert [kept(()), kept(("comparison",))] == [2, 3]


def test_a_result_that_can_not_be_kept_is_refused():
    with pytest.raises(TypeError, match="a trial gave set: give numbers"):
        run_all(lambda _: {"all": {1, 2}}, [{}])


def test_versions():
    assert set(versions()) == {"rankwise", "python", "numpy", "scipy", "scikit-learn", "numba"}


def test_data_is_found_in_the_folder_and_absent_otherwise(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert find("ml-1m") is None
    assert films().name == embedded_films().name
    assert absent("ml-1m") == (
        'ml-1m is absent: call rankwise.datasets.fetch_movielens("1m") once, or put it as ml-1m '
        "or ml-1m.zip into --data FOLDER; from https://grouplens.org/datasets/movielens/"
    )
    assert absent("cystic-fibrosis").startswith("cystic-fibrosis is absent: put it as cystic-")
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "ratings.dat").write_text("1::10::5::0\n2::10::3::0\n")
    assert find("ml-1m") == tmp_path / "ml-1m"
    assert films().table.n_ratings == 2


def test_the_page_of_all(tmp_path):
    said = claim("Paper 1", "PRank is best.", "it is not.", "the films differ.")
    drawn = pyplot.figure()
    table = Table("t", ["a"], [["1"]])
    report = Report("Films", "10 people", [table], [said, "No paper."], {"curves": drawn})
    old = Report("Rows", "5", [], ["50 rounds. Paper 2: BPM is lowest. Here: bagging is."])
    page = index({"ensembles": old, "viewers": report, "drift": Report("D", "s", [], []), "x": "?"})
    assert page.tables[0].rows == [
        ["viewers", "Paper 1", "PRank is best.", "it is not.", "the films differ."],
        ["ensembles", "Paper 2", "BPM is lowest.", "50 rounds. bagging is.", "see ours"],
    ]
    assert page.tables[1].rows == [["drift", "D"], ["x", "?"]]
    assert [section.figures for section in page.sections] == [{"viewers-curves": drawn}]
    assert page.sections[0].title.startswith("Paper 1")
    assert page.save(tmp_path, name="index")[-1] == tmp_path / "index.html"
    assert 'href="viewers/report.html"' in (tmp_path / "index.html").read_text()
    assert "- [drift](drift/report.html)" in FORMATS["md"](page)


def test_a_report_keeps_its_results_and_what_made_them(tmp_path):
    rows = [{"target": 1, "value": 1 / 3}, {"target": 2, "value": 0.1}]
    report = Report("R", "s", [], [], results=rows, about={"seed": 3})
    report.save(tmp_path)
    assert (tmp_path / "results.csv").read_text() == f"target,value\n1,{1 / 3!r}\n2,0.1\n"
    assert json.loads((tmp_path / "report.json").read_text())["about"] == {"seed": 3}


def test_no_temporary_file_is_left(tmp_path):
    run_all(double, [{"row": 1}], shared=(np.ones((2, 2)),), keep=tmp_path)
    assert all(not Path(path).name.startswith(".") for path in os.listdir(tmp_path))  # noqa: PTH208
