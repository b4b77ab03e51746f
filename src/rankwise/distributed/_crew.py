"""Parts that change from round to round: who asks all of them the same, and merges the answers.

Each part is a `rankwise.engine.solvers.parted.PartRows`, which stays where its rows are and
changes with what it is asked. On a cluster a part may be lost with its worker. Dask then makes it
again from the rows, as it was before the first round, and it is asked anew all that it was asked
before: a part counts what it has answered, so it notices. The answers are the same, and so is the
model.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from rankwise.distributed._parts import FAN_IN, Parts, logger, weigh
from rankwise.engine.pool import Pool
from rankwise.engine.solvers.parted import Answer, PartRows, Question, merge

# How often a question is asked again after a worker was lost.
TRIES = 20


class Crew:
    """Parts in this process, which threads share.

    Parameters
    ----------
    members : sequence of PartRows
    pool : Pool
    """

    def __init__(self, members: Sequence[PartRows], pool: Pool) -> None:
        self.members, self.pool = list(members), pool

    def ask(self, name: str, *arguments: Any) -> Answer:
        """Return the merged answers of all parts to a question."""
        step, found = 4 * self.pool.n_threads, list[Answer]()
        for first in range(0, len(self.members), step):
            some = self.members[first : first + step]
            found += self.pool.run(
                lambda t, some=some: getattr(some[t], name)(*arguments), len(some), work=1e9
            )
            found = [_merge_all(found)]
        return found[0]


class Member:
    """A part on a worker, which knows how many questions it has answered."""

    def __init__(self, rows: PartRows) -> None:
        self.rows, self.answered, self.last = rows, 0, None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = Lock()

    def answer(self, first: int, questions: Sequence[Question]) -> Any:
        """Answer the last of some questions, of which ``first`` were asked before.

        Those that were answered already are not answered again. If some before them were not, the
        answer is their number as an int.
        """
        with self._lock:
            if self.answered < first:
                return self.answered
            for name, arguments in questions[self.answered - first :]:
                self.last = getattr(self.rows, name)(*arguments)
                self.answered += 1
            return self.last


class Remote:
    """Parts on the workers of a cluster.

    Parameters
    ----------
    members : list of Future
        Each a `Member`.
    client : distributed.Client
    parts : Parts
        Counts what is moved.
    """

    def __init__(self, members: Sequence[Any], client: Any, parts: Parts) -> None:
        self.members, self.client, self.parts = list(members), client, parts
        self.log: list[Question] = []

    def ask(self, name: str, *arguments: Any) -> Answer:
        """Return the merged answers of all parts to a question."""
        self.log.append((name, arguments))
        traffic, n = self.parts.traffic, len(self.members)
        traffic.passes += 1
        traffic.sent += n * weigh(arguments)
        for _ in range(TRIES):
            answer = self._try(lambda: self._merged(self._ask_all(len(self.log) - 1)))
            if isinstance(answer, dict):
                traffic.back += n * weigh(answer)
                return answer
            if answer is not None:
                logger.warning("a part was lost with its worker and is made again")
                self._try(self._replay)
        raise RuntimeError(
            f"workers were lost {TRIES} times in one round: see their logs, memory may be short"
        )

    def _ask_all(self, first: int) -> list[Any]:
        """Return what is asked of each part, from question ``first`` on."""
        return [
            self.client.submit(_answer, member, first, self.log[first:], pure=False)
            for member in self.members
        ]

    def _merged(self, futures: list[Any]) -> Any:
        """Return the answers merged on the workers."""
        while len(futures) > 1:
            futures = [
                self.client.submit(_merge_all, futures[k : k + FAN_IN], pure=False)
                for k in range(0, len(futures), FAN_IN)
            ]
        return futures[0].result()

    def _replay(self) -> None:
        """Ask those parts again that have missed something."""
        counts = self.client.gather(
            [self.client.submit(_count, member, pure=False) for member in self.members]
        )
        asked = [
            self.client.submit(_catch_up, member, count, self.log[count:], pure=False)
            for member, count in zip(self.members, counts, strict=True)
            if count < len(self.log)
        ]
        self.client.gather(asked)

    def _try(self, run: Callable[[], Any]) -> Any:
        """Return what a function returns; None if a worker was lost meanwhile."""
        try:
            return run()
        except Exception as error:
            if not is_lost(error):
                raise
            logger.warning("a worker was lost with an answer on its way: it is asked again")
            return None


def is_lost(error: Exception) -> bool:
    """Return whether an error says that a worker of the cluster was lost with what it held."""
    from distributed import KilledWorker  # noqa: PLC0415
    from distributed.client import FutureCancelledError  # noqa: PLC0415

    return isinstance(error, KilledWorker | FutureCancelledError)


def _answer(member: Member, first: int, questions: Sequence[Question]) -> Any:
    return member.answer(first, questions)


def _catch_up(member: Member, first: int, questions: Sequence[Question]) -> None:
    member.answer(first, questions)


def _count(member: Member) -> int:
    return member.answered


def _merge_all(answers: Sequence[Any]) -> Any:
    """Merge answers from the left; a number, if one is."""
    behind = [each for each in answers if isinstance(each, int)]
    if behind:
        return min(behind)
    result = answers[0]
    for other in answers[1:]:
        result = merge(result, other)
    return result
