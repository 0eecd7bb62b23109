"""Where learners are fitted: in this process, or in another one that can be ended.

Training of Votron's looks at the time; that of others does not, and cannot be stopped from within a process. So where
there is a time limit, and only there, the others are fitted in a process of their own, which is ended when the time is
over. Times are taken around the fit, so they are of the learner in both. The process has no terminal, and goes when
this one does: on Ctrl-C, at the end, and also if this one is killed, since its input ends then.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any, Self

from sklearn.dummy import DummyClassifier

from votron.estimators import NaiveBayesLinearClassifier
from votron.estimators.base import Deadline, OutOfTime, WatchedClassifier
from votron.evaluate._measuring import Course, Fold, Learner, LeftOutError, reason_of

HEAD = 8
"""Bytes before each message, which say how long it is."""


class Places:
    """The places where learners are fitted: all here without a time limit, those that heed none aside with one.

    Whatever goes beyond ``end``, the moment when the time is over, raises `OutOfTime`.
    """

    def __init__(self, course: Course, threads: int, end: float) -> None:
        self._course, self._end = course, end
        self._aside = Aside(course, threads, end) if math.isfinite(end) else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._aside is not None:
            self._aside.end()

    def prepare(self, learner: Learner) -> None:
        """Have the place of a learner ready, so that starting it takes nothing from the learner's time."""
        if self._aside is not None and not _looks_at_the_time(learner):
            self._aside.prepare()

    def warm_up(self, learner: Learner, at_most: float) -> None:
        """Fit and predict a few rows, within so many seconds."""
        self._do("warm_up", learner, (), at_most)

    def foretell(self, learner: Learner, at_most: float) -> float:
        """Return the seconds of all folds, as far as some rows tell, within so many seconds."""
        return float(self._do("foretell", learner, (), at_most))

    def fold(self, learner: Learner, until: float, number: int) -> Fold:
        """Return what was measured of a learner on a fold, until a moment."""
        found: Fold = self._do("fold", learner, (number,), until - time.monotonic())
        return found

    def _do(self, what: str, learner: Learner, given: tuple[Any, ...], at_most: float) -> Any:
        if self._aside is not None and not _looks_at_the_time(learner):
            return self._aside.do(what, learner, given, at_most)
        with Deadline(min(self._end, time.monotonic() + at_most), gives_up=True):
            return getattr(self._course, what)(learner, *given)


def _looks_at_the_time(learner: Learner) -> bool:
    """Tell whether training ends by itself when a `Deadline` is over, or is over in no time anyway."""
    return isinstance(learner.classifier, WatchedClassifier | NaiveBayesLinearClassifier | DummyClassifier)


class Aside:
    """A process of its own, started when it is first needed, and anew after it was ended."""

    def __init__(self, course: Course, threads: int, end: float) -> None:
        self._begin, self._end = (course, threads), end
        self._process: subprocess.Popen[bytes] | None = None

    def do(self, what: str, learner: Learner, given: tuple[Any, ...], at_most: float) -> Any:
        """Return what the method ``what`` of the course returns there; end the process when the time is over."""
        task = _pickled((what, learner, given))
        self.prepare()
        self._tasks.put(task)
        kind, value = self._answer(min(self._end, time.monotonic() + at_most))
        if kind == "failed":
            raise LeftOutError(value)
        return value

    def prepare(self) -> None:
        """Start the process, if there is none, and wait until it is ready."""
        if self._process is None:
            self._start(_pickled(self._begin))
            self._answer(self._end)

    def _start(self, begin: bytes) -> None:
        known = os.pathsep.join(filter(None, sys.path))  # what can be imported here can be there
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "votron.evaluate._worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": known},
            start_new_session=True,  # so that Ctrl-C is for this process alone, and all that it starts can be ended
        )
        self._tasks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # Large data are taken when the process is up, and its answers come when they come: this one watches the time.
        self._threads = [
            threading.Thread(target=_write_tasks, args=(self._process.stdin, self._tasks), daemon=True),
            threading.Thread(target=_read_answers, args=(self._process.stdout, self._answers), daemon=True),
        ]
        for each in self._threads:
            each.start()
        self._tasks.put(begin)

    def _answer(self, end: float) -> tuple[str, Any]:
        left = min(max(end - time.monotonic(), 0.0), threading.TIMEOUT_MAX)
        try:
            answer: tuple[str, Any] | None = self._answers.get(timeout=left)
            if answer is None:
                raise LeftOutError("Its process was ended from outside, perhaps for lack of memory.")
        except queue.Empty:
            self.end()
            raise OutOfTime from None
        except BaseException:  # Ctrl-C, for one: whatever the process does now, nobody waits for it
            self.end()
            raise
        return answer

    def end(self) -> None:
        """End the process and all that it started, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        self._tasks.put(None)
        for each in self._threads:
            each.join()


def _pickled(value: Any) -> bytes:
    """Return a value as bytes, classes of notebooks and scripts included."""
    from joblib import wrap_non_picklable_objects

    try:
        return pickle.dumps(wrap_non_picklable_objects(value, keep_wrapper=False))
    except Exception as error:  # whatever the pickling of anybody's class may raise
        raise LeftOutError(cannot_be_sent(error)) from error


def cannot_be_sent(error: Exception) -> str:
    """Return why a learner cannot be fitted aside."""
    return f"It cannot be sent to another process, which a time limit needs. {reason_of(error)}"


def _write_tasks(stream: IO[bytes], tasks: queue.SimpleQueue[bytes | None]) -> None:
    """Write tasks until there are no more; a process that is gone is noticed where its answer is missing."""
    with contextlib.suppress(OSError), stream:
        while (task := tasks.get()) is not None:
            write_message(stream, task)


def _read_answers(stream: IO[bytes], answers: queue.SimpleQueue[Any]) -> None:
    """Put answers into a queue until there are no more, and then None."""
    with stream:
        while (message := read_message(stream)) is not None:
            answers.put(pickle.loads(message))
    answers.put(None)


# -- messages ---------------------------------------------------------------------------------------------------------


def write_message(stream: IO[bytes], message: bytes) -> None:
    """Write how long a message is, and the message."""
    stream.write(len(message).to_bytes(HEAD, "little"))
    stream.write(message)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes | None:
    """Return the next message, or None at the end.

    Examples
    --------
    >>> import io
    >>> stream = io.BytesIO()
    >>> write_message(stream, b"fold 3")
    >>> _ = stream.seek(0)
    >>> read_message(stream), read_message(stream)
    (b'fold 3', None)
    """
    head = stream.read(HEAD)
    if len(head) < HEAD:
        return None
    length = int.from_bytes(head, "little")
    message = stream.read(length)
    return message if len(message) == length else None
