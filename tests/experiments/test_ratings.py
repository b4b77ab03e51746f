"""People's ratings from those of others: the protocol, its numbers, and going on after a break."""

import itertools
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from experiments import _reviewers, ratings
from experiments._data import Films
from experiments._ratings_report import PAPER, errors_table
from experiments._reviewers import GROUPS, METHODS, choose, parts, people_of, repeat
from experiments.ratings import Source, sources
from rankwise.boosting import RankBoost
from rankwise.recommend import RatingTable
from rankwise.reports import FORMATS

module = sys.modules["experiments.ratings"]
SIZES = {"n_repetitions": 2, "n_reviewers": 3, "n_held_out": 2, "n_references": 12}
TASTE, FEW, NONE = "MovieLens, taste", "MovieLens 20-40", "MovieLens 60-80"


def table(seed=0):
    """Thirty people who rated 20 to 40 of 70 items, and sixteen who rated 50 to 56."""
    random = np.random.default_rng(seed)
    likes = random.normal(size=(46, 2)) @ random.normal(size=(2, 70))
    counts = [*random.integers(20, 41, 30), *random.integers(50, 57, 16)]
    rows = [(u, i) for u, n in enumerate(counts) for i in random.permutation(70)[:n]]
    users, items = np.array(rows).T
    rated = np.clip(np.round(3 + likes[users, items] + random.normal(size=len(users))), 1, 5)
    return RatingTable.from_arrays(users, items, rated)


def small(monkeypatch):
    """Let the experiment find this table."""
    found = [
        Source("drawn", table(), [FEW, NONE, TASTE]),
        Source("Jester", None, ["Jester 20-40"], "no"),
    ]
    monkeypatch.setattr(module, "sources", lambda _data: found)


@pytest.fixture(scope="module")
def report():
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        return ratings(**SIZES)


def test_who_is_in_each_group(report):
    assert [row[0] for row in report.tables[0].rows] == [FEW, NONE, TASTE, "Jester 20-40"]
    about = {row[0]: row[1:] for row in report.tables[0].rows}
    assert about[FEW] == ["drawn", "30", about[FEW][2], "2 x 3", "yes"]
    assert about[NONE][-1] == "too few people: left out"
    assert about["Jester 20-40"][0] == "no"


def test_the_tables(report):
    errors, constant, ridge, chosen, by_c, by_rounds = report.tables[1:]
    methods = ["a constant", *METHODS]
    assert [row[:2] for row in errors.rows] == [
        *([FEW, name] for name in methods), *([TASTE, name] for name in (*methods, "TasteRanker")),
        *([NONE, name] for name in PAPER[NONE]), *(["Jester 20-40", name] for name in PAPER[NONE]),
    ]  # fmt: skip
    assert errors.rows[-6][2:6] == [
        "too few people",
        "2.07 ± 0.05",
        "too few people",
        "1.06 ± 0.01",
    ]
    assert errors.rows[-3][2:4] == ["data absent", "51.34 ± 2.90"]
    first = dict(zip(errors.columns, errors.rows[0], strict=True))
    assert first["misranking"] == "1.000 ± 0.000"
    assert first["a tie half"] == "0.500 ± 0.000"
    assert errors.rows[1][3] == "2.01 ± 0.02"
    n_rows = len(errors.rows) - 6
    assert len(constant.rows) == n_rows - 2
    assert [row[0] for row in ridge.rows] == [FEW, TASTE]
    assert len(chosen.rows) == 2 * len(METHODS)
    assert [row[0] for row in by_c.rows] == [
        *["MPRank, MSD, best width"] * 2, *["MPRank, MSD, width 3"] * 2,
        *["SVRank, M1D, best width"] * 2
    ]  # fmt: skip
    for best, one in zip(by_c.rows[:2], by_c.rows[2:4], strict=True):
        assert all(float(b) <= float(o) for b, o in zip(best[2:], one[2:], strict=True))
    assert [row[:2] for row in by_rounds.rows[:2]] == [["MSD", FEW], ["MSD", TASTE]]
    # The rounds that are chosen are those with the least misranking.
    least = [min(map(float, row[2:])) for row in by_rounds.rows[2:4]]
    picked = [row for row in chosen.rows if row[1] == "RankBoost"]
    for row, by, best in zip(picked, by_rounds.rows[2:4], least, strict=True):
        column = by_rounds.columns.index(f"{row[3].removeprefix('rounds ')} rounds")
        assert float(by[column]) == best
    assert len(report.results) == n_rows * 2 * 5
    assert report.findings[0].startswith("Paper 4: ")
    (capped,) = (finding for finding in report.findings if "the cap of 200 rounds" in finding)
    grown = float(by_rounds.rows[0][-1]) / float(by_rounds.rows[0][2])
    (said,) = re.findall(r"with 200 rounds is ([\d.]+) times that with 10", capped)
    assert float(said) == pytest.approx(grown, rel=0.02)
    (figure,) = report.figures.values()
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == [FEW, TASTE]


def test_the_paper_has_every_group_but_those_with_taste():
    assert set(PAPER) == {name for name in GROUPS if not GROUPS[name].taste}


def test_sets_are_disjoint_and_never_held_out():
    held, *sets = parts(np.arange(100), 10, 4, 20, 3)
    everyone = np.concatenate([held, *sets])
    assert [len(held), *map(len, sets)] == [10, 20, 20, 20, 20]
    assert len(set(everyone)) == len(everyone)
    assert [len(part) for part in parts(np.arange(10), 10, 4, 20, 3)] == [2, 2, 2, 2, 2]


@pytest.mark.slow
def test_books_are_tuned_inside_each_fold_and_all_are_tested(monkeypatch):
    drawn = table(4)
    setting = {**SIZES, "seed": 5, "group": "Books", "n_repetitions": 1}
    people = people_of(drawn, GROUPS["Books"])
    folds = [_reviewers.parts_of({**setting, "fold": fold}, people) for fold in range(5)]
    assert sorted(np.concatenate([tested for _, tested in folds])) == people.pool.tolist()
    for held_out, tested in folds:
        assert len(held_out) == SIZES["n_held_out"]
        assert not set(held_out) & set(tested)
    few = {name: method._replace(grid=method.grid[::4]) for name, method in METHODS.items()}
    monkeypatch.setattr(_reviewers, "METHODS", few)
    monkeypatch.setattr(module, "METHODS", few)
    about = []
    found = module._run_source(Source("drawn", drawn, ["Books"]), {**SIZES, "seed": 5}, {}, about)[
        "Books"
    ]
    assert about[0][4] == f"1 x {len(people.pool)}"
    row = errors_table({"Books": found}, {}).rows[1]
    expected = []
    for fold in range(5):
        at = {**setting, "fold": fold, "repetition": 0}
        found = choose(at, drawn)
        best = {"scale": found["scale"], **{name: found[name]["best"] for name in few}}
        expected += repeat({**at, "chosen": best}, drawn)["errors"]["MPRank"]
    assert len(expected) == len(people.pool)
    mean, sd = np.nanmean(expected, axis=0)[0], np.nanstd(expected, axis=0, ddof=1)[0]
    assert row[:2] == ["Books", "MPRank"]
    assert row[2:4] == [f"{mean:.2f} ± {sd:.2f}", "4.00 ± 3.12"]


def literal_costs(y, s):
    """Return both magnitude losses and the misranking of the paper's equations 67 to 69."""
    pairs = list(itertools.product(range(len(y)), repeat=2))
    missed = [(s[j] - s[i]) - (y[j] - y[i]) for i, j in pairs]
    wrong = [s[i] <= s[j] for i, j in pairs if y[i] > y[j]]
    return [np.mean(np.square(missed)), np.mean(np.abs(missed)), np.mean(wrong)]


def test_a_reviewer_by_the_papers_formulas():
    drawn = table(1)
    setting = {**SIZES, "seed": 5, "group": FEW, "repetition": 1}
    found = choose(setting, drawn)
    for name, method in METHODS.items():
        assert len(found[name]["errors"]) == len(method.grid)
        assert found[name]["best"] == method.grid[int(np.argmin(found[name]["errors"]))]
    best = {"scale": found["scale"], **{name: found[name]["best"] for name in METHODS}}
    errors = repeat({**setting, "chosen": best}, drawn)["errors"]
    people = people_of(drawn, GROUPS[FEW])
    counts = np.diff(drawn.matrix.indptr)
    assert set(people.references) == set(np.flatnonzero((counts >= 20) & (counts <= 40)))
    assert set(people.pool) == set(np.flatnonzero(counts >= 50))
    tested = parts(people.pool, 2, 2, 3, 5)[2]
    dense = np.where(drawn.matrix.toarray() == 0, np.nan, drawn.matrix.toarray())
    for k, person in enumerate(tested):
        items = np.flatnonzero(~np.isnan(dense[person]))
        order = np.random.default_rng([5, 1, int(person)]).permutation(len(items))
        raters = np.random.default_rng([5, 2, int(person)]).permutation(people.references)[:12]
        X = np.array(
            [
                [dense[r, i] if dense[r, i] > 0 else np.nanmedian(dense[r]) for r in raters]
                for i in items[order]
            ]
        )
        y, half = dense[person, items[order]], len(items) // 2
        at = best["MPRank"]
        gap = ((X[:, None] - X) ** 2).sum(axis=2)
        K = np.exp(-gap / (at["width"] * best["scale"]))
        train, test = slice(None, half), slice(half, None)
        # Ridge with a free intercept and the penalty m / (2 C).
        system = np.block(
            [
                [K[train, train] + np.eye(half) * half / (2 * at["C"]), np.ones((half, 1))],
                [np.ones((1, half)), np.zeros((1, 1))],
            ]
        )
        alpha = np.linalg.solve(system, np.append(y[train], 0))[:-1]
        scores = K[test, train] @ alpha
        np.testing.assert_allclose(
            errors["MPRank"][k][:3], literal_costs(y[test], scores), rtol=1e-6
        )
        np.testing.assert_allclose(
            errors["a constant"][k][:3], literal_costs(y[test], 0 * scores), rtol=1e-9
        )


def test_methods_score_as_their_estimators_do():
    drawn = table(2)
    people = people_of(drawn, GROUPS[FEW])
    ((problem, said),) = _reviewers.problems(people, GROUPS[FEW], people.pool[:1], 12, 3)
    assert said is None
    X, y = problem.X[problem.train], problem.y[problem.train]
    for name, weight in (("RankBoost", "uniform"), ("RankBoost by size", "magnitude")):
        grid = [{"rounds": 5.0}, {"rounds": 30.0}]
        found = METHODS[name].scores(problem, grid, 1.0)
        for at, scores in zip(grid, found, strict=True):
            literal = RankBoost(int(at["rounds"]), criterion="edge", pair_weight=weight).fit(X, y)
            expected = literal.predict(problem.X[problem.test])
            np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    scale = problem.distances.mean()
    for name in ("MPRank", "SVRank", "kernel ridge", "RankSVM by size"):
        method = METHODS[name]
        at_once = method.scores(problem, method.grid, scale)
        for at, scores in zip(method.grid, at_once, strict=True):
            (alone,) = method.scores(problem, [at], scale)
            np.testing.assert_array_equal(scores, alone)


def test_taste_does_not_know_the_tested():
    drawn = table(3)
    people = people_of(drawn, GROUPS[TASTE])
    chosen = people.pool[:2]
    model = _reviewers._taste(drawn, chosen).model
    kept = np.diff(model.table_.matrix.indptr)
    assert (kept[chosen] == 0).all()
    assert kept.sum() == drawn.n_ratings - np.diff(drawn.matrix.indptr)[chosen].sum()


@pytest.mark.slow
def test_a_broken_run_goes_on_with_the_same_numbers(monkeypatch, tmp_path, report):
    small(monkeypatch)

    def broken(work):
        for k, i in enumerate(work):
            if k == 1:
                raise KeyboardInterrupt
            yield i

    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):
            ratings(**SIZES, keep=tmp_path, track=broken)
    assert len(list(tmp_path.iterdir())) == 7
    whole = ratings(**SIZES, keep=tmp_path)
    assert FORMATS["json"](whole) == FORMATS["json"](report)


SCRIPT = """
import sys
from pathlib import Path
import pytest
sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]).parents[1])]
import test_ratings as t
if __name__ == "__main__":
    t.small(pytest.MonkeyPatch())
    t.ratings(**t.SIZES, keep=Path(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_killed_run_goes_on_with_the_same_numbers(monkeypatch, tmp_path, report):
    script, keep = tmp_path / "script.py", tmp_path / "keep"
    script.write_text(SCRIPT)
    with subprocess.Popen([sys.executable, script, Path(__file__).parent, keep]) as run:
        end = time.monotonic() + 120
        try:
            while not (keep.is_dir() and len(list(keep.glob("[!.]*.json"))) >= 2):
                assert run.poll() is None
                assert time.monotonic() < end
                time.sleep(0.01)
        finally:
            run.kill()
    done = {path: path.stat().st_mtime_ns for path in keep.glob("[!.]*.json")}
    assert 2 <= len(done) < 8
    small(monkeypatch)
    again = ratings(**SIZES, keep=keep)
    assert FORMATS["json"](again) == FORMATS["json"](report)
    assert all(path.stat().st_mtime_ns == when for path, when in done.items())


def test_books_and_jokes_are_found_or_said_to_be_absent(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    films, jester, books, netflix = sources()
    assert films.table is not None
    assert "jester-1 is absent" in jester.why
    assert "book-crossing is absent" in books.why
    assert "Netflix are absent: put mv_*.txt or combined_data_*.txt" in netflix.why
    assert netflix.groups == ["Netflix 32 %", "Netflix 46 %", "Netflix 58 %"]
    folder = tmp_path / "book-crossing"
    folder.mkdir()
    rows = ['"User-ID";"ISBN";"Book-Rating"']
    # One reads 210 books, one 199, one 205 of which ten are not rated.
    for user, n, unrated in ((1, 210, 0), (2, 199, 0), (3, 205, 10)):
        rows += [f'"{user}";"{b:010}";"{0 if b < unrated else 1 + b % 10}"' for b in range(n)]
    (folder / "BX-Book-Ratings.csv").write_text("\n".join(rows) + "\n", encoding="latin-1")
    kept = sources()[2].table
    assert kept.users.tolist() == [1]
    assert kept.n_ratings == 210
    monkeypatch.setattr(module, "_BOOKS_OF_A_USER", 211)
    assert sources()[2].table is None
    assert sources()[2].why.endswith("has rated 211 books")


def test_the_groups_of_netflix_have_the_papers_thresholds(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    (tmp_path / "netflix").mkdir()
    rows = ["user,item,rating", *(f"{u},{i},{1 + (u + i) % 5}" for u in range(3) for i in range(4))]
    (tmp_path / "netflix" / "ratings.csv").write_text("\n".join(rows) + "\n")
    assert sources()[3].table.n_ratings == 12
    thresholds = [(GROUPS[name].raters[0], GROUPS[name].popular) for name in sources()[3].groups]
    assert thresholds == [(151, 360), (501, 1200), (1501, 1800)]
    # Popular films are those with at least so many ratings, and people have more than so many.
    users, items = np.nonzero(np.tri(400, 160, -40, dtype=bool) | (np.arange(160) > 151))
    few = RatingTable.from_arrays(users, items, 1.0 + (users + items) % 5)
    people = people_of(few, GROUPS["Netflix 32 %"])
    counts = np.bincount(few.matrix.indices)
    assert set(np.unique(people.table.matrix.indices)) == set(np.flatnonzero(counts >= 360))
    total = np.diff(few.matrix.indptr)
    assert set(people.references) == set(np.flatnonzero(total > 150))


def test_any_table_of_ratings_may_take_the_place_of_films():
    drawn = Films("mine", table(3))
    assert sources(drawn)[0].name == "mine"
    assert sources(drawn)[0].table is drawn.table


def test_jokes_are_those_of_all_parts_that_are_there(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "jester"
    folder.mkdir()
    (folder / "jester-data-1.csv").write_text("2,1.5,99,-3\n1,99,4,99\n")
    (folder / "jester-data-3.csv").write_text("3,1,2,3\n")
    jester = sources()[1]
    assert jester.name == "Jester, part 1, 3"
    assert jester.table.users.tolist() == [1, 2, 3]
    assert jester.table.matrix.toarray().tolist() == [[1.5, 0, -3], [0, 4, 0], [1, 2, 3]]


@pytest.mark.parametrize("sizes", [{"n_repetitions": 0}, {"n_held_out": 0}, {"n_references": 0}])
def test_sizes_are_checked(sizes):
    with pytest.raises(ValueError, match="must be 1 or more"):
        ratings(**{**SIZES, **sizes})


def test_netflix_runs_from_its_own_files(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    absent = module._netflix(["Netflix 32 %"])
    assert absent.table is None
    assert "folder netflix" in absent.why
    (tmp_path / "netflix").mkdir()
    text = "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n2:\n885013,4,2005-10-19\n"
    (tmp_path / "netflix" / "combined_data_1.txt").write_text(text)
    found = module._netflix(["Netflix 32 %"])
    assert (found.table.n_users, found.table.n_items, found.table.n_ratings) == (3, 2, 3)
