"""Tables 1 and 2 of paper 4 on people's ratings, with the constant that they don't show.

C. Cortes, M. Mohri and A. Rastogi, An alternative ranking problem for search engines, WEA 2007,
section 4. MovieLens, Jester and Book-Crossing are the paper's; Netflix's ratings are withdrawn, and
MovieLens stands in for them with the same three densities, beside the paper's own groups for those
who have the ratings.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments._data import Films, absent, films, find, named_films, withdrawn
from experiments._ratings_ablation import by_rounds, rounds_table
from experiments._ratings_report import (
    Found,
    about_table,
    against_constant,
    against_ridge,
    by_c,
    draw,
    errors_table,
    findings,
    rows,
    settings_table,
)
from experiments._reviewers import (
    FOLDS,
    GROUPS,
    METHODS,
    choose,
    parts_of,
    people_of,
    repeat,
)
from experiments._runs import run_all
from experiments._trials import check_sizes
from rankwise.datasets import read_book_crossing, read_jester, read_netflix
from rankwise.recommend import RatingTable
from rankwise.reports import Report, Track

_BOOKS_OF_A_USER = 200


class Source(NamedTuple):
    """A table of ratings, or why there is none, and the groups that are drawn from it."""

    name: str
    table: RatingTable | None
    groups: list[str]
    why: str = ""


def ratings(
    *,
    n_repetitions: int = 2,
    n_reviewers: int = 10,
    n_held_out: int = 4,
    n_references: int = 300,
    data: Films | None = None,
    seed: int = 0,
    track: Track[int] = iter,
    jobs: int = 1,
    keep: Path | None = None,
) -> Report:
    """Predict people's ratings from those of others, as paper 4 does.

    Parameters
    ----------
    n_repetitions, n_reviewers : int
        Sets of people that are tested, and people in each; fewer where the data has fewer.
    n_held_out : int, default=4
        People on whom kernel width, C and rounds are chosen; they are in no set.
    n_references : int, default=300
        People whose ratings are the features of one reviewer's films.
    data : Films, default=None
        A name and a table of ratings in the place of MovieLens 1M.
    seed : int, default=0
        Draws people, references and halves.
    track, jobs, keep
        As in `run_all`: progress, processes, and the folder of finished trials.
    """
    check_sizes(n_repetitions=n_repetitions, n_reviewers=n_reviewers, n_held_out=n_held_out,
                n_references=n_references)  # fmt: skip
    sizes = {"n_repetitions": n_repetitions, "n_reviewers": n_reviewers, "n_held_out": n_held_out,
             "n_references": n_references, "seed": seed}  # fmt: skip
    about: list[list[str]] = []
    found: dict[str, Found] = {}
    missing: dict[str, str] = {}
    run = {"keep": keep, "jobs": jobs, "track": track}
    for source in sources(data):
        found |= _run_source(source, sizes, run, about)
        why = "data absent" if source.table is None else "too few people"
        missing |= {name: why for name in source.groups if name not in found}
    tables = [
        about_table(about), errors_table(found, missing), against_constant(found),
        against_ridge(found), settings_table(found), by_c(found),
        rounds_table({group: of.by_rounds for group, of in found.items()}),
    ]  # fmt: skip
    return Report(
        title="People's ratings from those of others",
        setting=(
            f"{n_repetitions} sets of up to {n_reviewers} reviewers, half of each one's ratings "
            f"to learn from; up to {n_references} reference reviewers; settings chosen on "
            f"{n_held_out} other reviewers, each method by its own cost; seed {seed}"
        ),
        tables=tables,
        findings=findings(found),
        figures={"ratings": draw(found)} if found else {},
        results=rows(found),
    )


def sources(data: Films | None = None) -> list[Source]:
    """Return the tables that are on this machine, and a word for those that are not."""
    films_ = data or films()
    netflix = [f"Netflix {density} %" for density in (32, 46, 58)]
    of_films = [n for n in GROUPS if n.startswith(("MovieLens", "Netflix")) and n not in netflix]
    jester = [name for name in GROUPS if name.startswith("Jester")]
    found = [Source(films_.name, films_.table, of_films)]
    jokes = {part: path for part in (1, 2, 3) if (path := find(f"jester-{part}"))}
    if jokes:
        named = ", ".join(map(str, jokes))
        found.append(Source(f"Jester, part {named}", _jokes(list(jokes.values())), jester))
    else:
        found.append(Source("Jester", None, jester, absent("jester-1")))
    path = find("book-crossing")
    books = None if path is None else _books(path)
    why = (
        f"nobody in {path} has rated {_BOOKS_OF_A_USER} books" if path else absent("book-crossing")
    )
    return [*found, Source("Book-Crossing", books, ["Books"], why), _netflix(netflix)]


def _netflix(groups: list[str]) -> Source:
    """Return the ratings of Netflix if they are there: its own files, or user, item, rating."""
    native = withdrawn("netflix/combined_data_*.txt", "netflix/mv_*.txt")
    if native is not None:
        return Source("Netflix", RatingTable.from_frame(read_netflix(native.parent)), groups)
    path = withdrawn("netflix/ratings.*", "netflix.csv*")
    if path is None:
        how = (
            "put mv_*.txt or combined_data_*.txt, or ratings.csv (user, item, rating), into the "
            "folder netflix of --data FOLDER"
        )
        return Source("Netflix", None, groups, f"the ratings of Netflix are absent: {how}")
    return Source("Netflix", named_films(path).table, groups)


def _jokes(paths: list[Path]) -> RatingTable:
    """Return the ratings of all parts; their people are others, though each counts them from 1."""
    users, items, rated, before = [], [], [], 0
    for path in paths:
        frame = read_jester(path)
        users.append(before + frame["user"].to_numpy())
        items.append(frame["item"].to_numpy())
        rated.append(frame["rating"].to_numpy())
        before += frame.attrs["n_users"]
    return RatingTable.from_arrays(*map(np.concatenate, (users, items, rated)))


def _books(path: Path) -> RatingTable | None:
    """Return the explicit ratings of those who have rated at least 200 books."""
    frame = read_book_crossing(path)
    frame = frame[~frame["implicit"]]
    counts = frame.groupby("user")["item"].transform("nunique")
    frame = frame[counts >= _BOOKS_OF_A_USER]
    if frame.empty:
        return None
    columns = (frame[name].to_numpy() for name in ("user", "item", "rating"))
    return RatingTable.from_arrays(*columns, duplicates="last")


def _run_source(
    source: Source, sizes: dict[str, int], run: dict[str, Any], about: list[list[str]]
) -> dict[str, Found]:
    """Choose settings, then test them; tell who is in each group."""
    if source.table is None:
        about += [[name, source.why, *["-"] * 4] for name in source.groups]
        return {}
    settings: list[dict[str, Any]] = []
    for name in source.groups:
        group = [{**sizes, "group": name}]
        if name == "Books":
            group = [{**group[0], "n_repetitions": 1, "fold": fold} for fold in range(FOLDS)]
        row, enough = _about(source.table, source.name, group)
        about.append(row)
        settings += group if enough else []
    shared = (source.table,)
    chosen = run_all(choose, settings, shared=shared, **run)
    moved = run_all(by_rounds, settings, shared=shared, **run)
    trials = [
        {**setting, "repetition": number, "chosen": _best(best)}
        for setting, best in zip(settings, chosen, strict=True)
        for number in range(setting["n_repetitions"])
    ]
    results = run_all(repeat, trials, shared=shared, **run)
    found = {}
    for group in dict.fromkeys(setting["group"] for setting in settings):
        mine = [
            result["errors"]
            for trial, result in zip(trials, results, strict=True)
            if trial["group"] == group
        ]
        if group == "Books":
            mine = [{name: [row for fold in mine for row in fold[name]] for name in mine[0]}]
        errors = {name: np.array([trial[name] for trial in mine], dtype=float) for name in mine[0]}
        of_group = [k for k, setting in enumerate(settings) if setting["group"] == group]
        found[group] = Found(
            _over_folds([chosen[k] for k in of_group]),
            errors,
            {name: np.mean([moved[k][name] for k in of_group], axis=0) for name in moved[0]},
        )
    return found


def _over_folds(chosen: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what was chosen by the mean error over the folds, one but for Books."""
    merged: dict[str, Any] = {"scale": float(np.mean([fold["scale"] for fold in chosen]))}
    for name, method in METHODS.items():
        errors = np.mean([fold[name]["errors"] for fold in chosen], axis=0)
        merged[name] = {"best": method.grid[int(errors.argmin())], "errors": errors}
    return merged


def _best(chosen: dict[str, Any]) -> dict[str, Any]:
    return {"scale": chosen["scale"], **{name: chosen[name]["best"] for name in METHODS}}


def _about(
    table: RatingTable, source: str, settings: list[dict[str, Any]]
) -> tuple[list[str], bool]:
    """Return the row of a group, and whether it has enough people; settings are its folds."""
    name, setting = settings[0]["group"], settings[0]
    people = people_of(table, GROUPS[name])
    folds = [parts_of(one, people) for one in settings]
    n_references, n_each = len(people.references), sum(len(sets[1]) for sets in folds)
    # both people to choose with and people to test, in each fold
    if n_references < 2 or not all(len(part) for sets in folds for part in sets[:2]):
        n_each = 0
    n_items = np.count_nonzero(np.bincount(people.table.matrix.indices))
    density = people.table.matrix[people.references].nnz / max(n_references * n_items, 1)
    thin = n_each < setting["n_reviewers"] or n_references <= setting["n_references"]
    enough = "too few people: left out" if not n_each else "thin" if thin else "yes"
    tested = f"{setting['n_repetitions']} x {n_each}"
    return [name, source, f"{n_references:,}", f"{density:.0%}", tested, enough], n_each > 0
