"""Files as bytes with a label, out of folders and archives too: zip, gzip, xz and zstd."""

import codecs
import gzip
import lzma
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any, NamedTuple

from rankwise._core.arguments import check_text, check_word, warn_user

PathLike = str | os.PathLike[str]

ON_BAD_ROWS = ("raise", "skip")
# An archive may unpack to so many bytes, or to so many times its size if that is more.
UNPACKED_BYTES, UNPACKED_RATIO = 2**26, 100

_BLOCK, _SMALL_BLOCK = 2**18, 2**12
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"(\xb5/\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_OVER_ASCII = {"ascii", "utf-8", "iso8859-1", "cp1252"}
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # begins as UTF-16 does
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class Source(NamedTuple):
    """The bytes of a file, what messages call it, how it was compressed, and if its end is cut."""

    label: str
    raw: bytes
    cut: bool = False
    compression: str | None = None


class BadRows:
    """Collect the rows of one file that can't be read.

    Parameters
    ----------
    source : Source
        The file.
    on_bad_rows : {"raise", "skip"}
        Whether the first one is an error, or all are counted.
    """

    def __init__(self, source: Source, on_bad_rows: str) -> None:
        check_word(on_bad_rows, "on_bad_rows", ON_BAD_ROWS)
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

    Without names a folder raises, and an archive must hold one file.
    """
    path = Path(path)
    if not path.is_dir():
        return unpack(str(path), read_regular(path), names)
    found = _in_folder(path, names)
    chosen = found or (_in_folder(path, ["*.zip"]) if names else [])
    if len(chosen) != 1:
        raise ValueError(f"{path}: {_choice([str(p.relative_to(path)) for p in found], names)}")
    raw = read_regular(chosen[0])
    return Source(str(chosen[0]), raw) if found else unpack(str(chosen[0]), raw, names)


def _in_folder(path: Path, names: Sequence[str]) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file() and _fits(p.name, names))


def compression_of(start: bytes) -> str | None:
    """Return how a file that begins with these bytes is compressed, None if it is not."""
    return next((name for mark, name in _PACKED.items() if start.startswith(mark)), None)


def unpack(label: str, raw: bytes, names: Sequence[str] = ()) -> Source:
    """Return the content of a compressed file; a workbook, which is an archive too, stays one."""
    compression = compression_of(raw)
    if compression is None or _is_workbook(raw):
        return Source(label, raw)
    with damaged(label, "archive"):
        if compression == "zip":
            return _members(label, raw, names or ["*"], only_one=True)[0]
        file, limit = unpacking(BytesIO(raw), compression), unpacked_limit(len(raw))
        return Source(label, _unpack(label, file, limit, _BLOCK), compression=compression)


def unpacking(file: Any, compression: str) -> Any:
    """Return a stream of the content of a file that is compressed by gzip, xz or zstd."""
    if compression == "gzip":
        return gzip.GzipFile(fileobj=file)
    if compression == "xz":
        return lzma.LZMAFile(file)
    return need("pyarrow").CompressedInputStream(file, "zstd")


def _is_workbook(raw: bytes) -> bool:
    """Return whether an archive holds a workbook of Excel."""
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def find_files(path: PathLike, pattern: str) -> list[Source]:
    """Read all files of a folder or zip archive whose name fits a pattern, sorted by name."""
    path = Path(path)
    if path.is_dir():
        return [Source(str(p), read_regular(p)) for p in _in_folder(path, [pattern])]
    raw = read_regular(path)
    if compression_of(raw) != "zip":
        raise ValueError(f"{path}:1: neither a folder nor a zip archive")
    with damaged(str(path), "archive"):
        return _members(str(path), raw, [pattern])


def check_regular(path: Path) -> None:
    """Refuse what can't be opened, or would not end: pipes, devices, sockets, folders."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
        kind = kinds.get(stat.S_IFMT(mode), "a device")
        raise ValueError(f"{path}:1: {kind}, expected a file")


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file."""
    check_regular(path)
    return path.read_bytes()


def read_start(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a regular file, unpacked unless it is a zip archive."""
    check_regular(path)
    with path.open("rb") as file:
        start = file.read(n_bytes)
        compression = compression_of(start)
        if compression in {None, "zip"}:
            return start
        file.seek(0)
        with damaged(str(path), "archive"):
            return bytes(unpacking(file, str(compression)).read(n_bytes))


def _members(
    label: str, raw: bytes, names: Sequence[str], *, only_one: bool = False
) -> list[Source]:
    """Return the files of an archive whose names fit, sorted; raise if one is expected."""
    found = []
    room = unpacked_limit(len(raw))
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        chosen = [
            info
            for info in sorted(archive.infolist(), key=lambda info: info.filename)
            if not info.is_dir() and _fits(PurePosixPath(info.filename).name, names)
        ]
        if only_one and len(chosen) != 1:
            raise ValueError(f"{label}: {_choice([info.filename for info in chosen], names)}")
        for info in chosen:
            member = f"{label}/{info.filename}"
            with archive.open(info) as file:
                # zipfile unpacks what is packed by bzip2 and LZMA block by block, without a limit
                small = info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
                content = _unpack(member, file, room, _SMALL_BLOCK if small else _BLOCK)
            room -= len(content)
            found.append(Source(member, content, compression="zip"))
    return found


def unpacked_limit(packed: int) -> int:
    """Return how many bytes an archive of this size may unpack to."""
    return max(UNPACKED_BYTES, UNPACKED_RATIO * packed)


def check_unpacked(source: Source) -> None:
    """Refuse a spreadsheet, which is an archive, that unpacks to too much."""
    limit = unpacked_limit(len(source.raw))
    with zipfile.ZipFile(BytesIO(source.raw)) as archive:
        members = archive.infolist()
    if {info.compress_type for info in members} - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise ValueError(f"{source.label}:1: a spreadsheet that is not packed by deflate")
    # zipfile gives no more bytes of a member than its entry states
    if sum(info.file_size for info in members) > limit:
        raise ValueError(f"{source.label}:1: {_too_much(limit)}")


def _unpack(label: str, file: Any, limit: int, block: int) -> bytes:
    """Read to the end in blocks, and stop at the first byte past the limit."""
    out = BytesIO()
    while piece := file.read(block):
        out.write(piece)
        if out.tell() > limit:
            raise ValueError(f"{label}:1: {_too_much(limit)}")
    return out.getvalue()


def _too_much(limit: int) -> str:
    return (
        f"unpacks to more than {limit:,} bytes, far more than data does; if it is right, unpack it "
        "and read the file"
    )


def _fits(name: str, names: Sequence[str]) -> bool:
    return not name.startswith("._") and any(fnmatch(name.lower(), n.lower()) for n in names)


def _choice(found: Sequence[str], names: Sequence[str]) -> str:
    if not names:
        return "a folder: name one of its files"
    if not found:
        return f"no file in it is called {' or '.join(names)}"
    return f"several files could be meant, name one of them: {', '.join(found[:5])}"


@contextmanager
def damaged(
    label: str, what: str, errors: tuple[type[Exception], ...] = (Exception,)
) -> Iterator[None]:
    """Name a file and its kind in the errors of a library that can't read it.

    A damaged file ends in any of a dozen exceptions, from zlib's to NotImplementedError.
    """
    try:
        yield
    except errors as error:
        known = isinstance(error, ValueError) and str(error).startswith(label)
        if known or isinstance(error, ImportError | MemoryError):
            raise
        reason = str(error) or type(error).__name__
        raise ValueError(f"{label}:1: a damaged {what}: {reason}") from error


def guess_encoding(start: bytes, *, whole: bool) -> str:
    """Return the encoding by a byte order mark, else UTF-8 if the bytes are valid, else Latin-1.

    Without ``whole`` a character may be cut at the end of ``start``.
    """
    for mark, encoding in _BOMS.items():
        if start.startswith(mark):
            return encoding
    try:
        if not start.isascii():
            codecs.getincrementaldecoder("utf-8")().decode(start, final=whole)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def check_encoding(encoding: str | None) -> None:
    """Raise if Python does not know an encoding."""
    if encoding is None:
        return
    try:
        codecs.lookup(check_text(encoding, "encoding"))
    except (LookupError, ValueError) as error:  # the latter is for a name with a NUL in it
        raise ValueError(f"encoding={encoding!r} is not known to Python") from error


def as_utf8(source: Source, encoding: str | None, *, at: str = ": line ") -> tuple[bytes, str]:
    """Return a text in UTF-8 without a byte order mark, and the encoding that it had."""
    chosen = (encoding or guess_encoding(source.raw, whole=True)).lower()
    raw = source.raw.removeprefix(codecs.BOM_UTF8)
    known = encoding is None and len(raw) == len(source.raw)  # the guess has decoded it
    is_ascii = codecs.lookup(chosen).name in _OVER_ASCII and raw.isascii()
    if is_ascii or (known and chosen == "utf-8"):
        return raw, chosen
    try:
        return raw.decode(chosen).removeprefix("\ufeff").encode(), chosen
    except UnicodeError as error:
        line = 1 + raw.count(b"\n", 0, getattr(error, "start", 0))
        reason = getattr(error, "reason", str(error))
        raise ValueError(f"{source.label}{at}{line}: not {chosen}: {reason}") from error


def clean(source: Source, encoding: str | None = None) -> Source:
    """Return a text in UTF-8, and add the newline at the end if it is missing."""
    check_encoding(encoding)
    label = source.label
    raw, _ = as_utf8(source, encoding, at=":")
    if not raw[:_BLOCK].strip() and not raw.strip():
        raise ValueError(f"{label}:1: the file is empty")
    if b"\n" not in raw and b"\r" in raw.rstrip(b"\r"):
        raise ValueError(f"{label}:1: lines end in a lone carriage return; save it with newlines")
    cut = not raw.endswith(b"\n")
    return Source(label, raw + b"\n" if cut else raw, cut)


def first_line(source: Source) -> bytes:
    """Return the first line that is not blank."""
    raw = source.raw.lstrip(b"\r\n")  # no copy, if there is nothing to strip
    return raw[: raw.find(b"\n")].rstrip(b"\r")


def decode(source: Source) -> str:
    """Decode a clean source, with newlines as the only ends of lines."""
    text = source.raw.decode().replace("\r\n", "\n")
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
