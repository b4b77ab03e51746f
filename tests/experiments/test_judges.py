import warnings

import numpy as np
import pytest

from experiments import judges
from experiments._data import Films, eachmovie
from experiments._trials import ETAS
from experiments.judges import (
    CONSTANT,
    FILMS,
    HELD_OUT,
    JUDGES,
    OTHERS,
    TAUS,
    Items,
    _rated,
    _rounds,
    held_out_rate,
    models,
    problem,
    trial,
)
from rankwise.papers import prank
from rankwise.recommend import RatingTable


@pytest.fixture(scope="module")
def films():
    random = np.random.default_rng(1)
    good = random.normal(size=80)
    users, items = (part.ravel() for part in np.indices((30, 80)))
    kept = random.random(len(users)) < 0.8
    users, items = users[kept], items[kept]
    ratings = np.clip((3 + good[items] + 0.5 * random.normal(size=len(items))).round(), 1, 5)
    return Films("few", RatingTable.from_arrays(users, items, ratings))


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    """A folder with a collection of 40 judged pairs."""
    random = np.random.default_rng(2)
    folder = tmp_path / "cystic-fibrosis"
    folder.mkdir()
    numbers = range(1, 41)
    (folder / "cf74").write_text(
        "\n\n".join(f"PN 74{n:03}\nRN {n:05}\nTI Title {n}." for n in numbers) + "\n"
    )
    judged = " ".join(f"{n:5} " + "".join(map(str, random.integers(0, 3, 4))) for n in numbers)
    (folder / "cfquery").write_text(f"QN 00001\nQU What?\nNR 00040\nRD {judged}\n")
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))


@pytest.mark.usefixtures("pairs")
def test_report_has_both(films):
    report = judges(n_trials=3, data=films)
    titles = [table.title.partition(":")[0] for table in report.tables]
    assert titles == ["cystic fibrosis", "OHSUMED", "EachMovie", "few"]
    for table in (report.tables[0], report.tables[3]):
        assert {row[0] for row in table.rows} == {*models(3, 0), HELD_OUT, CONSTANT, OTHERS}
    assert "40 pairs of a query and a document, 4 judges, 32 of them to train" in report.setting
    assert sum(finding.startswith("Paper 2") for finding in report.findings) == 5
    assert {row["data"] for row in report.results} == {JUDGES, FILMS}
    assert report.tables[1].rows[0][0].startswith("OHSUMED is absent: put the judgements as")
    assert report.tables[2].rows[0][0].startswith("EachMovie is absent: put the votes as")


def test_judges_that_are_absent_are_a_row(films, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    report = judges(n_trials=2, data=films)
    assert report.tables[0].rows[0][0].startswith("cystic-fibrosis is absent: put it as")
    assert len(report.tables) == 4
    assert not any("three ranks" in finding for finding in report.findings)


def test_ohsumed_and_eachmovie_run_where_they_are(films, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    random = np.random.default_rng(4)
    (tmp_path / "ohsumed").mkdir()
    letters = random.choice(list("dpn"), (40, 2))
    lines = [f"{n}\t{87000 + n}\t{n}\t{a}\t{b}" for n, (a, b) in enumerate(letters)]
    (tmp_path / "ohsumed" / "judged").write_text("\n".join([*lines, "41\t87041\t41\td"]) + "\n")
    (tmp_path / "eachmovie").mkdir()
    votes = [
        f"{u}\t{i}\t{random.integers(6) / 5:g}\t1\t2/26/97 0:00:00"
        for u in range(25)
        for i in range(30)
    ]
    (tmp_path / "eachmovie" / "Vote.txt").write_text("\n".join(votes) + "\n")
    report = judges(n_trials=2, data=films)
    titles = [table.title.partition(":")[0] for table in report.tables]
    assert titles == ["cystic fibrosis", "OHSUMED", "EachMovie", "few"]
    assert "OHSUMED: 40 pairs of a query and a document" in report.setting
    assert "EachMovie: 30 films that 20 or more of 25 viewers rated" in report.setting
    assert {row["data"] for row in report.results} == {"OHSUMED", "EachMovie", FILMS}
    voted = eachmovie()
    assert np.unique(voted.table.matrix.data).tolist() == [1, 2, 3, 4, 5, 6]


def test_a_target_is_never_its_own_feature(films):
    random = np.random.default_rng(3)
    X, y, others = problem(_rated(films), random)
    assert len(X) == len(y) == len(others)
    assert np.linalg.norm(X, axis=1).mean() == pytest.approx(1)
    full = Items("four", np.array([[1, 2, 3, 3], [3, 1, 1, 1]]), 3, complete=True)
    X, y, others = problem(full, random)
    for row, target, middle in zip(X, y, others, strict=True):
        assert sorted([*row, target]) in ([1, 2, 3, 3], [1, 1, 1, 3])
        assert middle == np.median(row)


def test_losses_are_those_of_one_pass(films):
    items = _rated(films)
    result = trial({"data": FILMS, "trial": 1, "seed": 4}, items)
    X, y, _ = problem(items, np.random.default_rng([4, 1]))
    n = int(0.8 * len(y))
    model = prank(label_order=range(1, 6))
    guesses = model.partial_fit_predict(X[:n], y[:n])
    assert result["online"]["PRank"] == pytest.approx(np.abs(guesses - y[:n]).mean())
    assert result["test"]["PRank"] == pytest.approx(np.abs(model.predict(X[n:]) - y[n:]).mean())
    assert result["curve"]["PRank"][-1] == pytest.approx(result["online"]["PRank"])


def test_the_rate_of_widrow_hoff_is_chosen_without_test_items(films):
    items = _rated(films)
    result = trial({"data": FILMS, "trial": 1, "seed": 4}, items)
    X, y, _ = problem(items, np.random.default_rng([4, 1]))
    n, fifth = int(0.8 * len(y)), int(0.8 * int(0.8 * len(y)))
    chosen = []
    for scale in (1.0, 10.0):
        guesses = {}
        for eta in ETAS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                model = models(5, 0)[f"WH {eta}"]
                seen = model.partial_fit_predict(scale * X[:n], y[:n])
                guesses[f"WH {eta}"] = np.append(seen, model.predict(scale * X[n:]))
        losses = {eta: np.abs(guesses[f"WH {eta}"][:n] - y[:n])[fifth:].mean() for eta in ETAS}
        chosen.append(min(losses, key=losses.get))
        assert held_out_rate(guesses, y[:n]) == chosen[-1]
    assert chosen[0] != chosen[1]
    # right on the last fifth of ten training items, and wrong on others and on two test items
    wrong = {0.2: [8, 9], 0.1: [0, 1, 2, 3, 10, 11], 0.05: range(12), 0.01: range(12)}
    guesses = {f"WH {eta}": 1 + np.isin(np.arange(12), list(at)) for eta, at in wrong.items()}
    assert held_out_rate(guesses, np.ones(10, dtype=int)) == 0.1
    assert result["rate"] == chosen[0]
    assert result["test"][HELD_OUT] == result["test"][f"WH {chosen[0]}"]
    assert result["curve"][HELD_OUT] == pytest.approx(result["curve"][f"WH {chosen[0]}"])


def test_films_with_few_ratings_are_left_out(films):
    items = _rated(films)
    assert ((items.ranks > 0).sum(axis=1) >= 20).all()
    assert items.k == 5


def test_rounds_and_members():
    rounds = _rounds(500)
    assert rounds[0] == 1
    assert rounds[-1] == 500
    assert {f"OAP-VP {tau}" for tau in TAUS} <= set(models(5, 0))
    with pytest.raises(ValueError, match="n_trials=0"):
        judges(n_trials=0)
