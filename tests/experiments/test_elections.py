import numpy as np
import pytest

from experiments import elections
from experiments.elections import REPAIRED, RULES

FILE = """# DATA TYPE: toi
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 6
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: ash
# ALTERNATIVE NAME 2: oak
# ALTERNATIVE NAME 3: elm
# ALTERNATIVE NAME 4: yew
3: 1,2,{3,4}
2: 2,1
1: 4,3,2,1
"""


@pytest.fixture
def nowhere(monkeypatch):
    monkeypatch.delenv("RANKWISE_DATA", raising=False)


def values(table):
    return np.array([[float(cell) for cell in row[1:]] for row in table.rows])


@pytest.mark.parametrize("name", ["absent", "file"])
def test_a_variable_that_names_no_folder_is_refused(monkeypatch, tmp_path, name):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path / name))
    with pytest.raises(ValueError, match=f"RANKWISE_DATA=.*{name} is no folder; unset it"):
        elections(n_elections=1, n_candidates=3)


@pytest.mark.usefixtures("nowhere")
def test_drawn_elections():
    report = elections(n_elections=2, n_candidates=12)
    about, excess, repaired, shares = report.tables
    assert [row[0] for row in about.rows] == [row[0] for row in excess.rows]
    assert excess.columns == ["group", *RULES]
    assert (values(excess) >= 0).all()
    before = [values(excess)[:, list(RULES).index(rule)] for rule in REPAIRED]
    assert (values(repaired) <= np.transpose(before)).all()
    assert (values(shares) <= 2).all()
    assert all(row[-1] == "2" for row in about.rows)
    assert set(report.figures) == {"elections"}
    again = elections(n_elections=2, n_candidates=12)
    assert again.tables == report.tables
    assert elections(n_elections=2, n_candidates=12, seed=1).tables != report.tables


@pytest.mark.parametrize("by_name", [True, False])
def test_real_elections(tmp_path, monkeypatch, by_name):
    folder = tmp_path / "preflib" / "trees"
    folder.mkdir(parents=True)
    (folder / "00001-00000001.toi").write_text(FILE)
    if by_name:
        monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    else:
        monkeypatch.delenv("RANKWISE_DATA", raising=False)
    report = elections(folder=None if by_name else folder)
    assert report.tables[0].rows == [["trees toi", "1", "4 to 4", "-0.08", "0", "1"]]


def test_errors(tmp_path):
    with pytest.raises(ValueError, match="no PrefLib file"):
        elections(folder=tmp_path)
    with pytest.raises(ValueError, match="n_elections=0"):
        elections(n_elections=0)
