"""Compiled loops of `rankwise.model_selection`."""

import numpy as np

from rankwise._core.compilation import compiled


@compiled(error_model="numpy")
def errors_of(differences, y, weight):
    """Return weighted squares, wrong pairs, all pairs, pairs with different targets, and a count.

    Over i < j where the difference is known and the pair has a weight.
    """
    squares = wrong = total = comparable = 0.0
    count = 0
    for i in range(len(y)):
        for j in range(i + 1, len(y)):
            predicted = differences[i, j]
            if np.isnan(predicted):
                continue
            both = weight[i] * weight[j]
            count += both > 0.0
            gap = y[j] - y[i]
            squares += both * (gap - predicted) ** 2
            total += both
            if gap != 0.0:
                comparable += both
                if predicted == 0.0 or (predicted > 0.0) != (gap > 0.0):
                    wrong += both
    return squares, wrong, total, comparable, count
