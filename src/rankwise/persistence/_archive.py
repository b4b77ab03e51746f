"""Arrays and JSON in one file that a stranger may have written: a zip of ``.npy`` members.

The file has one valid form, byte for byte, given what it holds:

- members are stored, not compressed, one after the other without gaps, with fixed dates and flags;
- the first, ``model.json``, is JSON; its ``arrays`` names the others in their order, each with its
  dtype, shape, memory order, digest and CRC-32. The digest is the SHA-256 of the SHA-256 of each
  MiB of the member, all but the last 2^20 bytes long;
- an array is a ``.npy`` of version 1.0 whose header follows from these;
- the comment of the zip is the SHA-256 of ``model.json``.

So nothing that the file says of itself is believed. A reader makes each header from what
``model.json`` says and compares, and any byte that was changed is noticed. Sizes are compared with
each other before memory is asked for; nothing is unpacked, evaluated or unpickled. Any tool that
reads zip files can read the members, and ``numpy.load`` the arrays.

Writing and reading take O(size of the file).
"""

import hashlib
import io
import json
import re
import struct
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MANIFEST = "model.json"
# A file may hold so many members, so long names, and nested JSON of this size and depth.
MAX_MEMBERS, MAX_NAME, MAX_JSON, MAX_DEPTH = 10_000, 120, 2**24, 100
# JSON becomes Python objects of at most so many bytes for each of its own.
JSON_FACTOR = 40

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
_UNITS = "Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as"
_DTYPE = re.compile(
    rf"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9]\d{{0,7}}|\|S[1-9]\d{{0,7}}|<[Mm]8(\[({_UNITS})\])?",
    re.ASCII,
)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_TEXTS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_DATE = 0x21  # the first day that zip knows: equal models give equal files
_LARGEST_FILE = 2**32 - 2**20
_LOCAL, _ENTRY, _END = "<4s5H3L2H", "<4s6H3L5H2L", "<4s4H2LH"
_LOCAL_SIZE, _ENTRY_SIZE = struct.calcsize(_LOCAL), struct.calcsize(_ENTRY)
_TAIL = struct.calcsize(_END) + 64
# Digests are of blocks of so many bytes, found by so many threads.
_BLOCK, _THREADS = 2**20, 4
_LARGEST_CHARACTER = 0x10FFFF


@dataclass(frozen=True)
class _Member:
    """An entry of the directory, and what ``model.json`` says of it."""

    name: str
    crc: int
    size: int
    offset: int

    def local(self) -> bytes:
        """Return what stands before the member."""
        name = self.name.encode()
        fields = (b"PK\3\4", 20, 0, 0, 0, _DATE, self.crc, self.size, self.size, len(name), 0)
        return struct.pack(_LOCAL, *fields) + name

    def entry(self) -> bytes:
        """Return what stands in the directory."""
        name = self.name.encode()
        fields = (b"PK\1\2", 20, 20, 0, 0, 0, _DATE, self.crc, self.size, self.size, len(name))
        return struct.pack(_ENTRY, *fields, 0, 0, 0, 0, 0, self.offset) + name

    @property
    def start(self) -> int:
        """Where the bytes of the member start."""
        return self.offset + _LOCAL_SIZE + len(self.name)

    @property
    def stop(self) -> int:
        """Where the next member starts."""
        return self.start + self.size


def is_portable(dtype: str) -> bool:
    """Whether a dtype, as NumPy spells it, can be that of an array in a file."""
    return bool(_DTYPE.fullmatch(dtype))


def portable(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return an array as it is written: contiguous and little-endian.

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
            f"{name} is an array of {array.dtype}, which a file can't hold: numbers, truth values, "
            "texts and dates can be"
        )
    if array.ndim > 8:
        raise ValueError(f"{name} is an array of {array.ndim} axes, of which a file can hold 8")
    array = array.astype(dtype, order="K", copy=False)
    return array if array.flags.forc else np.array(array, order="C")


def write_archive(
    file: BinaryIO, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write JSON and arrays.

    Parameters
    ----------
    file : binary file
        It is written from where it stands, which must be the start.
    facts : dict
        What can be JSON, without the key ``arrays``.
    arrays : dict of str to ndarray
        Numbers, truth values, texts or dates. Of other memory layouts than C and Fortran, and of
        the other byte order, a copy is written.

    Raises
    ------
    ValueError
        If something can't be held, before anything is written.
    """
    described: dict[str, Any] = {}
    parts: list[tuple[str, int, bytes, memoryview]] = []
    for name, given in arrays.items():
        if not (_NAME.fullmatch(name) and len(name) <= MAX_NAME):
            raise ValueError(f"an array can't be called {name!r} in a file: use letters and digits")
        array = portable(given, name)
        spec: dict[str, Any] = {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "fortran": _is_fortran(array),
        }
        header, data = _npy_header(spec), _raw(array)
        spec["digest"] = _digest(header, data)
        spec["crc32"] = zlib.crc32(data, zlib.crc32(header))
        described[name] = spec
        parts.append((f"{name}.npy", spec["crc32"], header, data))
    text = json.dumps({**facts, "arrays": described}, allow_nan=False, indent=1).encode("ascii")
    _check_json(text)
    parts.insert(0, (MANIFEST, zlib.crc32(text), text, memoryview(b"")))
    if len(parts) > MAX_MEMBERS:
        raise ValueError(f"a file can hold {MAX_MEMBERS} arrays, not {len(parts)}")
    members, offset = [], 0
    for name, crc, header, data in parts:
        size = len(header) + len(data)
        if offset + size > _LARGEST_FILE:
            raise ValueError("the model takes more than 4 GiB, which a file can't hold")
        members.append(_Member(name, crc, size, offset))
        offset = members[-1].stop
    for member, (_, _, header, data) in zip(members, parts, strict=True):
        file.write(member.local() + header)
        file.write(data)
    directory = b"".join(member.entry() for member in members)
    file.write(directory + _end(len(members), len(directory), offset))
    file.write(_sha256(text).encode())


class Archive:
    """A file of JSON and arrays, read with distrust.

    Parameters
    ----------
    file : binary file
        It must stay open while arrays are read.
    max_bytes : int
        How much memory what is read may take, `JSON_FACTOR` bytes for each of ``model.json``.

    Attributes
    ----------
    facts : dict
        The JSON without ``arrays``.
    arrays : dict
        What it says of each array: dtype, shape, memory order and digest.
    size : int
        Bytes of the file.

    Raises
    ------
    ValueError
        If the file is cut or altered, or needs more memory.
    """

    def __init__(self, file: BinaryIO, *, max_bytes: int) -> None:
        self._file, self._left, self.max_bytes = file, max_bytes, max_bytes
        self.size = file.seek(0, io.SEEK_END)
        self.spend(self.size)
        self._members, digest = self._directory()
        manifest = self._members[MANIFEST]
        if manifest.size > MAX_JSON:
            raise ValueError(f"{MANIFEST} has {manifest.size} bytes, more than {MAX_JSON}")
        self.spend(JSON_FACTOR * manifest.size)
        text = self._start_of(manifest, manifest.size)
        if _sha256(text).encode() != digest or zlib.crc32(text) != manifest.crc:
            raise ValueError(f"{MANIFEST} is not what was written: its digest differs")
        self.facts = _parse_json(text)
        self.arrays: dict[str, dict[str, Any]] = self.facts.pop("arrays", None)
        named = [f"{name}.npy" for name in self.arrays] if _is_object(self.arrays) else None
        if named != list(self._members)[1:]:
            raise ValueError(f"the members of the file are not those that {MANIFEST} names")
        for name, spec in self.arrays.items():
            _check_spec(name, spec, self._members[f"{name}.npy"])

    def spend(self, n_bytes: int) -> None:
        """Refuse to take more memory than is left of what is allowed."""
        self._left -= n_bytes
        if self._left < 0:
            raise ValueError(
                f"the file has {self.size:,} bytes, and what it holds may take more memory than "
                f"max_bytes={self.max_bytes:,}: if you trust it, allow more"
            )

    def array(self, name: str) -> NDArray[Any]:
        """Read an array into memory of its own, and check it."""
        member, spec = self._members[f"{name}.npy"], self.arrays[name]
        header = _npy_header(spec)
        if self._start_of(member, len(header)) != header:
            raise ValueError(f"the header of the array {name!r} is not what was written")
        order: Any = "F" if spec["fortran"] else "C"
        array: NDArray[Any] = np.empty(tuple(spec["shape"]), spec["dtype"], order=order)
        data = _raw(array)
        if self._file.readinto(data) != len(data):  # type: ignore[attr-defined]
            raise ValueError(f"the file ends within the array {name!r}")
        if _digest(header, data) != spec["digest"]:
            raise ValueError(f"the array {name!r} is not what was written: its digest differs")
        _check_numbers(name, array)
        return array.astype(array.dtype.newbyteorder("="), order=order, copy=False)

    def _directory(self) -> tuple[dict[str, _Member], bytes]:
        """Return the members by name, and the digest of the first."""
        if self.size < _TAIL:
            raise ValueError(f"{self.size} bytes are too few: this is not a model, or it was cut")
        self._file.seek(self.size - _TAIL)
        tail = self._file.read(_TAIL)
        magic, _, _, n, _, length, start, _ = struct.unpack(_END, tail[:-64])
        if magic != b"PK\5\6" or tail[:-64] != _end(n, length, start):
            raise ValueError("this is no model that rankwise has saved, or it was cut or altered")
        if not 1 <= n <= MAX_MEMBERS or length > n * (_ENTRY_SIZE + MAX_NAME + 4):
            raise ValueError(f"the directory has {n} members and {length} bytes, which is too many")
        if start + length != self.size - _TAIL:
            raise ValueError("the directory is not where it should be: the file was cut or altered")
        self._file.seek(start)
        directory, place, offset = self._file.read(length), 0, 0
        members: dict[str, _Member] = {}
        for number in range(n):
            fixed = directory[place : place + _ENTRY_SIZE]
            if len(fixed) < _ENTRY_SIZE:
                raise ValueError("the directory was cut")
            fields = struct.unpack(_ENTRY, fixed)
            crc, size, width = fields[7], fields[8], fields[10]
            raw = directory[place + _ENTRY_SIZE : place + _ENTRY_SIZE + width]
            member = _Member(raw.decode("ascii", "replace"), crc, size, offset)
            place, offset = place + _ENTRY_SIZE + width, member.stop
            _check_name(member.name, members, first=number == 0)
            if fixed + raw != member.entry():
                raise ValueError(f"the entry of {member.name!r} in the directory was altered")
            members[member.name] = member
        if offset != start or place != length:
            raise ValueError("members and directory do not meet: the file was cut or altered")
        return members, tail[-64:]

    def _start_of(self, member: _Member, size: int) -> bytes:
        """Return the first bytes of a member."""
        self._file.seek(member.offset)
        if self._file.read(member.start - member.offset) != member.local():
            raise ValueError(f"the header of {member.name!r} was altered")
        return self._file.read(size)


def _check_name(name: str, members: Mapping[str, _Member], *, first: bool) -> None:
    stem = name.removesuffix(".npy")
    good = name == MANIFEST if first else stem != name and _NAME.fullmatch(stem)
    if not good or name in members or len(stem) > MAX_NAME:
        raise ValueError(f"a member of the file is called {name[:MAX_NAME]!r}, which none may be")


def _check_spec(name: str, spec: Any, member: _Member) -> None:
    """Refuse what can't be the array of a member."""
    wanted = {"dtype", "shape", "fortran", "digest", "crc32"}
    if not (_is_object(spec) and spec.keys() == wanted):
        raise ValueError(f"the array {name!r} should have {sorted(wanted)} in {MANIFEST}")
    dtype, shape, fortran, digest = (spec[k] for k in ("dtype", "shape", "fortran", "digest"))
    if not (isinstance(dtype, str) and is_portable(dtype)):
        raise ValueError(
            f"the array {name!r} has the dtype {str(dtype)[:80]!r}, which none may have"
        )
    lengths = isinstance(shape, list) and all(type(n) is int and 0 <= n < 2**62 for n in shape)
    if not (lengths and len(shape) <= 8):
        raise ValueError(f"the array {name!r} has the shape {str(shape)[:80]}, which is not one")
    if type(fortran) is not bool or (fortran and len(shape) < 2):
        raise ValueError(f"the memory order of the array {name!r} is {fortran!r}")
    if not (isinstance(digest, str) and _SHA256.fullmatch(digest)):
        raise ValueError(f"the array {name!r} has no digest")
    # the digest is what counts; other tools look at the other one
    if spec["crc32"] != member.crc:
        raise ValueError(f"the array {name!r} has another CRC-32 in the directory")
    needed = len(_npy_header(spec)) + prod(shape) * np.dtype(dtype).itemsize
    if needed != member.size:
        raise ValueError(
            f"the array {name!r} of shape {tuple(shape)} and dtype {dtype} takes {needed} bytes, "
            f"but its member has {member.size}"
        )


def _check_numbers(name: str, array: NDArray[Any]) -> None:
    """Refuse bytes that are no value of their type, which NumPy would not notice."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ValueError(f"the array {name!r} has truth values that are neither true nor false")
    if array.dtype.kind == "U" and array.size and _codes(array).max() > _LARGEST_CHARACTER:
        raise ValueError(f"the array {name!r} has characters that do not exist")


def _is_fortran(array: NDArray[Any]) -> bool:
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)


def _raw(array: NDArray[Any]) -> memoryview:
    """Return the bytes of a contiguous array as they lie in memory."""
    flat = array.reshape(-1, order="F" if _is_fortran(array) else "C")
    return flat.view(np.uint8).data


def _codes(array: NDArray[Any]) -> NDArray[np.uint32]:
    flat = array.reshape(-1, order="F" if _is_fortran(array) else "C")
    return flat.view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))


def _npy_header(spec: Mapping[str, Any]) -> bytes:
    """Return the start of a ``.npy`` member, version 1.0, of a multiple of 64 bytes."""
    dtype, fortran, shape = spec["dtype"], spec["fortran"], tuple(spec["shape"])
    text = f"{{'descr': {dtype!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    padding = -(10 + len(text) + 1) % 64
    return (
        b"\x93NUMPY\1\0"
        + struct.pack("<H", len(text) + padding + 1)
        + (text + " " * padding + "\n").encode("ascii")
    )


def _end(n: int, length: int, start: int) -> bytes:
    return struct.pack(_END, b"PK\5\6", 0, 0, n, n, length, start, 64)


def _digest(header: bytes, data: memoryview) -> str:
    """Return the SHA-256 of the SHA-256 of each block of a member, which threads share."""
    first = hashlib.sha256(header)
    first.update(data[: _BLOCK - len(header)])
    starts = range(_BLOCK - len(header), len(data), _BLOCK)

    def of_block(start: int) -> bytes:
        return hashlib.sha256(data[start : start + _BLOCK]).digest()

    if len(starts) < _THREADS:
        rest = list(map(of_block, starts))
    else:
        with ThreadPoolExecutor(_THREADS) as pool:
            rest = list(pool.map(of_block, starts))
    return hashlib.sha256(first.digest() + b"".join(rest)).hexdigest()


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _check_json(text: bytes) -> None:
    """Refuse JSON that is too long, or nested too deep for a parser that recurses."""
    if len(text) > MAX_JSON:
        raise ValueError(
            f"what is not an array takes {len(text):,} bytes of JSON, more than {MAX_JSON:,}"
        )
    codes = np.frombuffer(_TEXTS.sub(b"", text), dtype=np.uint8)
    steps = np.zeros(256, dtype=np.int8)
    steps[list(b"[{")], steps[list(b"]}")] = 1, -1
    if len(codes) and np.cumsum(steps[codes], dtype=np.int32).max() > MAX_DEPTH:
        raise ValueError(f"what is not an array is nested more than {MAX_DEPTH} deep")


def _parse_json(text: bytes) -> dict[str, Any]:
    _check_json(text)
    try:
        facts = json.loads(
            text.decode("ascii"), object_pairs_hook=_unique, parse_constant=_no_constant
        )
    except ValueError as error:
        raise ValueError(f"{MANIFEST} can't be read: {error}") from error
    if not _is_object(facts):
        raise ValueError(f"{MANIFEST} is no JSON object")
    return facts


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is given twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
