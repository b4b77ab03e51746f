"""Blocks of cases in processes of their own, so that a crash is one more finding."""

import faulthandler
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

HERE = Path(__file__).parents[1]
STUCK = 200  # seconds in compiled code, where no signal is heard
MEMORY = 6 << 30
WIDTH = 2000
ALGORITHMS = {"aggregation", "bounds", "magnitude", "metrics", "model_selection", "ordinal"}
ALGORITHMS |= {"boosting", "contests", "pairwise", "preference", "recommend"}


def run(start, stop):
    """Run the cases from ``start`` to ``stop`` and return the findings."""
    from fuzz.attack import Finding

    findings = []
    with tempfile.TemporaryDirectory() as folder:
        out, last, noise = (Path(folder) / name for name in ("out", "last", "noise"))
        out.touch()
        while start < stop:
            last.write_text(f"{start} none yet")
            command = [sys.executable, "-m", "fuzz.runner", str(start), str(stop), folder]
            with noise.open("w") as stderr:
                worker = subprocess.Popen(
                    command,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    cwd=folder,
                    env=_alone(folder),
                )
                why = _watch(worker, last)
            if worker.returncode == 0:
                break
            if worker.returncode > 0:
                raise RuntimeError(f"the fuzz itself failed:\n{noise.read_text()}")
            # The last call is known, but a loop that wrote beyond its arrays may be an earlier one.
            case, target, what = last.read_text().strip().split(" ", 2)
            trace = noise.read_text().partition("Current thread")[2]
            lines = [line for line in trace.splitlines() if "/rankwise/" in line]
            where = lines[0].strip().split("/rankwise/")[-1] if lines else noise.read_text()[-300:]
            findings.append(Finding(target, "crash", why, where, int(case), what))
            start = int(case) + 1
        findings += [Finding(**json.loads(line)) for line in out.read_text().splitlines()]
    return findings


def _alone(folder):
    """Return an environment in which nothing is read from home or from the net."""
    nobody = dict.fromkeys(["http_proxy", "https_proxy"], "http://127.0.0.1:9")
    # A relative path would mean another folder there, and another rankwise might be attacked.
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    path = os.pathsep.join([str(HERE), *map(os.path.abspath, given)])
    return os.environ | nobody | {"TMPDIR": folder, "PYTHONPATH": path, "XDG_CACHE_HOME": folder}


def _watch(worker, last):
    while True:
        before = last.read_text()
        try:
            return f"exit status {worker.wait(STUCK)}"
        except subprocess.TimeoutExpired:
            if last.read_text() == before:
                worker.send_signal(signal.SIGABRT)
                worker.wait()
                return f"stuck for {STUCK} seconds"


def work(start, stop, folder):
    """Run cases in this process, writing down each before it is run."""
    from fuzz import attack

    _prepare(attack)
    names = attack.targets()
    with (folder / "last").open("r+") as last, (folder / "out").open("a") as out:

        def note(text):
            os.pwrite(last.fileno(), text.encode()[:WIDTH].ljust(WIDTH), 0)

        for seed in range(start, stop):
            for finding in attack.Case(seed, names, note=note).run():
                out.write(json.dumps(asdict(finding)) + "\n")
            out.flush()


def one_case(seed):
    """Run one case here, and print what it finds."""
    from fuzz import attack

    _prepare(attack)
    case = attack.Case(seed, attack.targets())
    print(f"case {seed}: {case.name}")
    for finding in case.run():
        print(finding)
    return bool(case.findings)


def recipes(*, call):
    """Draw good arguments for every target and, if asked to, check that one call in 20 returns."""
    from fuzz import attack

    _prepare(attack)
    names, failed = attack.targets(), []
    for place, name in enumerate(names):
        dry = not call or name.startswith("fetch_")  # there is no net here
        for seed in range(place, place + 20 * len(names), len(names)):
            case = attack.Case(seed, names, n_damaged=0, dry=dry)
            try:
                case.run()
            except KeyError as error:  # no argument is known
                failed.append(f"{name}: {error}")
                break
            if case.returned and not dry:
                break
        else:
            failed += [] if case.returned else [f"{name}: {case.error!r}"]
    print("\n".join(failed))
    return bool(failed)


def hard(n):
    """Call every function of the algorithms and measures in n hard worlds, and print the findings.

    Each is called twice with the same arguments, and must give the same bits or the same error.
    """
    from fuzz import attack
    from fuzz.arguments import World

    _prepare(attack)
    names, findings = attack.targets(), []
    for place, (name, function) in enumerate(names.items()):
        if " " in name or function.__module__.split(".")[1] not in ALGORITHMS:
            continue
        seeds = (seed for seed in itertools.count(place, len(names)) if World(seed).hard)
        for seed in itertools.islice(seeds, n):
            case, again = (attack.Case(seed, names, n_damaged=0) for _ in range(2))
            findings += case.run()
            again.run()
            if case.answer != again.answer:
                findings.append(attack.Finding(name, "result", "two calls differ", "", seed, ""))
    print(table(findings))
    return bool(findings)


def _prepare(attack):
    import matplotlib as mpl
    from numba.core.compiler_lock import global_compiler_lock

    mpl.use("agg")
    faulthandler.enable()
    time.sleep = lambda seconds: None  # nobody waits before the next attempt to download
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def late(*_):
        if global_compiler_lock.is_locked():  # the first call of a loop compiles it
            signal.setitimer(signal.ITIMER_REAL, attack.SECONDS)
        else:
            raise attack.Hang("no answer in time")

    signal.signal(signal.SIGALRM, late)


def table(findings):
    """Return one line for each different finding, the gravest first."""
    order = ["crash", "hang", "result", "input", "state", "warning", "type", "message"]
    groups = defaultdict(list)
    for finding in findings:
        groups[finding.key].append(finding)
    lines = []
    for group in sorted(groups.values(), key=lambda g: (order.index(g[0].kind), g[0].where)):
        first = min(group, key=lambda finding: len(finding.arguments))
        names = sorted({finding.target for finding in group})
        lines.append(
            f"{first.kind:8} {', '.join(names[:4])}{' ...' * (len(names) > 4)} "
            f"({len(group)} times)\n    {first.where} {first.message}\n"
            f"    --case {first.seed}: {first.target}: {first.arguments[:400]}"
        )
    return "\n".join([*lines, f"{len(lines)} different findings"])


if __name__ == "__main__":
    work(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
