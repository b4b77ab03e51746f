"""Every kind of value comes back with its type and to the last bit, alone and inside of others."""

import io
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from rankwise._core.kernels import Anchored, Kernel
from rankwise.base import Ranking
from rankwise.magnitude import MPRank
from rankwise.persistence import _encode, _registry
from rankwise.persistence._archive import Archive, write_archive
from rankwise.persistence._decode import Decoder
from rankwise.persistence._encode import Encoder


def there_and_back(value):
    encoder = Encoder()
    facts = {"value": encoder.encode(value, ("value",))}
    file = io.BytesIO()
    write_archive(file, facts, encoder.arrays)
    archive = Archive(file, max_bytes=2**30)
    decoder = Decoder(archive)
    back = decoder.decode(archive.facts["value"])
    decoder.finish()
    return back


def drawn(seed, n):
    random = np.random.RandomState(seed)
    random.standard_normal(n)
    return random


def generator(n):
    random = np.random.default_rng(3)
    random.integers(0, 9, size=n, dtype=np.int32)
    return random


texts = st.text(st.characters(), max_size=5)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**200), 2**200),
    st.floats(),
    texts,
    st.binary(max_size=5),
    st.sampled_from([np.float32(0.1), np.int8(3), np.bool_(True), np.str_("a"), np.str_("")]),
    st.sampled_from([np.datetime64("2020-01-01"), np.timedelta64(3, "s"), np.bytes_(b"ab")]),
    st.sampled_from([np.float64("nan"), np.float64(-0.0), np.dtype("f4"), np.dtype(object)]),
    st.sampled_from([float, np.float64, np.int32, object, range(3), range(9, 1, -2)]),
    st.sampled_from([slice(1, 2), slice(None), slice("a", "c"), Kernel("rbf", 0.5)]),
)
arrays = hnp.arrays(
    st.one_of(
        hnp.boolean_dtypes(),
        hnp.integer_dtypes(endianness="<"),
        hnp.unsigned_integer_dtypes(endianness="<"),
        hnp.floating_dtypes(endianness="<", sizes=(16, 32, 64)),
        hnp.unicode_string_dtypes(endianness="<", max_len=4),
        hnp.byte_string_dtypes(max_len=4),
        hnp.datetime64_dtypes(endianness="<"),
    ),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
keys = st.one_of(texts, st.integers(), st.tuples(texts, st.integers()))
values = st.recursive(
    st.one_of(scalars, arrays, arrays.map(np.asfortranarray)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.lists(st.one_of(texts, st.integers(), st.none()), max_size=4).map(
            lambda v: np.array([*v, None], dtype=object)
        ),
    ),
    max_leaves=8,
)


@given(values)
@settings(max_examples=150)
def test_any_value_comes_back(same, value):
    assert same(there_and_back(value), value)


LONG = [
    list(range(-50, 50)),
    [2**63, *range(50)],
    tuple(float(i) / 7 for i in range(50)),
    [float("nan"), -0.0, *([float("inf")] * 40)],
    [f"é{i}\udc80" for i in range(50)],
    [""] * 40,
    [*range(50), "a"],
    [True] * 50,
    {f"user {i}": i for i in range(100)},
    {i: f"item {i}" for i in range(100)},
    {(i, "a"): [i] for i in range(40)},
    {f"a{i}" for i in range(40)},
    frozenset(range(40)),
    np.array([f"column {i}" for i in range(100)], dtype=object),
    np.array([[1, "a"], [None, 2.5]], dtype=object),
    np.array(["a\0b", "c"], dtype=object),
]


@pytest.mark.parametrize("value", LONG, ids=lambda v: type(v).__name__)
def test_long_sequences_are_packed_and_come_back(same, value):
    assert same(there_and_back(value), value)


@pytest.mark.parametrize(
    "value",
    [
        drawn(0, 0),
        drawn(1, 3),
        np.random.RandomState(np.random.MT19937(5)),
        generator(0),
        generator(1),
        sparse.csr_array(np.eye(3)),
        sparse.csr_matrix(np.eye(3, dtype=np.float32)),
        sparse.csc_array((2, 0)),
        sparse.csc_matrix(np.tri(4)),
        Anchored(Kernel("rbf", 0.25), np.arange(3.0), "near", 0.25),
        Ranking.from_scores([0.3, 0.1]),
        MPRank(C=3.0),
        [("a", MPRank()), ("a", MPRank(C=2.0))],
        np.arange(6.0).reshape(2, 3).T,
        np.array(3.0),
        np.zeros((0, 3)),
    ],
    ids=lambda v: type(v).__name__,
)
def test_objects_come_back(same, value):
    back = there_and_back(value)
    assert same(back, value)
    if isinstance(value, np.random.RandomState):
        assert back.standard_normal() == value.standard_normal()
    if isinstance(value, np.random.Generator):
        assert back.integers(0, 9, dtype=np.int32) == value.integers(0, 9, dtype=np.int32)


@pytest.mark.parametrize("kind", _encode.SPARSE.values())
def test_wide_indices_of_sparse_rows_stay_wide(same, kind):
    rows = kind(np.eye(3))
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    assert there_and_back(rows).indices.dtype == np.int64
    assert same(there_and_back(rows), rows)


def test_sets_are_written_in_one_order():
    assert Encoder().encode({"b", "a", 3, 20}) == {"set": [20, 3, "a", "b"]}


def test_an_array_that_occurs_twice_is_one_again():
    array = np.arange(5.0)
    a, b, c = there_and_back([array, array, array.copy()])
    assert a is b
    assert a is not c
    a[0] = 7.0  # it is memory of its own, to be written to


def test_foreign_layouts_become_plain_ones():
    array = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(there_and_back(array[:, ::2]), array[:, ::2])
    foreign = there_and_back(array.astype(">f8"))
    assert foreign.dtype == np.float64
    assert foreign.dtype.isnative
    assert np.array_equal(foreign, array)
    array.flags.writeable = False
    assert there_and_back(array).flags.writeable


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda x: x, "function"),
        (np.log, "function"),
        (1j, "complex"),
        (np.longdouble(1), "longdouble|float128"),
        (np.array([1j]), "complex"),
        (np.array([(1, 2)], dtype="i4,i4"), "which a file can't hold"),
        (np.ma.array([1.0]), "MaskedArray"),
        (sparse.coo_array(np.eye(2)), "coo_array"),
        (np.random.Generator(np.random.SFC64()), "SFC64"),
        (object(), "builtins.object"),
        (2**5000, "bits"),
        (np.zeros((1,) * 9), "axes"),
        (np.array([{1: object()}], dtype=object), "builtins.object"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_other_values_are_refused(value, words):
    with pytest.raises(ValueError, match=words):
        there_and_back(value)


def test_what_holds_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested too deep"):
        there_and_back(loop)


class Frozen:
    """A class that nobody can change, and that says what its state is."""

    __module__ = "rankwise.persistence._encode"

    def __setattr__(self, name, value):
        raise AttributeError(name)

    def __getstate__(self):
        return {"rows": self.rows}

    def __setstate__(self, state):
        self.__dict__.update(rows=state["rows"], total=state["rows"].sum())


class Plain:
    """A class of attributes, some of which are made again."""

    __module__ = "rankwise.persistence._encode"
    _not_saved = ("_buffer",)

    def __init__(self, rows):
        self.rows, self._buffer = rows, object()

    @cached_property
    def total(self):
        return self.rows.sum()

    def _check_loaded(self):
        if self.rows.ndim != 1:
            raise ValueError("rows must have one axis")


@dataclass(frozen=True, slots=True)
class Slotted:
    """A dataclass without a dict."""

    rows: np.ndarray
    name: str = "a"


Slotted.__module__ = "rankwise.persistence._encode"
CLASSES = (Frozen, Plain, Slotted)


@pytest.fixture
def known(monkeypatch):
    """Let these classes be known, as if they were rankwise's."""
    for cls in CLASSES:
        monkeypatch.setattr(_encode, cls.__name__, cls, raising=False)
    names = tuple(f"rankwise.persistence._encode.{cls.__name__}" for cls in CLASSES)
    monkeypatch.setattr(_registry, "_RECORDS", (*_registry._RECORDS, *names))


@pytest.mark.usefixtures("known")
class TestRecords:
    def test_a_class_that_says_what_its_state_is(self, same):
        value = object.__new__(Frozen)
        value.__setstate__({"rows": np.arange(3)})
        assert same(vars(there_and_back(value)), vars(value))

    def test_a_dataclass_with_slots(self, same):
        value = Slotted(np.arange(3), "b")
        assert same(there_and_back(value), value)

    def test_a_class_of_attributes(self):
        value = Plain(np.arange(3))
        assert value.total == 3
        assert vars(there_and_back(value)).keys() == {"rows"}

    def test_attributes_that_do_not_belong_together(self):
        with pytest.raises(ValueError, match="one axis"):
            there_and_back(Plain(np.zeros((2, 2))))
        with pytest.raises(ValueError, match="a Plain has learned does not belong together"):
            there_and_back(Plain(3))
        value = object.__new__(Frozen)
        value.__dict__["rows"] = "abc"
        with pytest.raises(ValueError, match=r"Frozen.* is not a valid value: 'str' object"):
            there_and_back(value)


def test_a_class_that_is_not_known():
    with pytest.raises(ValueError, match=r"Plain, which can't be saved: see .*_registry\.py"):
        there_and_back(Plain(np.arange(3)))
