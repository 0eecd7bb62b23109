"""The evaluation of a classifier on labelled rows, batch by batch: only scores and labels are kept."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap

import numpy as np

from votron._util.frames import plain_labels
from votron._util.pipelines import classifier_of, rows_for_classifier, weighs_classes
from votron._util.text import counted, first_of, percent, percent_range
from votron._util.text_tables import as_text
from votron._util.types import Array, Estimator, Floats, Label, Labels, Params, RowsLike
from votron.errors import VotronError
from votron.estimators._probabilities import ProbabilisticClassifier
from votron.evaluate.confusion import Confusion, beside_majority, clopper_pearson, rarest_in_words
from votron.evaluate.scores import has_class_scores, mean_auc
from votron.plots.training import RulesOverTime, has_moments, rule_words
from votron.rules.base import rules_that_differ

_MOST_CLASSES = 20
"""Classes up to which the confusion matrix is written, where it is not too wide."""
_MOST_CONFUSIONS = 15
_BY_CHANCE = 3.0
"""Standard deviations up to which the mean probability of a class may differ from its share by chance."""


@dataclass(frozen=True)
class ClassGap:
    """A class whose mean probability is not its share of the rows."""

    label: Label
    probability: float
    share: float

    @property
    def size(self) -> float:
        """The difference."""
        return abs(self.probability - self.share)

    @property
    def matters(self) -> bool:
        """Whether it is above 3 points; of a rare class, above half a point and half of its share."""
        return self.size > 0.03 or self.size > max(0.005, self.share / 2)


class Evaluation:
    """The evaluation of a fitted classifier on labelled rows.

    Parameters
    ----------
    model : classifier
        Any fitted classifier of scikit-learn's kind, or a pipeline that ends in one.
    all_rules : bool, default=False
        Also count the errors of all rules by which a model that keeps its record can predict.
    threshold : float, optional
        With two classes: predict the second where its probability is at least so high.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import AveragedPerceptronClassifier
    >>> from votron.evaluate import Evaluation
    >>> X, y = load_iris(return_X_y=True)
    >>> found = Evaluation(AveragedPerceptronClassifier(random_state=0).fit(X[::2], y[::2]))
    >>> labels = found.add(X[1::2], y[1::2])
    >>> found.counts.n, len(labels)
    (75, 75)
    >>> print(found.to_text()[:5])
    error
    """

    def __init__(self, model: Estimator, *, all_rules: bool = False, threshold: float | None = None) -> None:
        self.model, self.classifier, self.threshold = model, classifier_of(model), threshold
        self.classes = plain_labels(self.classifier.classes_)
        if threshold is not None and len(self.classes) != 2:
            message = f"A threshold is for two classes. The model has {len(self.classes)}."
            raise VotronError(message, parameter="threshold")
        self.counts = Confusion()
        self.rules: RulesOverTime | None = None
        if all_rules:
            if not has_moments(self.classifier):
                kind = type(self.classifier).__name__
                message = f"Several rules are for models that keep their record. Got a {kind} instead."
                raise VotronError(message, parameter="all_rules")
            self.rules = rules_at_the_end(self.classifier)
        self._logs: list[Floats] = []
        self._scores: list[Floats] = []
        self._true: list[Array] = []
        self._right: list[Array] = []

    def add(self, X: RowsLike, y: Labels) -> Array:
        """Predict a batch and count it; return the predicted labels."""
        X, y, model = rows_for_classifier(self.model, X), np.asarray(y), self.classifier
        logs = _log_probabilities(model, X)
        if logs is None:
            predicted = np.asarray(model.predict(X))
            if has_class_scores(model):
                self._scores.append(np.asarray(model.decision_function(X)))
        else:
            predicted = self._chosen(logs, X)
            self._logs.append(logs)
        self._true.append(y)
        self._right.append(predicted == y)
        self.counts.add(y, predicted)
        if self.rules is not None:
            self.rules.add(X, y)
        return predicted

    def _chosen(self, logs: Floats, X: RowsLike) -> Array:
        """Return the labels by the threshold, or the most probable ones where these are what the model predicts."""
        classes = self.classifier.classes_
        if self.threshold is not None:
            return np.asarray(classes[(logs[:, 1] >= np.log(self.threshold)).astype(int)])
        if isinstance(self.classifier, ProbabilisticClassifier):
            return np.asarray(classes[logs.argmax(axis=1)])
        return np.asarray(self.classifier.predict(X))

    # -- what was found ------------------------------------------------------------------------------------------------

    @property
    def labels(self) -> list[Label]:
        """The model's labels, and those of the data that it has never seen."""
        return self.counts.labels(self.classes)

    @property
    def log_loss(self) -> float | None:
        """The mean log-loss, where there are probabilities, of labels that the model knows."""
        known, logs = self._known(), np.concatenate(self._logs or [np.zeros((0, 0))])
        return -float(logs[known].sum()) / len(known) if self._logs and known.any(axis=1).all() else None

    @property
    def auc(self) -> float | None:
        """The area under the ROC curve: of several classes the mean of each that occurs, against the rest."""
        batches, known = self._logs or self._scores, self._known()
        if not batches:
            return None
        scores = np.concatenate(batches).reshape(len(known), -1)
        return mean_auc(known[:, -1:], scores[:, -1:]) if len(self.classes) == 2 else mean_auc(known, scores)

    def ranking(self) -> tuple[Array, Floats] | None:
        """Return of two classes whether rows are of the second, and their scores for it; None where there are none."""
        batches, known = self._logs or self._scores, self._known()[:, -1]
        if not batches or len(self.classes) != 2 or not 0 < known.sum() < len(known):
            return None
        return known, np.concatenate(batches).reshape(len(known), -1)[:, -1]

    def sureness(self) -> tuple[Floats, Array]:
        """Return the largest probability of each row, and whether its label is right; nothing without probabilities."""
        if not self._logs:
            return np.zeros(0), np.zeros(0, dtype=np.bool_)
        return np.exp(np.concatenate(self._logs).max(axis=1)), np.concatenate(self._right)

    def gaps(self) -> list[ClassGap]:
        """Return the classes whose mean probability differs from their share of the rows, the furthest first.

        Problem: are the probabilities of a class too high, or too low, everywhere? Were they right, the number of its
        rows would have the mean Σp and the variance Σp(1 - p); a class is returned if it is further off than that
        allows, and by as much as matters. Of two classes, which are off by the same, the rarer one stands for both.
        Reference: D. Spiegelhalter, Statistics in Medicine 5 (1986), 421-433.
        """
        if not self._logs:
            return []
        p = np.exp(np.concatenate(self._logs))
        far = _BY_CHANCE * np.sqrt((p * (1 - p)).sum(axis=0)) / len(p)
        found = zip(self.classes.tolist(), p.mean(axis=0).tolist(), self._known().mean(axis=0).tolist(), strict=True)
        gaps = [
            gap for gap, chance in zip(starmap(ClassGap, found), far, strict=True) if gap.matters and gap.size > chance
        ]
        if len(self.classes) == 2:
            return sorted(gaps, key=lambda gap: gap.share)[:1]
        return sorted(gaps, key=lambda gap: -gap.size)

    def _known(self) -> Array:
        """Return which class is the true label of each row."""
        return np.asarray(np.concatenate(self._true)[:, None] == self.classifier.classes_)

    # -- for people and machines ---------------------------------------------------------------------------------------

    def error_in_words(self, confidence: float = 0.95, between: str = "; ") -> str:
        """Return the error with its interval."""
        found = self.counts
        return (
            f"error {percent(found.error)}: {found.wrong:,} of {counted(found.n, 'row')} wrong{between}"
            f"{100 * confidence:g} % interval {percent_range(found.interval(confidence))}"
        )

    def to_text(self, confidence: float = 0.95, width: int = 120, *, weighed: bool = False) -> str:
        """Return errors, confusions and classes as lines of at most so many characters.

        ``weighed`` tells that the model was trained with weights, so that the rarest class matters.
        """
        found, labels = self.counts, self.labels
        rarest = rarest_in_words(found.rarest, weighed=weighed or weighs_classes(self.classifier, {}))
        means, area = found.means(labels), self.auc
        words = f"balanced accuracy {percent(means['balanced_accuracy'])}, macro F1 {means['macro_f1']:.3f}"
        lines = [
            self.error_in_words(confidence, "\n"),
            beside_majority(found.wrong, found.majority, by_error=bool(rarest)),
            rarest,
            words if area is None else f"{words}, AUC {area:.4f}",
            "" if self.log_loss is None else f"log-loss {self.log_loss:.4g} by the probabilities of the labels",
        ]
        unknown = first_of(list(map(str, labels[len(self.classes) :])), 5)
        parts = [
            "\n".join(filter(None, lines)),
            f"Labels that the model has never seen, so that all their rows are wrong: {unknown}" if unknown else "",
            self._rule_table(confidence),
            self._confusion_table(labels, width),
            self._class_table(labels),
        ]
        return "\n\n".join(filter(None, parts))

    def _rule_table(self, confidence: float) -> str:
        if self.rules is None:
            return ""
        rows, n = [["rule", "error", "wrong", f"{100 * confidence:g} % interval"]], self.rules.n
        for rule, (wrong,) in self.rules.wrong.items():
            interval = percent_range(clopper_pearson(int(wrong), n, confidence))
            rows.append([rule_words(rule), percent(wrong / n), f"{wrong:,}", interval])
        return as_text(rows)

    def _confusion_table(self, labels: list[Label], width: int) -> str:
        """Return the matrix, or where that would be too wide the most frequent confusions."""
        if len(labels) <= _MOST_CLASSES:
            rows = [["true \\ predicted", *map(str, labels)]]
            for label, counts in zip(labels, self.counts.matrix(labels).tolist(), strict=True):
                rows.append([str(label), *(f"{count:,}" if count else "." for count in counts)])
            text = as_text(rows)
            if max(map(len, text.split("\n"))) <= width:
                return text
        most = self.counts.largest()
        if not most:
            return ""
        rows = [["true", "predicted as", "rows"]]
        rows += [[str(true), str(given), f"{n:,}"] for true, given, n in most[:_MOST_CONFUSIONS]]
        left = len(most) - _MOST_CONFUSIONS
        more = f"\n... and {counted(left, 'other pair')} of labels" if left > 0 else ""
        return f"The largest confusions\n{as_text(rows, left=(0, 1))}{more}"

    def _class_table(self, labels: list[Label]) -> str:
        rows = [["class", "precision", "recall", "F1", "rows"]]
        for entry in self.counts.by_class(labels):
            shares = ["-" if entry[name] is None else f"{entry[name]:.3f}" for name in ("precision", "recall", "f1")]
            rows.append([str(entry["label"]), *shares, f"{entry['rows']:,}"])
        return as_text(rows)

    def to_dict(self, confidence: float = 0.95) -> Params:
        """Return everything as values that JSON can hold."""
        found, labels = self.counts, self.labels
        document = {
            **_numbers(found.wrong, found.n, confidence),
            "confidence": confidence,
            "majority": found.majority,
            **found.means(labels),
            "rarest": found.rarest,
            "auc": self.auc,
            "log_loss": self.log_loss,
            "classes": found.by_class(labels),
            "labels": labels,
            "confusion": found.matrix(labels).tolist(),
        }
        if self.rules is not None:
            document["rules"] = [
                {"rule": rule[0], "normalize_vectors": rule[1], **_numbers(int(wrong), self.rules.n, confidence)}
                for rule, (wrong,) in self.rules.wrong.items()
            ]
        return {name: value for name, value in document.items() if value is not None}


def rules_at_the_end(classifier: Estimator) -> RulesOverTime:
    """Return what counts the errors of all rules at the end of training."""
    record = classifier.record_
    rules = rules_that_differ(len(classifier.classes_))
    return RulesOverTime(classifier, rules, [record.n_steps / record.n_examples])


def _numbers(wrong: int, n: int, confidence: float) -> Params:
    return {"error": wrong / n, "wrong": wrong, "rows": n, "interval": list(clopper_pearson(wrong, n, confidence))}


def _log_probabilities(model: Estimator, X: RowsLike) -> Floats | None:
    """Return logarithms of probabilities, one column a class; None where there are no probabilities."""
    if not hasattr(model, "predict_proba"):
        return None
    if isinstance(model, ProbabilisticClassifier):  # whose logarithms are exact where probabilities round to 0 or 1
        return np.asarray(model.predict_log_proba(X))
    return np.asarray(np.log(np.maximum(model.predict_proba(X), np.finfo(np.float64).eps)))
