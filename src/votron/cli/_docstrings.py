"""Parameters as the docstrings of the estimators describe them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable

_WORD_OR_TWO = 10


def documented(cls: type, others: Iterable[type] = ()) -> dict[str, tuple[str, str]]:
    """Return type and description of each parameter, from the section of a numpydoc docstring."""
    lines = inspect.cleandoc(cls.__doc__ or "").split("\n")
    start = next((i + 2 for i, line in enumerate(lines) if line == "Parameters"), len(lines))
    found: dict[str, tuple[str, list[str]]] = {}
    names: list[str] = []
    for i in range(start, len(lines)):
        line = lines[i]
        if i + 1 < len(lines) and set(lines[i + 1]) == {"-"}:
            break
        if line and not line.startswith(" "):
            head, _, kind = line.partition(" : ")
            names = [name.strip() for name in head.split(",")]
            found |= {name: (kind, []) for name in names}
        else:
            for name in names:
                found[name][1].append(line.strip())
    return _followed({name: (kind, " ".join(filter(None, words))) for name, (kind, words) in found.items()}, others)


def _followed(found: dict[str, tuple[str, str]], others: Iterable[type]) -> dict[str, tuple[str, str]]:
    """Look up what is said elsewhere: "As in `VotedPerceptronClassifier`."."""
    for name, (_, words) in found.items():
        other = re.match(r"As in `(\w+)`", words)
        owner = next((cls for cls in others if other and cls.__name__ == other[1]), None)
        if owner is not None:
            found[name] = documented(owner)[name]
    return found


def first_sentence(found: tuple[str, str], names: set[str], option: Callable[[str], str]) -> tuple[str, str]:
    """Return the type, and the first sentence, or two where the first is but a word or two."""
    kind, words = found
    sentences = re.split(r"(?<=\.)\s+(?=[A-Z\"`])", words)
    said = sentences[0] if len(sentences[0]) >= _WORD_OR_TWO else " ".join(sentences[:2])

    def plain(match: re.Match[str]) -> str:
        return option(match[1]) if match[1] in names else match[1]

    return kind, re.sub(r"`+([^`]+)`+", plain, re.sub(r" \(see `[^)]*\)", "", said))
