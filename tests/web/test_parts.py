"""Keys, limits, settings, and what is learned."""

import json
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from starlette.exceptions import HTTPException

from rankwise.cli._commands import rankwise
from rankwise.recommend import RatingTable, TasteModel
from rankwise.recommend.fold_in import Evidence, fold_in
from rankwise.web import Settings
from rankwise.web._guard import Limiter, Visitors, load_key, network_of
from rankwise.web._service import learned_taste
from rankwise.web._settings import hand_over, handed_over


def test_signatures():
    ours, others = Visitors(b"key"), Visitors(b"other")
    visitor, value = ours.new()
    assert ours.find({ours.cookie: value}) == visitor
    assert others.find({ours.cookie: value}) is None
    assert ours.find({}) is None
    with pytest.raises(HTTPException) as error:
        others.find({others.cookie: value})
    assert error.value.status_code == 401
    assert ours.new()[0] != visitor


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_key_is_made_once_and_for_us_only(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKWISE_SECRET", raising=False)
    path = tmp_path / "folder" / "taste.key"
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: load_key(path), range(32)))
    assert len(keys) == 1
    assert len(keys.pop()) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["taste.key"]
    path.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        load_key(path)


def test_a_key_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_SECRET", "x" * 32)
    assert load_key(tmp_path / "none") == b"x" * 32
    assert not (tmp_path / "none").exists()
    monkeypatch.setenv("RANKWISE_SECRET", "short")
    with pytest.raises(ValueError, match="5 characters"):
        load_key(tmp_path / "none")


def test_limits_fill_up_again():
    now = [0.0]
    limiter = Limiter(2.0, lambda: now[0])
    assert [limiter.allows("a") for _ in range(7)] == [True] * 6 + [False]
    assert limiter.allows("b")
    now[0] = 1.0
    assert [limiter.allows("a") for _ in range(3)] == [True, True, False]
    assert all(Limiter(0).allows("a") for _ in range(1_000))
    for n in range(30_000):
        limiter.allows(str(n))
    assert len(limiter._left) == 20_000


def test_networks():
    assert network_of("10.0.0.1") == "10.0.0.1"
    assert network_of("2001:db8:1:2:3:4:5:6") == network_of("2001:db8:1:2:9:9:9:9")
    assert network_of("2001:db8::1") == network_of("2001:db8::2") != network_of("2001:db9::1")
    assert network_of("::ffff:10.0.0.1") == "10.0.0.1"
    assert network_of("not:an:address") == "not:an:address"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rate_visitor", -1),
        ("max_body", 0),
        ("max_ratings", 0),
        ("cached_people", 0),
        ("noun", "book"),
        ("noun", "book, "),
    ],
)
def test_settings_are_checked(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        Settings(**{name: value})


def test_settings_go_to_workers(monkeypatch):
    settings = Settings(data="x.csv", max_ratings=7)
    monkeypatch.setenv("RANKWISE_WEB", "")
    hand_over(settings)
    assert handed_over() == settings
    assert json.loads(os.environ["RANKWISE_WEB"])["max_ratings"] == 7


def some_ratings(g):
    likes = g.normal(size=(60, 2)) @ g.normal(size=(2, 40))
    user, item = np.nonzero(g.random(likes.shape) < 0.5)
    return RatingTable.from_arrays(user, item, np.clip(np.rint(3 + likes[user, item]), 1, 5))


def test_two_processes_may_learn_at_once(tmp_path, monkeypatch):
    """The slower one finds the files of the other, and takes these."""
    table = some_ratings(np.random.default_rng(0))

    class Slow(TasteModel):
        def fit(self, table):
            monkeypatch.setattr("rankwise.web._service.TasteModel", TasteModel)
            learned_taste(table, tmp_path)
            return super().fit(table)

    def looks_free(path):
        return False if path.parent == tmp_path else exists(path)

    exists = Path.exists
    monkeypatch.setattr(Path, "exists", looks_free)
    monkeypatch.setattr("rankwise.web._service.TasteModel", Slow)
    assert learned_taste(table, tmp_path).means.shape == (40,)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("rank", [None, 5])
def test_what_was_learned_is_kept_and_equal(tmp_path, rank, monkeypatch):
    g = np.random.default_rng(0)
    table = some_ratings(g)
    model = TasteModel(rank=rank).fit(table)
    monkeypatch.setattr("rankwise.web._service.TasteModel", lambda **_: TasteModel(rank=rank))
    taste = learned_taste(table, tmp_path)
    folders = list(tmp_path.iterdir())
    assert len(folders) == 1
    monkeypatch.setattr("rankwise.web._service.TasteModel", None)
    again = learned_taste(table, tmp_path)
    for n, p in ((0, 0), (1, 0), (25, 0), (20, 3), (0, 2)):
        things = g.permutation(40)[: n + 2 * p]
        pairs = things[n:].reshape(-1, 2)
        said = Evidence.of(things[:n], g.integers(1, 6, n).astype(float), pairs)
        wanted = fold_in(model.taste_, said)
        for found in (fold_in(taste, said), fold_in(again, said)):
            np.testing.assert_allclose(found.scores(), wanted.scores(), rtol=1e-12, atol=1e-12)
            some = np.arange(7)
            np.testing.assert_allclose(found.deviations(some), wanted.deviations(some), rtol=1e-10)


def test_the_command_says_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for arguments, said in (
        (["--database", "mysql://x/y"], "sqlite:///FILE or postgresql://"),
        (["--data", str(tmp_path / "none.csv")], "is not a file"),
        (["--root-path", "taste"], "must begin with /"),
        (["--database", "postgresql://127.0.0.1:1/none"], "can't be opened"),
        (["--port", "0"], "0 is not in the range"),
    ):
        result = CliRunner().invoke(rankwise, ["serve", *arguments])
        assert result.exit_code != 0
        assert re.search(re.escape(said), result.output), result.output
        assert "Traceback" not in result.output


def test_the_command_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    monkeypatch.delitem(__import__("sys").modules, "rankwise.web.server", raising=False)
    result = CliRunner().invoke(rankwise, ["serve"])
    assert result.exit_code == 1
    assert "pip install 'rankwise[cli,data,web]'" in result.output
