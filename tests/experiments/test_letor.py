"""The study of MQ2008, on files of its form."""

import sys

import numpy as np
import pytest

from experiments import letor
from experiments.letor import CS


def write(folder, random):
    for part in range(5):
        lines = []
        for qid in range(20 * part, 20 * part + 20):
            X = random.random((8, 46)).round(3)
            y = np.digitize(X[:, 0] + 0.2 * random.normal(size=8), [0.4, 0.8])
            for x, grade in zip(X, y, strict=True):
                features = " ".join(f"{f + 1}:{v}" for f, v in enumerate(x))
                lines.append(f"{grade} qid:{qid} {features} #docid = D{len(lines)}")
        (folder / f"S{part + 1}.txt").write_text("\n".join(lines) + "\n")


def test_table_has_all_learners_and_they_learn(tmp_path, monkeypatch):
    write(tmp_path, np.random.default_rng(0))
    monkeypatch.setattr(sys.modules[letor.__module__], "find_spec", {}.get)
    report = letor(folder=tmp_path)
    rows = report.tables[0].rows
    assert [row[0] for row in rows] == [
        "RankSVM, power 1",
        "RankSVM, power 2",
        "RankSVM, magnitude margin",
        "SVRank, power 1",
        "SVRank, power 2",
        "MPRank",
    ]
    for row in rows:
        assert float(row[1]) > 0.8
        assert float(row[3]) < 0.3
    for row in report.tables[1].rows:
        assert set(row[1:]) <= {f"{C:g}" for C in CS}
    assert "800 documents, 100 queries" in report.setting
    assert "lightgbm, xgboost" in report.findings[1]


def test_missing_files_are_named(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"no file .*S1\.txt"):
        letor(folder=tmp_path)
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    with pytest.raises(ValueError, match="RANKWISE_DATA"):
        letor()
