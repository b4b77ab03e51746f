"""Who a visitor is: a random name in a signed cookie, and the key that signs it."""

import hashlib
import hmac
import os
import re
import secrets
import tempfile
from pathlib import Path

NAME = "rankwise"
MAX_AGE = 365 * 24 * 3600

_VARIABLE = "RANKWISE_SECRET"
_VALUE = re.compile(r"([0-9a-f]{32})\.([0-9a-f]{64})")


def new_visitor() -> str:
    """Return a name that nobody can guess."""
    return secrets.token_hex(16)


def sign(visitor: str, key: bytes) -> str:
    """Return the value of the cookie of a visitor."""
    return f"{visitor}.{_signature(visitor, key)}"


def visitor_of(value: str, key: bytes) -> str | None:
    """Return the visitor whom a cookie names, None if it is forged."""
    found = _VALUE.fullmatch(value)
    if found and hmac.compare_digest(found[2], _signature(found[1], key)):
        return found[1]
    return None


def _signature(visitor: str, key: bytes) -> str:
    return hmac.new(key, f"rankwise visitor {visitor}".encode(), hashlib.sha256).hexdigest()


def load_key(path: Path) -> bytes:
    """Return the key from the environment, or from a file that is made if there is none.

    Raises
    ------
    ValueError
        If the key is short, or others may read the file.
    """
    given = os.environ.get(_VARIABLE)
    if given is not None:
        if len(given) < 32:
            raise ValueError(
                f"{_VARIABLE} has {len(given)} characters: give 32 random ones or more"
            )
        return given.encode()
    if not path.exists():
        _write(path)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise ValueError(f"{path} can be read by others: chmod 600 it, or remove it for a new key")
    key = bytes.fromhex(path.read_text("ascii").strip())
    if len(key) < 16:
        raise ValueError(f"{path} holds a short key: remove it for a new one")
    return key


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # mkstemp gives mode 600; a link fails if another process was quicker, and its key counts
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(name, path)
        except FileExistsError:
            return
    finally:
        Path(name).unlink()
