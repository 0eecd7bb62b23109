"""The server of the page in a thread, for tests."""

import contextlib
import threading
import time

import uvicorn

from votron.web import listening
from votron.web._app import make_app


@contextlib.contextmanager
def serving(pieces=()):
    """Serve the page; yield its address."""
    bound = listening(0)
    port = bound.getsockname()[1]
    app = make_app(pieces, port)
    config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # the thread of the tests is not the main one
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()
