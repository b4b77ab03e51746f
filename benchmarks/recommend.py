"""Ratings of films: error, misranking and what is taken next, with Surprise and EASE beside.

MovieLens-1M and 100K are read from the folder that RANKWISE_DATA names, as
``ml-1m/ratings.dat`` and ``ml-100k/u.data``; the embedded films need ``rankwise[data]``.

Surprise is an optional peer, ``pip install scikit-surprise``; version 1.1.5 loads beside NumPy 2.

Each entrant has a process of its own, so that its memory is known: the peak while it learns and
predicts, less what the process had with the data loaded. Threads are as many as OMP_NUM_THREADS
says, else one. "of cores" are the seconds that all cores together were busy with the fit, whatever
else the machine was doing. Splits are
``RatingTable.split(random_state=seed)``, or the test sets u1 to u5 of MovieLens-100K.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.harness import load
from benchmarks.report import append, console, describe
from rankwise.datasets import load_movies, read_movielens
from rankwise.magnitude import MPRank
from rankwise.metrics import pairwise_misranking_loss
from rankwise.recommend import RatingTable, fit_many
from rankwise.recommend._choice import learn as learn_choices
from rankwise.recommend._choice import weigh_by_rating

Array = NDArray[Any]
# Scores of all items for one person, by the row of the table; or of pairs of rows and columns.
Serve = Callable[[int], Array]
Predict = Callable[[Array, Array], Array]

# Found by --tune; see there.
TUNED = {"n_factors": 100, "n_epochs": 50, "lr_all": 0.005, "reg_all": 0.06}
TOP, LIKED = 10, 4.0
# People that what is taken next is judged on, evenly spaced: all items are scored for each.
JUDGED = 1_000


class Fitted(NamedTuple):
    """What an entrant has learned: ratings of pairs, or scores of all items for a person."""

    predict: Predict | None
    serve: Serve | None


Learn = Callable[[RatingTable, int], Fitted]


def biases(train: RatingTable, _threads: int) -> Fitted:
    """Mean, person and item by ten turns of shrunk means."""
    m = train.matrix.tocoo()
    mean = m.data.mean()
    of_user, of_item = np.zeros(train.n_users), np.zeros(train.n_items)
    n_user = np.bincount(m.row, minlength=train.n_users) + 5.0
    n_item = np.bincount(m.col, minlength=train.n_items) + 5.0
    for _ in range(10):
        rest = m.data - mean - of_item[m.col]
        of_user = np.bincount(m.row, rest, train.n_users) / n_user
        rest = m.data - mean - of_user[m.row]
        of_item = np.bincount(m.col, rest, train.n_items) / n_item
    return Fitted(lambda u, i: mean + of_user[u] + of_item[i], lambda _: of_item)


def taste(train: RatingTable, threads: int) -> Fitted:
    """TasteModel as it comes; what is taken next is its prediction of all items."""
    predict = rate(train, threads)
    return Fitted(predict, lambda u: predict(np.full(train.n_items, u), np.arange(train.n_items)))


def rate(train: RatingTable, threads: int) -> Predict:
    """Return the predictions of a TasteModel."""
    model = load("rankwise.recommend.TasteModel")(n_jobs=threads).fit(train)
    return lambda rows, columns: model.predict(train.users[rows], train.items[columns])


def choice(train: RatingTable, _threads: int) -> Fitted:
    """The choice model, its penalty chosen by itself."""
    return Fitted(None, choose(train))


def choose(train: RatingTable) -> Serve:
    """Return the scores of a choice model."""
    model = learn_choices(train.matrix)
    return lambda u: model.scores(own(train, u))


def choice_and_taste(train: RatingTable, threads: int) -> Fitted:
    """The choice model, weighed by the ratings that TasteModel predicts."""
    chosen, rated = choose(train), rate(train, threads)
    spread = train.matrix.data.std()
    items = np.arange(train.n_items)

    def serve(u: int) -> Array:
        return weigh_by_rating(chosen(u), rated(np.full(len(items), u), items) / spread)

    return Fitted(None, serve)


def raters(train: RatingTable, threads: int) -> Fitted:
    """The papers' features: MPRank for each person, on the ratings of 300 others."""
    options: dict[str, Any] = {"raters": 300, "missing": "zero", "center": "scale"}
    models = dict(fit_many(train, MPRank(C=0.1), n_jobs=threads, **options))
    level = train.matrix.data.mean()

    def predict(rows: Array, columns: Array) -> Array:
        guess = np.full(len(rows), level)
        order = np.argsort(rows, kind="stable")
        for these in np.split(order, np.flatnonzero(np.diff(rows[order])) + 1):
            user = train.users[rows[these[0]]]
            if user in models:
                X, _ = train.features_for(user, train.items[columns[these]], **options)
                guess[these] = models[user].predict(X)
        return guess

    return Fitted(predict, None)


def popularity(train: RatingTable, _threads: int) -> Fitted:
    """How many took an item."""
    taken = np.bincount(train.matrix.indices, minlength=train.n_items)
    return Fitted(None, lambda _: taken)


def ease(train: RatingTable, _threads: int) -> Fitted:
    """EASE with one weight for all people, penalty 500."""
    taken = train.matrix.copy()
    taken.data = np.ones(len(taken.data))
    together = (taken.T @ taken).toarray()
    together.flat[:: train.n_items + 1] += 500.0
    P = np.linalg.inv(together)
    B = -P / P.diagonal()
    np.fill_diagonal(B, 0.0)
    return Fitted(None, lambda u: B[own(train, u)].sum(axis=0))


def surprise(path: str, **parameters: Any) -> Learn:
    """An algorithm of Surprise."""

    def learn(train: RatingTable, _threads: int) -> Fitted:
        make, dataset = load(path), load("surprise.Dataset")
        frame = load("pandas.DataFrame")
        m = train.matrix.tocoo()
        columns = {"user": m.row, "item": m.col, "rating": m.data}
        reader = load("surprise.Reader")(rating_scale=train.scale)
        known = dataset.load_from_df(frame(columns), reader).build_full_trainset()
        start, of_cores = perf_counter(), process_time()
        model = make(**parameters).fit(known)
        learn.seconds = perf_counter() - start  # type: ignore[attr-defined]
        learn.of_cores = process_time() - of_cores  # type: ignore[attr-defined]

        def predict(rows: Array, columns: Array) -> Array:
            pairs = zip(rows.tolist(), columns.tolist(), strict=True)
            return np.array([model.predict(u, i).est for u, i in pairs])

        return Fitted(predict, None)

    return learn


ITEMS = {"name": "pearson_baseline", "user_based": False}
ENTRANTS: dict[str, Learn] = {
    "biases": biases,
    "TasteModel": taste,
    "MPRank on 300 raters": raters,
    "choice": choice,
    "choice x TasteModel": choice_and_taste,
    "popularity": popularity,
    "EASE": ease,
    "Surprise BaselineOnly": surprise("surprise.BaselineOnly", verbose=False),
    "Surprise SVD": surprise("surprise.SVD", random_state=0),
    "Surprise SVD tuned": surprise("surprise.SVD", random_state=0, **TUNED),
    "Surprise KNNBaseline": surprise("surprise.KNNBaseline", sim_options=ITEMS, verbose=False),
}


def own(table: RatingTable, row: int) -> Array:
    """Return the columns that a person has rated."""
    return table.matrix.indices[table.matrix.indptr[row] : table.matrix.indptr[row + 1]]


def read(data: str) -> Any:
    """Return the ratings of a data set as a frame."""
    if data == "movies":
        return load_movies()
    folder = Path(os.environ.get("RANKWISE_DATA", ""))
    path = folder / {"1m": "ml-1m/ratings.dat", "100k": "ml-100k/u.data"}[data]
    if not path.exists():
        raise FileNotFoundError(f"{path}: set RANKWISE_DATA to the folder of the data")
    return read_movielens(path)


def split(data: str, share: float, seed: int) -> tuple[RatingTable, RatingTable]:
    """Return what is learned from and what is tested on; ``share`` 0 is test set u<seed>."""
    frame = read(data)
    table = RatingTable.from_frame(frame)
    if share:
        return table.split(share, random_state=seed)
    tested = np.zeros(len(frame), dtype=bool)
    tested[20_000 * (seed - 1) : 20_000 * seed] = True
    at = table.user_index(frame["user"]) * table.n_items + table.item_index(frame["item"])
    mask = np.zeros(table.n_ratings, dtype=bool)
    mask[np.searchsorted(np.sort(at), at[tested])] = True
    return table._entries(~mask), table._entries(mask)


def misranking(test: RatingTable, scores: Array) -> float:
    """Return the share of pairs of one person's ratings in the wrong order, ties half."""
    people = test.matrix.tocoo().row
    return pairwise_misranking_loss(test.matrix.data, scores, ties="half", qid=people)


def gain_at_top(serve: Serve, train: RatingTable, test: RatingTable) -> float:
    """Return NDCG@10 of the items rated 4 or more in the test, among all that are new to one."""
    discount = 1 / np.log2(np.arange(2, TOP + 2))
    gains = []
    step = max(1, train.n_users // JUDGED)
    for u in range(0, train.n_users, step):
        mine = slice(*test.matrix.indptr[u : u + 2].tolist())
        liked = test.matrix.indices[mine][test.matrix.data[mine] >= LIKED]
        if not len(liked):
            continue
        scores = np.array(serve(u), dtype=float)
        scores[own(train, u)] = -np.inf
        best = np.argsort(-scores, kind="stable")[:TOP]
        gains.append(discount[np.isin(best, liked)].sum() / discount[: len(liked)].sum())
    return float(np.mean(gains))


def memory(field: str) -> float:
    """Return a line of Linux's status of this process, in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1000
    raise OSError(f"/proc/self/status has no {field}: the race needs Linux")


def reset_peak() -> float:
    """Let the peak of the memory begin anew, and return what is used now."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def judge(name: str, data: str, share: float, seed: int, threads: int, what: str) -> dict[str, Any]:
    """Let one entrant learn and predict, in this process."""
    train, test = split(data, share, seed)
    ENTRANTS[name](train.people(0, 50), threads)  # compiles
    before = reset_peak()
    start, of_cores = perf_counter(), process_time()
    learn = ENTRANTS[name]
    fitted = learn(train, threads)
    found: dict[str, Any] = {
        "fit": getattr(learn, "seconds", perf_counter() - start),
        "of_cores": getattr(learn, "of_cores", process_time() - of_cores),
    }
    start = perf_counter()
    if fitted.predict is not None and what != "choice":
        m = test.matrix.tocoo()
        guess = fitted.predict(m.row, m.col).clip(*train.scale)
        found["predict"] = perf_counter() - start
        found["memory"] = memory("VmHWM") - before
        found["rmse"] = float(np.sqrt(((guess - m.data) ** 2).mean()))
        found["mae"] = float(np.abs(guess - m.data).mean())
        found["misranking"] = misranking(test, guess)
    if fitted.serve is not None and what != "rating":
        found["ndcg"] = gain_at_top(fitted.serve, train, test)
        found.setdefault("memory", memory("VmHWM") - before)
    return found


def run(name: str, *arguments: Any) -> dict[str, Any]:
    """Let one entrant run in a process of its own; what ends it is told."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply(judge, (name, *arguments))
        except ImportError as error:
            return {"note": f"absent ({error})"}
        # Whatever ends an entrant is its own: it is shown, and the race goes on.
        except Exception as error:
            return {"note": f"failed ({type(error).__name__}: {error})"}


COLUMNS = {
    "RMSE": ("rmse", ".4f"),
    "MAE": ("mae", ".4f"),
    "misranking": ("misranking", ".4f"),
    "NDCG@10": ("ndcg", ".4f"),
    "fit s": ("fit", ".1f"),
    "of cores": ("of_cores", ".1f"),
    "predict s": ("predict", ".1f"),
    "MB": ("memory", ",.0f"),
}


def show(title: str, results: dict[str, list[dict[str, Any]]]) -> None:
    """Print the means over all seeds."""
    table = Table(title=title, box=SIMPLE_HEAD, padding=0)
    table.add_column("entrant", min_width=max(map(len, results)))
    for column in COLUMNS:
        table.add_column(column, justify="right", no_wrap=True)
    for name, found in results.items():
        cells = []
        for key, form in COLUMNS.values():
            values = [each[key] for each in found if key in each]
            cells.append(format(np.mean(values), form) if values else "-")
        note = next((each["note"] for each in found if "note" in each), "")
        table.add_row(f"{name}: {note}" if note else name, *cells)
    console.print(table)


def entries(results: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return those who predict ratings as the entrants of a race, by the seconds of all cores."""
    found: list[dict[str, Any]] = [
        {
            "name": name,
            "seconds": float(np.mean([each["of_cores"] for each in splits])),
            "error": float(np.mean([each["rmse"] for each in splits])),
        }
        for name, splits in results.items()
        if all("rmse" in each for each in splits)
    ]
    known = {each["name"]: each["seconds"] for each in found}
    reference = known.get("TasteModel")
    return [{**each, "ratio": reference and each["seconds"] / reference} for each in found]


def tune(data: str) -> None:
    """Choose the settings of Surprise's SVD on a tenth of what seed 8 learns from."""
    train, _ = split(data, 0.2, 8)
    known, judged = train.split(0.1, random_state=0)
    m = judged.matrix.tocoo()
    for factors, epochs, reg in [
        (100, 20, 0.02),
        (100, 40, 0.05),
        (100, 50, 0.06),
        (200, 40, 0.06),
        (200, 60, 0.08),
        (200, 80, 0.1),
    ]:
        settings = {"n_factors": factors, "n_epochs": epochs, "reg_all": reg, "lr_all": 0.005}
        fitted = surprise("surprise.SVD", random_state=0, **settings)(known, 1)
        predict = fitted.predict or np.add
        error = np.sqrt(((predict(m.row, m.col) - m.data) ** 2).mean())
        console.print(f"{settings}: RMSE {error:.4f}")


def main(arguments: Sequence[str]) -> int:
    """Run the entrants on every split and print the means; return 0 if none failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks recommend", description=__doc__)
    parser.add_argument("--data", choices=["1m", "100k", "movies"], default="1m")
    parser.add_argument("--share", type=float, default=0.2, help="tested; 0: u1 to u5 of 100k")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--what", choices=["rating", "choice", "both"], default="both")
    parser.add_argument("--entrants", nargs="+", choices=list(ENTRANTS), default=list(ENTRANTS))
    parser.add_argument("--tune", action="store_true", help="choose the settings of Surprise's SVD")
    options = parser.parse_args(arguments)
    if options.tune:
        tune(options.data)
        return 0
    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in options.entrants}
    for seed in options.seeds:
        for name in options.entrants:
            found = run(name, options.data, options.share, seed, threads, options.what)
            results[name].append(found)
            shown = {k: v if k == "note" else round(v, 4) for k, v in found.items()}
            console.print(f"{options.data} seed {seed} {name}: {shown}", style="dim")
    title = f"{options.data}, {options.share:g} tested, mean of seeds {options.seeds}"
    show(title, results)
    sizes = {"data": options.data, "share": options.share, "seeds": options.seeds}
    about = {"measure": "RMSE", "ours": ["TasteModel", "MPRank on 300 raters"]}
    record = {**about, "sizes": sizes, "entrants": entries(results), "splits": results}
    append(
        f"recommend_{options.data}", {"kind": "race", **describe(None, "scikit-surprise"), **record}
    )
    notes = [each.get("note", "") for found in results.values() for each in found]
    return 1 if any(note.startswith("failed") for note in notes) else 0
