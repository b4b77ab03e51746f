"""Files too large to be read whole: what memory there is, and lines from places all over a file."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import numpy as np

# Past so many bytes a comparison looks at a part: a block from each of many places.
LARGE = 2**30
_N_BLOCKS, _BLOCK = 512, 2**17


def free_memory() -> int | None:
    """Return the bytes that can be used without paging, None where nobody tells.

    That is the least of what the system has, what a control group leaves, and what a limit on the
    address space (``ulimit -v``) leaves.
    """
    found = [_of_system(), _of_group(), _of_limit()]
    return min((room for room in found if room is not None), default=None)


def _number(path: str, pattern: str = r"([0-9]+)") -> int | None:
    try:
        text = Path(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
    match = re.search(pattern, text)
    return int(match[1]) if match else None


def _of_system() -> int | None:
    free = _number("/proc/meminfo", r"MemAvailable:\s+([0-9]+) kB")
    return None if free is None else 1024 * free


def _of_group(folder: str = "/sys/fs/cgroup") -> int | None:
    """Return what is left of the limit of a container; its file says "max" if there is none."""
    most, used = _number(f"{folder}/memory.max"), _number(f"{folder}/memory.current")
    return None if most is None or used is None else max(0, most - used)


def _of_limit() -> int | None:
    if find_spec("resource") is None:  # Windows has no such limits
        return None
    import resource  # noqa: PLC0415

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _number("/proc/self/statm")
    if most == resource.RLIM_INFINITY or pages is None:
        return None
    return max(0, most - pages * resource.getpagesize())


def write_sample(path: Path, out: BinaryIO, seed: int = 0) -> tuple[int, int]:
    """Write the first line of a text and whole lines from 512 places spread over it.

    Lines that follow each other stay together, so that lists in the order of a file are cut at the
    edges of a block only. Takes 64 MB of reading, whatever the size.

    Parameters
    ----------
    path : Path
        A file of lines, larger than 512 blocks of 128 kB.
    out : binary file
        Where to.
    seed : int, default=0
        Of the places.

    Returns
    -------
    lines, whole : int
        Lines written, and about how many the file has.

    Raises
    ------
    ValueError
        If a text in quotes goes over several lines, or no line ends within a block.
    """
    size = path.stat().st_size
    stride = size // _N_BLOCKS
    starts = np.random.default_rng(seed).integers(0, stride - _BLOCK, _N_BLOCKS)
    lines = taken = 0
    with path.open("rb") as file:
        first = file.readline(_BLOCK)
        out.write(first)
        for place in stride * np.arange(_N_BLOCKS) + starts:
            file.seek(max(int(place), len(first) - 1))
            block = file.read(_BLOCK)
            whole = block[block.find(b"\n") + 1 : block.rfind(b"\n") + 1]
            if any(line.count(b'"') % 2 for line in whole.splitlines()):
                raise ValueError("a text in quotes goes over several lines")
            out.write(whole)
            lines, taken = lines + whole.count(b"\n"), taken + len(whole)
    if not lines:
        raise ValueError(f"lines of more than {_BLOCK:,} bytes")
    return lines, round(size * lines / taken)
