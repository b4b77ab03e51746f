"""How often somebody may ask: a bucket of tokens for each name."""

from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address
from time import monotonic

_BURST = 3.0
_NAMES = 20_000


class Limiter:
    """Tokens that come back at a rate; those of three seconds can be spent at once.

    It is used from one thread only. Of many names the ones last seen are remembered.

    Parameters
    ----------
    rate : float
        Tokens a second; 0 for any number.
    clock : callable, default=monotonic
        The time in seconds.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._full = max(1.0, _BURST * rate)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, name: str) -> bool:
        """Take a token, and say whether there was one."""
        if not self._rate:
            return True
        now = self._clock()
        left, then = self._left.pop(name, (self._full, now))
        left = min(self._full, left + self._rate * (now - then))
        allowed = left >= 1.0
        self._left[name] = (left - allowed, now)
        if len(self._left) > _NAMES:
            self._left.popitem(last=False)
        return allowed


def network_of(address: str) -> str:
    """Return what an address is counted by: itself, or the first half of one of IPv6."""
    if ":" not in address:
        return address
    try:
        found = IPv6Address(address)
    except ValueError:
        return address
    mapped = found.ipv4_mapped
    return f"{int(found) >> 64:x}" if mapped is None else str(mapped)
