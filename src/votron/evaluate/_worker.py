"""The process that fits learners for `votron.evaluate._places.Aside`: ``python -m votron.evaluate._worker``.

Its input has messages: first the course and the number of threads, then tasks, each a method of the course, a learner
and what else the method takes. Its output has an answer to each, in their order; the first says that it is ready.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

from threadpoolctl import threadpool_limits

from votron.evaluate._measuring import Course, reason_of
from votron.evaluate._places import cannot_be_sent, read_message, write_message

Answer = tuple[str, Any]


def main() -> None:
    """Answer tasks until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ended from where it was started
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what learners print is no answer
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, messages), daemon=True).start()
    course, threads = pickle.loads(messages.get())
    write_message(answers, pickle.dumps(("ready", None)))
    warm: set[str] = set()
    with threadpool_limits(threads):
        while True:
            write_message(answers, pickle.dumps(_answer(course, messages.get(), warm)))


def _read(stream: IO[bytes], messages: queue.SimpleQueue[bytes]) -> None:
    """Put messages into a queue, also while a learner is fitted; go when there are no more, for nobody waits then."""
    while (message := read_message(stream)) is not None:
        messages.put(message)
    os._exit(0)


def _answer(course: Course, message: bytes, warm: set[str]) -> Answer:
    """Return what a task comes to: ("done", value) or ("failed", reason)."""
    try:
        what, learner, given = pickle.loads(message)
    except Exception as error:  # of anybody's class
        return "failed", cannot_be_sent(error)
    method: Callable[..., Any] = getattr(course, what)
    try:
        if learner.name not in warm and what == "fold":  # in a process that was started anew
            course.warm_up(learner)
        warm.add(learner.name)
        return "done", method(learner, *given)
    except Exception as error:
        return "failed", reason_of(error)


if __name__ == "__main__":
    main()
