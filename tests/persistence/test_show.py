"""``rankwise show FILE``, and the notes beside a model."""

import json

import pytest
from click.testing import CliRunner

from rankwise import load, save
from rankwise.cli._commands import rankwise
from rankwise.ordinal import PRank
from rankwise.persistence import read_notes


def show(*arguments):
    return CliRunner().invoke(rankwise, ["show", *map(str, arguments)])


@pytest.fixture
def path(tmp_path, graded):
    save(PRank(epochs=2).fit(*graded), tmp_path / "m.rankwise")
    return tmp_path / "m.rankwise"


def test_what_is_in_a_file(path):
    shown = show(path).stdout
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


def test_what_is_in_a_file_as_json(path):
    shown = json.loads(show(path, "--json").stdout)
    assert shown["class"] == "rankwise.ordinal.PRank"
    assert shown["parameters"]["epochs"] == 2
    assert shown["arrays"]["coef_"] == "<f8 4"
    assert shown["bytes"] == path.stat().st_size


def test_nothing_is_loaded(path, monkeypatch):
    """Not even if the class is not known, or arrays are broken."""
    content = path.read_bytes()
    place = content.index(b"\x93NUMPY") + 130
    path.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
    monkeypatch.setattr("rankwise.persistence._decode.class_of", None)
    assert "PRank" in show(path).stdout


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_file_can_not_write_to_the_terminal(path, rewritten, options):
    def noisy(facts, _):
        facts["class"] = "\x1b[2Ja\nb\u202e"
        facts["training"] = {"\x1b]0;title\x07": "\x1b[31m" + "x" * 500}
        facts["input"] = "\x1b"

    rewritten(path, path, noisy)
    shown = show(path, *options).stdout
    assert shown.isascii()
    assert all(line.isprintable() for line in shown.splitlines())
    assert options or max(map(len, shown.splitlines())) < 200


def test_what_can_not_be_shown_is_a_line(path, tmp_path):
    path.write_bytes(path.read_bytes()[:-1])
    result = show(path)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    for other in (tmp_path / "absent", tmp_path):
        result = show(other)
        assert result.exit_code == 2
        assert str(other) in result.stderr


def test_notes_are_kept_beside_the_model(path, graded):
    assert read_notes(path) == {}
    model = PRank().fit(*graded)
    save(model, path, notes={"rows": 3, "columns": ["é"]})
    assert read_notes(path) == {"rows": 3, "columns": ["é"]}
    assert (load(path).coef_ == model.coef_).all()
    assert "rows = 3" in show(path).stdout


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
