r"""One user on the kernel that everyone's ratings have taught: a ridge with a user bias.

The user's scores are :math:`f = m + b + g`: the means of the items, the user bias b and a taste
:math:`g \sim N(0, \tau^2 K)`. What the user said are rows d of one least-squares problem,
:math:`d'g + b e + \varepsilon = t`:

- a rating y of item j: :math:`g_j + b + \varepsilon = y - m_j`, noise :math:`\lambda`;
- a pseudo-item k, where the rated items lie in the map of what is rated together:
  :math:`g_k + \varepsilon = x_k`, noise :math:`\lambda`, no bias;
- an item i preferred to an item j: :math:`g_i - g_j + \varepsilon = t`, no bias; `preferences`
  derives target and noise.

With D the rows, :math:`A = D K D' + \mathrm{diag}(\text{noise})`, :math:`u = A^{-1} e`,
:math:`w = e'u` and n ratings,

.. math::

    b = u't / w, \qquad c = A^{-1}(t - b e), \qquad
    \text{score} = m + s b - (1 - s) r'c + K D' c, \qquad s = n / (n + \lambda \cdot \text{prior}).

The taste is that of a free bias: a bias drawn to 0 would leave a part of itself in the taste of
items like the rated ones, and spoil the order. A share s of the bias is used, as if
:math:`\lambda \cdot \text{prior}` more ratings had been of the expected bias. That is 0 or, after
p preferences alone, the bias at which the compared items keep their mean: with r the sum of
:math:`D K_{\cdot j}` over the compared items j, divided by n + 2 p, it is :math:`-r'c`. Preferences
say nothing of the bias, but raise the taste of all items like the compared ones. User biases have a
variance :math:`\tau^2 v` that is learned, not assumed by this shrinkage. So with
:math:`k_i = D K_{\cdot i}` the error of a new rating of item i has the variance

.. math::

    \tau^2 \left(K_{ii} - k_i' A^{-1} k_i + (s - u'k_i)^2 / w + (1 - s)^2 v + \lambda\right):

what the taste leaves open, the error of b, the share of the bias that is not used, and the noise.

Costs for n rows and N items: :math:`n^3/3` for the factor, 2 n N for all scores, :math:`n^2` for
the variance of one item. Nothing is kept from one rating to the next: a bordered factor would save
the :math:`n^3/3`, but need :math:`n^2` numbers for every live person.

References
----------
C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006: 2.7 for the
bias, 3.5-3.6 for the preference, 5.4.2 for what is left out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import log_ndtr

from rankwise.recommend.baseline import Matrix, Vector
from rankwise.recommend.taste import Index, Taste

# Past so many deviations a preference is as good as certain, or as good as impossible.
_FAR = 4.0
# Variances are computed for so many items at a time: on large tables all would take much memory.
_ITEMS = 4_096
# A person's own errors count as so many ratings of an ordinary person at first.
_ORDINARY = 10.0


@dataclass(frozen=True)
class Evidence:
    """The ratings and preferences of one person. The arrays are never written to.

    Attributes
    ----------
    items : ndarray of shape (n,)
        The rated items, each once.
    ratings : ndarray of shape (n,)
        Their ratings.
    pairs : ndarray of shape (p, 2)
        Items preferred, and those that they are preferred to.
    """

    items: NDArray[np.int64]
    ratings: Vector
    pairs: NDArray[np.int64]

    @classmethod
    def of(cls, items: Index, ratings: Vector, pairs: Index | None = None) -> "Evidence":
        """Make a record of any integers and numbers."""
        listed = np.zeros((0, 2), np.int64) if pairs is None else np.array(pairs, np.int64)
        return cls(np.array(items, np.int64), np.array(ratings, np.float64), listed.reshape(-1, 2))


def preferences(
    differences: Vector, variances: Vector, noise: float, spread: float
) -> tuple[Vector, Vector]:
    r"""Return target and noise of the rows that preferences are.

    "i is better than j" says that a rating of i would be above one of j, and not by how much.
    Before anything else is known, the difference of the two scores is normal with variance
    :math:`\tau^2 p` and that of the two ratings with variance :math:`s^2 = \tau^2 (p + 2 \lambda)`,
    both with mean :math:`\mu = m_i - m_j`. That the second is positive gives the first another mean
    and variance, those of a probit model. The row that leads to the same two from the same start,
    with :math:`z = \mu / s`, :math:`h = \phi(z) / \Phi(z)` and :math:`q = h (h + z)`, has

    .. math::

        t = s / (h + z), \qquad \text{noise} = (p + 2 \lambda) / q - p .

    So a preference against the mean order moves the scores most, and one that all would have
    guessed hardly. Target and noise depend on the two items only: what was said first doesn't
    matter. z is cut at 4 deviations.

    Parameters
    ----------
    differences : ndarray of shape (p,)
        Means of the preferred items less those of the others.
    variances : ndarray of shape (p,)
        Variances of the differences under the kernel.
    noise, spread : float
        Those of `Taste`.
    """
    total = variances + 2.0 * noise
    s = np.sqrt(spread * total)
    z = np.clip(differences / s, -_FAR, _FAR)
    h = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z))
    return s / (h + z), total / (h * (h + z)) - variances


@dataclass(frozen=True)
class Fold:
    """One user, solved. Rows are the ratings, then preferences, then pseudo-items.

    Attributes
    ----------
    taste : Taste
        What is known of the items.
    evidence : Evidence
        What the person said.
    index : ndarray
        The rated items, the preferred ones, those that they are preferred to, the pseudo-items.
    factor : ndarray of shape (n, n)
        Cholesky's upper factor of A; below the diagonal it has other numbers.
    target : ndarray of shape (n,)
        The targets t.
    coefficients : ndarray of shape (n,)
        The coefficients c.
    unit : ndarray of shape (n,)
        The solution u.
    weight : float
        The weight w of the user bias.
    bias : float
        The user bias b, 0 without ratings.
    center : ndarray of shape (n,)
        The sum r of the kernel between the rows and the compared items, over n + 2 p.
    """

    taste: Taste
    evidence: Evidence
    index: Index
    factor: Matrix
    target: Vector
    coefficients: Vector
    unit: Vector
    weight: float
    bias: float
    center: Vector

    @property
    def share(self) -> float:
        """The share s of the user bias that is used."""
        return self.taste.bias_share(len(self.evidence.items))

    @property
    def offset(self) -> float:
        """The constant that is added to the scores of all items."""
        base = -float(self.center @ self.coefficients)
        return self.share * self.bias + (1.0 - self.share) * base

    def scores(self, items: Index | None = None) -> Vector:
        """Return the ratings to expect for some items, or for all."""
        return self.taste.to_ratings(self.standard_scores(items))

    def standard_scores(self, items: Index | None = None) -> Vector:
        """Return the scores of some items, or of all, in standard units."""
        taste, c = self.taste, self.coefficients
        if items is not None:
            return taste.means[items] + self.offset + c @ self.cross(items)
        n, p = len(self.evidence.items), len(self.evidence.pairs)
        if p:
            c = np.concatenate([c[: n + p], -c[n : n + p], c[n + p :]])
        return taste.means + self.offset + taste.kernel.combine(self.index, c)[: len(taste.means)]

    def cross(self, items: Index) -> Matrix:
        """Return the kernel between the rows and some items, of shape (n, len(items))."""
        return _differences(self.taste.kernel.between(self.index, items), self.evidence)

    def weights(self, items: Index) -> Matrix:
        """Return W with ``standard_scores = means + W @ target``, of shape (len(items), n).

        The weights of the ratings add to the share of the bias that is used, for each item.
        """
        cross = self.cross(items) - (1.0 - self.share) * self.center[:, None]
        found: Matrix = _solve(self.factor, cross).T
        if self.weight > 0:
            found = found + np.outer(self.share - self.unit @ cross, self.unit / self.weight)
        return found

    def covariances(self, left: Index, right: Index) -> Matrix:
        """Return the posterior covariances of the scores of items, over tau^2, without noise.

        A bias that nothing is known about is left out: it would make all of them infinite.
        """
        near, far = self.cross(left), self.cross(right)
        halves = [
            lapack.dtrtrs(self.factor, part, lower=1)[0] if len(part) else part
            for part in (near, far)
        ]
        found = self.taste.kernel.between(left, right) - halves[0].T @ halves[1]
        weight = self.weight + self.taste.prior
        if weight > 0:
            found += np.outer(1.0 - self.unit @ near, 1.0 - self.unit @ far) / weight
        return found

    def variances(self, items: Index) -> Vector:
        """Return the variances of new ratings of items, over tau^2, noise included."""
        parts = [self._variances(items[k : k + _ITEMS]) for k in range(0, len(items), _ITEMS)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _variances(self, items: Index) -> Vector:
        cross = self.cross(items)
        half = lapack.dtrtrs(self.factor, cross, lower=1)[0] if len(cross) else cross
        found = self.taste.kernel.diagonal[items] - np.einsum("ij,ij->j", half, half)
        if self.weight > 0:
            found += np.square(self.share - self.unit @ cross) / self.weight
        unused = self.taste.unused_bias_variance(len(self.evidence.items))
        return found + unused + self.taste.noise

    def left_out(self) -> tuple[Vector, Vector]:
        r"""Return the error at each rating if it had not been given, and its variance over tau^2.

        With :math:`G = A^{-1} - u u' / w` the error under a free bias is
        :math:`e_i = (G t)_i / G_{ii}`. The solution without a rating is that for a target which is
        :math:`e_i` lower, so its bias is :math:`u'(t - e_i \delta_i) / w`, of which another share
        is used. Without the rating the pseudo-items have other targets, too, which enter both. With
        :math:`B = A^{-1}` the variance is that of an item for which :math:`K_{ii} - k'A^{-1}k +
        \lambda` is :math:`1 / B_{ii}`, :math:`u'k` is :math:`1 - u_i / B_{ii}` and w is
        :math:`w - u_i^2 / B_{ii}`. So this is what forgetting the item and asking for it would
        give, for :math:`2 n^3 / 3` in all.

        Two ratings are needed, or one and a prior.
        """
        taste, items = self.taste, self.evidence.items
        n = len(items)
        if n == 1:  # no bias is left
            rest = fold_in(taste, Evidence(items[:0], np.zeros(0), self.evidence.pairs))
            errors = self.target[:1] + taste.means[items] - rest.standard_scores(items)
            return errors, rest.variances(items)
        inverse = lapack.dpotri(self.factor, lower=1)[0]
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        diagonal = np.diagonal(inverse)[:n]
        unit = self.unit[:n]
        share, ratio = taste.bias_share(n - 1), unit / diagonal
        variances = (share - 1.0 + ratio) ** 2 / (self.weight - unit * ratio)
        variances += 1.0 / diagonal + taste.unused_bias_variance(n - 1)
        inverse -= np.outer(self.unit, self.unit) / self.weight
        pseudo = slice(len(inverse) - taste.places.shape[1], len(inverse))
        total = taste.places[items].sum(axis=0)
        moved = (total - taste.places[items]) / np.sqrt(n - 1) - taste.pseudo_ratings(items)
        product = (inverse @ self.target)[:n]
        product += np.einsum("ik,ik->i", inverse[:n, pseudo], moved)
        errors = product / np.diagonal(inverse)[:n]
        biases = self.bias + (moved @ self.unit[pseudo] - unit * errors) / self.weight
        entries = n + self.evidence.pairs.size
        center = self.center * (entries / (entries - 1))
        along = inverse @ center
        biases += center @ self.coefficients + moved @ along[pseudo] - errors * along[:n]
        return errors + (1.0 - share) * biases, variances

    def error_ratio(self) -> float:
        """Return this person's squared errors over those that the variances promise.

        The mean over the ratings, each left out, with ten ratings of an ordinary person added,
        whose ratio is 1.
        """
        if len(self.evidence.items) + (self.taste.prior > 0) < 2:
            return 1.0  # nothing would be left to predict the bias from
        errors, variances = self.left_out()
        found = float(np.sum(errors * errors / variances))
        found /= self.taste.spread * self.taste.echo * self.taste.calibrate(len(errors) - 1)
        return (found + _ORDINARY) / (len(errors) + _ORDINARY)

    def deviations(self, items: Index) -> Vector:
        """Return the standard deviations of new ratings of items."""
        taste, n = self.taste, len(self.evidence.items)
        factor = taste.spread * taste.calibrate(n) * self.error_ratio()
        return taste.unit * np.sqrt(factor * self.variances(items))


def fold_in(taste: Taste, evidence: Evidence) -> Fold:
    """Solve for one person.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite.
    """
    n, pairs = len(evidence.items), evidence.pairs
    index = np.concatenate([evidence.items, *pairs.T, taste.pseudo_items])
    block = taste.kernel.between(index, index).astype(np.float64, copy=False)
    noise = np.full(len(block) - len(pairs), taste.noise)
    target = np.zeros_like(noise)
    target[:n] = taste.to_standard(evidence.ratings) - taste.means[evidence.items]
    target[len(target) - len(taste.pseudo_items) :] = taste.pseudo_ratings(evidence.items)
    if len(pairs):
        half = _differences(block, evidence)
        block = np.ascontiguousarray(_differences(half.T, evidence))
        rows = slice(n, n + len(pairs))
        means = taste.means[pairs]
        target[rows], noise[rows] = preferences(
            means[:, 0] - means[:, 1], np.diagonal(block)[rows], taste.noise, taste.spread
        )
    np.einsum("ii->i", block)[:] += noise
    both = np.zeros((len(block), 2), order="F")
    both[:, 0], both[:n, 1] = target, 1.0
    if not len(block):
        return Fold(taste, evidence, index, block, target, target, target, 0.0, 0.0, target)
    factor, failed = lapack.dpotrf(block.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise ValueError("taste.kernel is not positive semi-definite: fit the model again")
    both = lapack.dpotrs(factor, both, lower=1)[0]
    unit = both[:, 1]
    weight = float(unit[:n].sum())
    bias = float(both[:n, 0].sum()) / weight if n else 0.0
    center = np.zeros(len(target))
    if len(pairs):
        cross = _differences(taste.kernel.between(index, pairs.ravel()), evidence)
        center = cross.sum(axis=1) / (n + pairs.size)
    coefficients = both[:, 0] - bias * unit
    return Fold(taste, evidence, index, factor, target, coefficients, unit, weight, bias, center)


def _differences(block: Matrix, evidence: Evidence) -> Matrix:
    """Return a block whose rows are items with rows of evidence instead."""
    n, p = len(evidence.items), len(evidence.pairs)
    if not p:
        return block
    better, worse = block[n : n + p], block[n + p : n + 2 * p]
    return np.concatenate([block[:n], better - worse, block[n + 2 * p :]])


def _solve(factor: Matrix, right: Matrix) -> Matrix:
    return lapack.dpotrs(factor, right, lower=1)[0] if len(right) else right


# Questions are about the best known items, and judged by what they tell about more of them. On
# large tables all pairs would be too many.
_QUESTIONS = 200
_JUDGED = 1_000


def best_questions(fold: Fold, pool: NDArray[np.int64], known: Vector, n: int) -> NDArray[np.int64]:
    """Return up to n items to ask about, the best first.

    Each takes into account that those before it will have been answered.

    Parameters
    ----------
    fold : Fold
        The person.
    pool : ndarray of shape (m,)
        Items that may be asked about, none of them rated.
    known : ndarray of shape (m,)
        The chance that a person knows each.
    n : int
        How many to return, at most.
    """
    order = np.argsort(-known, kind="stable")[: max(_JUDGED, n)]
    pool, known = pool[order], known[order]
    m = min(len(pool), max(_QUESTIONS, n))
    share = known / known.sum() if known.any() else np.full(len(known), 1.0 / max(len(known), 1))
    C = fold.covariances(pool[:m], pool)
    left = np.ones(m, bool)
    chosen: list[int] = []
    for _ in range(min(n, m)):
        total = C.diagonal() + fold.taste.noise
        gain = known[:m] * ((C * C) @ share - np.square(C @ share)) / total
        i = int(np.argmax(np.where(left, gain, -np.inf)))
        left[i] = False
        chosen.append(i)
        if len(chosen) < n:  # the next one is asked when this one is answered
            C -= np.outer(C[:, i], C[i] / total[i])
    return pool[chosen] if chosen else pool[:0]
