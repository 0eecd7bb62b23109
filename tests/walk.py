"""The walk of one digit: which modules of Votron run for `fit` and `predict`, and for `votron train` and `predict`.

``python tests/walk.py`` prints them; ``python tests/walk.py docs/architecture.md`` writes them into that page.
"""

import contextlib
import inspect
import io
import re
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import votron
from votron import VotedPerceptronClassifier
from votron.cli import main

HOME = Path(votron.__file__).parent


class Trace:
    """Modules of Votron of which a function is called, in the order of their first calls; not by being imported."""

    def __init__(self):
        self.modules = {}

    def __enter__(self):
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        return self

    def __exit__(self, *failure):
        sys.setprofile(None)
        threading.setprofile(None)
        for name, module in list(sys.modules.items()):
            if name.startswith("votron._loops.") and any(getattr(f, "signatures", None) for f in vars(module).values()):
                self.modules.setdefault(self._name(module.__file__))  # compiled functions are not seen being called

    def _called(self, frame, event, arg):
        if event != "call" or not frame.f_code.co_filename.startswith(str(HOME)):
            return
        name = self._name(frame.f_code.co_filename)
        if name not in self.modules and frame.f_code.co_flags & inspect.CO_OPTIMIZED and not _importing(frame):
            self.modules[name] = None

    @staticmethod
    def _name(path):
        return Path(path).relative_to(HOME).as_posix()


def _importing(frame):
    """Tell whether this is called by a module's own code, while it is imported, or by what finds modules."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(str(HOME)):
            return True
        frame = frame.f_back
    return False


def in_python():
    """Return the modules that run for a digit in Python."""
    X, y = load_digits(return_X_y=True)
    with Trace() as trace:
        model = VotedPerceptronClassifier(
            kernel="poly", margin=0.0, degree=4, gamma=1.0, epochs=1, random_state=0, n_jobs=1
        )
        model.fit(X[:300], y[:300]).predict(X[300:301])
    return list(trace.modules)


def at_the_command_line():
    """Return the modules that run for a digit at the command line."""
    X, y = load_digits(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        train, new, model = (f"{folder}/{name}" for name in ("train.csv", "new.csv", "digits.votron"))
        names, rows = [f"p{i}" for i in range(64)], np.column_stack([X[:300], y[:300]])
        np.savetxt(train, rows, "%d", ",", header=",".join([*names, "digit"]), comments="")
        np.savetxt(new, X[300:301], "%d", ",", header=",".join(names), comments="")
        with Trace() as trace, contextlib.redirect_stdout(io.StringIO()):
            assert main(["train", train, "--label", "digit", "-o", model, "--epochs", "1", "--quiet"]) == 0
            assert main(["predict", model, new, "-o", f"{folder}/labels.csv", "--quiet"]) == 0
    return list(trace.modules)


def listed(modules):
    """Return modules as a list in Markdown, by folder."""
    folders = {}
    for module in modules:
        folder, _, name = module.rpartition("/")
        folders.setdefault(folder, []).append(f"`{name}`")
    lines = [f"- `{folder or '.'}/`: {', '.join(names)}" for folder, names in folders.items()]
    return "\n".join([f"{len(modules)} files of `src/votron`:", "", *lines])


def page(text):
    """Return the page with its lists made anew."""
    for key, modules in (("python", in_python()), ("command-line", at_the_command_line())):
        pattern = rf"(<!-- walk: {key} -->\n).*?(\n<!-- end -->)"
        text = re.sub(pattern, lambda found, m=modules: found[1] + listed(m) + found[2], text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    if len(sys.argv) > 1:
        path = Path(sys.argv[1])
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(listed(in_python()), listed(at_the_command_line()), sep="\n\n")
