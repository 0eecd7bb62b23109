"""A file of what a search has tried, from which a search that was ended, or killed, goes on.

It is text, one JSON object a line: the version of Votron, for each classifier what its data and folds were, and for
each setting, number of rows and fold the scores. A line is added when a fold is complete, so that all but the fold at
work is there whatever happens; a last line that was not written to its end is dropped. A search with other settings on
the same data takes what it can use.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from votron._util.files import write_bytes
from votron._version import __version__
from votron.errors import VotronError
from votron.estimators._search.trials import FoldScores

_KIND = "votron search 1"
_HEADER = {"kind": _KIND, "votron": __version__}
_SAME = {
    "data": "the data, the folds or the encoder are not what they were",
    "scoring": "the score is not what it was",
    "fixed": "the random state or another parameter is not what it was",
}
"""What must be as it was, in words."""


class KeptTrials:
    """What was tried, in memory, and in a file where there is one.

    Parameters
    ----------
    path : str, path-like or None
        The file, made if it is not there; None: nothing is kept.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "search.jsonl")
    ...     KeptTrials(path).add("a", 100, 0, FoldScores([0.5, 0.75], 1.0, 0.25))
    ...     KeptTrials(path).find("a", 100, 0)
    FoldScores(scores=[0.5, 0.75], fit_time=1.0, score_time=0.25)
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(os.fspath(path))
        self._found: dict[tuple[str, int, int], FoldScores] = {}
        self._searches: dict[str, dict[str, Any]] = {}
        if self.path is not None:
            self._open(self.path)

    def _open(self, path: Path) -> None:
        """Read what is there, and leave whole lines only."""
        try:
            content = path.read_bytes() if path.exists() else b""
            whole = content[: content.rfind(b"\n") + 1]
            lines = [json.loads(line) for line in whole.splitlines()]
            if (lines and lines[0]["kind"] != _KIND) or (content and not whole):
                raise ValueError
            for line in lines[1:]:
                self._take(line)
        except OSError as error:
            raise VotronError(f"Cannot read the file of a search {str(path)!r}: {error.strerror or error}.") from None
        except (ValueError, KeyError, TypeError):
            raise VotronError(
                f"{str(path)!r} is no file of a search: give the name of one, or of a file that is not there yet."
            ) from None
        if lines and lines[0] != _HEADER:
            raise VotronError(
                f"The search in {str(path)!r} cannot go on, since Votron {lines[0].get('votron', '(an older one)')} "
                f"wrote it and this is Votron {__version__}: give another file, or go on with that version."
            )
        if whole != content or not lines:
            self._write(lambda: write_bytes(path, whole or (json.dumps(_HEADER) + "\n").encode()))

    def _take(self, line: dict[str, Any]) -> None:
        if "estimator" in line:
            self._searches[line["estimator"]] = line
            return
        scores = FoldScores([float(each) for each in line["scores"]], float(line["fit"]), float(line["score"]))
        self._found[line["key"], int(line["rows"]), int(line["fold"])] = scores

    def _write(self, write: Any) -> None:
        try:
            write()
        except OSError as error:
            raise VotronError(
                f"Cannot write the file of a search {str(self.path)!r}: {error.strerror or error}."
            ) from None

    def _append(self, line: dict[str, Any]) -> None:
        if self.path is None:
            return
        text = (json.dumps(line) + "\n").encode()

        def write() -> None:
            assert self.path is not None
            with open(self.path, "ab", buffering=0) as file:
                file.write(text)

        self._write(write)

    def check(self, estimator: str, **facts: Any) -> None:
        """Refuse to go on with a search of this classifier on other data, or scored in another way."""
        line = {"estimator": estimator, **facts}
        known = self._searches.get(estimator)
        if known is None:
            self._append(line)
            return
        for name, words in _SAME.items():
            if known.get(name) != line.get(name):
                raise VotronError(
                    f"The search in {str(self.path)!r} cannot go on, since {words}: give another file, or search "
                    "as before."
                )

    def find(self, key: str, n_rows: int, fold: int) -> FoldScores | None:
        """Return what is known of a fold."""
        return self._found.get((key, n_rows, fold))

    def add(self, key: str, n_rows: int, fold: int, found: FoldScores) -> None:
        """Keep what was found."""
        line = {"key": key, "rows": n_rows, "fold": fold, "scores": found.scores}
        self._append({**line, "fit": found.fit_time, "score": found.score_time})
