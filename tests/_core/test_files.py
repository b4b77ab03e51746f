import errno
import os
import socket
import stat
from functools import partial

import pytest

from rankwise._core.files import replacing
from rankwise._core.terminal import sentence


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def write(path, text):
    with replacing(path) as temporary:
        temporary.write_text(text)


def test_a_replaced_file_keeps_its_mode(tmp_path):
    path = tmp_path / "a"
    write(path, "old")
    assert mode(path) == 0o644
    path.chmod(0o600)
    write(path, "new")
    assert (path.read_text(), mode(path)) == ("new", 0o600)


def test_a_link_stays_and_leads_to_the_new_file(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "a", tmp_path / "link"
    target.write_text("old")
    link.symlink_to("there/a")
    write(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a", "link", "there"]


def test_a_link_to_a_file_that_is_not_there_yet(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("a")
    write(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "a").read_text() == "new"


def test_a_block_that_fails_changes_nothing(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(TypeError):
        write(path, 1)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_is_told_of_the_file_that_is_meant(tmp_path):
    path = tmp_path / "x.txt"
    with pytest.raises(OSError, match="No space") as full, replacing(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert sentence(full.value) == f"{path}: No space left on device"
    assert not list(tmp_path.iterdir())
    absent = tmp_path / "no" / "x.txt"
    with pytest.raises(FileNotFoundError) as wrong, replacing(absent):
        pass
    assert sentence(wrong.value) == f"{absent}: No such file or directory"
    with pytest.raises(OSError, match="other") as other, replacing(path):
        raise OSError(errno.EACCES, "Permission denied", "other")
    assert other.value.filename == "other"


def read_from(pipe, write):
    """Return what a function writes into a pipe; nothing waits for it if it does not."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write()
        return os.read(reader, 2**16)
    finally:
        os.close(reader)


pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


@pipes
def test_a_pipe_is_written_into(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("pipe")
    for path in (pipe, link):
        assert read_from(pipe, partial(write, path, "new")) == b"new"
        assert pipe.is_fifo()
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [link, pipe]


@pipes
def test_a_pipe_behind_a_folder_that_is_not_there_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "no" / ".." / "pipe", "new")
    assert (tmp_path / "pipe").is_fifo()


@pipes
def test_a_device_is_written_into(tmp_path):
    """A device of our own, since a test that fails would replace the system's."""
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.stat(os.devnull).st_rdev)  # noqa: PTH116
        with device.open("w"):
            pass
    except PermissionError:
        pytest.skip("this user may not make devices here")
    write(device, "new")
    assert device.is_char_device()
    assert device.read_text() == ""


@pytest.mark.parametrize("kind", ["directory", "socket"])
def test_what_is_neither_a_file_nor_a_stream_is_refused(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    path = tmp_path / "a"
    if kind == "directory":
        path.mkdir()
    elif hasattr(socket, "AF_UNIX"):
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("a")
    else:
        pytest.skip("this system has no such sockets")
    before = path.stat()
    with pytest.raises(ValueError, match=f"a is a {kind}: choose another file"):
        write(path, "new")
    assert path.stat() == before
    assert list(tmp_path.iterdir()) == [path]
