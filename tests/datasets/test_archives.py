"""EachMovie, Netflix, OHSUMED, the parts of Jester, and battles in JSON lines and Parquet."""

import json

import pandas as pd
import pytest

from rankwise.datasets import (
    read_contests,
    read_eachmovie,
    read_jester,
    read_netflix,
    read_ohsumed,
)
from rankwise.datasets.check import guess_format

VOTES = "1\t7\t.8\t1\t4/16/97 22:44:18\n1\t9\t0\t.2\t\n2\t7\t1\t1\t5/1/97\n"


@pytest.mark.parametrize("separator", ["\t", ";", ","])
def test_eachmovie(tmp_path, separator):
    path = tmp_path / "Vote.txt"
    path.write_text(VOTES.replace("\t", separator))
    frame = read_eachmovie(tmp_path)
    assert list(frame) == ["user", "item", "rating", "weight", "timestamp"]
    assert frame.iloc[:, :4].to_numpy().tolist() == [[1, 7, 0.8, 1], [1, 9, 0, 0.2], [2, 7, 1, 1]]
    assert frame.timestamp.isna().tolist() == [False, True, False]
    assert guess_format(path).name == "EachMovie"


def test_bad_votes(tmp_path):
    path = tmp_path / "Vote.txt"
    path.write_text(VOTES + "3\t7\t1.2\t1\t\n4\t7\tx\t1\t\n")
    with pytest.raises(ValueError, match=r"Vote\.txt:4: rating is 1.2, expected 0 to 1"):
        read_eachmovie(path)
    with pytest.warns(UserWarning, match="skipped 2 bad rows and kept 3"):
        assert read_eachmovie(path, on_bad_rows="skip").attrs["skipped_rows"] == 2


COMBINED = "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n2:\n885013,4,2005-10-19\n"


def test_netflix_in_both_forms(tmp_path):
    expected = [[1488844, 1, 3], [822109, 1, 5], [885013, 2, 4]]
    whole, parts = tmp_path / "combined_data_1.txt", tmp_path / "training_set"
    whole.write_text(COMBINED)
    parts.mkdir()
    first, second = COMBINED.split("2:\n")
    (parts / "mv_0000001.txt").write_text(first)
    (parts / "mv_0000002.txt").write_bytes(("2:\n" + second).replace("\n", "\r\n").encode())
    for path in (whole, parts):
        frame = read_netflix(path)
        assert frame[["user", "item", "rating"]].to_numpy().tolist() == expected
        assert frame.date.dt.year.tolist() == [2005] * 3
    assert guess_format(whole).name == "Netflix"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1:\n", "", ":1: a rating before the first movie"),
        ("822109,5", "822109,6", ":3: rating is 6, expected 1 to 5"),
        ("822109,5,2005-05-13", "822109,5", ":3: 2 fields between ',', expected 3"),
        ("885013", "x", ":5: user is 'x', expected 1 to 15 digits"),
    ],
)
def test_bad_ratings_of_netflix(tmp_path, old, new, message):
    path = tmp_path / "combined_data_1.txt"
    path.write_text(COMBINED.replace(old, new))
    with pytest.raises(ValueError, match=r"combined_data_1\.txt" + message):
        read_netflix(path)
    with pytest.warns(UserWarning, match=message):
        frame = read_netflix(path, on_bad_rows="skip")
    assert frame.attrs["skipped_rows"] == 3 - len(frame)


@pytest.mark.parametrize("row", ["{} {} {}", "{}\t{}\t{}", "{} 0 {}  {} "])
def test_ohsumed(tmp_path, row):
    path = tmp_path / "qrels.ohsu.batch.87"
    path.write_text("".join(row.format(*cells) + "\n" for cells in [("OHSU1", 8701, 2), (2, 3, 0)]))
    frame = read_ohsumed(path)
    assert frame.to_numpy().tolist() == [["OHSU1", 8701, 2], ["2", 3, 0]]
    path.write_text(path.read_text() + row.format("OHSU1", 5, 3) + "\n")
    with pytest.raises(ValueError, match=r"batch\.87:3: grade is 3, expected 0 to 2"):
        read_ohsumed(path)


def test_the_parts_of_jester_are_numbered_through(samples, tmp_path):
    for part in (1, 2):
        (tmp_path / f"jester-data-{part}.csv").write_bytes(samples.JESTER)
    (tmp_path / "jester-data-3.zip").write_bytes(samples.zipped(jester_DOT_csv=samples.JESTER))
    (tmp_path / "jester-data-1.zip").write_bytes(b"unpacked beside it")
    frame = read_jester(tmp_path)
    assert frame.user.tolist() == [1, 1, 2, 2, 2, 4, 4, 5, 5, 5, 7, 7, 8, 8, 8]
    assert frame.attrs == {"skipped_rows": 0, "n_users": 9, "n_items": 3}


BATTLES = [
    {"model_a": "gpt", "model_b": "llama", "winner": "model_a", "turn": 1, "chat": [{"role": "u"}]},
    {"model_a": "llama", "model_b": "gpt", "winner": "tie (bothbad)", "turn": 2, "chat": []},
    {"model_a": "gpt", "model_b": "claude", "winner": "model_b", "turn": None, "chat": []},
]


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet", "csv", "tsv"])
def test_battles_in_all_forms(tmp_path, form):
    path = tmp_path / f"battles.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps(battle) + "\n" for battle in BATTLES))
    elif form == "json":
        path.write_text(json.dumps(BATTLES))
    elif form == "parquet":
        pd.DataFrame(BATTLES).to_parquet(path)
    else:
        frame = pd.DataFrame(BATTLES).drop(columns="chat")
        frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
    data = read_contests(path)
    assert data.first == ["gpt", "llama", "gpt"]
    assert data.second == ["llama", "gpt", "claude"]
    assert data.outcome == [1.0, 0.5, 0.0]
    bad = [*BATTLES, {**BATTLES[0], "winner": "nobody"}]
    if form == "jsonl":
        path.write_text("".join(json.dumps(battle) + "\n" for battle in bad))
        with pytest.raises(ValueError, match=r"battles\.jsonl:4: the outcome is 'nobody'"):
            read_contests(path)
