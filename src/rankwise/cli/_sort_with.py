"""A command that says which of two lines goes first."""

import asyncio
import re
import shlex
from asyncio.subprocess import PIPE
from typing import Any

import click

_ANSWERS = {"1": 1.0, "2": 0.0, "=": 0.5}
_PLACE = re.compile(r"\{([12])\}")


class Comparator:
    """Run a command with two lines as arguments, and read its answer: 1, 2 or =.

    The command is split once, as a shell would. The lines take the places of ``{1}`` and ``{2}`` in
    its words and are never read by a shell.
    """

    def __init__(self, command: str) -> None:
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise click.BadParameter(f"{command!r}: {error}", param_hint="--with") from error
        places = {place for word in self.words for place in _PLACE.findall(word)}
        if places != {"1", "2"}:
            raise click.BadParameter(
                f"{command!r} must have {{1}} and {{2}} where the two lines go", param_hint="--with"
            )

    async def __call__(self, u: str, v: str) -> float:
        """Return 1 if u goes first, 0 if v does, 1/2 if it does not matter."""
        lines = {"1": u, "2": v}
        words = [_PLACE.sub(lambda place: lines[place[1]], word) for word in self.words]
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=PIPE
            )
        except OSError as error:
            raise click.ClickException(f"--with {words[0]}: {error.strerror}") from error
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            if process.returncode is None:
                process.kill()
                await process.wait()
            raise
        said = out.decode("utf-8", "replace").strip()
        if process.returncode:
            why = err.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it says nothing"]
            raise click.ClickException(f"--with ended with {process.returncode}: {why[0][:200]}")
        if said not in _ANSWERS:
            raise click.ClickException(
                f"--with answered {said[:80]!r}, where 1, 2 or = is wanted: the first line goes "
                "before the second, after it, or no matter"
            )
        return _ANSWERS[said]


def sort_with(comparator: Comparator, items: list[str], jobs: int, **options: Any) -> Any:
    """Sort by a comparator, so many questions at a time."""
    from rankwise.preference import aquicksort  # noqa: PLC0415

    return asyncio.run(aquicksort(items, comparator, max_concurrency=jobs, **options))
