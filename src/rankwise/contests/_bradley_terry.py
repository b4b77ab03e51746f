"""The Bradley-Terry model and its kin: strengths from a table of contests."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from rankwise._core.arguments import shortened, warn_user
from rankwise._core.comparator import check_log
from rankwise._core.ids import as_column, encode_columns, encode_ids, listed_ids, objects
from rankwise._core.inputs import unchanged_on_error
from rankwise._core.sklearn_private import StrOptions
from rankwise.contests._counts import (
    PRIOR,
    beaten_pairs,
    check_contests,
    check_covariates,
    check_groups,
    check_outcome,
    check_size,
    check_weight,
    count_pairs,
    refuse_self,
    take_rows,
)
from rankwise.contests._existence import check_design, find_recession, has_maximum, moved
from rankwise.contests._goodness_of_fit import ContestsMixin, goodness_of, met_of
from rankwise.contests._loops.likelihood import DAVIDSON, PLAIN, RAO_KUPPER, Cells
from rankwise.contests._newton import (
    PairLikelihood,
    Solved,
    check_solved,
    fit_raters,
    halved,
    start_of,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Standard deviation of the prior of the advantage by an effect that has no finite best.
_LARGE_EFFECT = 1000.0
_KINDS = {"davidson": DAVIDSON, "rao-kupper": RAO_KUPPER, "half": PLAIN}


class BradleyTerry(ContestsMixin, BaseEstimator):
    r"""Strengths of items from contests of two, with ties, intervals, and how sure each place is.

    A contest of u, named first, and v has the advantage
    :math:`\eta = s_u - s_v + d + \beta \cdot z`: the difference of two strengths, the effect d of
    coming first (``order_effect=True``), and covariates z. Then

    - ``ties="davidson"``: P(first) : P(second) : P(tie) =
      :math:`e^{\eta/2} : e^{-\eta/2} : \nu`;
    - ``ties="rao-kupper"``: P(first) = :math:`1 / (1 + \theta e^{-\eta})`, P(second) =
      :math:`1 / (1 + \theta e^{\eta})`, with :math:`\theta \geq 1`;
    - ``ties="half"``: a tie is half a win of each, P(first) = :math:`1 / (1 + e^{-\eta})`.

    Without ties the three are one, the model of Bradley and Terry. The log likelihood less
    :math:`\sum_i s_i^2 / (2\,\text{prior}^2)` is maximised; strengths add to 0.

    Parameters
    ----------
    ties : {"davidson", "rao-kupper", "half"}, default="davidson"
        What a tie says.
    order_effect : bool, default=False
        Whether coming first may be an advantage. Without it, which of two is named first does not
        matter.
    prior : float or None, default=5.0
        Standard deviation of a normal prior of the strengths. It is weak: a difference of 5 is a
        win in 99.3 % of contests. It keeps the strength of an item that never lost finite. None: no
        prior, and contests that need one are refused.
    level : float, default=0.95
        Confidence level of intervals.
    n_draws : int, default=1000
        Draws of the joint normal for places, and of the posterior for P(best).
    random_state : int, default=0
        Seed of these draws.

    Attributes
    ----------
    items_ : ndarray of shape (n,)
        The items, sorted where they can be.
    strengths_ : ndarray of shape (n,)
        Their strengths, in the order of ``items_``; they add to 0.
    p_best_ : ndarray of shape (n,)
        The posterior probability that each is the strongest, under the model and its prior (a flat
        one if ``prior`` is None), by ``n_draws`` steps of elliptical slice sampling.
    tie_strength_ : float or None
        :math:`\nu` or :math:`\theta`; 0 or 1 if there was no tie, None for ``ties="half"``.
    order_effect_ : float
        d, 0 without ``order_effect``; its interval is the first of `effect_interval`.
    effect_names_ : list of str
        "order", if it was asked for, and the covariates.
    effects_ : ndarray of shape (n_effects,)
        d and :math:`\beta`.
    raters_ : ndarray of shape (n_raters,)
        Who judged, if ``rater`` was given, and else nobody.
    reliabilities_ : ndarray of shape (n_raters,)
        The advantage is this many times as large for a rater: 1 is like everyone on average, 0
        answers at random.
    random_raters_ : ndarray
        Raters whose interval holds 0 and lies below 1.
    n_contests_ : float
        The sum of the weights.
    n_iter_ : int
        Steps of Newton's method.
    objective_ : float
        The log likelihood less the prior's share.

    See Also
    --------
    PlackettLuce : The same from rankings of any length.
    next_pairs : Which contests to hold next.
    rankwise.aggregation.kemeny : An order without a model.

    Notes
    -----
    Rows are reduced to counts by pair first, in one pass; a step of Newton then costs the pairs
    that have met and O(n^3) for n items. With covariates or raters each row stays a cell, and a
    step costs O(m) for m contests. Memory is O(n^2).

    Intervals are pointwise, places simultaneous; both rest on the normal approximation. A row of
    weight 2 is the row twice, exactly. Standard errors take reliabilities as known.

    Without a prior there may be no maximum. With strengths alone there is one if and only if the
    graph of wins is strongly connected; else a linear programme over the directions of recession
    decides it, given the reliabilities.

    References
    ----------
    R. A. Bradley and M. E. Terry, *Rank analysis of incomplete block designs*, Biometrika 1952.
    R. R. Davidson, *On extending the Bradley-Terry model to accommodate ties*, JASA 1970.
    P. V. Rao and L. L. Kupper, *Ties in paired-comparison experiments*, JASA 1967.

    Examples
    --------
    >>> from rankwise.contests import BradleyTerry
    >>> first = ["ann", "ann", "bob", "ann", "bob", "cid", "cid", "bob"] * 5
    >>> second = ["bob", "bob", "cid", "cid", "ann", "ann", "bob", "cid"] * 5
    >>> outcome = ["first", "tie", "first", "first", "first", "second", "tie", "first"] * 5
    >>> model = BradleyTerry().fit(first, second, outcome)
    >>> model.ranking().order
    array(['ann', 'bob', 'cid'], dtype=object)
    >>> model.strengths_.round(2)
    array([ 1.43,  1.05, -2.49])
    >>> model.rank_interval()
    array([[1, 2],
           [1, 2],
           [3, 3]])
    >>> print(f"{model.prefer('ann', 'cid'):.2f}")
    0.91
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ContestsMixin._strength_constraints,
        "ties": [StrOptions(set(_KINDS))],
        "order_effect": ["boolean"],
    }

    tie_strength_: float | None
    n_iter_: int
    objective_: float

    def __init__(
        self,
        *,
        ties: str = "davidson",
        order_effect: bool = False,
        prior: float | None = PRIOR,
        level: float = 0.95,
        n_draws: int = 1000,
        random_state: int = 0,
    ) -> None:
        self.ties = ties
        self.order_effect = order_effect
        self.prior = prior
        self.level = level
        self.n_draws = n_draws
        self.random_state = random_state

    @unchanged_on_error
    def fit(
        self,
        first: ArrayLike,
        second: ArrayLike,
        outcome: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        covariates: ArrayLike | None = None,
        rater: ArrayLike | None = None,
    ) -> Self:
        """Learn from a table of contests, one a row.

        Parameters
        ----------
        first, second : array-like of shape (m,)
            Ids of the two items: numbers, texts, or anything that a dictionary can look up.
        outcome : array-like of shape (m,)
            "first", "second" or "tie"; or what the first one got: 1, 0, or 0.5 for a tie. If other
            numbers occur, all are probabilities that the first one wins: p of a win and 1 - p of a
            loss, never a tie.
        sample_weight : array-like of shape (m,), default=None
            How often each row happened. A row of weight 0 is as if it were not there.
        covariates : array-like of shape (m, d), default=None
            What else may give the first one an advantage, such as the difference of two lengths.
        rater : array-like of shape (m,), default=None
            Who judged. Each rater gets a reliability.

        Returns
        -------
        self

        Warns
        -----
        UserWarning
            If strengths rest on the prior, an effect has no finite best, or a line of strengths is
            a bad model of these contests.

        Raises
        ------
        ValueError
            If ``prior`` is None and the likelihood has no maximum.
        """
        self._validate_params()
        weight, rows = check_weight(sample_weight, first), None
        if weight is not None and not weight.all():
            rows = np.flatnonzero(weight)
            first, second, outcome, covariates, rater = (
                take_rows(column, rows, len(weight), name)
                for column, name in (
                    (first, "first"),
                    (second, "second"),
                    (outcome, "outcome"),
                    (covariates, "covariates"),
                    (rater, "rater"),
                )
            )
            weight = weight[rows]
        columns = check_contests(first, second, rows)
        m = len(columns[0])
        values, ties = check_outcome(outcome, m, rows)
        if covariates is None and rater is None:
            items, left, right, counts = count_pairs(
                *columns, values, weight, ties=ties, fold=not self.order_effect, rows=rows
            )
            return self._learn(items, left, right, counts, np.zeros((len(left), 0)), [])
        z, names = check_covariates(covariates, m, rows=rows)
        raters, judges = _encode_raters(rater, m, rows)
        items, (left, right) = encode_columns(columns, ("first", "second"), rows)
        refuse_self(left, right, columns[0], rows)
        counts = _rows(values, np.ones(m) if weight is None else weight, ties)
        return self._learn(items, left, right, counts, z, names, raters, judges)

    @unchanged_on_error
    def fit_pairs(
        self, winner: ArrayLike, loser: ArrayLike, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from who has beaten whom; the winner counts as the first.

        Parameters
        ----------
        winner, loser : array-like of shape (m,)
            Ids of two items.
        sample_weight : array-like of shape (m,), default=None
            How often each row happened.
        """
        columns = check_contests(winner, loser)
        return self.fit(*columns, np.ones(len(columns[0])), sample_weight=sample_weight)

    @unchanged_on_error
    def fit_log(self, items: Any, log: list[Any]) -> Self:
        """Learn from the log of a sort, such as `quicksort` returns.

        Parameters
        ----------
        items : sequence
            The things that were sorted, all different; also those that were never compared.
        log : list of (i, j, p)
            Two positions in ``items`` and the answer: 1, 0, or 0.5 for a tie, or probabilities.
        """
        self._validate_params()
        listed = list(items)
        check_log(log, len(listed))
        if not log:
            raise ValueError("log is empty: there is no answer to learn from")
        found, _ = encode_ids([listed], ["items"])
        if len(found) < len(listed):
            raise ValueError(f"items holds {len(listed) - len(found)} items twice: list each once")
        left, right = np.array([entry[:2] for entry in log], dtype=np.int64).T
        values, ties = check_outcome([entry[2] for entry in log], len(log))
        counts = _rows(values, np.ones(len(log)), ties)
        return self._learn(
            objects(listed), left.copy(), right.copy(), counts, np.zeros((len(log), 0)), []
        )

    def _learn(
        self,
        items: NDArray[Any],
        left: Indices,
        right: Indices,
        counts: Floats,
        z: Floats,
        names: list[str],
        raters: NDArray[Any] | None = None,
        rater: Indices | None = None,
    ) -> Self:
        n, (_, _, ties, _) = len(items), counts.sum(axis=0)
        check_size(n)
        drawn = counts
        if self.ties == "half" and ties:
            counts, ties = halved(counts), 0.0
        kind = _KINDS[self.ties] if ties else PLAIN
        if ties and not counts[:, :2].any():
            raise ValueError(
                "every contest is a tie: no item can be told from another; add contests that "
                "somebody won, or set ties='half'"
            )
        if self.order_effect:
            z, names = np.column_stack([np.ones(len(left)), z]), ["order", *names]
        cells = Cells(left, right, counts, np.ascontiguousarray(z), np.ones(len(left)))
        self.items_, self.effect_names_ = items, names
        check_groups(*beaten_pairs(left, right, counts), items, self.prior)
        tie = None if kind == PLAIN else float(np.log1p(ties / counts[:, :3].sum()))
        start = start_of(cells, n, n + z.shape[1] + (tie is not None), tie)
        if names:
            check_design(cells, n, penalised=self.prior is not None)
        solved, cells, self.reliabilities_, self._rater_errors, is_steady = self._solve(
            cells, kind, start, rater
        )
        self.raters_ = np.array([]) if raters is None else raters
        params = solved.params
        self.strengths_ = params[:n] - params[:n].mean()
        self.effects_ = params[n : n + len(names)]
        self._kind, self._tie = kind, float(params[-1]) if kind != PLAIN else None
        self.tie_strength_ = None
        if self.ties != "half":
            without = 0.0 if self.ties == "davidson" else 1.0
            self.tie_strength_ = without if self._tie is None else float(np.exp(self._tie))
        self._inverse, self._sandwich = solved.inverse, solved.sandwich
        self.n_iter_, self.objective_ = solved.n_iter, solved.value
        if solved.decrement > 1e-6 or not is_steady:
            warn_user(
                "the fit did not settle: a covariate may tell who wins without fail, or a rater "
                "contradicts the others; look at effects_ and reliabilities_",
                ConvergenceWarning,
            )
        self._cells = cells._replace(counts=drawn)
        self._met = met_of(cells, n, solved.params, kind, solved.inverse)
        fit = goodness_of(self._met, items)
        if fit.is_bad:
            worst = int(np.abs(fit.residuals.z).argmax())
            warn_user(
                f"one line of strengths is a bad model of these contests: it leaves "
                f"{fit.unexplained:.0%} of what pairs differ by unexplained "
                f"(p = {fit.pvalue:.1g}), most of all between "
                f"{shortened(fit.residuals.first[worst])} and "
                f"{shortened(fit.residuals.second[worst])}; see goodness_of_fit()"
            )
        return self

    def _solve(
        self, cells: Cells, kind: int, start: Floats, rater: Indices | None
    ) -> tuple[Solved, Cells, Floats, Floats, bool]:
        """Fit; raise if there is no maximum, or warn if an effect alone has none."""
        n, d, penalised = len(self.items_), cells.z.shape[1], self.prior is not None
        precision = self._precision(len(start))
        solved, fitted, scales, errors, is_steady = fit_raters(
            cells, n, kind, precision, start, rater
        )
        of = PairLikelihood(fitted, n, kind)
        # else there is one, as `check_groups` has found
        in_doubt = d > 0 or (not penalised and (kind != PLAIN or rater is not None))
        direction = None
        if in_doubt and not has_maximum(of, solved):
            direction = find_recession(of, penalised=penalised)
        if direction is not None:
            self._answer_recession(direction)
        if not (is_steady or penalised):
            raise ValueError(
                "the strengths grow as the reliabilities of some raters shrink, and neither "
                f"settles: set prior={PRIOR}, or leave out rater"
            )
        if d and (direction is not None or not is_steady):
            precision[n : n + d] = (np.abs(cells.z).max(axis=0) / _LARGE_EFFECT) ** 2
            solved, fitted, scales, errors, is_steady = fit_raters(
                cells, n, kind, precision, start, rater
            )
            # where residuals vanish, squares of them would make it look sure
            solved = solved._replace(sandwich=solved.inverse)
        check_solved(solved)
        return solved, fitted, scales, errors, is_steady

    def _answer_recession(self, direction: Floats) -> None:
        """Raise or warn about parameters that have no finite best: the larger, the better."""
        items, effects = moved(direction, len(self.items_))
        named = listed_ids([self.effect_names_[k] for k in effects])
        if self.prior is None and len(items):
            raise ValueError(
                f"the contests have no finite best fit: the likelihood rises as the strengths of "
                f"{listed_ids(self.items_[items].tolist())}"
                + (f" and the effects of {named}" if len(effects) else "")
                + f" grow; set prior={PRIOR}, leave these out or add contests"
            )
        said = f"{named} can tell who wins without fail, so that no effect is large enough"
        remedy = "leave it out, or add contests that went the other way"
        if self.prior is None:
            raise ValueError(f"{said}: {remedy}")
        warn_user(
            f"{said}: effects_ is what a normal prior leaves, of a standard deviation of "
            f"{_LARGE_EFFECT:g} over the largest value; {remedy}"
        )


def _encode_raters(
    rater: Any, m: int, rows: Indices | None
) -> tuple[NDArray[Any] | None, Indices | None]:
    """Return the distinct raters, and the code of each row's; None if nobody judged."""
    if rater is None:
        return None, None
    judges = as_column(rater, "rater", rows)
    if len(judges) != m:
        raise ValueError(f"rater has {len(judges)} rows for {m} contests: give one a row")
    raters, (codes,) = encode_columns([judges], ["rater"], rows)
    return raters, codes


def _rows(values: Floats, weight: Floats, ties: bool) -> Floats:
    """Return the four counts of each row."""
    tied = (values == 0.5) & ties
    win, loss = np.where(tied, 0.0, values), np.where(tied, 0.0, 1 - values)
    return np.column_stack([win, loss, tied, win * loss]) * weight[:, None]
