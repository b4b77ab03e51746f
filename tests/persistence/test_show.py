"""``python -m rankwise.persistence show FILE``."""

import subprocess
import sys

import pytest

from rankwise import load, save
from rankwise.ordinal import PRank
from rankwise.persistence import read_notes
from rankwise.persistence.__main__ import main


@pytest.fixture
def path(tmp_path, graded):
    save(PRank(epochs=2).fit(*graded), tmp_path / "m.rankwise")
    return tmp_path / "m.rankwise"


def test_what_is_in_a_file(path, capsys):
    assert main(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    for words in (
        '"rankwise.ordinal.PRank"',
        "schema 1",
        "n_features = 4",
        "labels = [1, 2, 3, 4]",
        "n_rounds_ = 120",
        "epochs = 2",
        'coef_ = "<f8 4"',
    ):
        assert words in shown


def test_nothing_is_loaded(path, monkeypatch, capsys):
    """Not even if the class is not known, or arrays are broken."""
    content = path.read_bytes()
    place = content.index(b"\x93NUMPY") + 130
    path.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
    monkeypatch.setattr("rankwise.persistence._decode.class_of", None)
    assert main(["show", str(path)]) == 0
    assert "PRank" in capsys.readouterr().out


def test_a_file_can_not_write_to_the_terminal(path, rewritten, capsys):
    def noisy(facts, _):
        facts["class"] = "\x1b[2Ja\nb\u202e"
        facts["training"] = {"\x1b]0;title\x07": "\x1b[31m" + "x" * 500}
        facts["input"] = "\x1b"

    rewritten(path, path, noisy)
    assert main(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert all(line.isprintable() and len(line) < 200 for line in shown.splitlines())


def test_what_can_not_be_shown_is_a_line(path, tmp_path, capsys):
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["show", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["show", str(tmp_path / "absent")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["show", str(tmp_path)]) == 2
    assert capsys.readouterr().err


def test_as_a_command(path):
    done = subprocess.run(
        [sys.executable, "-m", "rankwise.persistence", "show", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "PRank" in done.stdout


def test_notes_are_kept_beside_the_model(path, graded, capsys):
    assert read_notes(path) == {}
    model = PRank().fit(*graded)
    save(model, path, notes={"rows": 3, "columns": ["é"]})
    assert read_notes(path) == {"rows": 3, "columns": ["é"]}
    assert (load(path).coef_ == model.coef_).all()
    main(["show", str(path)])
    assert "rows = 3" in capsys.readouterr().out


@pytest.mark.parametrize("notes", [[1], {"a": float("nan")}, {"a": {1, 2}}, 3])
def test_notes_that_json_can_not_hold(path, graded, notes):
    before = path.read_bytes()
    with pytest.raises(ValueError, match="notes="):
        save(PRank().fit(*graded), path, notes=notes)
    assert path.read_bytes() == before


def test_notes_of_what_is_no_model(tmp_path):
    (tmp_path / "no").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="no can't be read"):
        read_notes(tmp_path / "no")
