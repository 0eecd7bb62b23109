"""Names and units of features: columns however they were chosen, and steps that are undone one by one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from votron import (
    AveragedPerceptronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    VotedPerceptronClassifierCV,
    WinnowClassifier,
    explain,
)
from votron.errors import VotronError
from votron.explanations import strongest_features
from votron.explanations.features import names_after

FRAME = pd.DataFrame(
    {
        "temp": [55.0, 80.0, 70.0, 85.0, 60.0, 75.0],
        "wind": [10.0, 2.0, 3.0, 1.0, 9.0, 4.0],
        "hour": [1.0, 5.0, 2.0, 4.0, 3.0, 6.0],
        "sky": ["grey", "blue", "blue", "blue", "grey", "blue"],
        "text": ["rain wind", "sun", "sun day", "day sun", "wind rain", "sun"],
    }
)
PLAY = np.array(["no", "yes", "yes", "yes", "no", "yes"])
NUMBERS = FRAME[["temp", "wind", "hour"]]


def values_of(model, rows):
    (why,) = explain(model, rows, top=None)
    return {term.name: term.value for term in why.features.largest}


@pytest.mark.parametrize("classifier", [NaiveBayesLinearClassifier(binarize=0), WinnowClassifier(binarize=0)])
def test_values_that_a_classifier_cuts_are_those_of_the_data(classifier):
    model = make_pipeline(StandardScaler(), classifier).fit(NUMBERS, PLAY)
    found = values_of(model, NUMBERS[:1])
    assert found == pytest.approx({name: NUMBERS[name][0] for name in found})
    assert "wind" in found


def averaged():
    return AveragedPerceptronClassifier(random_state=0)


@pytest.mark.parametrize(
    "words",
    [
        TfidfVectorizer(),
        HashingVectorizer(n_features=64),
        make_pipeline(CountVectorizer(), TfidfTransformer()),
    ],
    ids=["tfidf", "hashing", "counts"],
)
@pytest.mark.parametrize("column", ["text", 4], ids=str)
def test_a_column_of_texts_is_called_by_its_name(words, column):
    encoder = ColumnTransformer([("t", words, column), ("n", StandardScaler(), ["temp"])])
    model = make_pipeline(encoder, averaged()).fit(FRAME, PLAY)
    found = values_of(model, FRAME[:1])
    assert set(found) == {"text: rain", "text: wind", "temp"}
    assert found["temp"] == pytest.approx(55)
    if not isinstance(words, HashingVectorizer):
        assert strongest_features(model)["yes"][0][0] in ("text: sun", "text: day", "temp")


@pytest.mark.parametrize(
    "columns",
    [
        slice(0, 2),
        slice("temp", "wind"),
        [True, True, False, False, False],
        np.array([True, True, False, False, False]),
        [0, 1],
        [-5, -4],
        ["temp", "wind"],
        lambda frame: ["temp", "wind"],
    ],
    ids=lambda columns: "a function" if callable(columns) else str(columns),
)
def test_columns_are_resolved_as_scikit_learn_does(columns):
    encoder = ColumnTransformer([("n", StandardScaler(), columns), ("s", OneHotEncoder(), ["sky"])])
    found = values_of(make_pipeline(encoder, averaged()).fit(FRAME, PLAY), FRAME[:1])
    assert found == pytest.approx({"temp": 55, "wind": 10, "sky_grey": 1})


def test_columns_without_names_are_numbered_as_scikit_learn_does():
    encoder = ColumnTransformer([("n", StandardScaler(), [2, 0]), ("t", HashingVectorizer(n_features=64), 4)])
    rows = FRAME.to_numpy(dtype=object)
    found = values_of(make_pipeline(encoder, averaged()).fit(rows, PLAY), rows[:1])
    assert found == pytest.approx({"x2": 1, "x0": 55, "x4: rain": found["x4: rain"], "x4: wind": found["x4: wind"]})


def test_parts_that_are_dropped_or_passed_on():
    encoder = ColumnTransformer(
        [("d", "drop", ["sky", "text"]), ("p", "passthrough", ["wind"]), ("none", StandardScaler(), [])],
        remainder=StandardScaler(),
    )
    found = values_of(make_pipeline(encoder, averaged()).fit(FRAME, PLAY), FRAME[:1])
    assert found == pytest.approx({"wind": 10, "temp": 55, "hour": 1})


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler(), MinMaxScaler((1, 2))],
        [RobustScaler()],
        [MinMaxScaler(), "passthrough", StandardScaler()],
        ["passthrough", StandardScaler()],
        [StandardScaler(), SimpleImputer(add_indicator=True), VarianceThreshold(), MinMaxScaler((1, 2))],
        [make_pipeline(StandardScaler(), MinMaxScaler()), StandardScaler()],
        [StandardScaler(), ColumnTransformer([("a", MinMaxScaler((1, 2)), [2, 0])], remainder="passthrough")],
        [ColumnTransformer([("a", make_pipeline(StandardScaler(), MinMaxScaler((1, 2))), slice(0, 3))])],
    ],
    ids=lambda steps: "-".join(each if isinstance(each, str) else type(each).__name__ for each in steps),
)
@pytest.mark.parametrize("named", [True, False])
def test_scalers_are_undone_one_by_one(steps, named):
    rows = NUMBERS if named else NUMBERS.to_numpy()
    pipeline = Pipeline([(f"s{i}", step) for i, step in enumerate(steps)]).fit(rows)
    names = names_after([step for _, step in pipeline.steps])
    expected = dict(zip(NUMBERS if named else ["x0", "x1", "x2"], NUMBERS.to_numpy().T, strict=True))
    assert sorted(names) == sorted(expected)
    for i, column in enumerate(np.asarray(pipeline.transform(rows)).T):
        np.testing.assert_allclose([names.original(i, value) for value in column], expected[names[i]])


@pytest.mark.parametrize("last", [Normalizer(), PolynomialFeatures(include_bias=False)], ids=str)
def test_after_a_step_that_cannot_be_undone_values_are_its_own(last):
    pipeline = make_pipeline(StandardScaler(), last).fit(NUMBERS)
    names, rows = names_after([step for _, step in pipeline.steps]), pipeline.transform(NUMBERS)
    assert [names.original(i, value) for i, value in enumerate(rows[0])] == rows[0].tolist()
    scaled = make_pipeline(StandardScaler(), last, MinMaxScaler((1, 2))).fit(NUMBERS)
    names = names_after([step for _, step in scaled.steps])
    np.testing.assert_allclose(
        [names.original(i, value) for i, value in enumerate(scaled.transform(NUMBERS)[0])], rows[0], atol=1e-12
    )


@pytest.mark.parametrize("n", [0, 1, 3])
def test_too_few_or_too_many_names_are_refused_in_a_sentence(n):
    model = VotedPerceptronClassifier(kernel="linear", random_state=0).fit(NUMBERS[["temp", "wind"]], PLAY)
    rows, given = NUMBERS[["temp", "wind"]][:2], ["a", "b", "c"][:n]
    with pytest.raises(VotronError) as caught:
        model.explain(rows, names=given)
    assert str(caught.value) == f"The 'names' must have one for each row, 2 in all. Got {n} instead."
    with pytest.raises(VotronError) as caught:
        model.explain(rows, feature_names=given)
    assert str(caught.value) == f"The 'feature_names' must have one for each feature, 2 in all. Got {n} instead."


def test_a_model_that_chose_its_parameters_is_explained_as_the_one_it_found():
    chosen = VotedPerceptronClassifierCV(kernels=["linear"], margins=[0.5], epochs=2, cv=2, random_state=0)
    chosen.fit(NUMBERS, PLAY)
    expected = chosen.best_estimator_.explain(NUMBERS[:2], "yes", "no", top=2).to_dict()
    assert chosen.explain(NUMBERS[:2], "yes", "no", top=2).to_dict() == expected
    model = make_pipeline(StandardScaler(), chosen).fit(NUMBERS, PLAY)
    assert values_of(model, NUMBERS[:1]) == pytest.approx({"temp": 55, "wind": 10, "hour": 1})
