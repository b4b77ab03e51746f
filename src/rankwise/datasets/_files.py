"""Files as the readers want them: bytes with a label, out of folders, zip and gzip too."""

import gzip
import os
import re
import zipfile
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from rankwise.engine.warn import warn_user

T = TypeVar("T")
PathLike = str | os.PathLike[str]

_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class Source(NamedTuple):
    """The bytes of a file, what messages call it, and whether its last line has no end."""

    label: str
    raw: bytes
    cut: bool = False


class BadRows:
    """What becomes of the rows of one file that can't be read.

    Parameters
    ----------
    source : Source
        The file.
    on_bad_rows : {"raise", "skip"}
        Whether the first one is an error, or all are counted.
    """

    def __init__(self, source: Source, on_bad_rows: str) -> None:
        if on_bad_rows not in {"raise", "skip"}:
            raise ValueError(f"on_bad_rows must be 'raise' or 'skip', not {on_bad_rows!r}")
        self.label = source.label
        self.cut = source.cut
        self.stop = on_bad_rows == "raise"
        self.count = 0
        self.first = ""

    def refuse(self, line: int, reason: str, count: int = 1) -> None:
        """Raise, or count ``count`` rows of which the first is at ``line``."""
        message = f"{self.label}:{line}: {reason}"
        if self.stop:
            raise ValueError(message)
        self.first = self.first or message
        self.count += count

    def finish(self, n_rows: int, what: str = "rows") -> None:
        """Raise if no row is left; warn if some were skipped, or the last may have been cut."""
        if n_rows == 0:
            raise ValueError(self.first or f"{self.label}:1: no {what} in this file")
        if self.count:
            warn_user(
                f"{self.label}: skipped {self.count} bad {what} and kept {n_rows}; "
                f"the first: {self.first}"
            )
        if self.cut:
            warn_user(f"{self.label}: no newline at the end; the last row may have been cut")


def read_source(path: PathLike, names: Sequence[str] = ()) -> Source:
    """Read a file, or the one file of a folder or zip archive whose name fits ``names``.

    Without names a folder is refused, and an archive must hold one file.
    """
    path = Path(path)
    if path.is_dir():
        return _from_folder(path, names)
    raw = path.read_bytes()
    if raw.startswith(b"PK") and path.suffix.lower() != ".xlsx":
        return _guard(str(path), lambda: _from_zip(path, names))
    if raw.startswith(b"\x1f\x8b"):
        raw = _guard(str(path), lambda: gzip.decompress(raw))
    return Source(str(path), raw)


def find_files(path: PathLike, pattern: str) -> list[Source]:
    """Read all files of a folder or zip archive whose name fits a pattern, sorted by name."""
    path = Path(path)
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.is_file() and _fits(p.name, [pattern]))
        return [Source(str(p), p.read_bytes()) for p in found]
    path.stat()
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path}:1: neither a folder nor a zip archive")
    return _guard(str(path), lambda: _members(path, [pattern]))


def _from_folder(path: Path, names: Sequence[str]) -> Source:
    found = sorted(p for p in path.rglob("*") if p.is_file() and _fits(p.name, names))
    if len(found) == 1:
        return Source(str(found[0]), found[0].read_bytes())
    archives = [] if found or not names else sorted(path.rglob("*.zip"))
    if len(archives) == 1:
        return _guard(str(archives[0]), lambda: _from_zip(archives[0], names))
    raise ValueError(f"{path}: {_choice([str(p.relative_to(path)) for p in found], names)}")


def _from_zip(path: Path, names: Sequence[str]) -> Source:
    found = _members(path, names or ["*"])
    if len(found) == 1:
        return found[0]
    inside = [source.label[len(str(path)) + 1 :] for source in found]
    raise ValueError(f"{path}: {_choice(inside, names or ['*'])}")


def _members(path: Path, names: Sequence[str]) -> list[Source]:
    with zipfile.ZipFile(path) as archive:
        chosen = sorted(
            name
            for name in archive.namelist()
            if not name.endswith("/") and _fits(PurePosixPath(name).name, names)
        )
        return [Source(f"{path}/{name}", archive.read(name)) for name in chosen]


def _fits(name: str, names: Sequence[str]) -> bool:
    return not name.startswith("._") and any(fnmatch(name.lower(), n.lower()) for n in names)


def _choice(found: Sequence[str], names: Sequence[str]) -> str:
    if not names:
        return "a folder, where a file is wanted: name one of its files"
    if not found:
        return f"no file in it is called {' or '.join(names)}"
    return f"several files could be meant, name one of them: {', '.join(found[:5])}"


def _guard(label: str, read: Callable[[], T]) -> T:
    try:
        return read()
    # A damaged archive ends in any of a dozen exceptions, from zlib's to NotImplementedError.
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith(label):
            raise
        raise ValueError(
            f"{label}:1: a damaged archive: {error or type(error).__name__}"
        ) from error


def clean(source: Source) -> Source:
    """Drop a byte order mark, and add the newline at the end if it is missing."""
    label, raw, _ = source
    if raw.startswith(_WIDE):
        raise ValueError(f"{label}:1: UTF-16 text; save it as UTF-8")
    raw = raw.removeprefix(_BOM)
    if not raw.strip():
        raise ValueError(f"{label}:1: the file is empty")
    cut = not raw.endswith(b"\n")
    return Source(label, raw + b"\n" if cut else raw, cut)


def first_line(source: Source) -> bytes:
    """Return the first line that is not blank."""
    return source.raw.lstrip(b"\r\n").partition(b"\n")[0].rstrip(b"\r")


def decode(source: Source) -> str:
    """Decode as UTF-8 or else Latin-1, with newlines as the only ends of lines."""
    try:
        text = source.raw.decode("utf-8")
    except UnicodeDecodeError:
        text = source.raw.decode("latin-1")
    text = text.replace("\r\n", "\n")
    control = re.search(r"[\x00-\x08\x0b-\x1f]", text)
    if control:
        line = 1 + text.count("\n", 0, control.start())
        raise ValueError(f"{source.label}:{line}: a control character: is this a text file?")
    return text


def need(module: str) -> Any:
    """Import a module of the extra ``data``, or say how to install it."""
    from importlib import import_module  # noqa: PLC0415

    try:
        return import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise ImportError(
            f"this data needs {module}: pip install 'rankwise[data]'", name=module
        ) from error


def pandas() -> ModuleType:
    """Import pandas, or say how to install it."""
    return need("pandas")
