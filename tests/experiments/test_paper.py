"""The study at the size of the paper: what must hold of its numbers."""

import re

import matplotlib.pyplot as plt
import pytest

from experiments import synthetic


@pytest.mark.slow
def test_losses_lie_where_the_paper_has_them():
    table = synthetic(n_rounds=5_000).tables[0]
    plt.close("all")
    test = {row[0]: float(re.match(r"[\d.]+", row[-2])[0]) for row in table.rows}
    assert 0.30 <= test["PRank"] <= 0.44
    assert 0.27 <= test["Widrow-Hoff 0.1"] <= 0.33
    assert test["PRank, averaged"] < min(
        loss for name, loss in test.items() if "averaged" not in name
    )
