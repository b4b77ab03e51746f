"""The algorithms of the five documents under their names, with their settings.

The defaults of the estimators suit tables: several epochs in random order, averages, normalised
steps. These functions return the same estimators, unfitted, as the documents run them: one pass
over the rows in the order of arrival, the last hypothesis, plain steps. Further arguments go to the
estimator, such as those of a kernel, ``label_order``, ``random_state``, or another setting.

The documents are

1. K. Crammer and Y. Singer, Pranking with ranking, NIPS 2001;
2. E. Harrington, Online ranking/collaborative filtering using the perceptron algorithm, ICML 2003;
3. K. Crammer, PRanking with ranking, slides of a talk;
4. C. Cortes, M. Mohri and A. Rastogi, An alternative ranking problem for search engines, WEA 2007
   (and Magnitude-preserving ranking algorithms, ICML 2007);
5. M. Mohri, Foundations of machine learning: ranking, slides of a lecture.

See :doc:`the page that goes through them item by item </papers>`.
"""

from typing import Any

from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank, SVRank
from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank, WidrowHoff
from rankwise.pairwise import RankSVM
from rankwise.preference import quicksort, sort_by_degree

__all__ = [
    "mprank",
    "multiclass_perceptron",
    "oap_bagg",
    "oap_bpm",
    "oap_vp",
    "online_mprank",
    "prank",
    "quicksort",
    "rankboost",
    "ranking_svm",
    "sort_by_degree",
    "svrank",
    "voted_prank",
    "widrow_hoff",
]

_ONE_PASS: dict[str, Any] = {"epochs": 1, "shuffle": False}


def prank(**options: Any) -> PRank:
    r"""Return PRank (document 1, figure 2; document 2, algorithm 1; document 3, slides 13-20).

    The rank of x is the first r with :math:`w \cdot x < b_r`. After a mistake, each threshold on
    the wrong side of :math:`w \cdot x` and w itself move by one step; one pass, last (w, b).

    Parameters
    ----------
    **options
        Further arguments of `PRank`, such as ``kernel="poly", degree=2``.

    Examples
    --------
    >>> from rankwise import papers
    >>> model = papers.prank().fit([[1, 0], [0, 1], [1, 1]], [1, 3, 2])
    >>> model.coef_, model.thresholds_
    (array([-2.,  2.]), array([-1.,  1.]))
    """
    return PRank(**{"vote": None, **_ONE_PASS, **options})


def voted_prank(**options: Any) -> PRank:
    r"""Return PRank with the voted perceptron (document 2, section 3.1; named in document 1).

    Each hypothesis held during the pass votes with the number of rounds that it ranked correctly:
    :math:`\sum_i v_i h_i(x) / \sum_i v_i`, rounded.

    Parameters
    ----------
    **options
        Further arguments of `PRank`.

    Examples
    --------
    >>> from rankwise import papers
    >>> model = papers.voted_prank().fit([[1, 0], [0, 1], [1, 1]] * 20, [1, 3, 2] * 20)
    >>> model.predict([[1, 0], [0, 1], [1, 1]])
    array([1, 3, 2])
    """
    return prank(**{"vote": "voted", **options})


def widrow_hoff(eta: float = 1.0, **options: Any) -> WidrowHoff:
    r"""Return Widrow-Hoff's regression of the ranks (documents 1 and 2, the baseline WH).

    :math:`w \leftarrow w + \eta (y - w \cdot x) x` on the ranks 1..k; predictions are rounded to
    the nearest rank. No intercept, one pass.

    Parameters
    ----------
    eta : float, default=1.0
        The rate. Document 2 says that document 1 used 1; it tries 0.2, 0.1, 0.05 and 0.01.
    **options
        Further arguments of `WidrowHoff`.

    Examples
    --------
    >>> from rankwise import papers
    >>> papers.widrow_hoff(0.5).fit([[1, 0], [0, 1], [1, 1]], [1, 3, 2]).coef_
    array([0.5, 1.5])
    """
    return WidrowHoff(eta, **{"step": "plain", "fit_intercept": False, **_ONE_PASS, **options})


def multiclass_perceptron(**options: Any) -> MulticlassPerceptron:
    """Return the multiclass perceptron (document 1, section 4, the baseline MCP).

    One prototype per rank, the rank with the highest score; one pass, no intercept. Document 1 does
    not say how a mistake is shared among the wrong ranks; here equally, see ``update``.

    Parameters
    ----------
    **options
        Further arguments of `MulticlassPerceptron`, such as ``update="max"``.

    Examples
    --------
    >>> from rankwise import papers
    >>> papers.multiclass_perceptron().fit([[1, 0], [0, 1], [1, 1]], [1, 3, 2]).coef_.shape
    (3, 2)
    """
    return MulticlassPerceptron(**{"vote": None, "fit_intercept": False, **_ONE_PASS, **options})


def oap_bpm(n: int = 100, tau: float = 0.3, **options: Any) -> OAPRank:
    r"""Return OAP-BPM, the online aggregate of PRank (document 2, algorithm 2).

    Each of n PRank members sees a round if its own Bernoulli(:math:`\tau`) coin is 1. The rule has
    the mean weights :math:`\sum_j w_j / n` and the mean thresholds: an estimate of the Bayes point.

    Parameters
    ----------
    n : int, default=100
        Members, as in the experiments of the document.
    tau : float, default=0.3
        The probability that a member sees a round; the document tries 0.3, 0.6 and 0.9.
    **options
        Further arguments of `OAPRank`.

    Examples
    --------
    >>> from rankwise import papers
    >>> model = papers.oap_bpm(random_state=0).fit([[1, 0], [0, 1], [1, 1]] * 20, [1, 3, 2] * 20)
    >>> model.predict([[1, 0], [0, 1], [1, 1]])
    array([1, 3, 2])
    """
    return OAPRank(n, **{"tau": tau, **_ONE_PASS, **options})


def oap_bagg(n: int = 100, tau: float = 0.3, **options: Any) -> OAPRank:
    r"""Return OAP-Bagg, online bagging of PRank (document 2, section 3.1).

    Members as in `oap_bpm`; the prediction is :math:`\sum_j h_j(x) / n`, rounded to a rank.

    Parameters
    ----------
    n, tau, **options
        As in `oap_bpm`.

    Examples
    --------
    >>> from rankwise import papers
    >>> model = papers.oap_bagg(random_state=0).fit([[1, 0], [0, 1], [1, 1]] * 20, [1, 3, 2] * 20)
    >>> model.predict([[1, 0], [0, 1], [1, 1]])
    array([1, 3, 2])
    """
    return oap_bpm(n, tau, **{"combine": "bagging", **options})


def oap_vp(n: int = 100, tau: float = 0.3, **options: Any) -> OAPRank:
    r"""Return OAP-VP, the members weighted as in the voted perceptron (document 2, section 3.1).

    Members as in `oap_bpm`; the prediction is :math:`\sum_j v_j h_j(x) / \sum_j v_j`, rounded,
    with :math:`v_j` the rounds that member j was shown and ranked correctly.

    Parameters
    ----------
    n, tau, **options
        As in `oap_bpm`.

    Examples
    --------
    >>> from rankwise import papers
    >>> model = papers.oap_vp(random_state=0).fit([[1, 0], [0, 1], [1, 1]] * 20, [1, 3, 2] * 20)
    >>> model.predict([[1, 0], [0, 1], [1, 1]])
    array([1, 3, 2])
    """
    return oap_bpm(n, tau, **{"combine": "voted", **options})


def mprank(C: float = 1.0, **options: Any) -> MPRank:
    r"""Return MPRank, magnitude-preserving ranking (document 4, equation 8 with n = 2).

    It minimises :math:`\|h\|^2 + \frac{C}{m^2} \sum_{ij} ((h(x_j) - h(x_i)) - (y_j - y_i))^2`, in
    the primal (equations 11, 12) or the dual (13, 14), whichever is cheaper.

    Parameters
    ----------
    C : float, default=1.0
        The trade-off, on the scale of the document.
    **options
        Further arguments of `MPRank`; the document uses ``kernel="rbf"``.

    Examples
    --------
    >>> from rankwise import papers
    >>> model = papers.mprank(100.0).fit([[0.0], [1.0], [3.0]], [1.0, 2.0, 4.0])
    >>> model.predict([[2.0]]).round(2)
    array([3.])
    """
    return MPRank(C, **options)


def online_mprank(C: float = 1.0, eta: float | None = None, **options: Any) -> MPRank:
    r"""Return on-line MPRank (document 4, section 2.5).

    Passes over the points; each moves its own dual variable up the gradient of equation 14 by a
    step :math:`\eta`. It stops when a pass gains less than 0.01 % of the objective, as the document
    does.

    Parameters
    ----------
    C : float, default=1.0
        The trade-off, on the scale of the document.
    eta : float, default=None
        The step. The document does not print its own; None moves each variable to its optimum.
    **options
        Further arguments of `MPRank`.

    Examples
    --------
    >>> from rankwise import papers
    >>> rows, ratings = [[0.0], [1.0], [3.0]], [1.0, 2.0, 4.0]
    >>> batch = papers.mprank(100.0).fit(rows, ratings)
    >>> online = papers.online_mprank(100.0).fit(rows, ratings)
    >>> bool(abs(online.predict(rows) - batch.predict(rows)).max() < 0.01)
    True
    """
    return MPRank(C, **{"solver": "online", "eta": eta, "tol": 1e-4, **options})


def svrank(C: float = 1.0, epsilon: float = 0.1, power: int = 1, **options: Any) -> SVRank:
    r"""Return SVRank (document 4, equation 9).

    It minimises :math:`\|h\|^2 + \frac{C}{m^2} \sum_{ij} \max(0, |(h(x_j) - h(x_i)) - (y_j - y_i)|
    - \epsilon)^n` without forming the pairs. With :math:`\epsilon = 0` and n = 1 it is equation 8
    with n = 1.

    Parameters
    ----------
    C : float, default=1.0
        The trade-off, on the scale of the document.
    epsilon : float, default=0.1
        Differences that cost nothing, on the scale of y. The document does not print its own.
    power : {1, 2}, default=1
        The n of the cost.
    **options
        Further arguments of `SVRank`; the document uses ``kernel="rbf"``.

    Examples
    --------
    >>> from rankwise import papers
    >>> model = papers.svrank(100.0, epsilon=0.0).fit([[0.0], [1.0], [3.0]], [1.0, 2.0, 4.0])
    >>> model.predict([[2.0]]).round(2)
    array([3.])
    """
    return SVRank(C, **{"epsilon": epsilon, "power": power, **options})


def ranking_svm(C: float = 1.0, **options: Any) -> RankSVM:
    r"""Return the ranking SVM (document 5, "Ranking with SVMs").

    The lecture minimises :math:`\frac12 \|w\|^2 + C' \sum_i \xi_i` over the listed pairs; here it
    is :math:`\|w\|^2 + C` times the mean of the hinges over P pairs, so :math:`C = 2 P C'`.

    Parameters
    ----------
    C : float, default=1.0
        The trade-off with the mean over pairs.
    **options
        Further arguments of `RankSVM`, such as those of a kernel.

    Examples
    --------
    >>> from rankwise import papers
    >>> model = papers.ranking_svm(100.0).fit([[0.0], [1.0], [2.0]], [1, 2, 3])
    >>> model.coef_.round(2)
    array([1.])
    """
    return RankSVM(C, **{"power": 1, **options})


def rankboost(n: int = 100, **options: Any) -> RankBoost:
    r"""Return RankBoost (document 5, the algorithm of Freund et al.; document 4, the baseline).

    Threshold functions :math:`1[x_f > c]` over all values of a feature. A round takes the one with
    the largest edge :math:`|\epsilon_+ - \epsilon_-|`, and adds
    :math:`\alpha = \frac12 \log(\epsilon_+ / \epsilon_-)` times it: coordinate descent on
    :math:`\sum e^{-(f(x') - f(x))}`. Columns of 0 and 1 are any given weak rankers H.

    Parameters
    ----------
    n : int, default=100
        Rounds, the T of the lecture.
    **options
        Further arguments of `RankBoost`.

    Examples
    --------
    >>> from rankwise import papers
    >>> model = papers.rankboost(1).fit([[0.0], [1.0], [2.0], [3.0]], [1, 2, 2, 1])
    >>> float(model.train_loss_[0].round(3))
    0.677
    """
    return RankBoost(
        n, **{"criterion": "edge", "max_bins": None, "pair_weight": "uniform", **options}
    )
