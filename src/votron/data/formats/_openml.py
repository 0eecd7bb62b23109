"""Images from OpenML through scikit-learn, with what its `fetch_openml` lacks: progress and a time limit."""

import http.client
import tempfile
import threading
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import sklearn.datasets._openml as sklearn_openml
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

Report = Callable[[int, int | None], None]
"""Told the bytes so far, and the bytes in all if they are known."""

_SECONDS_OF_SILENCE = 60.0  # from the server, before a download is given up


class NotFetchedError(Exception):
    """OpenML did not give it; the message says why, as part of a sentence."""


def fetch_pixels(name: str, report: Report | None) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the images and the labels of version 1 of a data set of OpenML, in its order.

    What `fetch_openml` keeps goes to a folder that does not outlive the call. Its other parser, by pandas, is faster,
    but pandas need not be there. One call at a time, please.
    """
    meter = _Meter(report)
    try:
        with tempfile.TemporaryDirectory() as home, meter.attached(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its retries; what comes of them is told below
            X, y = fetch_openml(
                name, version=1, data_home=home, return_X_y=True, as_frame=False, parser="liac-arff", n_retries=1
            )
        return _bytes_of(X), y.astype(np.int64)
    except Exception as error:  # of the network, HTTP, JSON, gzip, ARFF: the user's way out is the same
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the connection
        if meter.complaint is not None:
            raise meter.complaint from None
        raise NotFetchedError(_reason(error)) from None


def _bytes_of(X: NDArray[Any]) -> NDArray[np.uint8]:
    with np.errstate(invalid="ignore"):  # a pixel that is missing
        pixels = X.astype(np.uint8)
    if not np.array_equal(pixels, X):
        raise ValueError("its pixels are not whole numbers from 0 to 255")
    return pixels


def _reason(error: Exception) -> str:
    """Return what went wrong in one line."""
    cause = error.reason if type(error) is urllib.error.URLError else error
    text = cause.strerror if isinstance(cause, OSError) and cause.strerror else f"{cause}"
    return " ".join(text.split()).rstrip(".") or type(error).__name__


class _Meter:
    """Counts the bytes of a download by fetch_openml, which tells nobody.

    It stands between fetch_openml and urlopen, in this thread only. Where a future scikit-learn calls something else,
    the set is fetched all the same, and no bytes are reported.
    """

    def __init__(self, report: Report | None) -> None:
        self._report = report
        self._thread = threading.get_ident()
        self._urlopen: Callable[..., Any] = urllib.request.urlopen
        self.complaint: Exception | None = None  # raised by `report`, and not for us to explain

    @contextmanager
    def attached(self) -> Iterator[None]:
        found = getattr(sklearn_openml, "urlopen", None)
        if found is None:
            yield
            return
        self._urlopen = found
        sklearn_openml.urlopen = self._open
        try:
            yield
        finally:
            sklearn_openml.urlopen = found

    def _open(self, request: Any, *args: Any, **options: Any) -> Any:
        if threading.get_ident() != self._thread:
            return self._urlopen(request, *args, **options)
        response = self._urlopen(request, *args, **{"timeout": _SECONDS_OF_SILENCE, **options})
        if "/api/" not in request.full_url:  # there are descriptions, here are data
            response.read = self._counting(response)
        return response

    def _counting(self, response: http.client.HTTPResponse) -> Callable[..., bytes]:
        read, length = response.read, response.headers.get("Content-Length", "")
        total = int(length) if length.isdigit() else None
        done = 0

        def counted(*size: int) -> bytes:
            nonlocal done
            chunk = read(*size)
            done += len(chunk)
            if not chunk and total is not None and done < total:  # which http.client lets pass
                raise urllib.error.URLError(f"the download broke off after {done:,} of {total:,} bytes")
            if chunk:
                self._tell(done, total)
            return chunk

        self._tell(0, total)
        return counted

    def _tell(self, done: int, total: int | None) -> None:
        try:
            if self._report is not None:
                self._report(done, total)
        except Exception as error:
            self.complaint = error
            raise
