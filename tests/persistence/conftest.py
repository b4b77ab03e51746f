"""What the tests of models on disk share: equality to the last bit, and files that lie."""

import numpy as np
import pytest

from rankwise.persistence._archive import Archive, write_archive
from rankwise.testing._repeated import same_bits


@pytest.fixture(name="same", scope="session")
def _same():
    return same_bits


def rewritten(source, target, change):
    """Write a file whose digests are right, with its JSON and arrays changed."""
    with source.open("rb") as file:
        archive = Archive(file, max_bytes=2**40)
        arrays = {name: archive.array(name) for name in archive.arrays}
        facts = archive.facts
    changed = change(facts, arrays)
    facts, arrays = (facts, arrays) if changed is None else changed
    with target.open("wb") as file:
        write_archive(file, facts, arrays)
    return target


@pytest.fixture(name="rewritten", scope="session")
def _rewritten():
    return rewritten


@pytest.fixture
def graded():
    """Return 60 rows with grades 1 to 4."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4))
    return X, 1 + np.digitize(X @ [1.0, 2.0, -1.0, 0.0], [-1.5, 0.0, 1.5])
