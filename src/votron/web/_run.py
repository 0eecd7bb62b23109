"""The moments of a training run: the times of its mistakes, of one class or several."""

from __future__ import annotations

import base64
import threading

import numpy as np

from votron._util.frames import dense
from votron._util.types import Array, Index
from votron.record import labels_of
from votron.rules import RULES
from votron.web._game import EXTENT, field_of
from votron.web._schemas import Alive, MistakeMade, PlanePoints, RunMoment, RunOverview, SupportImage
from votron.web._workshop import Piece, Trained

__all__ = ["RULE_NAMES", "Run", "encoded", "encoded_pixels"]

MOST_MOMENTS = 240
MOST_IMAGES = 36
RULE_NAMES = [name for name, rule in RULES.items() if not rule.needs_held_out]


class Run:
    """The run of a trained piece."""

    def __init__(self, piece: Piece, trained: Trained) -> None:
        self.piece, self.trained = piece, trained
        self.model, self.record = trained.model, trained.model.record_
        n_events = len(self.record.event_starts) - 1
        self.events = np.unique(np.linspace(0, max(n_events - 1, 0), min(n_events, MOST_MOMENTS)).round().astype(int))
        self.events = self.events[:n_events]
        self.times: Index = self.record.time[self.record.event_starts[self.events]]
        self.classes = [str(label) for label in self.model.classes_.tolist()]
        self._errors: dict[str, list[float]] | None = None
        self._lock = threading.Lock()

    @property
    def errors(self) -> dict[str, list[float]]:
        """The share of wrong labels by each rule at each moment."""
        with self._lock:
            if self._errors is None:
                self._errors = self._measured()
        return self._errors

    def _measured(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {rule: [] for rule in RULE_NAMES}
        if self.trained.X is None or not len(self.times):
            return {}
        codes = np.searchsorted(self.model.classes_, self.trained.y)
        at = (self.times / self.record.n_examples).tolist()
        for _, scores in self.model.staged_decision_function(self.trained.X, at=at, rules=RULE_NAMES):
            for rule, each in scores.items():
                found[rule].append(float(np.mean(labels_of(each) != codes)))
        return found

    # -- what the page gets -------------------------------------------------------------------------------------------

    def overview(self) -> RunOverview:
        record = self.record
        starts, ends = record.event_starts[self.events].tolist(), record.event_starts[self.events + 1].tolist()
        return RunOverview(
            id=self.piece.id,
            title=self.piece.title,
            kind=self.piece.kind,
            classes=self.classes,
            n_examples=record.n_examples,
            n_steps=record.n_steps,
            n_mistakes=len(record),
            kernel=repr(self.model.kernel_),
            times=self.times.tolist(),
            mistakes=ends,
            survival=[int(record.survival[a:b].max()) for a, b in zip(starts, ends, strict=True)],
            measured_on=self.trained.measured_on,
            errors=self.errors,
            points=self._points(),
            shape=None if self.trained.shape is None else list(self.trained.shape),
        )

    @property
    def extent(self) -> float:
        """Half the side of the plane that is shown."""
        if self.trained.points is None:
            return EXTENT
        return max(EXTENT, 1.1 * float(np.abs(self.trained.points[0]).max()))

    def _points(self) -> PlanePoints | None:
        if self.trained.points is None:
            return None
        X, y = self.trained.points
        signs = np.where(y == self.model.classes_[1], 1, -1)
        return PlanePoints(x=X.tolist(), y=signs.tolist(), extent=self.extent)

    def moment(self, index: int, rule: str) -> RunMoment:
        time, event = int(self.times[index]), int(self.events[index])
        start, end = self.record.event_starts[event : event + 2].tolist()
        of_example = int(self.record.slot[start])
        plane = self.piece.kind == "plane"
        rows = np.asarray(self.trained.vectors.support_rows) if plane else None
        n_support = int(self.record.slot[:end].max()) + 1
        return RunMoment(
            index=index,
            time=time,
            epoch=time / self.record.n_examples,
            made=[self._mistake(j) for j in range(start, end)],
            alive=self._alive(time),
            errors={name: each[index] for name, each in self.errors.items()},
            point=None if rows is None else rows[of_example].tolist(),
            support=[] if rows is None else rows[:n_support].tolist(),
            images=self._images(end) if self.trained.shape is not None else [],
            field=field_of(self.trained.vectors, rule, None, self.extent, time) if plane else None,
        )

    def _mistake(self, j: int) -> MistakeMade:
        r = self.record
        return MistakeMade(of=self._name(j), example=int(r.example[j]), sign=int(r.sign[j]), score=float(r.score[j]))

    def _name(self, j: int) -> str:
        """Return whose vector it was; the only vector of two classes is that of the second."""
        return self.classes[int(self.record.vector[j])] if self.record.n_vectors > 1 else self.classes[-1]

    def _alive(self, time: int) -> list[Alive]:
        found = []
        for mine in self.record.of_each_vector.values():
            n = int(np.searchsorted(self.record.time[mine], time, side="right"))
            if n:
                j = int(mine[n - 1])
                born, survival = int(self.record.time[j]), int(self.record.survival[j])
                found.append(Alive(of=self._name(j), born=born, survival=survival))
        return found

    def _images(self, end: int) -> list[SupportImage]:
        """Return the examples of the last mistakes up to ``end``, the newest first."""
        found: dict[int, SupportImage] = {}
        for j in range(end - 1, -1, -1):
            slot = int(self.record.slot[j])
            if slot not in found:
                found[slot] = SupportImage(
                    example=int(self.record.example[j]),
                    sign=int(self.record.sign[j]),
                    of=self._name(j),
                    pixels=encoded_pixels(self.trained, slot),
                )
            if len(found) == MOST_IMAGES:
                break
        return list(found.values())


def encoded_pixels(trained: Trained, slot: int) -> str:
    """Return a support vector as bytes from 0 to 255, in base64."""
    rows = trained.model.support_vectors_
    return encoded(dense(rows[[slot]]), float(rows.max()))


def encoded(row: Array, top: float) -> str:
    """Return grey values as bytes, ``top`` as 255, in base64."""
    scaled = np.clip(255.0 * np.asarray(row, dtype=np.float64) / (top or 1.0), 0, 255)
    return base64.b64encode(scaled.round().astype(np.uint8).tobytes()).decode("ascii")
