"""All that answers need, opened once by each process."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rankwise.recommend.catalogue import Catalogue
from rankwise.web._cookies import load_key
from rankwise.web._items import Items, load_items
from rankwise.web._learned import learned_taste
from rankwise.web._people import People
from rankwise.web._settings import Settings
from rankwise.web._store import Store


@dataclass(frozen=True)
class Service:
    """Items, visitors, the database and the key that signs cookies."""

    items: Items
    people: People
    store: Store
    key: bytes

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
            items = load_items(settings.data)
            store.migrate()
            store.tidy()
            key = load_key(_key_path(store, settings))
            taste = learned_taste(items.table, settings.home / "models", verbose=verbose)
        except BaseException:
            store.close()
            raise
        catalogue = Catalogue.of(items.table, taste, None)
        people = People(store, items, catalogue, settings.cached_people)
        return cls(items, people, store, key)

    def close(self) -> None:
        """Close the database."""
        self.store.close()


def _key_path(store: Store, settings: Settings) -> Path:
    if store.path is None:
        return settings.home / "secret.key"
    return store.path.with_name(store.path.name + ".key")
