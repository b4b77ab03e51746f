"""The cache of a compiled function, with classes of numba that are not public.

They are the same in numba 0.61 to 0.68. Where they are missing, `compiled` takes numba's own cache.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
)

from rankwise.engine.loops.cache import digest, folders, warn_once


class _Locator(_CacheLocator):
    """Says where the files of a function are, and what they depend on."""

    def __init__(self, function: Any, source: str) -> None:
        self._line = function.__code__.co_firstlineno
        self.folders, self.writable = folders(Path(source))

    @classmethod
    def from_function(cls, function: Any, source: str) -> "_Locator":
        return cls(function, source)

    def ensure_cache_path(self) -> None:
        """Do nothing: whether the folder can be written to is known."""

    def get_cache_path(self) -> str:
        return str(self.writable or self.folders[0])

    def get_source_stamp(self) -> str:
        return digest()

    def get_disambiguator(self) -> str:
        return f"{self._line}-{digest()}"


class _Implementation(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class EngineCache(FunctionCache):
    """The cache of one function of the engine."""

    _impl_class = _Implementation

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function from the first folder that has it, or None."""
        key = self._index_key(sig, target_context.codegen())
        for folder in self._impl.locator.folders:
            files = IndexDataCacheFile(str(folder), self._impl.filename_base, digest())
            # A folder may be a file, or closed to this user.
            with suppress(NotADirectoryError, PermissionError):
                data = files.load(key)
                if data is not None:
                    return self._impl.rebuild(target_context, data)
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, or warn that it can't be kept."""
        if self._impl.locator.writable is None:
            warn_once()
        else:
            super()._save_overload(sig, data)
