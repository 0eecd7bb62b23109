"""The server of the page in a thread, for tests."""

import contextlib
import threading
import time

import uvicorn

from votron.web._app import make_app
from votron.web._schemas import Limits
from votron.web._security import Guard
from votron.web._server import listening
from votron.web._workshop import Workshop


@contextlib.contextmanager
def serving(workshop=None, limits=None, token=None):
    """Serve the page; yield its address."""
    limits = limits or Limits()
    bound = listening("127.0.0.1", 0)
    host = f"127.0.0.1:{bound.getsockname()[1]}"
    app = Guard(make_app(workshop or Workshop([]), limits), {host}, token, limits)
    config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # the thread of the tests is not the main one
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://{host}"
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()
