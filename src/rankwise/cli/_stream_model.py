"""The model of a stream: rows are scaled by what was seen so far, predicted, then learned."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from rankwise.cli._loops import scale_as_seen
from rankwise.datasets.rows import Block, cut_block
from rankwise.ordinal import OAPRank, PRank
from rankwise.persistence import load, read_notes, save

METHODS: dict[str, Callable[[], Any]] = {
    "averaged": lambda: PRank(vote="averaged"),
    "prank": lambda: PRank(vote=None),
    "pa": lambda: PRank(vote="averaged", update="pa"),
    "oap": lambda: OAPRank(random_state=0),
}
# Where the input was (bytes, their digest, lines, digest of its start), the output, and the losses.
PLACE = ("size", "digest", "line", "mark", "out", "loss", "wrong")
_MOST_LABELS = 1000


class Learner:
    """A pipeline of a StandardScaler and an online model, learned in any pieces to the same bits.

    Attributes
    ----------
    pipeline : Pipeline
        What is saved; rows are scaled by all that was seen.
    notes : dict
        What is saved beside it: the columns, and where the input was.
    """

    def __init__(self, pipeline: Pipeline, notes: dict[str, Any]) -> None:
        self.pipeline, self.notes = pipeline, notes
        self._scaler, self._model = pipeline[0], pipeline[1]
        labels = notes["labels"]
        self.labels = np.array(labels, dtype=object if isinstance(labels[0], str) else None)
        self._place = {label: i for i, label in enumerate(self.labels.tolist())}

    @classmethod
    def new(
        cls, method: str, target: str, features: Sequence[str], labels: Sequence[Any]
    ) -> "Learner":
        """Return a model that has learned nothing."""
        if not 2 <= len(labels) <= _MOST_LABELS:
            raise click.ClickException(
                f"{target} has {len(labels)} different values, wanted 2 to {_MOST_LABELS} grades; "
                "numbers whose differences matter are for rankwise fit"
            )
        model = METHODS[method]().set_params(label_order=list(labels))
        scaler = StandardScaler()
        scaler.n_samples_seen_ = np.int64(0)
        scaler.mean_, scaler.var_ = np.zeros(len(features)), np.zeros(len(features))
        notes: dict[str, Any] = {"method": method, "target": target, "columns": [*features]}
        notes.update(labels=[*labels], loss=0, wrong=0, out=None)
        return cls(Pipeline([("scaler", scaler), ("model", model)]), notes)

    @classmethod
    def loaded(cls, path: Path) -> "Learner":
        """Return the model of a file that a stream has written."""
        notes = read_notes(path).get("stream", {})
        pipeline = load(path)
        good = isinstance(notes, dict) and notes.keys() >= {"labels", "columns", *PLACE}
        steps = [type(step) for _, step in getattr(pipeline, "steps", [])]
        good = good and steps in ([StandardScaler, PRank], [StandardScaler, OAPRank])
        if not good or {np.shape(pipeline[0].mean_), np.shape(pipeline[0].var_)} != {
            (len(notes["columns"]),)
        }:
            raise click.ClickException(
                f"{path} is a model that no stream has written: give --model another file"
            )
        return cls(pipeline, notes)

    @property
    def rounds(self) -> int:
        """How many rows were learned."""
        return int(self._scaler.n_samples_seen_)

    def losses(self) -> tuple[float, float]:
        """Return the mean rank loss and the share of mistakes over all rows so far."""
        n = max(self.rounds, 1)
        return self.notes["loss"] / n, self.notes["wrong"] / n

    def check_labels(self, block: Block, piece: bytes) -> Block:
        """Return the rows of a block up to the first whose label is not known."""
        found = block.target.tolist()
        if self._place.keys() >= set(found):
            return block
        row = next(i for i, label in enumerate(found) if label not in self._place)
        listed = ", ".join(map(str, self.labels[:12].tolist()))
        wrong = block.target[row]
        shown = wrong if isinstance(wrong, str) else f"{wrong:g}"
        why = f"{self.notes['target']} is {shown}, which is none of the labels {listed}"
        return cut_block(block, piece, row, f"{why}; name all by --labels in a new model")

    def learn(self, block: Block) -> NDArray[Any]:
        """Predict each row by the model that has learned all rows before it, and learn it."""
        scaler = self._scaler
        mean, variance = scaler.mean_.copy(), scaler.var_.copy()
        rows = scale_as_seen(block.columns, self.rounds, mean, variance)
        labels = block.target.astype(self.labels.dtype)
        guesses = self._model.partial_fit_predict(rows, labels)
        apart = np.abs(self._ranks(guesses) - self._ranks(labels))
        self.notes["loss"] += int(apart.sum())
        self.notes["wrong"] += int(np.count_nonzero(apart))
        scaler.mean_, scaler.var_ = mean, variance
        scaler.scale_ = np.where(variance > 0, np.sqrt(variance), 1.0)
        scaler.n_features_in_ = len(mean)
        scaler.n_samples_seen_ = np.int64(self.rounds + len(rows))
        return guesses

    def _ranks(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        return np.array([self._place[label] for label in labels.tolist()])

    def save(self, path: Path) -> None:
        """Write the model and its notes, as one file."""
        save(self.pipeline, path, notes={"stream": self.notes})


def parse_labels(text: str) -> list[Any]:
    """Return labels from the lowest to the highest: of "1-5" all five, or of a list as it is."""
    first, dash, last = text.partition("-")
    if dash and first.strip().isdigit() and last.strip().isdigit():
        low, high = int(first), int(last)
        if not 0 < high - low < _MOST_LABELS:
            raise click.ClickException(
                f"--labels {text}: give 2 to {_MOST_LABELS} grades, from the lowest to the highest"
            )
        return list(range(low, high + 1))
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise click.ClickException(f"--labels {text}: it names no grade; 1-5 or poor,fair,good do")
    return as_numbers(parts)


def as_numbers(labels: Sequence[Any]) -> list[Any]:
    """Return labels as whole numbers if all are, as numbers if all are that, else as they are."""
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        return list(labels)
    return [int(x) for x in numbers] if all(x.is_integer() for x in numbers) else numbers
