"""The current client of Dask, what its cluster and a collection must be like for training, and whether it works."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from votron._util.text import joined
from votron._util.types import Client, Params, RowsLike
from votron.errors import VotronError

LOST_AFTER = "30s"
"""How long a worker may be silent before it counts as lost; ``dask.config.set({"votron.lost-after": ...})`` sets it."""
ASK_EVERY = 1.0
"""Seconds after which it is asked who is there, while an answer is missing; and whether somebody has come."""
CANCELLED = ("CancelledError", "FutureCancelledError", "FuturesCancelledError")
"""What Dask raises for tasks that nobody does any more."""


def is_collection(X: RowsLike) -> bool:
    """Tell whether something is a Dask collection, without importing Dask for it."""
    dask = sys.modules.get("dask")
    return dask is not None and hasattr(X, "__dask_graph__") and bool(dask.is_dask_collection(X))


def current_client() -> Any:
    """Return the current client of Dask, or say how to have one."""
    from votron.errors import MissingPackageError

    try:
        import distributed
    except ImportError:
        raise MissingPackageError(
            "Training on Dask collections takes the package distributed: pip install 'votron[cluster]'."
        ) from None
    try:
        return distributed.get_client()
    except ValueError:
        raise VotronError(
            "Training on Dask collections takes a client: distributed.Client() starts a cluster on this machine, "
            "distributed.Client(address) joins one."
        ) from None


def check_versions(client: Client) -> list[str]:
    """Refuse workers with another Votron, numpy or numba, which make records equal; return those that are there."""
    found = odd_versions(client)
    if not found:
        raise VotronError("The Dask cluster has no workers: start some, and train again.")
    for told in filter(None, found.values()):
        raise VotronError(told)
    return list(found)


def odd_versions(client: Client, only: Sequence[str] | None = None) -> dict[str, str | None]:
    """Return for each worker, or ``only`` for some, a sentence on a package that it has in another version, or None."""

    def versions() -> dict[str, str]:  # sent by value: a worker may have no Votron at all
        from importlib.metadata import PackageNotFoundError, version

        def of(name: str) -> str:
            try:
                return version(name)
            except PackageNotFoundError:
                return ""

        return {name: of(name) for name in ("votron", "numpy", "numba")}

    ours, found = versions(), dict[str, str | None]()
    for address, theirs in sorted(_answers(client, versions, only).items()):
        odd = [name for name, version in ours.items() if theirs[name] != version]
        found[address] = None
        for name in odd[:1]:
            has = f"{name} {theirs[name]}" if theirs[name] else f"no {name}"
            found[address] = (
                f"All workers must have the {name} of this process, {ours[name]}. Got {has} on {address} instead."
            )
    return found


def _answers(client: Client, function: Callable[[], Any], only: Sequence[str] | None) -> Params:
    """Return what a function says on each worker; those that are silent as long as one may be count as lost."""
    pulse = Pulse(client)
    while True:
        there = [address for address in pulse.workers() if only is None or address in only]
        try:  # as client.run does, which has no time limit
            return dict(client.sync(client._run, function, workers=there, callback_timeout=ASK_EVERY)) if there else {}
        except OSError:  # it takes longer, or somebody has just gone, which the scheduler is about to hear
            time.sleep(0.1)


def check_recoverable(client: Client, X: RowsLike) -> None:
    """Refuse chunks of which there is one copy, and no way to make another: scattered data."""
    from distributed import Future

    keys = [value.key for value in _leaves(X) if isinstance(value, Future)]
    if not keys:
        return

    def alone(dask_scheduler: Any) -> int:
        seen, todo, found = set(), list(keys), 0
        while todo:
            task = dask_scheduler.tasks.get(todo.pop())
            if task is None or task.key in seen:
                continue
            seen.add(task.key)
            found += task.run_spec is None and len(task.who_has or ()) < 2
            todo += [other.key for other in task.dependencies]
        return found

    n = Pulse(client).ask(lambda: client.run_on_scheduler(alone))
    if n:
        raise VotronError(
            f"X rests on {n} scattered piece(s) of data with one copy each, which would be lost with their worker: "
            "read them from files or make them by a function, or keep two copies with client.replicate(..., n=2)."
        )


def _leaves(X: RowsLike) -> list[Any]:
    """Return what the tasks of a collection hold or name that is no task itself."""
    graph = dict(X.__dask_graph__())
    found = []
    for task in graph.values():
        value = getattr(task, "value", task)
        stack = [value, *getattr(task, "args", ()), *(getattr(task, "kwargs", None) or {}).values()]
        while stack:
            item = stack.pop()
            if isinstance(item, list | tuple):
                stack += item
            elif isinstance(item, dict):
                stack += item.values()
            else:
                found.append(getattr(item, "value", item))
    return found


# -- whether it works -------------------------------------------------------------------------------------------------


class Pulse:
    """Who is there on a cluster, and who works: Dask pauses a worker that is short of memory.

    Parameters
    ----------
    client : distributed.Client
        The client.
    """

    def __init__(self, client: Client) -> None:
        import dask
        from dask.utils import parse_timedelta

        self.client = client
        self.lost_after = float(parse_timedelta(dask.config.get("votron.lost-after", LOST_AFTER)))
        self.asked = self._there = time.monotonic()
        self._silent: list[str] = []
        self._seen: dict[str, tuple[float, float]] = {}  # what the scheduler heard last, and when we were told
        self._worked: dict[str, float] = {}

    def workers(self) -> list[str]:
        """Return the workers that are there, and have given signs of life lately."""
        self.asked = now = time.monotonic()
        self.check_client()
        identity = self.client.scheduler.identity
        workers = self.ask(lambda: self.client.sync(identity, callback_timeout=self.lost_after))["workers"]
        found, self._silent = [], []
        for address, facts in workers.items():
            last_seen, heard = self._seen.get(address, (None, now))
            if facts["last_seen"] != last_seen:
                heard = now
            self._seen[address] = facts["last_seen"], heard
            if now - heard > self.lost_after:
                self._silent.append(address)
                continue
            found.append(address)
            if facts["status"] == "running" or address not in self._worked:
                self._worked[address] = now
        self._there = now if found else self._there
        return found

    def give_up(self, address: str) -> None:
        """Tell the scheduler that a worker is lost, so that it asks others for what that one has."""

        async def remove(dask_scheduler: Any) -> str:
            return str(await dask_scheduler.remove_worker(address, stimulus_id=f"votron-lost-{time.time()}"))

        self.ask(lambda: self.client.run_on_scheduler(remove))

    def ask(self, question: Callable[[], Any]) -> Any:
        """Return what the scheduler answers to a question, or refuse to go on without one."""
        try:
            return question()
        except (OSError, RuntimeError) as error:
            raise self.gone() from error

    def check_client(self) -> None:
        """Refuse to go on without a scheduler."""
        if self.client.status != "running":
            raise self.gone()

    def check_work(self, only: str | None = None) -> None:
        """Refuse to wait where nobody is there, or nobody has worked for as long as one may be silent.

        A task waits for the worker that has it, or ``only`` may have it, also when Dask has paused that one. Where one
        has been silent for so long, others get its tasks.
        """
        workers, now = self.workers(), time.monotonic()
        if not workers:
            if now - self._there > self.lost_after:
                raise self.nobody()
            return
        for address in self._silent:
            self.give_up(address)
        tasks_of = self.ask(self.client.processing)
        busy = [address for address, tasks in tasks_of.items() if tasks and address in self._worked]
        for waited_for in ([only] if only is not None and only in workers else [], busy or workers):
            worked = max((self._worked[address] for address in waited_for), default=now)
            if now - worked > self.lost_after:
                raise self._paused(waited_for, workers)

    def _paused(self, some: list[str], workers: list[str]) -> VotronError:
        who, have = f"The workers {joined(some)}", "have"
        if len(some) == len(workers):
            who = "All workers"
        elif len(some) == 1:
            who, have = f"The worker {some[0]}", "has"
        return VotronError(
            f"{who} of the Dask cluster at {self._address} {have} been paused by Dask for {self.lost_after:g} seconds, "
            "for want of memory: give workers more, or make the chunks of X smaller, and train again."
        )

    def nobody(self) -> VotronError:
        """Return the error of a cluster without workers."""
        return VotronError(
            f"The Dask cluster at {self._address} has had no worker for {self.lost_after:g} seconds: start some, with "
            "more memory if that is why they went, and train again."
        )

    def gone(self) -> VotronError:
        """Return the error of a client or a scheduler that is no more."""
        if self.client.status in ("closed", "closing"):
            return VotronError(
                "The Dask client was closed during training, which has ended: train again with another one."
            )
        return VotronError(
            f"The Dask scheduler at {self._address} does not answer any more, and training has ended: "
            "connect to a cluster, and train again."
        )

    @property
    def _address(self) -> str:
        return str(getattr(self.client.scheduler, "address", "?"))


def too_often_lost() -> VotronError:
    """Return the error of workers that go again and again."""
    return VotronError(
        "Workers of the Dask cluster were lost time and again, before they had done their part: give them more memory, "
        "or make the chunks of X smaller, and train again."
    )


def results_of(client: Client, futures: Sequence[Any]) -> list[Any]:
    """Return the results of futures, here; refuse to wait for a cluster that does not work any more."""
    from distributed import wait

    pulse, waiting = Pulse(client), True
    try:
        while waiting and not any(future.status == "error" for future in futures):
            try:
                wait(futures, timeout=ASK_EVERY)
                waiting = False
            except TimeoutError:
                pulse.check_work()
        return _gathered(pulse, futures)
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise too_often_lost() from None
        if type(error).__name__ in CANCELLED:
            time.sleep(0.1)  # the client is about to hear why
            pulse.check_client()
        raise


def _gathered(pulse: Pulse, futures: Sequence[Any]) -> list[Any]:
    """Return results that are there, or in the making again, since a worker went with one that was on its way."""
    client, patience = pulse.client, pulse.lost_after

    async def gathered() -> list[Any]:
        return list(await client.gather(futures, asynchronous=True))

    while True:
        try:
            return list(client.sync(gathered, callback_timeout=patience))
        except TimeoutError:
            if any(future.status == "error" for future in futures):  # it is the task's own
                raise
            pulse.check_work()
            patience *= 2  # they may be large
