"""Shared by command lines: output that any terminal can show, and one-line errors."""

import codecs
import io
import sys

# Stand-ins in ASCII; what is not here becomes an escape such as \\u2603.
_PLAIN = {"±": "+-", "•": "*", "→": "->", "…": "...", "─": "-", "━": "-"}
_ERRORS = "rankwise-plain"
_RAISING = {"strict", "surrogateescape"}


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    characters = (_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text)
    return "".join(characters), error.end


def degrade_output() -> None:
    """Let characters that the output can't encode be replaced, instead of an exception."""
    codecs.register_error(_ERRORS, _replace)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in _RAISING:
            stream.reconfigure(errors=_ERRORS)


def degraded(text: str, encoding: str) -> str:
    """Return a string as an output of this encoding will show it."""
    codecs.register_error(_ERRORS, _replace)
    return text.encode(encoding, _ERRORS).decode(encoding)


def sentence(error: Exception) -> str:
    """Return what went wrong in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
