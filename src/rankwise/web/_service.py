"""Resources that answers need, opened once by each process; the fitted taste is in shared files."""

import hashlib
import json
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np

from rankwise import __version__
from rankwise.recommend import RatingTable, TasteModel
from rankwise.recommend.person import Catalogue
from rankwise.recommend.taste import DenseKernel, FactorKernel, Taste
from rankwise.web._guard import Visitors, load_key
from rankwise.web._items import Items, load_items
from rankwise.web._people import People
from rankwise.web._settings import Settings
from rankwise.web._store import Store


@dataclass(frozen=True)
class Service:
    """Items, people, the database and the cookies."""

    items: Items
    people: People
    store: Store
    visitors: Visitors

    @classmethod
    def open(cls, settings: Settings, *, verbose: bool = False) -> Self:
        """Read the data, learn from it or load what was learned, and migrate the database.

        Raises
        ------
        ValueError
            If the data, the database or the key can't be used.
        """
        store = Store(settings)
        try:
            items = load_items(settings.data, settings.items)
            store.migrate()
            store.tidy()
            beside = store.path and store.path.with_name(f"{store.path.name}.key")
            visitors = Visitors(load_key(beside or settings.home / "secret.key"))
            taste = learned_taste(items.table, settings.home / "models", verbose=verbose)
        except BaseException:
            store.close()
            raise
        catalogue = Catalogue.of(items.table, taste, None)
        return cls(items, People(store, items, catalogue, settings.cached_people), store, visitors)


def learned_taste(table: RatingTable, folder: Path, *, verbose: bool = False) -> Taste:
    """Return the taste of a table, from files if it was learned before.

    The kernel is mapped, not read: workers share one copy of it in memory. Files are complete or
    absent: they are written to a folder of another name, which is then renamed.

    Parameters
    ----------
    table : RatingTable
        The ratings.
    folder : Path
        Where models are kept, one folder each, named after the ratings and this version.
    verbose : bool, default=False
        Whether to say on standard error what is being learned.
    """
    place = folder / _digest(table)
    if not (place / "taste.json").is_file():
        model = TasteModel(n_jobs=-1, verbose=verbose).fit(table)
        taste: Taste | None = model.taste_
        if taste is None:
            raise ValueError("the table has no ratings to learn from")
        _write(taste, place)
    return _read(place)


def _digest(table: RatingTable) -> str:
    found = hashlib.sha256(f"2 {__version__} {table.scale} {table.items.tolist()}".encode())
    matrix = table.matrix
    for array in (matrix.indptr, matrix.indices, matrix.data):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:32]


def _write(taste: Taste, place: Path) -> None:
    values = {f.name: getattr(part, f.name) for part in (taste, taste.kernel) for f in fields(part)}
    del values["kernel"]
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent, prefix=".new-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for key in [key for key, value in values.items() if isinstance(value, np.ndarray)]:
            np.save(folder / f"{key}.npy", values.pop(key), allow_pickle=False)
        (folder / "taste.json").write_text(json.dumps(values), "utf-8")
        try:
            folder.rename(place)
        except OSError:
            if not (place / "taste.json").is_file():  # if it is, another process was quicker
                raise


def _read(place: Path) -> Taste:
    array = {path.stem: np.load(path, "r", allow_pickle=False) for path in place.glob("*.npy")}
    array = {name: np.asarray(mapped) for name, mapped in array.items()}
    means, places = array.pop("means"), array.pop("places")
    kernel = DenseKernel(**array) if "matrix" in array else FactorKernel(**array)
    numbers = json.loads((place / "taste.json").read_text("utf-8"))
    return Taste(means=np.array(means), kernel=kernel, places=np.array(places), **numbers)
