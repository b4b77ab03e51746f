"""Migrations that are interrupted, databases that go away, disks that are full."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import event, insert, inspect, select, text, update
from sqlalchemy.exc import DisconnectionError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.testclient import TestClient

from rankwise.web import Settings, _store, create_app
from rankwise.web._store import ForgottenError, Store, database_url, metadata, visitors

WHO = "0" * 32


@pytest.fixture
def store(database):
    """A database without tables."""
    found = Store(Settings(database=database))
    if found.path:
        found.path.touch()
    yield found
    found.close()


def add_visitor(store, visitor):
    """Add the row of somebody who has submitted nothing, as earlier versions did."""
    row = {"id": visitor, "method": "taste", "learned": False, "version": 0}
    with store.writes.begin() as connection:
        connection.execute(insert(visitors), {**row, "created": datetime.now(UTC)})


def tables(store):
    with store.reads.connect() as connection:
        return set(inspect(connection).get_table_names())


def test_migrations_make_the_tables_that_are_used(store):
    store.migrate()
    with store.reads.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    store.migrate()
    assert tables(store) == {*metadata.tables, "alembic_version"}


def test_a_migration_that_fails_leaves_nothing(store, monkeypatch):
    make = op.create_table

    def fail(name, *columns):
        if name == "comparisons":
            raise OSError("no more")
        return make(name, *columns)

    with monkeypatch.context() as patch:
        patch.setattr(op, "create_table", fail)
        with pytest.raises(OSError, match="no more"):
            store.migrate()
    assert tables(store) == set()
    store.migrate()
    add_visitor(store, WHO)


KILLED = """
import os, signal, sys
from alembic import op
from rankwise.web import Settings, create_app
from rankwise.web._store import Store
make = op.create_table
def end(name, *columns):
    if name == "comparisons":
        os.kill(os.getpid(), signal.SIGKILL)
    return make(name, *columns)
op.create_table = end
Store(Settings(database=sys.argv[1])).migrate()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_migration_that_is_killed_leaves_nothing(store, database):
    ended = subprocess.run([sys.executable, "-c", KILLED, database], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert tables(store) == set()
    store.migrate()
    add_visitor(store, WHO)


def test_several_processes_may_migrate_at_once(store, database):
    several = [Store(Settings(database=database)) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(Store.migrate, several))
    add_visitor(store, WHO)
    for one in several:
        one.close()


def test_a_newer_database_is_refused(store):
    store.migrate()
    with store.writes.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ValueError, match=r"'9999'.*newer"):
        store.migrate()


def test_tables_of_somebody_else_are_refused(store):
    with store.writes.begin() as connection:
        connection.execute(text("CREATE TABLE ratings (x INTEGER)"))
    with pytest.raises(ValueError, match="another program"):
        store.migrate()


def test_a_visitor_who_is_not_there(store):
    store.migrate()
    for call in (
        lambda: store.submitted(WHO),
        lambda: store.rate(WHO, "1", 3.0, None),
        lambda: store.unrate(WHO, "1"),
        lambda: store.compare(WHO, "1", "2"),
        lambda: store.learn(WHO, "taste"),
        lambda: store.forget(WHO),
    ):
        with pytest.raises(ForgottenError):
            call()


def test_who_came_long_ago_and_said_nothing_is_removed(store):
    store.migrate()
    for n in range(4):
        add_visitor(store, f"{n:032d}")
    store.rate(f"{1:032d}", "1", 3.0, None)
    with store.writes.begin() as connection:
        old = visitors.c.id.in_([f"{n:032d}" for n in range(2)])
        long_ago = datetime(2020, 1, 1, tzinfo=UTC)
        connection.execute(update(visitors).where(old).values(created=long_ago))
    store.tidy()
    with store.reads.connect() as connection:
        left = connection.execute(select(visitors.c.id).order_by(visitors.c.id)).scalars().all()
    assert left == [f"{n:032d}" for n in (1, 2, 3)]


def test_writers_of_one_visitor_queue(store):
    store.migrate()
    add_visitor(store, WHO)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: store.rate(WHO, str(n % 20), 3.0, None)[0], range(100)))
    assert sorted(found) == list(range(1, 101))
    assert len(store.submitted(WHO).ratings) == 20


def test_writes_that_come_at_once_share_no_fate(store):
    store.migrate()
    several = [f"{n:032d}" for n in range(20)]
    for who in several[::2]:
        add_visitor(store, who)

    def rate(who):
        try:
            return store.rate(who, "1", 3.0, None)[0]
        except ForgottenError:
            return None

    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(rate, several))
    assert found == [1, None] * 10
    assert all(store.submitted(who).ratings == {"1": (3.0, None)} for who in several[::2])


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_commit_that_fails_is_the_error_of_its_writer(store):
    store.migrate()
    several = [f"{n:032d}" for n in range(5)]
    for who in several:
        add_visitor(store, who)

    def fail(_):
        raise DisconnectionError("the disk is gone")

    event.listen(store.writes, "commit", fail)
    with ThreadPoolExecutor(5) as pool:
        found = [pool.submit(store.rate, who, "1", 3.0, None) for who in several]
        for future in found:
            with pytest.raises(DisconnectionError):
                future.result()
    event.remove(store.writes, "commit", fail)
    assert all(store.submitted(who).ratings == {} for who in several)
    store.rate(several[0], "1", 3.0, None)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_refused_write_never_happens(store, database, monkeypatch):
    """Two workers write to a file that a third program locks for some time."""
    monkeypatch.setattr(_store, "SECONDS", 0.1)
    store.migrate()
    workers = [Store(Settings(database=database)) for _ in range(2)]
    several = [f"{n:032d}" for n in range(12)]
    for who in several:
        add_visitor(store, who)

    def rate(k):
        """Rate one film again and again, and another one each time, until that succeeds."""
        acknowledged, refused, rounds = {}, 0, count()
        while not acknowledged:
            n = next(rounds)
            for item in ("same", str(n)):
                try:
                    workers[(k + n) % 2].rate(several[k], item, float(n), None)
                except (PoolTimeoutError, OperationalError):
                    refused += 1
                else:
                    acknowledged[item] = (float(n), None)
        return acknowledged, refused

    with ThreadPoolExecutor(len(several)) as pool:
        with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            clients = [pool.submit(rate, k) for k in range(len(several))]
            time.sleep(0.5)
        answers = [client.result() for client in clients]
    for worker in workers:  # whoever has the turn runs all that is in the queue
        worker.tidy()
        worker.close()
    assert sum(refused for _, refused in answers) > len(several)
    for who, (acknowledged, _) in zip(several, answers, strict=True):
        assert store.submitted(who).ratings == acknowledged


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_write_that_has_begun_is_finished_and_those_that_waited_too_long_never_begin(
    database, monkeypatch
):
    monkeypatch.setattr(_store, "SECONDS", 0.3)
    store = Store(Settings(database=database))
    store.migrate()
    add_visitor(store, WHO)
    begun, finish = Event(), Event()

    def slow():
        with store.change(WHO) as (_, version):
            begun.set()
            finish.wait()
        return version

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(slow)
        begun.wait()
        with pytest.raises(PoolTimeoutError):
            pool.submit(store.rate, WHO, "1", 4.0, None).result()
        assert not first.done()
        finish.set()
        assert first.result() == 1
    assert store.submitted(WHO).ratings == {}
    assert store.rate(WHO, "1", 4.0, None) == (2, None)
    store.close()


@pytest.mark.parametrize(
    "database", ["mysql://host/name", "sqlite://", "sqlite:///:memory:", "://", "x://y z"]
)
def test_other_databases_are_refused(database):
    with pytest.raises(ValueError, match="database"):
        database_url(database, Path())


# Away, and back


@contextmanager
def away(store, request):
    """Take a database away for some time."""
    if store.path:
        aside = store.path.with_name("aside")
        store.path.rename(aside)
        yield
        aside.rename(store.path)
        return
    server, name = request.getfixturevalue("postgresql"), store.url.database
    server.psql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false;")
    query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
    server.psql(f"{query} '{name}';")
    yield
    server.psql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true;")


def test_a_database_that_goes_away_and_comes_back(client, request):
    assert client.put("/api/ratings/1", json={"rating": 4}).status_code == 200
    store = client.app.state.service.store
    with away(store, request):
        for method, path, body in (
            ("GET", "/readyz", None),
            ("GET", "/api/me", None),
            ("GET", "/api/ranking", None),
            ("PUT", "/api/ratings/2", {"rating": 3}),
            ("DELETE", "/api/me", None),
        ):
            answer = client.request(method, path, json=body)
            assert answer.status_code == 503, answer.text
            assert answer.headers["retry-after"]
            assert "database" in answer.json()["detail"]
        assert client.get("/healthz").status_code == 200
        if store.path:
            assert not store.path.exists()
    assert client.get("/readyz").status_code == 200
    assert [r["item"]["id"] for r in client.get("/api/me").json()["ratings"]] == ["1"]
    assert client.put("/api/ratings/2", json={"rating": 3}).status_code == 200


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_file_that_was_replaced(client):
    client.put("/api/ratings/1", json={"rating": 4})
    path = client.app.state.service.store.path
    backup = path.with_name("backup")
    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(backup)) as new:
        old.backup(new)

    def put(source):
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)
        shutil.copy(source, path)

    for content in (b"", b"not a database" * 1_000):
        other = path.with_name("other")
        other.write_bytes(content)
        put(other)
        assert client.get("/api/me").status_code == 503
        assert client.put("/api/ratings/2", json={"rating": 3}).status_code == 503
    put(backup)
    assert [r["item"]["id"] for r in client.get("/api/me").json()["ratings"]] == ["1"]
    assert client.put("/api/ratings/2", json={"rating": 3}).status_code == 200


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_full_disk(client):
    assert client.get("/api/me").status_code == 200
    store = client.app.state.service.store
    with closing(sqlite3.connect(store.path)) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    full = [True]

    @event.listens_for(store.writes, "begin", insert=True)
    def limit(connection):
        most = pages if full[0] else 1_000_000
        connection.exec_driver_sql(f"PRAGMA max_page_count={most}")

    kept = {}
    for item in range(1, 121):
        answer = client.put(f"/api/ratings/{item}", json={"rating": 3})
        assert answer.status_code in {200, 503}
        if answer.status_code == 503:
            break
        kept[str(item)] = 3.0
    assert answer.status_code == 503
    found = client.get("/api/export").json()["ratings"]
    assert {r["item"]: r["rating"] for r in found} == kept
    full[0] = False
    assert client.put(f"/api/ratings/{item}", json={"rating": 3}).status_code == 200


@pytest.fixture
def small_disk():
    """A disk of 24 MB in memory, where the server's user can find it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        command = ["/bin/mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", name]
        mounted = subprocess.run(command, check=False, capture_output=True, text=True)
        if mounted.returncode:
            pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
        yield folder
        subprocess.run(["/bin/umount", "--lazy", name], check=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs is of Linux")
def test_a_full_disk_of_a_server(postgresql, small_disk, films, folder):
    place = small_disk / "space"
    place.mkdir()
    owner = Path(postgresql.pgdata).stat()
    os.chown(place, owner.st_uid, owner.st_gid)
    postgresql.psql(f"CREATE TABLESPACE small LOCATION '{place}';")
    postgresql.psql("CREATE DATABASE small TABLESPACE small;")
    database = postgresql.get_uri("small")
    settings = Settings(data=str(films), database=database, folder=str(folder), rate_visitor=0)
    try:
        with TestClient(create_app(settings), raise_server_exceptions=False) as client:
            assert client.put("/api/ratings/1", json={"rating": 4}).status_code == 200
            mine = dict(client.cookies)
            filler = small_disk / "filler"
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            answer = None
            for _ in range(2_000):  # new visitors, since pages that are there are filled first
                client.cookies.clear()
                answer = client.put("/api/ratings/2", json={"rating": 3})
                if answer.status_code != 200:
                    break
            assert answer.status_code == 503
            assert "database" in answer.json()["detail"]
            client.cookies.clear()
            client.cookies.update(mine)
            found = client.get("/api/export").json()["ratings"]
            assert [(r["item"], r["rating"]) for r in found] == [("1", 4.0)]
            filler.unlink()
            assert client.put("/api/ratings/2", json={"rating": 3}).status_code == 200
    finally:
        postgresql.psql("DROP DATABASE small WITH (FORCE);")
        postgresql.psql("DROP TABLESPACE small;")


@pytest.mark.slow
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_server_that_only_reads(client, postgresql):
    client.put("/api/ratings/1", json={"rating": 3})
    name = client.app.state.service.store.url.database
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
    for only, status in (("on", 503), ("off", 200)):
        postgresql.psql(f"ALTER DATABASE {name} SET default_transaction_read_only = {only};")
        postgresql.psql(f"{end} '{name}';")
        assert client.put("/api/ratings/2", json={"rating": 3}).status_code == status
        assert client.get("/api/me").status_code == 200


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_whoever_is_forgotten_is_told_so(client, monkeypatch):
    """A log that can't be emptied after the commit is no reason to answer 503."""
    client.put("/api/ratings/1", json={"rating": 3})
    store = client.app.state.service.store

    def fail(_):
        raise sqlite3.OperationalError("locked")

    with monkeypatch.context() as patch:
        patch.setattr(_store, "_connect", fail)
        answer = client.delete("/api/me")
    assert (answer.status_code, answer.json()) == (200, {"forgotten": True, "erased": False})
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("SELECT count(*) FROM visitors").fetchone() == (0,)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of the size of files")
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_files_that_may_not_grow(client):
    import resource

    client.put("/api/ratings/1", json={"rating": 3})
    wal = Path(f"{client.app.state.service.store.path}-wal").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (wal, before[1]))
    try:
        assert client.put("/api/ratings/2", json={"rating": 3}).status_code == 503
        assert client.get("/api/me").status_code == 200
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert client.put("/api/ratings/2", json={"rating": 3}).status_code == 200
    assert len(client.get("/api/me").json()["ratings"]) == 2
