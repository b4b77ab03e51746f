"""The top of the list: who puts positives there, on sets of two classes.

Paper 4 closes with the question of the top, and the lecture cites accuracy at the top. Here methods
that look at all pairs, at single rows, and at the top alone learn from the same rows.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_classification,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from experiments._trials import INTERVAL, check_sizes, with_interval
from rankwise.boosting import RankBoost
from rankwise.metrics import (
    auc_score,
    mean_interval,
    partial_auc_score,
    positives_at_top_score,
    precision_at_top_score,
)
from rankwise.pairwise import AccuracyAtTop, RankSVM, TopPush
from rankwise.reports import Report, Table, Track

Floats = NDArray[np.float64]
Classes = NDArray[np.bool_]
Scores = Callable[[Floats], Floats]

TAU, PUSH = 0.05, 8
PARTIAL, PRECISION = "partial AUC up to a rate of 0.1", f"precision in the first {TAU:.0%}"
COSTS = (1.0, 10.0, 100.0, 1_000.0)
ROUNDS = (10, 30, 100)


def decoys(n_rows: int, seed: int) -> tuple[Floats, Classes]:
    """Draw rows on which the AUC and the top want different features.

    A tenth are positives. The first feature is higher for them, but highest for decoys, a twentieth
    of the negatives. The second puts seven tenths of the positives above all negatives, and the
    others below all. Three more are noise.
    """
    random = np.random.default_rng(seed)
    y = random.random(n_rows) < 0.1
    X = random.standard_normal((n_rows, 5))
    X[y, 0] += 2.0
    X[~y & (random.random(n_rows) < 0.05), 0] += 5.0
    X[:, 1] = random.uniform(-1, 1, n_rows)
    X[y, 1] += np.where(random.random(y.sum()) < 0.7, 4.0, -2.0)
    return X, y


def _generated(n_rows: int, n_features: int, seed: int, **options: Any) -> tuple[Floats, Classes]:
    X, y = make_classification(
        n_rows, n_features, n_informative=5, flip_y=0.01, random_state=seed, **options
    )
    return X, y == 1


def _sets(n_rows: int, seed: int) -> dict[str, tuple[Floats, Classes]]:
    """Return all sets; the generated ones are drawn anew for each seed."""
    cancer, digits, diabetes = load_breast_cancer(), load_digits(), load_diabetes()
    return {
        "breast cancer": (cancer.data, cancer.target == 0),
        "digits: 8": (digits.data, digits.target == 8),
        "diabetes: upper fifth": (
            diabetes.data,
            diabetes.target > np.quantile(diabetes.target, 0.8),
        ),
        "generated, half positive": _generated(n_rows, 20, seed),
        "generated, rare": _generated(n_rows, 20, seed, weights=[0.95], class_sep=0.7),
        "generated, wide": _generated(400, 200, seed, weights=[0.8]),
        "decoys": decoys(n_rows, seed),
    }


def _decision(X: Floats, y: Classes, C: float) -> Scores:
    # scikit-learn's C is a sum's, ours a mean's
    return LogisticRegression(C=C / len(y), max_iter=1_000).fit(X, y).decision_function


def _boosted(**options: Any) -> tuple[Callable[..., Scores], tuple[float, ...]]:
    def learn(X: Floats, y: Classes, n_rounds: float) -> Scores:
        return RankBoost(int(n_rounds), random_state=0, **options).fit(X, y).predict

    return learn, ROUNDS


# Each learns from rows, classes and a setting, and returns how it scores rows.
LEARNERS: dict[str, tuple[Callable[..., Scores], tuple[float, ...]]] = {
    "logistic regression": (_decision, COSTS),
    "RankSVM": (lambda X, y, C: RankSVM(C, power=1).fit(X, y).predict, COSTS),
    "RankBoost": _boosted(),
    "TopPush": (lambda X, y, C: TopPush(C).fit(X, y).predict, COSTS),
    "AccuracyAtTop": (lambda X, y, C: AccuracyAtTop(C, tau=TAU).fit(X, y).predict, COSTS),
    f"push {PUSH}": _boosted(push=PUSH),
    "smooth margin": _boosted(step="smooth-margin"),
}
TOP = ("TopPush", "AccuracyAtTop", f"push {PUSH}", "smooth margin")
OTHERS = [learner for learner in LEARNERS if learner not in TOP]
MEASURES: dict[str, Callable[[Classes, Floats], float]] = {
    "AUC": auc_score,
    PARTIAL: lambda y, s: partial_auc_score(y, s, max_fpr=0.1),
    PRECISION: lambda y, s: precision_at_top_score(y, s, tau=TAU),
    "positives above the highest negative": positives_at_top_score,
}
Measured = Mapping[tuple[str, str, str], list[float]]


def top(
    *, n_rows: int = 2_000, n_trials: int = 10, seed: int = 0, track: Track[int] = iter
) -> Report:
    """Run the study of the top.

    Parameters
    ----------
    n_rows : int, default=2_000
        Rows of each generated set; half of every set is learned from.
    n_trials : int, default=10
        Number of splits of each set, and of draws of the generated ones.
    seed : int, default=0
        The first trial splits with this seed, the next with the next.
    track : callable, default=iter
        Wraps the sequence of trials to show progress, such as ``rich.progress.track``.
    """
    check_sizes(n_trials=n_trials)
    if n_rows < 400:
        raise ValueError(f"n_rows={n_rows} must be 400 or more, so that rare positives are split")
    found: dict[tuple[str, str, str], list[float]] = {}
    alike = 0
    for trial in track(range(n_trials)):
        for name, (X, y) in _sets(n_rows, seed + trial).items():
            (X_in, y_in), (X_new, y_new) = _split(X, y, 0.5, seed + trial)
            for learner in LEARNERS:
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    scores = _learn(learner, X_in, y_in, seed + trial)(X_new)
                alike += any("scores all rows alike" in str(w.message) for w in told)
                for measure, score in MEASURES.items():
                    found.setdefault((measure, name, learner), []).append(score(y_new, scores))
    names = list(dict.fromkeys(name for _, name, _ in found))
    return Report(
        title="The top of the list",
        setting=(
            f"{n_trials} splits of each set into halves, seeds from {seed}; generated sets of "
            f"{n_rows:,} rows are drawn anew; C, or the rounds of RankBoost, of push={PUSH} and of "
            f'step="smooth-margin", chosen on a third of the training rows by {PARTIAL}; features '
            f"standardised; {INTERVAL} over the trials, "
            "which share rows where the set is real"
        ),
        tables=[_table(found, measure, names) for measure in MEASURES],
        findings=[
            *(_finding(found, learner, rival, names) for learner in TOP for rival in OTHERS),
            f"TopPush scored all rows alike in {alike} of {n_trials * len(names)} final choices.",
        ],
    )


def _split(X: Floats, y: Classes, share: float, seed: int) -> Any:
    """Return training and test rows, standardised by the former."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=share, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X)
    return (scaler.transform(X), y), (scaler.transform(X_test), y_test)


def _learn(learner: str, X: Floats, y: Classes, seed: int) -> Scores:
    """Choose a setting on held-out rows, then learn from all."""
    learn, settings = LEARNERS[learner]
    (X_in, y_in), (X_out, y_out) = _split(X, y, 1 / 3, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reached = [MEASURES[PARTIAL](y_out, learn(X_in, y_in, c)(X_out)) for c in settings]
    return learn(X, y, settings[int(np.argmax(reached))])


def _table(found: Measured, measure: str, names: list[str]) -> Table:
    rows = [
        [name, *(with_interval(np.array(found[measure, name, learner])) for learner in LEARNERS)]
        for name in names
    ]
    return Table(measure, ["set", *LEARNERS], rows)


def _finding(found: Measured, learner: str, rival: str, names: list[str]) -> str:
    """Say where a learner of the top is better or worse than another, beyond the interval."""
    said = []
    for measure in (PARTIAL, PRECISION):
        better: list[str] = []
        worse: list[str] = []
        for name in names:
            ahead = np.subtract(found[measure, name, learner], found[measure, name, rival])
            mean, half_width = mean_interval(ahead)
            if abs(mean) > half_width:
                (better if mean > 0 else worse).append(f"{name} ({mean:+.3f} ± {half_width:.3f})")
        parts = f"better on {_listed(better)}; worse on {_listed(worse)}"
        said.append(f"{measure}: {parts}; undecided on {len(names) - len(better) - len(worse)}")
    return f"{learner} against {rival}. {said[0]}. {said[1]}."


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"
