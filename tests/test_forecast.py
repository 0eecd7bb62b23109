"""How long training takes: forecasts of runs that are computed step by step, and so known to their end."""

import itertools

import numpy as np
import pytest

from votron import VotedPerceptronClassifier
from votron._util import forecast
from votron._util.forecast import Forecast, seconds_left
from votron.estimators._watching import announcing_long_work

N_ROWS, PASSES, BLOCK = 20_000, 10, 250
RATES = {  # of mistakes, by the number of passes so far
    "noise": lambda passes: 0.45 - 0.005 * passes,
    "noise that is learnt": lambda passes: 0.4 * 0.93**passes,
    "clean": lambda passes: 0.05 / (0.1 + passes) ** 0.5,
    "half the rows": lambda passes: 0.5,
}


def recorded(rate, per_step=2e-6, per_mistake=4e-9, uneven=0.2, seed=0):
    """Return the moments of a run in which a row hears of every mistake since its last visit, at an uneven speed."""
    rng = np.random.RandomState(seed)
    steps = np.arange(0, PASSES * N_ROWS + 1, BLOCK)
    new = [rng.binomial(BLOCK, rate(step / N_ROWS)) for step in steps[1:]]
    mistakes = np.append(0, np.cumsum(new))
    before = np.where(steps > N_ROWS, mistakes[np.maximum(0, np.arange(len(steps)) - N_ROWS // BLOCK)], 0)
    cost = BLOCK * (per_step + per_mistake * (mistakes - before)[1:])
    seconds = np.cumsum(cost * rng.uniform(1 - uneven, 1 + uneven, len(cost)))
    return list(zip(seconds.tolist(), steps[1:].tolist(), mistakes[1:].tolist(), strict=True))


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("seed", range(3))
def test_a_forecast_stays_near_the_truth_from_a_third_of_the_first_pass_on(name, seed):
    moments = recorded(RATES[name], seed=seed)
    end = moments[-1][0]
    for now in range(N_ROWS // BLOCK // 3, len(moments), 7):
        low, high = seconds_left(moments[: now + 1], N_ROWS, PASSES * N_ROWS)
        elapsed = moments[now][0]
        assert low <= high
        assert elapsed + low <= 1.25 * end
        assert elapsed + high >= 0.75 * end
        assert 0.5 * end <= elapsed + (low + high) / 2 <= 2 * end


def test_weights_take_as_long_for_each_row():
    moments = recorded(RATES["noise"], per_mistake=0.0, uneven=0.05)
    for now in (12, 40, 300, len(moments) - 1):
        low, high = seconds_left(moments[: now + 1], N_ROWS, PASSES * N_ROWS)
        truth = moments[-1][0] - moments[now][0]
        assert 0.8 * truth <= low <= truth + 1e-9
        assert truth <= high + 1e-9
        assert high <= 1.3 * truth + 1e-9


@pytest.mark.parametrize(
    "moments",
    [[], [(0.1, 10, 3)] * 3, [(0.1, 10, 3)] * 20],
    ids=["none", "few", "one over and over"],
)
def test_too_little_is_no_forecast(moments):
    assert seconds_left(moments, 100, 1000) is None


def test_no_mistakes_and_no_time_are_no_trouble():
    assert seconds_left([(float(t), 10 * t, 0) for t in range(1, 20)], 100, 1000) == pytest.approx((72.9, 89.1))
    assert seconds_left([(0.0, 10 * t, t) for t in range(1, 20)], 100, 1000) == (0.0, 0.0)
    low, high = seconds_left([(float(t), 10 * t, t) for t in range(1, 200)], 100, 1990)
    assert low == 0 == high


def announced(seconds_a_block, n_blocks=40):
    heard = []
    clock = itertools.count(0.0, seconds_a_block)
    forecast = Forecast(1000, 100_000, lambda *span: heard.append(span), clock=lambda: next(clock))
    for block in range(1, n_blocks + 1):
        forecast.update(10 * block, block)
        if (say := forecast.long()) is not None:
            say()
    return heard


def test_long_work_is_announced_once_and_short_work_is_not():
    ((low, high),) = announced(seconds_a_block=1.0)
    assert 5_000 < low < high
    assert announced(seconds_a_block=0.0001) == []


def test_training_announces_only_where_somebody_wants_to_hear(monkeypatch):
    monkeypatch.setattr(forecast, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(forecast, "SETTLING_SECONDS", 0.0)
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(6000, 3)), rng.randint(0, 2, 6000)
    heard = []
    first = VotedPerceptronClassifier(epochs=3, random_state=0)
    with announcing_long_work(first, lambda *span: heard.append(span)):
        first.fit(X, y)
    assert len(heard) == 1
    again = VotedPerceptronClassifier(epochs=3, random_state=0).fit(X, y)
    assert len(heard) == 1
    assert again.record_.equals(first.record_)
