"""Download once: resumed, checked, from a mirror or an offline folder if there is one."""

import json
import os
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise._core.arguments import check_text, check_whole, check_word, is_finite_number
from rankwise._core.files import replacing
from rankwise.datasets._readers_book_crossing import FILES as BOOK_CROSSING
from rankwise.datasets._readers_book_crossing import read_book_crossing
from rankwise.datasets._readers_jester import read_jester
from rankwise.datasets._readers_movielens import FILES as MOVIELENS
from rankwise.datasets._readers_movielens import read_movielens
from rankwise.datasets._registry import REGISTRY, DatasetInfo
from rankwise.io.files import ON_BAD_ROWS, PathLike, need

if TYPE_CHECKING:
    from pandas import DataFrame

FOLDER, MIRROR = "RANKWISE_DATA", "RANKWISE_MIRROR"
KNOWN = "registry"
_RELEASES = ("100k", "1m", "latest-small")

_ATTEMPTS = 3
_PAUSE = 0.5
# The longest timeout that may be asked for, in seconds.
_LONGEST = 86400.0
_HASHES = "checksums.json"


class Resuming:
    """A downloader for pooch that resumes an interrupted download, also of another process.

    Parameters
    ----------
    part : Path
        Where the unfinished file is kept.
    timeout : float
        Seconds without an answer, or between two pieces of it, before the connection is given up.
    """

    def __init__(self, part: Path, timeout: float) -> None:
        self.part = part
        self.timeout = timeout

    def __call__(self, url: str, output_file: Any, _pooch: Any) -> None:
        """Download, in at most three attempts."""
        requests = need("requests")
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._go_on(requests, url)
                self.part.replace(output_file)
                return
            except (
                requests.ConnectionError,
                requests.Timeout,
                requests.exceptions.ChunkedEncodingError,
            ):
                if attempt == _ATTEMPTS:
                    raise
                time.sleep(attempt * _PAUSE)

    def _go_on(self, requests: Any, url: str) -> None:
        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        with requests.get(url, headers=headers, stream=True, timeout=self.timeout) as answer:
            span = answer.headers.get("Content-Range", "")
            resumed = answer.status_code == 206 and span.startswith(f"bytes {have}-")
            if have and not resumed and answer.status_code in {206, 416}:
                self.part.unlink()
                raise requests.ConnectionError(f"the server does not go on at byte {have}")
            answer.raise_for_status()
            with self.part.open("ab" if resumed else "wb") as file:
                start = file.tell()
                for piece in answer.iter_content(1 << 13):
                    file.write(piece)
                got = file.tell() - start
            wanted = answer.headers.get("Content-Length")
            if wanted is not None and got < int(wanted):
                raise requests.ConnectionError(f"{got} of {wanted} bytes arrived")


def local_copy(info: DatasetInfo) -> Path | None:
    """Return the path of a data set: in the folder RANKWISE_DATA, or among the downloads."""
    if found := _in_folder(info.offline):
        return found
    if not info.urls or find_spec("pooch") is None:
        return None
    download = Path(need("pooch").os_cache("rankwise")) / info.urls[0].rpartition("/")[2]
    return download if download.exists() else None


def _in_folder(patterns: Sequence[str]) -> Path | None:
    """Return the first that fits in the folder RANKWISE_DATA, if there is one."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return None
    return next((path for name in patterns for path in sorted(Path(folder).glob(name))), None)


def locate(
    info: DatasetInfo,
    *,
    data_home: PathLike | None,
    url: str | None,
    checksum: str | None,
    timeout: float,
) -> Path:
    """Return the path of a data set, after a download if needed."""
    for name, text in (("url", url), ("checksum", checksum)):
        if text is not None:
            check_text(text, name)
    if not (is_finite_number(timeout) and 0 < timeout <= _LONGEST):
        raise ValueError(f"timeout={timeout!r} must be a number of seconds above 0, at most a day")
    if data_home is None and (found := _in_folder(info.offline)):
        return found
    pooch = need("pooch")
    home = Path(pooch.os_cache("rankwise") if data_home is None else data_home).expanduser()
    home.mkdir(parents=True, exist_ok=True)
    name = info.urls[0].rpartition("/")[2]
    known = info.checksum if checksum == KNOWN else checksum
    urls = (url,) if url else _mirrored(info.urls, name)
    recorded = known or _hashes(home).get(name)
    if (home / name).exists() and _holds(pooch, home / name, recorded):
        return home / name
    print(f"{info.what}, from {info.origin}\n{info.terms} {info.citation}", file=sys.stderr)
    failures = []
    for source in urls:
        part = home / f"{name}.{sha256(source.encode()).hexdigest()[:8]}.part"
        try:
            pooch.retrieve(source, recorded, name, home, downloader=Resuming(part, timeout))
        except (ValueError, OSError) as error:
            failures.append((source, error))
            continue
        if recorded is None:
            _record(home, name, pooch.file_hash(str(home / name)))
        return home / name
    raise _failed(info, name, failures) from failures[-1][1]


def _mirrored(urls: tuple[str, ...], name: str) -> tuple[str, ...]:
    mirror = os.environ.get(MIRROR)
    return (f"{mirror.rstrip('/')}/{name}", *urls) if mirror else urls


def _holds(pooch: Any, path: Path, checksum: str | None) -> bool:
    if checksum is None:
        return False
    algorithm, _, digest = checksum.rpartition(":")
    return bool(pooch.file_hash(str(path), alg=algorithm or "sha256") == digest.lower())


def _hashes(home: Path) -> dict[str, str]:
    path = home / _HASHES
    return json.loads(path.read_text()) if path.exists() else {}


def _record(home: Path, name: str, digest: str) -> None:
    text = json.dumps({**_hashes(home), name: f"sha256:{digest}"}, indent=1, sort_keys=True)
    with replacing(home / _HASHES) as new:
        new.write_text(text + "\n")


def _failed(info: DatasetInfo, name: str, failures: Sequence[tuple[str, Exception]]) -> Exception:
    tried = "; ".join(f"{source}: {error}" for source, error in failures)
    advice = (
        f"If you have {name} or a copy of it, pass its url, name the site in {MIRROR}, or put the "
        f"file into the folder that {FOLDER} names. It comes from {info.origin}"
    )
    corrupt = isinstance(failures[-1][1], ValueError)
    kind = ValueError if corrupt else OSError
    return kind(f"{info.name} could not be downloaded. {tried}. {advice}")


def fetch_movielens(
    release: str = "latest-small",
    *,
    table: str = "ratings",
    on_bad_rows: str = "raise",
    data_home: PathLike | None = None,
    url: str | None = None,
    checksum: str | None = KNOWN,
    timeout: float = 30.0,
) -> "DataFrame":
    """Fetch a MovieLens release, once, and read one of its tables.

    Parameters
    ----------
    release : {"latest-small", "100k", "1m"}, default="latest-small"
        Which one.
    table : {"ratings", "movies", "users"}, default="ratings"
        What to read, see `read_movielens`.
    on_bad_rows : {"raise", "skip"}, default="raise"
        As for `read_movielens`.
    data_home : path, default=None
        Where downloads are kept. By default the folder ``RANKWISE_DATA`` is looked into first, if
        that variable is set (nothing is written there), then the user's cache folder.
    url : str, default=None
        Take the file from here. By default from the site that the variable ``RANKWISE_MIRROR``
        names, if it is set, then from the origin.
    checksum : str or None, default="registry"
        What the file must hash to, such as ``"sha256:50d2..."``; by default what the registry
        says. None trusts the first download: its hash is kept in ``checksums.json`` next to it, and
        later ones must equal it.
    timeout : float, default=30.0
        Seconds without an answer, or between two pieces of it, before an attempt is given up.
        Each address gets three attempts, and each resumes where the last one ended.

    Returns
    -------
    pandas.DataFrame
        See `read_movielens`.

    Raises
    ------
    OSError
        The file is nowhere to be had; the message says what was tried and what to do.
    ValueError
        The file is not the one that the checksum belongs to.

    Examples
    --------
    >>> from rankwise.datasets import fetch_movielens
    >>> ratings = fetch_movielens("100k")  # doctest: +SKIP
    """
    check_word(release, "release", _RELEASES)
    _check_reading(on_bad_rows, table, tuple(MOVIELENS))
    path = locate(
        REGISTRY[f"ml-{release}"], data_home=data_home, url=url, checksum=checksum, timeout=timeout
    )
    return read_movielens(path, table=table, on_bad_rows=on_bad_rows)


def fetch_jester(
    part: int = 1,
    *,
    on_bad_rows: str = "raise",
    data_home: PathLike | None = None,
    url: str | None = None,
    checksum: str | None = KNOWN,
    timeout: float = 30.0,
) -> "DataFrame":
    """Fetch a part of Jester 1, once, and read it.

    Parameters
    ----------
    part : {1, 2, 3}, default=1
        Which users: 24,983, 23,500 or 24,938 of them.
    on_bad_rows : {"raise", "skip"}, default="raise"
        As for `read_jester`.
    data_home : path, default=None
        See `fetch_movielens`, as for all that follow.
    url : str, default=None
        Take the file from here.
    checksum : str or None, default="registry"
        What the file must hash to.
    timeout : float, default=30.0
        Seconds without an answer before an attempt is given up.

    Returns
    -------
    pandas.DataFrame
        See `read_jester`.

    Examples
    --------
    >>> from rankwise.datasets import fetch_jester
    >>> ratings = fetch_jester(1)  # doctest: +SKIP
    """
    _check_reading(on_bad_rows)
    if check_whole(part, "part") > 3:
        raise ValueError(f"part={part!r} must be 1, 2 or 3")
    path = locate(
        REGISTRY[f"jester-{int(part)}"],
        data_home=data_home,
        url=url,
        checksum=checksum,
        timeout=timeout,
    )
    return read_jester(path, on_bad_rows=on_bad_rows)


def fetch_book_crossing(
    *,
    table: str = "ratings",
    on_bad_rows: str = "raise",
    data_home: PathLike | None = None,
    url: str | None = None,
    checksum: str | None = KNOWN,
    timeout: float = 30.0,
) -> "DataFrame":
    """Fetch Book-Crossing, once, and read one of its tables.

    Parameters
    ----------
    table : {"ratings", "books", "users"}, default="ratings"
        What to read, see `read_book_crossing`.
    on_bad_rows : {"raise", "skip"}, default="raise"
        As for `read_book_crossing`; the books need ``"skip"``.
    data_home : path, default=None
        See `fetch_movielens`, as for all that follow.
    url : str, default=None
        Take the file from here: the site of its origin is often out of reach.
    checksum : str or None, default="registry"
        What the file must hash to.
    timeout : float, default=30.0
        Seconds without an answer before an attempt is given up.

    Returns
    -------
    pandas.DataFrame
        See `read_book_crossing`.

    Examples
    --------
    >>> from rankwise.datasets import fetch_book_crossing
    >>> ratings = fetch_book_crossing(url="https://.../BX-CSV-Dump.zip")  # doctest: +SKIP
    """
    _check_reading(on_bad_rows, table, tuple(BOOK_CROSSING))
    path = locate(
        REGISTRY["book-crossing"], data_home=data_home, url=url, checksum=checksum, timeout=timeout
    )
    return read_book_crossing(path, table=table, on_bad_rows=on_bad_rows)


def _check_reading(on_bad_rows: str, table: str = "", tables: tuple[str, ...] = ()) -> None:
    """Raise for arguments that the reader does not accept, before anything is downloaded."""
    check_word(on_bad_rows, "on_bad_rows", ON_BAD_ROWS)
    if tables:
        check_word(table, "table", tables)
