"""The experiments on contests, small."""

import os
from pathlib import Path

import numpy as np
import pytest

from experiments import arena, contest_coverage, contests
from experiments.contest_coverage import draw_log
from experiments.contests import make_comparator


def test_questions():
    report = contests(n_items=6, budgets=(12, 24), n_trials=2)
    assert [len(table.rows) for table in report.tables] == [5, 5, 5, 5, 4]
    assert len(report.findings) == 5
    again = contests(n_items=6, budgets=(12, 24), n_trials=2)
    assert [t.rows for t in again.tables] == [t.rows for t in report.tables]
    with pytest.raises(ValueError, match="n_items=3"):
        contests(n_items=3)
    with pytest.raises(ValueError, match="n_trials=0"):
        contests(n_trials=0)


def test_comparators():
    strengths = np.array([1.0, 0.0])
    for kind, expected in (("always right", 1.0), ("noisy", 0.731), ("favours the first", 0.881)):
        prefer = make_comparator(kind, strengths, np.random.default_rng(0))
        assert np.mean([prefer(0, 1) for _ in range(20_000)]) == pytest.approx(expected, abs=0.01)


def test_coverage():
    report = contest_coverage(n_trials=2, sizes=((5, 20),))
    assert len(report.tables[0].rows) == 6
    random = np.random.default_rng(0)
    truth, first, second, outcome = draw_log(4, 50_000, 0.8, 0.0, random)
    pair = (first == 0) & (second == 1)
    eta = truth[0] - truth[1]
    odds = np.array([np.exp(eta / 2), np.exp(-eta / 2), 0.8])
    shares = [(outcome[pair] == y).mean() for y in (1.0, 0.0, 0.5)]
    np.testing.assert_allclose(shares, odds / odds.sum(), atol=0.02)


@pytest.mark.slow
def test_intervals_and_places_hold_what_they_say():
    report = contest_coverage(n_trials=150, sizes=((5, 100), (20, 30)), seed=1)
    for row in report.tables[0].rows:
        strengths, places = (float(share.rstrip("%")) for share in row[3:5])
        # 150 logs are off by some percent by chance
        assert 92 <= strengths <= 98, row
        assert places >= 95, row


DATA = os.environ.get("RANKWISE_DATA", "")


@pytest.mark.slow
@pytest.mark.skipif(
    not Path(DATA, "arena").is_dir() or not DATA, reason="RANKWISE_DATA has no arena"
)
def test_who_is_best():
    report = arena()
    assert report.tables[0].rows[0][0] == "GPT 4"
    assert report.tables[2].rows[0][0] == "fangio"
    assert set(report.figures) == {"models", "model-places", "model-wins", "raters", "drivers"}


def test_absent_data(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"there is no .*llmfao\.csv"):
        arena(tmp_path)
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    with pytest.raises(ValueError, match="RANKWISE_DATA"):
        arena()
