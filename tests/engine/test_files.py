import errno
import stat

import pytest

from rankwise.engine.files import replacing
from rankwise.engine.terminal import sentence


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
