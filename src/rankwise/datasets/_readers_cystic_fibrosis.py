"""The cystic fibrosis collection: tagged records of documents and of queries."""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import NamedTuple

from sklearn.utils import Bunch

from rankwise.io.files import BadRows, PathLike, Source, clean, decode, find_files, pandas

JUDGES = ("judge1", "judge2", "judge3", "judge4")

_TAGS = {
    "documents": ("PN", "RN", "AN", "AU", "TI", "SO", "MJ", "MN", "AB", "EX", "RF", "CT"),
    "queries": ("QN", "QU", "NR", "RD"),
}
_LOOSE = _TAGS["documents"]
_TAG = re.compile("[A-Z]{2} ")
_NUMBER = re.compile("[0-9]{1,9}")
_PAIRS = re.compile("(?:[0-9]{1,9} [0-2]{4} )*")


class _Record(NamedTuple):
    line: int
    fields: dict[str, str]

    def number(self, tag: str) -> int:
        text = self.text(tag)
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"{tag} is {text[:40]!r}, expected a whole number")
        return int(text)

    def text(self, tag: str) -> str:
        if not self.fields.get(tag):
            raise ValueError(f"a record without {tag}")
        return self.fields[tag]


def read_cystic_fibrosis(path: PathLike, *, on_bad_rows: str = "raise") -> Bunch:
    r"""Read the cystic fibrosis collection: documents, queries and what four judges said.

    Parameters
    ----------
    path : path
        A folder or zip archive with ``cf74`` ... ``cf79`` and ``cfquery``.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether a record that can't be read is an error, or is skipped; then a warning says how
        many, and so does ``skipped_rows`` of the result. The judgements of a skipped document are
        skipped with it.

    Returns
    -------
    Bunch
        ``documents``, a frame with ``doc`` (1 to 1239), ``title``, ``text`` (the abstract, or an
        extract where there is none), ``authors``, ``source`` and ``subjects``; ``queries``, a
        frame with ``query`` and ``text``; ``judgements``, a frame with ``query``, ``doc`` and
        ``judge1`` to ``judge4``, each 0 (not relevant), 1 (marginally) or 2 (highly);
        ``skipped_rows``.

    Raises
    ------
    ValueError
        With file, line and reason: a record without its number or title, a number that occurs
        twice, a judgement that is not four digits from 0 to 2, a count that is not that of the
        judgements, a judged document that is not there, an empty or binary file.

    Notes
    -----
    A document that no judge is recorded for is not relevant to the query. In the files some lines
    lack their indent and some letters carry a high bit, both of word processors; the former go on
    with the field before, the latter are cleared.

    References
    ----------
    W. M. Shaw, J. B. Wood, R. E. Wood and H. R. Tibbo, The Cystic Fibrosis Database: Content and
    Research Opportunities, Library and Information Science Research 13, 1991.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankwise.datasets import read_cystic_fibrosis
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "cf74").write_text("PN 74001\nRN 00001\nTI Mucus.\n\n")
    ...     _ = (Path(folder) / "cfquery").write_text(
    ...         "QN 00001\nQU What is mucus?\nNR 00001\nRD    1 1220\n"
    ...     )
    ...     data = read_cystic_fibrosis(folder)
    >>> data.judgements
       query  doc  judge1  judge2  judge3  judge4
    0      1    1       1       2       2       0
    """
    sources = find_files(path, "cf[0-9][0-9]")
    asked = find_files(path, "cfquery")
    if not sources or len(asked) != 1:
        raise ValueError(f"{path}: no files cf74 ... cf79 with one cfquery in it")
    skipped = 0
    documents: dict[int, dict[str, object]] = {}
    for source in sources:
        bad = BadRows(source, on_bad_rows)
        for record in _records(source, _TAGS["documents"], bad):
            try:
                _add_document(record, documents)
            except ValueError as error:
                bad.refuse(record.line, str(error))
        bad.finish(len(documents), "records")
        skipped += bad.count
    bad = BadRows(asked[0], on_bad_rows)
    queries: dict[int, str] = {}
    judgements: list[tuple[int, ...]] = []
    lost = skipped > 0
    for record in _records(asked[0], _TAGS["queries"], bad):
        try:
            judgements += _judgements(record, queries, documents, lost)
        except ValueError as error:
            bad.refuse(record.line, str(error))
    bad.finish(len(queries), "queries")
    frame = pandas().DataFrame
    return Bunch(
        documents=frame(list(documents.values())),
        queries=frame({"query": list(queries), "text": list(queries.values())}),
        judgements=frame(judgements, columns=["query", "doc", *JUDGES]),
        skipped_rows=skipped + bad.count,
    )


def _records(source: Source, tags: tuple[str, ...], bad: BadRows) -> Iterator[_Record]:
    """Yield the records of a file: fields by their tags, continuations joined."""
    low = source.raw.removeprefix(BOM_UTF8).translate(bytes(c & 0x7F for c in range(256)))
    text = decode(clean(source._replace(raw=low)))
    first, tag = 1, ""
    pieces: dict[str, list[str]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        start, body = line[:2], line[2:]
        if start in tags and body[:1] in {"", " "}:
            if start == tags[0] or (start == tags[1] and start in pieces):
                if pieces:
                    yield _joined(first, pieces)
                first, pieces = number, {}
            if start in pieces:
                bad.refuse(number, f"a second {start} in one record")
            tag = start
            pieces[tag] = [body.strip()]
        elif tag and (line.startswith(" ") or (tag in _LOOSE and not _TAG.match(line))):
            pieces[tag].append(line.strip())
        else:
            bad.refuse(number, f"{line[:40]!r}, expected one of the tags {', '.join(tags)}")
    if pieces:
        yield _joined(first, pieces)


def _joined(line: int, pieces: dict[str, list[str]]) -> _Record:
    return _Record(line, {tag: " ".join(lines) for tag, lines in pieces.items()})


def _add_document(record: _Record, documents: dict[int, dict[str, object]]) -> None:
    doc = record.number("RN")
    if doc in documents:
        raise ValueError(f"document {doc} occurs twice")
    fields = record.fields
    documents[doc] = {
        "doc": doc,
        "title": record.text("TI"),
        "text": fields.get("AB") or fields.get("EX", ""),
        "authors": fields.get("AU", ""),
        "source": fields.get("SO", ""),
        "subjects": " ".join(fields[tag] for tag in ("MJ", "MN") if tag in fields),
    }


def _judgements(
    record: _Record, queries: dict[int, str], documents: dict[int, dict[str, object]], lost: bool
) -> list[tuple[int, ...]]:
    query = record.number("QN")
    if query in queries:
        raise ValueError(f"query {query} occurs twice")
    text, tokens = record.text("QU"), record.text("RD").split()
    if not _PAIRS.fullmatch("".join(f"{token} " for token in tokens)):
        raise ValueError("RD is not made of documents, each with four judgements from 0 to 2")
    docs = [int(token) for token in tokens[::2]]
    if len(docs) != record.number("NR"):
        raise ValueError(f"{len(docs)} judged documents, but NR is {record.number('NR')}")
    unknown = next((doc for doc in docs if doc not in documents), None)
    if len(set(docs)) < len(docs) or (unknown is not None and not lost):
        why = "a document is judged twice" if unknown is None else f"no document {unknown}"
        raise ValueError(f"query {query}: {why}")
    queries[query] = text
    return [
        (query, doc, *map(int, judges))
        for doc, judges in zip(docs, tokens[1::2], strict=True)
        if doc in documents
    ]
