"""Without the compiler the results are the same."""

import json
import os
import subprocess
import sys

import numpy as np

CALLS = """
import json
import numpy as np
from rankwise import magnitude, metrics, model_selection, pairwise
from rankwise.metrics.lists import LIST_MEASURES

random = np.random.default_rng(0)
m = 350
X = random.normal(size=(m, 3))
t = X @ [1.0, 2.0, -1.0]
y, s = np.digitize(t, [-1.5, 0.0, 1.5]).astype(float), np.round(t + random.normal(size=m), 2)
qid, weight = random.integers(0, 4, m), random.random(m)
few = {"qid": qid, "sample_weight": weight}
calls = {
    "misranking": lambda: metrics.pairwise_misranking_loss(y, s),
    "misranking, real": lambda: metrics.pairwise_misranking_loss(t, s),
    "misranking, weighted": lambda: metrics.pairwise_misranking_loss(t, s, **few),
    "misranking, magnitude": lambda: metrics.pairwise_misranking_loss(
        y, s, pair_weight="magnitude"),
    "hinge": lambda: metrics.hinge_rank_loss(t, s),
    "hinge, weighted": lambda: metrics.hinge_rank_loss(y, s, power=2, **few),
    "hinge magnitude": lambda: metrics.hinge_magnitude_loss(t, s),
    "hinge magnitude, weighted": lambda: metrics.hinge_magnitude_loss(y, s, power=2, **few),
    "magnitude": lambda: metrics.magnitude_loss(t, s),
    "magnitude, weighted": lambda: metrics.magnitude_loss(y, s, power=1, **few),
    "epsilon": lambda: metrics.epsilon_insensitive_loss(t, s, **few),
    "exponential": lambda: metrics.exponential_pair_loss(t, s, **few),
    "mean rank loss": lambda: metrics.mean_rank_loss(y, y[::-1]),
    "auc": lambda: metrics.auc_score(y > 1, s),
    "auc, real": lambda: metrics.auc_score(t > 1, t + s),
    "auc interval": lambda: metrics.auc_interval(y > 1, s),
    "auc test": lambda: metrics.auc_difference_test(y > 1, s, t),
    "lists": lambda: [measure(y, s, qid=qid) for measure in LIST_MEASURES.values()],
    "lists, two classes": lambda: [f(y > 1, s, qid=qid) for f in LIST_MEASURES.values()],
    "MPRank": lambda: magnitude.MPRank().fit(X, t, qid=qid).coef_,
    "MPRank, rbf": lambda: magnitude.MPRank(kernel="rbf").fit(X, t).predict(X[:5]),
    "MPRank, online": lambda: magnitude.MPRank(
        kernel="rbf", solver="online").fit(X[:50], t[:50]).predict(X[:5]),
    "MPRankCV": lambda: magnitude.MPRankCV().fit(X[:50], t[:50]).lpo_errors_,
    "left out": lambda: model_selection.leave_pair_out(magnitude.MPRank(), X[:50], t[:50]).msd,
    "SVRank": lambda: magnitude.SVRank().fit(X, t, sample_weight=weight).coef_,
    "RankSVM": lambda: pairwise.RankSVM().fit(X, y, **few).coef_,
    "RankSVM, real": lambda: pairwise.RankSVM(power=2).fit(X, t).coef_,
    "RankSVM, predicted": lambda: pairwise.RankSVM().fit(X, y).predict(X[:5]),
    "MPRank, predicted": lambda: magnitude.MPRank().fit(X, t).predict(X[:5]),
    "RankSVM, rbf": lambda: pairwise.RankSVM(kernel="rbf").fit(X[:60], y[:60]).predict(X[:5]),
}
print(json.dumps({name: np.asarray(call()).tolist() for name, call in calls.items()}))
"""


def results(**variables):
    """Return what the calls return in a new process."""
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_DISABLE_JIT"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CALLS],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_results_are_the_same_where_nothing_is_compiled():
    expected, found = results(), results(NUMBA_DISABLE_JIT="1")
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, err_msg=name)
