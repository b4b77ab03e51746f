import numpy as np
import pytest

from experiments import preference
from experiments.preference import KINDS, sorted_before, tournament
from rankwise.reports import FORMATS

SIZES = {
    "n_few": 4,
    "n_many": 12,
    "n_tournaments": 12,
    "n_sorts": 60,
    "sizes": (50, 400),
    "tops": (1, 5, 1_000),
}


@pytest.fixture(scope="module")
def report():
    return preference(**SIZES)


def numbers(table, column):
    return [float(row[column].split()[0].replace(",", "")) for row in table.rows]


def test_the_bipartite_loss_is_that_of_the_comparator(report):
    exact, simulated = report.tables[:2]
    assert [row[0] for row in exact.rows] == list(KINDS)
    assert max(numbers(exact, 4)) < 1e-12
    for row in simulated.rows:
        mean, _, half = row[3].split()
        assert abs(float(mean)) <= 2.5 * float(half)
    assert max(numbers(exact, 7)) <= 2


def test_no_ratio_is_above_its_bound(report):
    for row in report.tables[2].rows:
        assert max(map(float, row[2:])) <= float(row[1])
    assert max(numbers(report.tables[3], 2)) < 1e-12
    assert max(numbers(report.tables[3], 3)) <= 2


def test_the_cycle(report):
    table = report.tables[4]
    assert len(table.rows) == 6
    assert numbers(table, 1) == numbers(table, 2) == [0.333] * 6
    assert max(numbers(table, 3)) == max(numbers(table, 4)) == 0.667


def test_questions(report):
    growth, tops = report.tables[5:]
    assert numbers(growth, 0) == [50, 400]
    assert np.allclose(numbers(growth, 1), numbers(growth, 2), atol=0.2)
    assert numbers(tops, 0) == [1, 5]
    assert set(report.figures) == {"losses", "calls"}


def test_the_lecture_is_said_to_agree_where_the_tables_do(report):
    claims = [finding for finding in report.findings if finding.startswith("Paper 5: ")]
    assert [finding.partition(" So: ")[2].split(":")[0].rstrip(".") for finding in claims] == [
        "agrees", "agrees", "agrees", "agrees"
    ]  # fmt: skip


def test_simulated_shares_are_those_of_all_pivots():
    random = np.random.default_rng(0)
    P = tournament("random", 5, random)
    few = sorted_before(P, random.permuted(np.tile(np.arange(5), (20_000, 1)), axis=1))
    from itertools import permutations

    exact = sorted_before(P, np.array(list(permutations(range(5)))))
    assert np.allclose(few, exact, atol=0.02)
    assert np.allclose(exact + exact.T + np.eye(5), 1)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n_few": 1}, "n_few=1 must be 2 or more"),
        ({"n_sorts": 0}, "n_sorts=0 must be 1 or more"),
        ({"sizes": ()}, r"sizes=\(\) must be 1 or more"),
        ({"tops": (1, 0)}, r"tops=\(1, 0\) must be 1 or more"),
    ],
)
def test_sizes_are_checked(sizes, message):
    with pytest.raises(ValueError, match=message):
        preference(**{**SIZES, **sizes})


def test_same_seed_same_report(report):
    assert FORMATS["json"](preference(**SIZES)) == FORMATS["json"](report)
