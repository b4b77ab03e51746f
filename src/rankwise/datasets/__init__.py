"""Data: generators of the papers' synthetic data, readers of real data, and where to get it."""

from rankwise.datasets._load import load_films, load_movies, load_ordinal
from rankwise.datasets._readers_archives import read_eachmovie, read_netflix, read_ohsumed
from rankwise.datasets._readers_book_crossing import read_book_crossing
from rankwise.datasets._readers_cystic_fibrosis import read_cystic_fibrosis
from rankwise.datasets._readers_jester import read_jester
from rankwise.datasets._readers_letor import read_letor
from rankwise.datasets._readers_movielens import read_movielens
from rankwise.datasets._readers_ordinal import read_ordinal
from rankwise.datasets._readers_preflib import read_preflib
from rankwise.datasets._readers_ratings import read_ratings
from rankwise.datasets._registry import DatasetInfo, dataset_info, list_datasets
from rankwise.datasets._synthetic import make_ellipses, make_herbrich
from rankwise.datasets.download import fetch_book_crossing, fetch_jester, fetch_movielens
from rankwise.datasets.readers_contests import read_contests

__all__ = [
    "DatasetInfo",
    "dataset_info",
    "fetch_book_crossing",
    "fetch_jester",
    "fetch_movielens",
    "list_datasets",
    "load_films",
    "load_movies",
    "load_ordinal",
    "make_ellipses",
    "make_herbrich",
    "read_book_crossing",
    "read_contests",
    "read_cystic_fibrosis",
    "read_eachmovie",
    "read_jester",
    "read_letor",
    "read_movielens",
    "read_netflix",
    "read_ohsumed",
    "read_ordinal",
    "read_preflib",
    "read_ratings",
]
