"""The page: the perceptron game, a training run to move through, a digit to draw.

It needs FastAPI and uvicorn: ``pip install "votron[web]"``. HTML, CSS and JavaScript are in ``static``; all learning
happens in the library.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from votron._util.types import Estimator, Labels, RowsLike

if TYPE_CHECKING:
    from votron.web._models import Piece

__all__ = ["export_lecture", "pieces", "play"]


def pieces(
    model: Estimator = None, title: str = "your model", X: RowsLike = None, y: Labels = None, *, raw: bool = True
) -> list[Piece]:
    """Return the models of the page: bundled ones, which are trained when `play` starts, and yours.

    Parameters
    ----------
    model : VotedPerceptronClassifier, optional
        Your model, with its title.
    X, y : rows as the model takes them, and labels, optional
        Data to measure its errors on.
    raw : bool, default=True
        Whether the rows may be pixels, and are not the output of an encoder.

    Examples
    --------
    >>> from votron.web import pieces
    >>> [piece.id for piece in pieces()][:3]
    ['moons', 'clouds', 'digits']
    """
    from votron.web._models import bundled_pieces, given_piece

    return bundled_pieces() + ([] if model is None else [given_piece(model, title, X, y, raw=raw)])


def play(shown: list[Piece], **how: Any) -> None:
    """Serve the page to this machine until Ctrl-C or SIGTERM.

    Parameters
    ----------
    shown : list of Piece
        Models to show, from `pieces`.
    **how : optional
        ``port`` (0: a free one), ``open_browser`` (False), and ``say``, which is called with the address.

    Examples
    --------
    ``votron play`` with your own model::

        from votron.web import pieces, play
        play(pieces(model, "my model", X_test, y_test), port=8000, open_browser=True)
    """
    from votron.web._server import serve

    serve(shown, **how)


def export_lecture(path: str, piece: Piece, links: Iterable[str] = ()) -> int:
    """Write one HTML file that replays games and a run, without a server; return its size in bytes.

    ``links`` are games, as links from the page (by default four examples); ``piece``, from `pieces`, is the model whose
    run is shown.

    Examples
    --------
    >>> import tempfile
    >>> from votron.web import export_lecture, pieces
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_lecture(f"{folder}/lecture.html", pieces()[0]) > 100_000
    True
    """
    from votron.web._server import check_packages

    check_packages()
    from votron.web._lecture import write_lecture

    return write_lecture(path, piece, links)
