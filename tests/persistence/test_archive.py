"""Files of arrays and JSON: what was written comes back, and what was altered is refused."""

import ast
import hashlib
import io
import json
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.persistence import _archive as module
from rankwise.persistence._archive import JSON_FACTOR, MANIFEST, Archive, write_archive

FACTS = {"a": [1, 2.5, "text", None, {"b": True}]}
ARRAYS = {
    "floats": np.arange(6.0).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "flags": np.array([True, False]),
    "words": np.array(["ä", "bc", ""]),
    "none": np.zeros((0, 3), dtype=np.int8),
    "one": np.array(7, dtype=np.uint16),
    "dates": np.array(["2020-01-01"], dtype="M8[D]"),
}


def written(facts=FACTS, arrays=ARRAYS):
    file = io.BytesIO()
    write_archive(file, facts, arrays)
    return file.getvalue()


def read(content, *, max_bytes=2**30):
    archive = Archive(io.BytesIO(content), max_bytes=max_bytes)
    return archive.facts, {name: archive.array(name) for name in archive.arrays}


def forged(manifest, members=(), *, digest=None, gap=b"", more=b""):
    """A file whose frame is right around any JSON and any members.

    ``gap`` stands before the directory, and ``more`` at the end of it.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in [(MANIFEST, manifest), *members]:
            info = zipfile.ZipInfo(name)
            info.create_system = 0
            archive.writestr(info, data)
        archive.comment = (digest or hashlib.sha256(manifest).hexdigest()).encode()
        start = archive.start_dir
    content = file.getvalue()
    return content[:start] + gap + content[start:-86] + more + content[-86:]


def digest(data):
    """The digest of a member, by its definition."""
    blocks = [data[start : start + 2**20] for start in range(0, len(data), 2**20)]
    parts = b"".join(hashlib.sha256(block).digest() for block in blocks)
    return hashlib.sha256(parts).hexdigest()


def array_member(array, **changed):
    """What JSON says of an array, and its member."""
    file = io.BytesIO()
    write_archive(file, {}, {"x": array})
    with zipfile.ZipFile(file) as opened:
        data = opened.read("x.npy")
        spec = json.loads(opened.read(MANIFEST))["arrays"]["x"]
    return {**spec, **changed}, data


def refused(content, words=" ", **options):
    with pytest.raises(ValueError, match=words):
        read(content, **options)


class TestWritten:
    def test_comes_back(self):
        facts, arrays = read(written())
        assert facts == FACTS
        assert list(arrays) == list(ARRAYS)
        for name, expected in ARRAYS.items():
            assert arrays[name].dtype == expected.dtype
            assert arrays[name].tobytes() == expected.tobytes()
            assert arrays[name].flags.f_contiguous == expected.flags.f_contiguous

    def test_other_tools_can_read_it(self, tmp_path):
        path = tmp_path / "file"
        path.write_bytes(written())
        with zipfile.ZipFile(path) as opened:
            assert opened.testzip() is None
            assert json.loads(opened.read(MANIFEST))["a"] == FACTS["a"]
        with np.load(path, allow_pickle=False) as loaded:
            for name, expected in ARRAYS.items():
                assert np.array_equal(loaded[name], expected)

    @pytest.mark.parametrize(
        "n", [0, 1, 2**20 - 129, 2**20 - 128, 2**20 - 127, 3 * 2**20, 7 * 10**6]
    )
    def test_the_digest_is_that_of_the_blocks(self, n):
        spec, data = array_member(np.arange(n, dtype=np.uint8))
        assert spec["digest"] == digest(data)

    def test_equal_content_gives_equal_bytes(self):
        assert written() == written()

    @pytest.mark.parametrize("name", ["", "../a", "/a", "a/b", "a\\b", ".a", "ä", "a" * 200])
    def test_names_that_could_lead_elsewhere_are_refused(self, name):
        with pytest.raises(ValueError, match="can't be called"):
            written({}, {name: np.zeros(1)})

    def test_nothing_is_written_that_could_not_be_read(self, monkeypatch):
        deep = [[]]
        for _ in range(200):
            deep = [deep]
        with pytest.raises(ValueError, match="deep"):
            written({"a": deep}, {})
        with pytest.raises(ValueError, match="arrays, not"):
            written({}, {f"a{i}": np.zeros(0) for i in range(10_001)})
        monkeypatch.setattr(module, "_LARGEST_FILE", 1000)
        with pytest.raises(ValueError, match="2 GB"):
            written({}, {"a": np.zeros(1000)})
        monkeypatch.setattr(module, "MAX_JSON", 100)
        with pytest.raises(ValueError, match="bytes of JSON"):
            written({"a": "b" * 200}, {})


class TestAltered:
    def test_every_flipped_byte_of_a_member_is_noticed(self):
        """So are those of the header of each member; the directory of the zip has no effect."""
        content = written()
        directory = range(content.index(b"PK\1\2"), len(content) - 64)
        for place in range(len(content)):
            for flip in (0x01, 0x80, 0xFF):
                bad = bytearray(content)
                bad[place] ^= flip
                if place not in directory:
                    refused(bytes(bad))
                    continue
                facts, arrays = read(bytes(bad))
                assert facts == FACTS
                assert all(arrays[name].tobytes() == ARRAYS[name].tobytes() for name in ARRAYS)

    def test_every_cut_is_noticed(self):
        content = written()
        for length in range(len(content)):
            refused(content[:length])
        for length in range(1, 200, 7):
            refused(content[length:])
            refused(content + bytes(length))
            refused(bytes(length) + content)

    @given(st.binary(max_size=300))
    def test_noise_is_refused(self, noise):
        refused(noise)
        refused(written({}, {})[:40] + noise)

    def test_two_files_in_one(self):
        refused(written() + written())

    @pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    def test_zip_files_of_others(self, method):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as opened:
            opened.writestr(MANIFEST, "{}")
            opened.writestr("a.npy", bytes(10**6))
        refused(file.getvalue())
        refused(b"", "not a model")
        refused(b"\x93NUMPY")

    def test_a_member_added_removed_or_moved(self):
        spec, data = array_member(np.arange(3.0))
        good = json.dumps({"arrays": {"a": spec, "b": spec}}).encode()
        assert read(forged(good, [("a.npy", data), ("b.npy", data)]))[1].keys() == {"a", "b"}
        refused(forged(good, [("b.npy", data), ("a.npy", data)]), "not there")
        refused(forged(good, [("a.npy", data)]), "not there")
        three = [("a.npy", data), ("b.npy", data), ("c.npy", data)]
        refused(forged(good, three), "truncated or altered")
        with pytest.warns(UserWarning, match="Duplicate name"):
            twice = forged(good, [("a.npy", data), ("a.npy", data)])
        refused(twice, "not there")

    @pytest.mark.parametrize("name", ["../a.npy", "/a.npy", "a.txt", ".npy", "", "x" * 200, "c:a"])
    def test_names_of_members(self, name):
        spec, data = array_member(np.arange(3.0))
        stem = name.removesuffix(".npy")
        refused(forged(json.dumps({"arrays": {stem: spec}}).encode(), [(name, data)]))


class TestForged:
    """Files with right digests that say wrong things."""

    @pytest.mark.parametrize(
        "changed",
        [
            {"shape": [10**12]},
            {"shape": [10**6, 10**6]},
            {"shape": [2**62, 2**62]},
            {"shape": [0, 10**12]},
            {"shape": [-3]},
            {"shape": [3.0]},
            {"shape": [True, 3]},
            {"shape": 3},
            {"shape": [3] + [1] * 40},
            {"shape": [2]},
            {"shape": [4]},
            {"shape": []},
            {"dtype": "<f4"},
            {"dtype": "<i8"},
            {"dtype": "|O"},
            {"dtype": "O"},
            {"dtype": "<c16"},
            {"dtype": ">f8"},
            {"dtype": "<U0"},
            {"dtype": "|V8"},
            {"dtype": "<f8,<f8"},
            {"dtype": [["a", "<f8"]]},
            {"dtype": "<M8[2000s]"},
            {"dtype": "<f8\n"},
            {"fortran": True},
            {"fortran": 0},
            {"fortran": None},
            {"digest": "0" * 64},
            {"digest": "0"},
            {"digest": None},
            {"crc32": 0},
            {"crc32": "0"},
            {"more": 1},
        ],
        ids=str,
    )
    def test_what_is_said_of_an_array(self, changed):
        spec, data = array_member(np.arange(3.0), **changed)
        refused(forged(json.dumps({"arrays": {"x": spec}}).encode(), [("x.npy", data)]))

    def test_headers_of_arrays_are_not_believed(self):
        spec, data = array_member(np.arange(3.0))
        huge = data.replace(b"(3,), }" + b" " * 13, b"(1000000000000,), } ")
        assert len(huge) == len(data)
        assert huge != data
        spec |= {"digest": digest(huge), "crc32": zlib.crc32(huge)}
        refused(
            forged(json.dumps({"arrays": {"x": spec}}).encode(), [("x.npy", huge)]), "header of"
        )

    @pytest.mark.parametrize(
        "array", [np.array([2], dtype=np.uint8), np.array([0x110000], dtype=np.uint32)]
    )
    def test_bytes_that_are_no_value(self, array):
        dtype = "|b1" if array.dtype == np.uint8 else "<U1"
        good, data = array_member(
            array.astype(np.uint8).view(bool) if dtype == "|b1" else np.array(["a"])
        )
        bad = data[: -array.nbytes] + array.tobytes()
        spec = {**good, "digest": digest(bad), "crc32": zlib.crc32(bad)}
        manifest = json.dumps({"arrays": {"x": spec}}).encode()
        refused(forged(manifest, [("x.npy", bad)]), "neither true|do not exist")

    @pytest.mark.parametrize(
        "manifest",
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b"{}",
            b'{"arrays": []}',
            b'{"arrays": null}',
            b'{"arrays": {"a": 1}}',
            b'{"arrays": {}, "arrays": {}}',
            b'{"arrays": {}, "a": NaN}',
            b'{"arrays": {}, "a": -Infinity}',
            b'{"arrays": {}, "a": ' + b"1" * 5000 + b"}",
            b'{"arrays": {}, "a": "\xff"}',
            '{"arrays": {}, "a": "ä"}'.encode(),
            b'{"arrays": {}} {}',
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b'{"arrays": {}, "a": ' + b"[" * 2000 + b"]" * 2000 + b"}",
            b'{"arrays": {}, "a": "' + b'\\"' * 1000,
        ],
        ids=lambda m: m[:30].decode("latin-1"),
    )
    def test_json(self, manifest):
        refused(forged(manifest))

    def test_brackets_in_texts_are_no_depth(self):
        manifest = json.dumps({"arrays": {}, "a": '[[["\\{{' * 1000}).encode()
        assert read(forged(manifest))[0]["a"].startswith("[[[")

    def test_a_wrong_digest_of_the_json(self):
        refused(forged(b'{"arrays": {}}', digest="0" * 64), "digest")
        assert read(forged(b'{"arrays": {}}')) == ({}, {})

    def test_bytes_between_the_parts(self):
        assert read(forged(b'{"arrays": {}}')) == ({}, {})
        refused(forged(b'{"arrays": {}}', gap=b"x"), "truncated or altered")
        refused(forged(b'{"arrays": {}}', more=b"x"), "truncated or altered")

    def test_many_members(self):
        """A directory of many entries takes no memory: it is not read."""
        content = written({}, {})
        start = content.index(b"PK\1\2")
        tracemalloc.start()
        refused(content[:start] + bytes(65_535 * 46) + content[start:], "truncated or altered")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * 65_535 * 46


class TestMemory:
    def test_a_cap_is_kept_before_anything_is_read(self):
        content = written({}, {"a": np.zeros(10**6)})
        refused(content, "max_bytes=7,999,999", max_bytes=7_999_999)
        assert read(content, max_bytes=9 * 10**6)[1]["a"].nbytes == 8 * 10**6

    def test_json_is_counted_before_it_is_read(self):
        content = forged(b'{"arrays": {}, "a": "' + b"x" * 10**5 + b'"}')
        refused(content, "max_bytes=1,000,000", max_bytes=10**6)
        assert read(content, max_bytes=10**7)

    @pytest.mark.parametrize(
        "item", ["[],", "{},", '{"":0},', '"ab",', "1e9,", "[0],", '{"a":{}},', "[[]],", "99999,"]
    )
    def test_json_takes_no_more_than_was_counted(self, item):
        text = '{"arrays": {}, "a": [' + item * (200_000 // len(item)) + "0]}"
        content = forged(text.encode())
        tracemalloc.start()
        archive = Archive(io.BytesIO(content), max_bytes=2**30)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert archive.facts["a"]
        assert peak < len(content) + JSON_FACTOR * len(text)

    def test_claims_take_no_memory(self):
        spec, data = array_member(np.arange(3.0), shape=[10**12])
        content = forged(json.dumps({"arrays": {"x": spec}}).encode(), [("x.npy", data)])
        tracemalloc.start()
        refused(content, "takes 8000000000128 bytes")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10**6


def test_only_the_standard_library_and_numpy_are_needed():
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    froms = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {name.name for n in ast.walk(tree) if isinstance(n, ast.Import) for name in n.names}
    packages = {module.partition(".")[0] for module in froms | names}
    assert packages - set(sys.stdlib_module_names) <= {"numpy"}
