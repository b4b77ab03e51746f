"""The Bradley-Terry model and its extensions: strengths from a table of contests."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rankwise._core.arguments import check_whole, shortened, warn_user
from rankwise._core.comparator import as_items, check_log
from rankwise._core.ids import as_column, encode_columns, encode_ids, find_ids, listed_ids, objects
from rankwise._core.inputs import unchanged_on_error
from rankwise._core.sklearn_private import StrOptions
from rankwise.contests._counts import (
    PRIOR,
    are_decided,
    check_contests,
    check_covariates,
    check_groups,
    check_opponents,
    count_pairs,
    count_rows,
    take_weighted,
)
from rankwise.contests._existence import check_design, find_recession, has_maximum, moved
from rankwise.contests._intervals import StrengthsMixin, bootstrap_fits, normal_interval
from rankwise.contests._likelihood import (
    GoodnessOfFit,
    Maximum,
    Met,
    PairLikelihood,
    check_solved,
    fit_raters,
    goodness_of,
    halved,
    initial_params,
    prior_precision,
    sum_by_pair,
)
from rankwise.contests._loops import DAVIDSON, PLAIN, RAO_KUPPER, Cells, expected

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Standard deviation of the prior of the advantage by an effect that has no finite best.
_LARGE_EFFECT = 1000.0
_PRIOR_OF_EFFECTS = (
    "effects_ is what a normal prior leaves, of a standard deviation of "
    f"{_LARGE_EFFECT:g} over the largest value"
)
# An advantage by an effect that no contests can show: the odds are e^100.
_FAR = 100.0
# The logarithm of the largest strength of ties that is returned.
_MOST_TIES = 700.0
_KINDS = {"davidson": DAVIDSON, "rao-kupper": RAO_KUPPER, "half": PLAIN}
_MOST_BINS = 10_000


class BradleyTerry(StrengthsMixin, BaseEstimator):
    r"""Strengths of items from contests of two, with ties, intervals, and how sure each rank is.

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
        prior; contests that need one raise.
    level : float, default=0.95
        Confidence level of intervals.
    n_draws : int, default=1000
        Draws of the joint normal for ranks, and of the posterior for P(best).
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
        "order" if ``order_effect=True``, and the covariates.
    effects_ : ndarray of shape (n_effects,)
        d and :math:`\beta`.
    raters_ : ndarray of shape (n_raters,)
        The raters; empty without ``rater``.
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

    Intervals are pointwise, ranks simultaneous; both rest on the normal approximation. A row of
    weight 2 equals two rows, exactly. Standard errors take reliabilities as known.

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
        **StrengthsMixin._strength_constraints,
        "ties": [StrOptions(set(_KINDS))],
        "order_effect": ["boolean"],
    }

    tie_strength_: float | None
    effect_names_: list[str]
    effects_: Floats
    raters_: NDArray[Any]
    reliabilities_: Floats
    n_iter_: int
    objective_: float
    _rater_errors: Floats
    _kind: int
    _tie: float | None
    _cells: Cells
    _met: Met

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
        outcome: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        covariates: ArrayLike | None = None,
        rater: ArrayLike | None = None,
    ) -> Self:
        """Learn from a table of contests, one in each row.

        Parameters
        ----------
        first, second : array-like of shape (m,)
            Ids of the two items: numbers, strings, or anything that a dictionary can look up.
        outcome : array-like of shape (m,), default=None
            "first", "second" or "tie"; or what the first one got: 1, 0, or 0.5 for a tie. If other
            numbers occur, all are probabilities that the first one wins: p of a win and 1 - p of a
            loss, never a tie. None: the first one won every contest, ``fit(winner, loser)``.
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
            If strengths rest on the prior, an effect has no finite estimate, or the model fits
            these contests badly.

        Raises
        ------
        ValueError
            If ``prior`` is None and the likelihood has no maximum.
        """
        self._validate_params()
        weight, rows = None, None
        if sample_weight is not None:
            weight, rows, kept = take_weighted(
                sample_weight,
                first=first,
                second=second,
                outcome=outcome,
                covariates=covariates,
                rater=rater,
            )
            first, second, outcome, covariates, rater = kept.values()
        if covariates is None and rater is None:
            fold = not self.order_effect
            items, left, right, counts = count_pairs(
                first, second, outcome, weight, fold=fold, rows=rows
            )
            return self._learn(items, left, right, counts, np.zeros((len(left), 0)), [])
        *columns, values = check_contests(first, second, outcome, rows)
        m = len(values)
        z, names = check_covariates(covariates, m, rows=rows)
        raters, rater_codes = None, None
        if rater is not None:
            column = as_column(rater, "rater", rows)
            if len(column) != m:
                raise ValueError(
                    f"rater has {len(column)} rows for {m} contests: expected one each"
                )
            raters, (rater_codes,) = encode_columns([column], ["rater"])
        items, (left, right) = encode_columns(columns, ("first", "second"))
        check_opponents(left, right, columns[0], rows)
        counts = np.column_stack(count_rows(values, weight, are_decided(values, rows)))
        return self._learn(items, left, right, counts, z, names, raters, rater_codes)

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
        return self.fit(winner, loser, sample_weight=sample_weight)

    @unchanged_on_error
    def fit_log(self, items: Any, log: list[Any]) -> Self:
        """Learn from the log of a sort, such as `quicksort` returns.

        Parameters
        ----------
        items : sequence
            The items that were sorted, all different; also those that were never compared.
        log : list of (i, j, p)
            Two positions in ``items`` and the answer: 1, 0, or 0.5 for a tie, or probabilities.
        """
        self._validate_params()
        listed = list(as_items(items))
        check_log(log, len(listed))
        if not log:
            raise ValueError("log is empty: it has no answer to learn from")
        distinct, _ = encode_ids([listed], ["items"])
        if len(distinct) < len(listed):
            raise ValueError(
                f"items holds {len(listed) - len(distinct)} duplicated items: list each once"
            )
        left, right = np.array([entry[:2] for entry in log], dtype=np.int64).T
        values, z = np.array([entry[2] for entry in log], dtype=float), np.zeros((len(log), 0))
        counts = np.column_stack(count_rows(values, None, are_decided(values)))
        return self._learn(objects(listed), left.copy(), right.copy(), counts, z, [])

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
        """Find the highest posterior, given the four counts of each cell."""
        n, seen, ties = len(items), counts, float(counts[:, 2].sum())
        if self.ties == "half" and ties:
            counts, ties = halved(counts), 0.0
        kind = _KINDS[self.ties] if ties else PLAIN
        if ties and not counts[:, :2].any():
            raise ValueError(
                "every contest is a tie: items can't be distinguished; add contests that "
                "somebody won, or set ties='half'"
            )
        up, down = counts[:, :2].T + counts[:, 2] > 0
        winners, losers = np.append(left[up], right[down]), np.append(right[up], left[down])
        check_groups(winners, losers, items, self.prior)
        if self.order_effect:
            z, names = np.column_stack([np.ones(len(left)), z]), ["order", *names]
        cells = Cells(left, right, counts, np.ascontiguousarray(z), np.ones(len(left)))
        self.items_, self.effect_names_ = items, names
        self.raters_ = np.array([]) if raters is None else raters
        self._sandwich = None
        tie = None if kind == PLAIN else float(np.log1p(ties / counts[:, :3].sum()))
        start = initial_params(cells, n, tie)
        precision = prior_precision(self.prior, n, len(start))
        of = PairLikelihood(cells, n, kind)
        if names:
            check_design(cells, n, penalised=self.prior is not None)
        best, of, self.reliabilities_, self._rater_errors, is_steady = fit_raters(
            of, precision, start, rater
        )
        # else there is a maximum, as `check_groups` has found
        in_doubt = names or (self.prior is None and (kind != PLAIN or rater is not None))
        if in_doubt and self._is_unbounded(of, best, is_steady):
            precision[n : n + len(names)] = (np.abs(cells.z).max(axis=0) / _LARGE_EFFECT) ** 2
            best, of, self.reliabilities_, self._rater_errors, is_steady = fit_raters(
                of, precision, start, rater
            )
            # where residuals vanish, squares of them would make it look sure
            self._sandwich = best.inverse
        check_solved(best)
        if best.decrement > 1e-6 or not is_steady:
            warn_user(
                "the fit did not settle: a covariate may tell who wins without fail, or a rater "
                "contradicts the others; look at effects_ and reliabilities_",
                ConvergenceWarning,
            )
        params, self.n_iter_, self.objective_ = best.params, best.n_iter, best.value
        self.strengths_ = params[:n] - params[:n].mean()
        self.effects_, self._inverse = params[n : n + len(names)], best.inverse
        self._kind, self._tie = kind, None if tie is None else float(params[-1])
        strengths = {"davidson": 0.0, "rao-kupper": 1.0, "half": None}
        self.tie_strength_ = (
            strengths[self.ties] if tie is None else float(np.exp(min(params[-1], _MOST_TIES)))
        )
        self._cells = of.cells._replace(counts=seen)
        self._met = sum_by_pair(of, params, best.inverse)
        fit = goodness_of(self._met, items)
        if fit.is_bad:
            worst = int(np.abs(fit.residuals.z).argmax())
            warn_user(
                f"the model fits these contests badly (goodness of fit: p = {fit.pvalue:.1g}): "
                f"strengths leave {fit.unexplained:.0%} of the differences between pairs "
                "unexplained, most of all between "
                f"{shortened(fit.residuals.first[worst])} and "
                f"{shortened(fit.residuals.second[worst])}; see goodness_of_fit()"
            )
        return self

    def _is_unbounded(self, of: PairLikelihood, best: Maximum, is_steady: bool) -> bool:
        """Warn if an effect has no finite estimate, raise if a strength has none; return which."""
        penalised, direction = self.prior is not None, None
        if not has_maximum(of, best):
            direction = find_recession(of, penalised=penalised)
        if direction is not None:
            items, effects = moved(direction, of.n)
            named = listed_ids([self.effect_names_[k] for k in effects])
            if not penalised and len(items):
                raise ValueError(
                    f"the contests have no finite estimate: the likelihood rises as the strengths "
                    f"of {listed_ids(self.items_[items].tolist())}"
                    + (f" and the effects of {named}" if len(effects) else "")
                    + f" grow; set prior={PRIOR}, leave these out or add contests"
                )
            problem = f"{named} can tell who wins without fail, so that no effect is large enough"
            remedy = "leave it out, or add contests that went the other way"
            if not penalised:
                raise ValueError(f"{problem}: {remedy}")
            warn_user(f"{problem}: {_PRIOR_OF_EFFECTS}; {remedy}")
        # reliabilities that become equal may let an effect grow, too
        effects = np.abs(of.cells.z * best.params[of.n : of.n + len(self.effect_names_)])
        grows = penalised and (not is_steady or effects.max(initial=0.0) > _FAR)
        if self.effect_names_ and grows and direction is None:
            warn_user(
                f"{listed_ids(self.effect_names_)} and the reliabilities of raters have no finite "
                f"estimate: {_PRIOR_OF_EFFECTS}; leave out rater, or add contests"
            )
        if not (is_steady or penalised):
            raise ValueError(
                "the fit does not converge: strengths grow as the reliabilities of some raters "
                f"shrink; set prior={PRIOR}, or leave out rater"
            )
        return len(self.effect_names_) > 0 and (direction is not None or not is_steady or grows)

    @property
    def n_contests_(self) -> float:
        """The sum of the weights of all contests."""
        check_is_fitted(self)
        return float(self._met.sums[:, 0].sum())

    @property
    def order_effect_(self) -> float:
        """Advantage of coming first."""
        check_is_fitted(self)
        return float(self.effects_[0]) if self.order_effect else 0.0

    def effect_interval(self, level: float | None = None, *, kind: str = "sandwich") -> Floats:
        """Return the ends of the interval of each effect, in the order of ``effect_names_``."""
        check_is_fitted(self)
        n, d = len(self.items_), len(self.effects_)
        covariance = self._covariance(kind)[n : n + d, n : n + d]
        return normal_interval(self.effects_, covariance, self._level(level))

    def reliability_interval(self, level: float | None = None) -> Floats:
        """Return the ends of the interval of each rater's reliability, strengths taken as known.

        With few contests, low reliabilities would seem too certain: for those between -1 and 1, the
        standard error is that of a reliability of 1.
        """
        check_is_fitted(self)
        return normal_interval(
            self.reliabilities_, np.diag(self._rater_errors**2), self._level(level)
        )

    @property
    def random_raters_(self) -> NDArray[Any]:
        """Raters whose interval holds 0, a coin, and lies below 1, everyone's mean."""
        low, high = self.reliability_interval().T
        return self.raters_[(low <= 0) & (high < 1)]

    def predict_proba(
        self, first: ArrayLike, second: ArrayLike, *, covariates: ArrayLike | None = None
    ) -> Floats:
        """Return the probabilities of "first", "second" and "tie", of shape (m, 3).

        Parameters
        ----------
        first, second : array-like of shape (m,)
            Known items. With ``order_effect`` it matters who is named first.
        covariates : array-like of shape (m, d), default=None
            As in `fit`; needed if the model has learned with them.
        """
        check_is_fitted(self)
        u, v, _ = check_contests(first, second)
        left, right = find_ids(u, self.items_, "first"), find_ids(v, self.items_, "second")
        z, _ = check_covariates(covariates, len(left), self.effect_names_[self.order_effect :])
        if self.order_effect:
            z = np.column_stack([np.ones(len(z)), z])
        return self._expected(left, right, z)

    def _params(self, n_effects: int) -> Floats:
        """Return strengths, the first effects and the parameter of ties, as one array."""
        if self.strengths_.shape != self.items_.shape or self.effects_.shape != (
            len(self.effect_names_),
        ):
            raise ValueError(
                f"strengths_ has the shape {self.strengths_.shape} and effects_ "
                f"{self.effects_.shape}: expected one for each of {len(self.items_)} items and "
                f"{len(self.effect_names_)} effects; fit the model again"
            )
        tie = [] if self._tie is None else [self._tie]
        return np.concatenate([self.strengths_, self.effects_[:n_effects], tie])

    def _expected(self, first: Indices, second: Indices, z: Floats) -> Floats:
        params = self._params(z.shape[1])
        cells = Cells(first, second, np.zeros((0, 4)), z, np.ones(len(first)))
        out = np.empty((len(first), 3))
        expected(cells, len(self.items_), params, self._kind, out)
        return out

    def _prefer(self, first: Indices, second: Indices) -> Floats:
        p = self._expected(first, second, np.zeros((len(first), 0)))
        return (1 + p[:, 0] - p[:, 1]) / 2

    def goodness_of_fit(self) -> GoodnessOfFit:
        """Return residuals by pair, and a test of whether strengths explain them."""
        check_is_fitted(self)
        return goodness_of(self._met, self.items_)

    def calibration(self, n_bins: int = 10) -> tuple[Floats, Floats, Floats]:
        """Return what favourites were expected to get, what they got, and contests, by bins.

        Parameters
        ----------
        n_bins : int, default=10
            Bins of the expected share, from 1/2 to 1; those without a contest are left out.
        """
        check_is_fitted(self)
        if check_whole(n_bins, "n_bins") > _MOST_BINS:
            raise ValueError(f"n_bins={n_bins} is more than {_MOST_BINS:,}: give fewer")
        n, observed, fitted, _, _ = self._met.sums.T
        swapped = fitted < n / 2
        observed, fitted = (
            np.where(swapped, n - observed, observed),
            np.where(swapped, n - fitted, fitted),
        )
        share = np.clip(fitted / n, 0.5, 1.0)
        bins = np.minimum((2 * n_bins * (share - 0.5)).astype(np.int64), n_bins - 1)
        sums = np.zeros((n_bins, 3))
        np.add.at(sums, bins, np.column_stack([fitted, observed, n]))
        sums = sums[sums[:, 2] > 0]
        return sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2], sums[:, 2]

    def bootstrap(self, n_samples: int = 1000, *, random_state: int = 0) -> Floats:
        """Return the strengths of bootstrap samples of the contests, of shape (n_samples, n).

        A sample draws as many contests as there were, by their counts (multinomial). Its fit starts
        from the model's own and takes four or five steps with the model's information, each a pass
        over the pairs; it is off by less than a thousandth of a standard error. Where these do not
        settle it, as for few contests, steps of Newton's method do.

        Parameters
        ----------
        n_samples : int, default=1000
            How many.
        random_state : int, default=0
            Seed of the draws.
        """
        check_is_fitted(self)
        check_whole(n_samples, "n_samples")
        check_whole(random_state, "random_state", 0)
        if len(self.raters_) or len(self.effects_) > self.order_effect:
            raise ValueError(
                "bootstrap is for contests without covariates and raters: use interval"
            )
        _, start = self._likelihood()
        of = PairLikelihood(self._cells, len(self.items_), self._kind)
        precision = prior_precision(self.prior, of.n, len(start))
        return bootstrap_fits(of, precision, start, self._inverse, n_samples, random_state)

    def _likelihood(self) -> tuple[PairLikelihood, Floats]:
        cells = self._cells
        if self._kind == PLAIN:
            cells = cells._replace(counts=halved(cells.counts))
        of = PairLikelihood(cells, len(self.items_), self._kind)
        return of, self._params(len(self.effects_))

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if not hasattr(self, "strengths_"):
            return
        n, cells, met = len(self.items_), self._cells, self._met
        m, d = len(cells.left), len(self.effects_)
        n_params = n + d + (self._tie is not None)
        codes = np.concatenate([cells.left, cells.right, met.left, met.right])
        shapes = (
            (cells.right.shape, (m,)),
            (cells.counts.shape, (m, 4)),
            (cells.z.shape, (m, d)),
            (cells.scale.shape, (m,)),
            (met.sums.shape, (len(met.left), 5)),
            (met.right.shape, met.left.shape),
            (self._inverse.shape, (n_params, n_params)),
            (self.effects_.shape, (len(self.effect_names_),)),
            (self.reliabilities_.shape, self.raters_.shape),
            (self._rater_errors.shape, self.raters_.shape),
        )
        good = all(shape == right for shape, right in shapes) and codes.dtype == np.int64
        if (
            not good
            or codes.min() < 0
            or codes.max() >= n
            or self._kind not in (PLAIN, DAVIDSON, RAO_KUPPER)
        ):
            raise ValueError("the contests of a BradleyTerry do not belong to its items")
