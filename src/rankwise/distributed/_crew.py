"""Parts that change from round to round: who asks all of them the same, and merges the answers.

Each part is a `rankwise.boosting.parted.PartRows`, which stays where its rows are and
changes with what it is asked. On a cluster a part may be lost with its worker. Dask then makes it
again from the rows, as it was before the first round, and it is asked anew all that it was asked
before: a part counts what it has answered, so it notices. The answers are the same, and so is the
model.
"""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from rankwise._core.threads import Pool
from rankwise.boosting.parted import Answer, PartRows, Question, merge
from rankwise.distributed._parts import FAN_IN, Parts, logger, weigh
from rankwise.distributed._waiting import lost_errors, release, results_of, wait_for

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
            answers = [partial(getattr(member, name), *arguments) for member in some]
            found += self.pool.run(partial(_call, answers), len(some), work=1e9)
            found = [_merge_all(found)]
        return found[0]

    def close(self) -> None:
        """Let go of the parts."""
        self.members = []


def _call(functions: Sequence[Callable[[], Answer]], t: int) -> Answer:
    return functions[t]()


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


class LostError(Exception):
    """A worker is gone that was to answer."""


class Remote:
    """Parts on the workers of a cluster.

    Each is asked on the worker where it is, since it changes: a copy elsewhere would be behind.

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
        self.homes: list[list[str]] | None = None
        self.log: list[Question] = []
        self.asked: list[Any] = []  # the futures of the last question

    def ask(self, name: str, *arguments: Any) -> Answer:
        """Return the merged answers of all parts to a question."""
        # copies, for who asks goes on with its arrays, and the question may be asked again
        kept = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        self.log.append((name, tuple(kept)))
        self.parts.traffic.passes += 1
        with self.parts.traffic.waiting():
            return self._ask_until_answered()

    def _ask_until_answered(self) -> Answer:
        """Return the merged answers to the last question, asked again if workers are lost."""
        traffic, n = self.parts.traffic, len(self.members)
        first, lost = len(self.log) - 1, 0
        while lost < TRIES:
            traffic.sent += n * weigh(self.log[first:])
            try:
                answer = self._ask_from(first)
            except Exception as error:
                if not isinstance(error, (LostError, *lost_errors())):
                    raise
                logger.warning("a worker was lost: its parts are made again")
                self.homes, lost = None, lost + 1
                self.client.retry([each for each in self.members if each.status == "error"])
                continue
            if isinstance(answer, dict):
                traffic.back += n * weigh(answer)
                return answer
            first = answer
        raise RuntimeError(
            f"workers were lost {TRIES} times in one round: see their logs, memory may be short"
        )

    def _ask_from(self, first: int) -> Any:
        """Return the merged answers to the last question, given all from ``first`` on."""
        if self.homes is None:
            wait_for(self.client, self.members)
            results_of(self.client, [each for each in self.members if each.status == "error"])
            holders = self.client.who_has(self.members)
            self.homes = [list(holders[member.key])[:1] for member in self.members]
            if not all(self.homes):
                raise LostError
        questions = self.log[first:]
        futures = [
            self.client.submit(
                _answer, member, first, questions, pure=False, workers=home, priority=1
            )
            for member, home in zip(self.members, self.homes, strict=True)
        ]
        self.asked = list(futures)
        while len(futures) > 1:
            futures = [
                self.client.submit(_merge_all, futures[k : k + FAN_IN], pure=False)
                for k in range(0, len(futures), FAN_IN)
            ]
            self.asked += futures
        return results_of(self.client, futures, self._look)[0]

    def _look(self, here: dict[str, Any]) -> None:
        """Raise if a worker that parts are on is not there."""
        if any(home[0] not in here for home in self.homes or ()):
            raise LostError

    def close(self) -> None:
        """Release what is under way, and the parts."""
        release([*self.asked, *self.members])
        self.asked, self.members = [], []


def _answer(member: Member, first: int, questions: Sequence[Question]) -> Any:
    return member.answer(first, questions)


def _merge_all(answers: Sequence[Any]) -> Any:
    """Merge answers from the left; a number, if one is."""
    behind = [each for each in answers if isinstance(each, int)]
    if behind:
        return min(behind)
    result = answers[0]
    for other in answers[1:]:
        result = merge(result, other)
    return result
