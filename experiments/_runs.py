"""Trials that are run in parallel and kept on disk, so that a run goes on where it was broken off.

How an experiment uses it::

    def viewers(*, n_targets=40, seed=0, track=iter, jobs=1, keep=None):
        settings = [{"target": t, "seed": seed} for t in range(n_targets)]
        results = run_all(_trial, settings, shared=(table,), keep=keep, jobs=jobs, track=track)
        ...
        return Report(..., results=tidy(settings, results))

    def _trial(setting, table):
        random = np.random.default_rng([setting["seed"], setting["target"]])
        return {"loss": ..., "curve": array}

- ``_trial`` is a function of a module (worker processes import it). It draws only from seeds in
  its setting, so neither the order nor the process of a trial matters.
- A setting is a dict of numbers and text; a result is a dict of numbers, text, lists and arrays.
  Arrays come back as lists, floats bit for bit, whether a result was computed now or read.
- ``shared`` is what all trials read: tables, arrays, options. It is handed to worker processes
  through shared memory.
- The command line passes ``seed``, ``track``, ``jobs`` and ``keep`` to a function that has them.

A finished trial is the file ``keep/DIGEST.json``, written under another name and then renamed. The
digest is of the function's name and module source, the sources of the ``rooms`` that are named, the
setting, ``shared``, the version of rankwise and Python's, NumPy's, SciPy's, scikit-learn's and
numba's. What is killed loses the trials under way, one a process. To start anew remove the folder.
A change of code elsewhere, without a new version, is not noticed.
"""

import inspect
import json
import platform
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from rankwise import __version__
from rankwise._core.files import replacing
from rankwise.distributed.connection import on_cluster
from rankwise.reports import Track

Setting = dict[str, Any]
Result = dict[str, Any]
Trial = Callable[..., Result]


def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "rankwise": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def run_all(
    trial: Trial,
    settings: Sequence[Setting],
    *,
    shared: tuple[Any, ...] = (),
    keep: Path | None = None,
    jobs: int = 1,
    track: Track[int] = iter,
    rooms: tuple[str, ...] = (),
) -> list[Result]:
    """Return ``trial(setting, *shared)`` for every setting, in their order.

    Parameters
    ----------
    trial : callable
        A function of a module.
    settings : sequence of dict
        Numbers and text; equal ones are run once.
    shared : tuple, default=()
        What every trial gets besides.
    keep : Path, default=None
        The folder of finished trials, made if it isn't there; None keeps nothing.
    jobs : int, default=1
        Processes, as joblib counts them; -1 are all cores. 1 runs in this process. On a cluster,
        see `rankwise.distributed.cluster`, all its workers run trials.
    track : callable, default=iter
        Wraps the sequence of trials that are still to run, to show progress.
    rooms : tuple of str, default=()
        Folders of rankwise whose change makes kept trials out of date.

    Returns
    -------
    list of dict
        The same, bit for bit, for any ``jobs`` and for any number of interruptions.
    """
    names = [str(i) for i in range(len(settings))]
    if keep:
        names = _names(trial, settings, shared, rooms)
    found: dict[str, Result] = {}
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        found = {name: kept for name in names if (kept := _read(keep, name)) is not None}
    missing = [i for i, name in enumerate(names) if name not in found]
    todo = list({names[i]: i for i in missing}.values())
    calls = ((trial, settings[i], shared, keep, names[i]) for i in todo)
    with threadpool_limits(1):
        done: Iterator[Result]
        if len(todo) < 2 or (jobs == 1 and not on_cluster()):
            done = (_run(*call) for call in calls)
        else:
            parallel = joblib.Parallel(-1 if on_cluster() else jobs, return_as="generator")
            done = parallel(joblib.delayed(_run)(*call) for call in calls)
        for i in track(todo):
            found[names[i]] = next(done)
    return [found[name] for name in names]


def tidy(settings: Sequence[Setting], results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return a row for every number of every trial: the setting, the measure and its value.

    Numbers in dicts are named ``outer/inner``; lists, such as curves, are left out.
    """
    return [
        {**setting, "measure": measure, "value": value}
        for setting, result in zip(settings, results, strict=True)
        for measure, value in _numbers(result)
    ]


def _numbers(result: Result, before: str = "") -> Iterator[tuple[str, float]]:
    for name, value in result.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{before}{name}/")
        elif isinstance(value, int | float):
            yield f"{before}{name}", value


def _run(
    trial: Trial, setting: Setting, shared: tuple[Any, ...], keep: Path | None, name: str
) -> Result:
    """Run a trial with one thread, as sums of linear algebra depend on their number; keep it."""
    with threadpool_limits(1):
        result = trial(setting, *shared)
    text = json.dumps({"setting": setting, "result": result}, default=_plain)
    if keep:
        with replacing(_path(keep, name)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return json.loads(text)["result"]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a trial gave {type(value).__name__}: give numbers, text, lists and arrays")


def _path(keep: Path, name: str) -> Path:
    return keep / f"{name}.json"


def _read(keep: Path, name: str) -> Result | None:
    """Return a finished trial; None if there is none, or none that can be read."""
    try:
        return json.loads(_path(keep, name).read_text(encoding="utf-8"))["result"]
    except (FileNotFoundError, ValueError):
        return None


def _names(
    trial: Trial, settings: Sequence[Setting], shared: tuple[Any, ...], rooms: tuple[str, ...]
) -> list[str]:
    """Return what the files of trials are called."""
    package = Path(__file__).parents[1]
    files = [path for room in rooms for path in sorted((package / room).rglob("*.py"))]
    source = b"".join(path.read_bytes() for path in (Path(inspect.getfile(trial)), *files))
    about = {
        "trial": f"{trial.__module__}.{trial.__qualname__}",
        "source": sha256(source).hexdigest(),
        "shared": joblib.hash(shared),
        "versions": versions(),
    }
    texts = [json.dumps([about, setting], sort_keys=True, default=_plain) for setting in settings]
    return [sha256(text.encode()).hexdigest()[:32] for text in texts]
