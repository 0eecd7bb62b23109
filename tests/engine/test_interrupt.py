"""Ctrl-C: training stops after its block and leaves a usable model; a second one breaks off; other handlers stay."""

import queue
import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from paper import paper_perceptron

rng = np.random.RandomState(0)
X = rng.randint(0, 9, (200, 5))
y = rng.randint(0, 2, 200)  # labels that say nothing: training never ends by itself


class Calling:
    """A kernel that does something once training has begun; the first calls are for K(x, x)."""

    def __init__(self, act, after=40):
        self.act, self.after, self.n_calls = act, after, 0

    def __call__(self, A, B):
        self.n_calls += 1
        if self.n_calls == self.after:
            self.act()
        return (A @ B.T + 1.0) ** 2


def model(act=lambda: None, **parameters):
    settings = {"epochs": 10, "memory_limit": 0, "n_jobs": 1, "random_state": 0}  # no cache: the kernel is asked again
    return paper_perceptron(kernel=Calling(act), **{**settings, **parameters})


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def own_handler():
    """Set a handler of the user's for the test; return the signals it got."""
    got = []
    before = signal.signal(signal.SIGINT, lambda signum, frame: got.append(signum))
    yield got
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("epochs", [10, None])
def test_what_was_learnt_until_then_is_kept(epochs, n_jobs):
    whole = model().fit(X, y)
    stopped = model(ctrl_c, epochs=epochs, n_jobs=n_jobs)
    with pytest.raises(
        KeyboardInterrupt, match=r"Training stopped after [\d,]+ examples; the model has what it learnt"
    ):
        stopped.fit(X, y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    n_steps = stopped.record_.n_steps
    assert 0 < n_steps < whole.record_.n_steps
    assert stopped.n_epochs_ == n_steps / 200
    assert not stopped.converged_
    assert stopped.record_.equals(whole.record_.until(n_steps))
    [(_, expected)] = whole.staged_decision_function(X, at=[n_steps / 200], rules=["vote", "last"])
    for rule in expected:
        assert np.array_equal(stopped.with_rule(rule).decision_function(X), expected[rule])


def test_batches_stop_as_well():
    counting = model()
    counting.partial_fit(X[:100], y[:100]).partial_fit(X, y)
    stopped = model(ctrl_c)
    stopped.kernel.after = counting.kernel.n_calls
    stopped.partial_fit(X[:100], y[:100])
    with pytest.raises(KeyboardInterrupt, match="examples; the model has what it learnt"):
        stopped.partial_fit(X, y)
    assert stopped.record_.n_steps > 100
    assert stopped.predict(X).shape == (200,)
    n_steps = stopped.record_.n_steps
    assert stopped.partial_fit(X, y).record_.n_steps == n_steps + 200


def test_ctrl_c_in_the_last_block_is_not_lost():
    """Training is over by then, and complete; the user's wish to stop is not."""
    counting = model(epochs=0.5)
    counting.fit(X, y)
    last = model(ctrl_c, epochs=0.5)
    last.kernel.after = counting.kernel.n_calls
    with pytest.raises(KeyboardInterrupt):
        last.fit(X, y)
    assert last.record_.equals(counting.record_)


def test_an_error_gives_the_handler_back():
    def fail():
        raise RuntimeError("kernel")

    with pytest.raises(RuntimeError, match="kernel"):
        model(fail).fit(X, y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_user_s_handler_is_respected(own_handler):
    mine = signal.getsignal(signal.SIGINT)
    handlers = []

    def act():
        handlers.append(signal.getsignal(signal.SIGINT))
        ctrl_c()

    trained = model(act).fit(X, y)  # their handler does not stop it, so neither do we
    assert own_handler == [signal.SIGINT]
    assert handlers == [mine]
    assert signal.getsignal(signal.SIGINT) is mine
    assert trained.record_.equals(model().fit(X, y).record_)


def test_other_threads_leave_handlers_alone():
    handlers, results = [], queue.Queue()
    trained = model(lambda: handlers.append(signal.getsignal(signal.SIGINT)))

    def work():
        try:
            results.put(trained.fit(X, y))
        except BaseException as error:
            results.put(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results.get() is trained
    assert handlers == [signal.default_int_handler]
    assert trained.record_.equals(model().fit(X, y).record_)


# -- a real process and real signals ----------------------------------------------------------------------------------

SCRIPT = """
    import sys, time
    import numpy as np
    from votron import VotedPerceptronClassifier

    calls = 0

    def kernel(A, B):
        global calls
        calls += 1
        if calls == 40:
            print("training", flush=True)
        while calls > 40 and "stuck" in sys.argv:
            time.sleep(0.05)
        return (A @ B.T + 1.0) ** 2

    rng = np.random.RandomState(0)
    X, y = rng.randint(0, 9, (200, 5)), rng.randint(0, 2, 200)
    model = VotedPerceptronClassifier(kernel=kernel, margin=0.0, epochs=1e9, memory_limit=0, random_state=0)
    try:
        model.fit(X, y)
    except KeyboardInterrupt as stop:
        print("stopped", str(stop), flush=True)
    if hasattr(model, "record_"):
        print("usable", model.predict(X).shape, len(model.record_) > 0, model.record_.n_steps >= 200, flush=True)
"""


@contextmanager
def started(*arguments):
    """A process that trains; whatever becomes of the test, it does not outlive it."""
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "training\n", process.communicate(timeout=60)
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to a whole console, this test included")
def test_a_process_that_is_interrupted_has_a_model():
    with started() as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    stopped, usable = out.splitlines()
    assert stopped.startswith("stopped Training stopped after ")
    assert usable == "usable (200,) True True"
    assert err == ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to a whole console, this test included")
def test_a_process_that_is_stuck_is_broken_off_by_a_second_signal():
    with started("stuck") as process:
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=1)  # it waits for the end of the block
        while process.poll() is None:  # a busy machine may take both for one
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                out, err = process.communicate(timeout=5)
    assert process.returncode == 0, err
    assert out.splitlines()[-1].strip() == "stopped"  # and nothing was learnt
