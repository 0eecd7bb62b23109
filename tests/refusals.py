"""Errors as a product: what is refused says so in one clear sentence, and leaves everything as it was."""

import re

import pytest


def refusal(model, act):
    """Act on the model; return what it raised, having seen that the model is as it was."""
    before = dict(model.__dict__)
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        act(model)
    assert list(model.__dict__) == list(before)
    assert all(model.__dict__[name] is before[name] for name in before)
    return caught.value


def assert_clear(error, *words):
    """Whether it is a sentence (and what was got instead) that has these words."""
    message = str(error)
    for word in words:
        assert word in message
    assert "\n" not in message
    assert len(message) < 400
    assert re.fullmatch(r"[A-Z].*(\.|instead\. Did you mean .*\?)", message)
