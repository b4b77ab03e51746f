"""A look at an installed rankwise, without pytest: ``python tests/release/smoke.py README.md ...``.

Runs the examples of the pages that are named, in a scratch folder, learns with a model of each kind
of evidence, and saves and loads it. Needs the package alone, no clone, and no extra but what the
pages use. Ends with status 1 if anything is wrong.
"""

import contextlib
import doctest
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np


def run_pages(paths):
    """Run the examples of some pages; return how many there were."""
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    count = 0
    for path in paths:
        failed, tried = doctest.testfile(
            str(path), module_relative=False, optionflags=flags, encoding="utf-8"
        )
        if failed or not tried:
            sys.exit(f"{path}: {failed} of {tried} examples failed")
        count += tried
    return count


def learn():
    """Learn with a model of each kind, save and load it; return their names."""
    import rankwise
    from rankwise.aggregation import kemeny
    from rankwise.boosting import RankBoost
    from rankwise.contests import BradleyTerry
    from rankwise.magnitude import MPRank
    from rankwise.metrics import ndcg_score
    from rankwise.ordinal import PRank
    from rankwise.pairwise import RankSVM
    from rankwise.preference import quicksort

    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    grade = np.digitize(X @ [2.0, -1.0, 0.5], [-2.0, 0.0, 2.0])
    models = [PRank(), PRank(kernel="rbf"), MPRank(), RankSVM(), RankBoost(20)]
    models.append(RankBoost(20, max_leaf_nodes=7, learning_rate=0.3))
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            model.fit(X[:200], grade[:200])
            guesses = model.predict(X[200:])
            if ndcg_score(grade[200:], guesses) < 0.9:
                sys.exit(f"{model} has not learned")
            path = Path(folder) / "model.rankwise"
            rankwise.save(model, path)
            if not np.array_equal(rankwise.load(path).predict(X[200:]), guesses):
                sys.exit(f"{model} predicts otherwise once it is saved and loaded")
    if kemeny([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]]).order != ["a", "b", "c"]:
        sys.exit("kemeny has found another order")
    if quicksort(range(50), lambda u, v: float(u > v)).order != list(range(49, -1, -1)):
        sys.exit("quicksort has found another order")
    contests = BradleyTerry().fit(list("aababc"), list("bbcccb"), [1, 0, 1, 1, 0, 0.5])
    if sorted(contests.ranking().order) != ["a", "b", "c"]:
        sys.exit("BradleyTerry has lost somebody")
    return [type(model).__name__ for model in models]


def main():
    warnings.simplefilter("error")
    import rankwise

    paths = [Path(path).resolve() for path in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        examples = run_pages(paths)
    models = learn()
    if "pytest" in sys.modules:
        sys.exit("pytest was imported: an installed package must not need it")
    print(f"rankwise {rankwise.__version__}: {examples} examples, {len(models)} models learned")


if __name__ == "__main__":
    main()
