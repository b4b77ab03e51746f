"""Arrays and JSON in one file: a zip of ``.npy`` members, read without trust in who wrote it.

- Members are stored, not compressed, one after the other without gaps, with fixed dates.
- The first, ``model.json``, is JSON; its ``arrays`` names the others in their order, each with its
  dtype, shape, memory order, digest and CRC-32. The digest is the SHA-256 of the SHA-256 of each
  MiB of the member.
- An array is a ``.npy`` of version 1.0, whose header follows from these.
- The comment of the zip is the SHA-256 of ``model.json``.

The reader needs none of zip's bookkeeping. The position of each member follows from ``model.json``,
and so does the header in front of it, which is compared; the directory at the end is not read. An
altered byte of a member is noticed by a digest. Sizes are compared with the size of the file before
memory is allocated; nothing is unpacked, evaluated or unpickled. Any tool that reads zip files
can read the members, and ``numpy.load`` the arrays.

Writing and reading take O(size of the file).
"""

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MANIFEST = "model.json"
# Limits of a file: members, the length of their names, bytes of JSON and their nesting.
MAX_MEMBERS, MAX_NAME, MAX_JSON, MAX_DEPTH = 10_000, 120, 2**24, 100
# JSON becomes Python objects of at most this many bytes for each of its own.
JSON_FACTOR = 40

_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{MAX_NAME - 1}}}", re.ASCII)
_UNITS = "Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as"
_DTYPE = re.compile(
    rf"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9]\d{{0,7}}|\|S[1-9]\d{{0,7}}|<[Mm]8(\[({_UNITS})\])?",
    re.ASCII,
)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
# zipfile needs its 64-bit form, which other readers may not know, for more.
_LARGEST_FILE = 2 * 10**9
# Bytes of a local header and of an entry of the directory, without the name, and of the end record.
_LOCAL_SIZE, _ENTRY_SIZE, _END_SIZE = 30, 46, 22
# Digests are of blocks of this many bytes, computed by this many threads.
_BLOCK, _THREADS = 2**20, 4


def is_portable(dtype: str) -> bool:
    """Return whether a dtype, as NumPy spells it, can be that of an array in a file."""
    return bool(_DTYPE.fullmatch(dtype))


def portable(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return an array in the form of the file: contiguous and little-endian.

    Raises
    ------
    ValueError
        If its dtype can't be in a file; ``name`` is what the message calls it.
    """
    if not array.dtype.itemsize and array.dtype.kind in "US":
        array = array.astype(f"{array.dtype.kind}1")
    dtype = array.dtype.newbyteorder("<")
    if not is_portable(dtype.str) or dtype.metadata:
        raise ValueError(
            f"{name} is an array of {array.dtype}, which a file can't hold: use numbers, booleans, "
            "strings or dates"
        )
    if array.ndim > 8:
        raise ValueError(f"{name} is an array of {array.ndim} axes, more than 8")
    array = array.astype(dtype, order="K", copy=False)
    return array if array.flags.forc else np.array(array, order="C")


def write_archive(
    file: BinaryIO, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write JSON and arrays.

    Parameters
    ----------
    file : binary file
        It is written from its start.
    facts : dict
        What can be JSON, without the key ``arrays``.
    arrays : dict of str to ndarray
        Numbers, booleans, strings or dates. Of other memory layouts than C and Fortran, and of
        the other byte order, a copy is written.

    Raises
    ------
    ValueError
        If a file can't hold something, before anything is written.
    """
    specs: dict[str, dict[str, Any]] = {}
    members: list[tuple[str, bytes, memoryview]] = []
    for name, given in arrays.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"an array can't be called {name!r} in a file: use letters and digits")
        array = portable(given, name)
        fortran = bool(array.flags.f_contiguous and not array.flags.c_contiguous)
        spec = {"dtype": array.dtype.str, "shape": list(array.shape), "fortran": fortran}
        header, data = _npy_header(spec), _raw(array)
        specs[name] = {
            **spec,
            "digest": _digest(header, data),
            "crc32": zlib.crc32(data, zlib.crc32(header)),
        }
        members.append((f"{name}.npy", header, data))
    text = json.dumps({**facts, "arrays": specs}, allow_nan=False, indent=1).encode("ascii")
    _check_json(text)
    members.insert(0, (MANIFEST, text, memoryview(b"")))
    if len(members) > MAX_MEMBERS:
        raise ValueError(f"a file can hold {MAX_MEMBERS} arrays, not {len(members)}")
    if sum(len(start) + len(data) for _, start, data in members) > _LARGEST_FILE:
        raise ValueError("the model takes more than 2 GB, which a file can't hold")
    # zipfile completes a header when the size is known, which a stream does not allow
    target = file if file.seekable() else io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, start, data in members:
            info = zipfile.ZipInfo(name)
            info.create_system = 0  # the same bytes on every system
            with archive.open(info, "w") as member:
                member.write(start)
                member.write(data)
            info.external_attr = 0
        archive.comment = _sha256(text).hex().encode()
    if isinstance(target, io.BytesIO) and target is not file:
        file.write(target.getbuffer())


class Archive:
    """A file of JSON and arrays that a stranger may have written.

    Parameters
    ----------
    file : binary file
        It must stay open while arrays are read.
    max_bytes : int
        The memory that the content may take, `JSON_FACTOR` bytes for each of ``model.json``.

    Attributes
    ----------
    facts : dict
        The JSON without ``arrays``.
    arrays : dict
        Dtype, shape, memory order and digest of each array.
    size : int
        Bytes of the file.

    Raises
    ------
    ValueError
        If the file was truncated or altered, or needs more memory.
    """

    def __init__(self, file: BinaryIO, *, max_bytes: int) -> None:
        self._file, self._left, self._max_bytes = file, max_bytes, max_bytes
        self.size = file.seek(0, io.SEEK_END)
        self.spend(self.size)
        text = self._manifest()
        try:
            self.facts = json.loads(
                text.decode("ascii"), object_pairs_hook=_unique, parse_constant=_no_constant
            )
        except ValueError as error:
            raise ValueError(f"{MANIFEST} can't be read: {error}") from error
        if not isinstance(self.facts, dict) or not isinstance(self.facts.get("arrays"), dict):
            raise ValueError(f"{MANIFEST} must be a JSON object that names the arrays")
        self.arrays: dict[str, dict[str, Any]] = self.facts.pop("arrays")
        self._starts: dict[str, int] = {}
        position = _LOCAL_SIZE + len(MANIFEST) + len(text)
        directory = _ENTRY_SIZE + len(MANIFEST)
        for name, spec in self.arrays.items():
            size = _member_size(name, spec)
            member = f"{name}.npy"
            self._check_start(position, member, size, spec["crc32"], _npy_header(spec))
            self._starts[name] = position + _LOCAL_SIZE + len(member)
            position = self._starts[name] + size
            directory += _ENTRY_SIZE + len(member)
        if (expected := position + directory + _END_SIZE + 64) != self.size:
            raise ValueError(
                f"the file has {self.size:,} bytes instead of {expected:,}: it was truncated or "
                "altered"
            )

    def spend(self, n_bytes: int) -> None:
        """Raise if this takes more memory than is left of ``max_bytes``."""
        self._left -= n_bytes
        if self._left < 0:
            raise ValueError(
                f"the file has {self.size:,} bytes, and what it holds may take more memory than "
                f"max_bytes={self._max_bytes:,}: if you trust it, allow more"
            )

    def array(self, name: str) -> NDArray[Any]:
        """Read an array into new memory, and check it."""
        spec = self.arrays[name]
        header = _npy_header(spec)
        order: Any = "F" if spec["fortran"] else "C"
        array: NDArray[Any] = np.empty(tuple(spec["shape"]), spec["dtype"], order=order)
        data = _raw(array)
        self._file.seek(self._starts[name] + len(header))
        self._file.readinto(data)  # type: ignore[attr-defined]
        if _digest(header, data) != spec["digest"]:
            raise ValueError(f"the array {name!r} was altered: its digest differs")
        check_values(array, f"the array {name!r}")
        return array.astype(array.dtype.newbyteorder("="), order=order, copy=False)

    def _manifest(self) -> bytes:
        """Return the first member, whose digest is the last thing in the file."""
        self._file.seek(0)
        header = self._file.read(_LOCAL_SIZE)
        if header[:4] != b"PK\3\4":
            raise ValueError(
                "this is not a model saved by rankwise, or it was truncated or altered"
            )
        size = int.from_bytes(header[22:26], "little")
        if size > min(MAX_JSON, self.size):
            raise ValueError(f"{MANIFEST} has {size} bytes, more than the file or than {MAX_JSON}")
        self.spend(JSON_FACTOR * size)
        self._file.seek(_LOCAL_SIZE + len(MANIFEST))
        text = self._file.read(size)
        self._file.seek(max(0, self.size - 64))
        if self._file.read() != _sha256(text).hex().encode():
            raise ValueError(f"{MANIFEST} was altered: its digest differs")
        self._check_start(0, MANIFEST, size, zlib.crc32(text), b"")
        _check_json(text)
        return text

    def _check_start(self, position: int, name: str, size: int, crc: int, start: bytes) -> None:
        """Raise unless zip's header of a member and its first bytes are those that were written."""
        sizes = (size, size, len(name), 0)
        header = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 0x21, crc, *sizes)
        expected = header + name.encode() + start
        self._file.seek(position)
        if self._file.read(len(expected)) != expected:
            raise ValueError(f"the header of {name!r} was altered, or the member is not there")


def _member_size(name: str, spec: Any) -> int:
    """Return the bytes of the member of an array.

    Raises
    ------
    ValueError
        If its name or what is said of it can't be that of an array.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"an array of the file is called {name[:MAX_NAME]!r}: not a valid name")
    match spec:
        case {
            "dtype": str(dtype),
            "shape": list(shape),
            "fortran": bool(fortran),
            "digest": str(digest),
            "crc32": int(crc),
        } if (
            len(spec) == 5
            and is_portable(dtype)
            and all(type(n) is int and 0 <= n < 2**62 for n in shape)
            and len(shape) <= 8
            and (len(shape) > 1 or not fortran)
            and _SHA256.fullmatch(digest)
            and 0 <= crc < 2**32
        ):
            size = len(_npy_header(spec)) + prod(shape) * np.dtype(dtype).itemsize
        case _:
            raise ValueError(f"the array {name!r} can't be {str(spec)[:200]}")
    if size >= 2**32:
        raise ValueError(f"the array {name!r} of shape {tuple(shape)} takes {size} bytes")
    return size


def _raw(array: NDArray[Any]) -> memoryview:
    """Return the bytes of a contiguous array in the order of memory."""
    return array.reshape(-1, order="A").view(np.uint8).data


def check_values(array: NDArray[Any], name: str) -> None:
    """Raise if some bytes are not a value of the dtype, which NumPy does not check."""
    if array.dtype.kind == "b" and np.frombuffer(_raw(array), np.uint8).max(initial=0) > 1:
        raise ValueError(f"{name} has booleans that are neither true nor false")
    if array.dtype.kind == "U" and np.frombuffer(_raw(array), "<u4").max(initial=0) > 0x10FFFF:
        raise ValueError(f"{name} has characters that do not exist")


def _npy_header(spec: Mapping[str, Any]) -> bytes:
    """Return the start of a ``.npy`` member, version 1.0, of a multiple of 64 bytes."""
    dtype, fortran, shape = spec["dtype"], spec["fortran"], tuple(spec["shape"])
    text = f"{{'descr': {dtype!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode("ascii")


def _digest(header: bytes, data: memoryview) -> str:
    """Return the SHA-256 of the SHA-256 of each block of a member."""
    cut = _BLOCK - len(header)
    blocks: list[bytes | memoryview] = [header + bytes(data[:cut])]
    blocks += [data[start : start + _BLOCK] for start in range(cut, len(data), _BLOCK)]
    with ThreadPoolExecutor(_THREADS) as pool:
        # threads start with the first task
        digests = (pool.map if len(blocks) > _THREADS else map)(_sha256, blocks)
        return _sha256(b"".join(digests)).hex()


def _sha256(data: bytes | memoryview) -> bytes:
    return hashlib.sha256(data).digest()


def _check_json(text: bytes) -> None:
    """Raise if JSON is too long, or nested too deep for a parser that recurses."""
    if len(text) > MAX_JSON:
        raise ValueError(f"the model takes {len(text):,} bytes of JSON, more than {MAX_JSON:,}")
    codes = np.frombuffer(_STRINGS.sub(b"", text), dtype=np.uint8)
    steps = np.zeros(256, dtype=np.int8)
    steps[list(b"[{")], steps[list(b"]}")] = 1, -1
    if np.cumsum(steps[codes], dtype=np.int32).max(initial=0) > MAX_DEPTH:
        raise ValueError(f"the JSON of the model is nested more than {MAX_DEPTH} deep")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is duplicated")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
