"""The page: the perceptron game, a training run to move through, a digit to draw.

HTML, CSS and JavaScript are in ``static``; all learning happens in the library.
"""

from votron.errors import MissingPackageError

try:
    from votron.web._lecture import export_lecture
    from votron.web._models import pieces
    from votron.web._server import play
except ImportError as error:
    raise MissingPackageError('The page needs FastAPI and uvicorn: pip install "votron[web]".') from error

__all__ = ["export_lecture", "pieces", "play"]
