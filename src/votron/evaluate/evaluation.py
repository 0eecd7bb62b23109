"""The evaluation of a classifier on labelled rows, batch by batch: only scores and labels are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from scipy.special import betaincinv
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support, roc_auc_score

from votron._util.frames import plain_labels
from votron._util.pipelines import classifier_of, rows_for_classifier, weighs_classes
from votron._util.text import as_text, counted, first_of, name_of, percent, percent_range
from votron._util.types import Array, Classes, Estimator, Floats, Index, Label, Labels, Params, RowsLike
from votron.errors import VotronError
from votron.estimators._probabilities import ProbabilisticClassifier
from votron.plots.training import RulesOverTime, has_moments, rule_words
from votron.rules.base import rules_that_differ

_MOST_CLASSES = 20
"""Classes up to which the confusion matrix is written, where it is not too wide."""
_MOST_CONFUSIONS = 15
_RARE = 0.1
"""Share of the rows below which a class may be rare; of many classes, below half of what each would have."""


class Confusion:
    """Counts of true and predicted labels, added up batch by batch, and the metrics that follow from them."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[Label, Label]] = Counter()
        self.rows: Counter[Label] = Counter()
        """Rows of each true label."""

    def add(self, true: Array, predicted: Array) -> None:
        self.counts.update(zip(true.tolist(), predicted.tolist(), strict=True))
        self.rows.update(true.tolist())

    @property
    def n(self) -> int:
        return self.rows.total()

    @property
    def wrong(self) -> int:
        return sum(count for _, _, count in self.largest())

    @property
    def error(self) -> float:
        return self.wrong / self.n

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the exact interval for the error."""
        return clopper_pearson(self.wrong, self.n, confidence)

    def labels(self, classes: Classes) -> list[Label]:
        """Return a model's labels, and those of the data that it has never seen."""
        known: list[Label] = classes.tolist()
        return known + sorted(set(self.rows) - set(known), key=str)

    def _as_rows(self) -> Params:
        """Return true and predicted labels as scikit-learn's metrics take them: each pair once, with its count."""
        true, predicted = zip(*self.counts, strict=True)
        return {"y_true": true, "y_pred": predicted, "sample_weight": list(self.counts.values())}

    def matrix(self, labels: list[Label]) -> Index:
        """Return the counts, a row for each true label and a column for each predicted one."""
        return np.asarray(confusion_matrix(**self._as_rows(), labels=labels))

    def by_class(self, labels: list[Label]) -> list[Params]:
        """Return precision, recall and F1 (None for 0/0), rows and wrong rows of each label."""
        shares = precision_recall_fscore_support(**self._as_rows(), labels=labels, zero_division=np.nan)[:3]
        found = []
        for label, *values in zip(labels, *(each.tolist() for each in shares), strict=True):
            precision, recall, f1 = (None if np.isnan(share) else share for share in values)
            rows, right = self.rows[label], self.counts[label, label]
            shown = {"label": label, "precision": precision, "recall": recall, "f1": f1}
            found.append({**shown, "rows": rows, "wrong": rows - right})
        return found

    def means(self, labels: list[Label]) -> dict[str, float]:
        """Return balanced accuracy and macro F1: means of recall and F1 over the labels that have one."""
        rows = self.by_class(labels)
        recall, f1 = ([row[name] for row in rows if row[name] is not None] for name in ("recall", "f1"))
        return {"balanced_accuracy": float(np.mean(recall)), "macro_f1": float(np.mean(f1))}

    def largest(self) -> list[tuple[Label, Label, int]]:
        """Return true label, predicted label and count of wrong predictions, the most frequent first."""
        found = [(*key, count) for key, count in self.counts.items() if key[0] != key[1]]
        return sorted(found, key=lambda entry: (-entry[2], str(entry[0]), str(entry[1])))

    @property
    def majority(self) -> Params:
        """The most frequent label, of several the first by name, and the error of always saying it."""
        label = min(self.rows, key=lambda each: (-self.rows[each], str(each)))
        wrong = self.n - self.rows[label]
        return {"label": label, "wrong": wrong, "error": wrong / self.n}

    @property
    def rarest(self) -> Params:
        """The label with the fewest rows, how many it has, how many of these are found, and whether that is rare."""
        label = min(self.rows, key=lambda each: (self.rows[each], str(each)))
        n, rare = self.rows[label], self.rows[label] < self.n * min(_RARE, 0.5 / len(self.rows))
        return {"label": label, "rows": n, "found": self.counts[label, label], "rare": rare}


def rarest_in_words(rarest: Mapping[str, Label], *, weighed: bool, of: str = "") -> str:
    """Return how many rows of the rarest class are found, where it is rare, or classes were ``weighed``; else ""."""
    if not (rarest["rare"] or weighed):
        return ""
    rows, are = counted(rarest["rows"], "row"), "is" if rarest["rows"] == 1 else "are"
    return f"{rarest['found']:,} of {rows} of '{name_of(rarest['label'])}', the rarest class{of}, {are} found"


def beside_majority(wrong: int, majority: Mapping[str, Label], *, by_error: bool = False) -> str:
    """Return the majority's error in words, and whether a model with so many errors is no better (``by_error``)."""
    words = f"always saying {majority['label']} would be wrong on {percent(majority['error'])}"
    return words if wrong < majority["wrong"] else f"{words}: {'by error ' if by_error else ''}this model is no better"


def clopper_pearson(wrong: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact interval for a share: all p for which ``wrong`` of ``n`` are neither too many nor too few.

    Reference: C. Clopper and E. Pearson, Biometrika 26 (1934), 404-413.
    """
    # binomtest(wrong, n).proportion_ci(confidence, "exact") searches for the same ends, slower and less exactly.
    tail = (1 - confidence) / 2
    low = 0.0 if wrong == 0 else float(betaincinv(wrong, n - wrong + 1, tail))
    high = 1.0 if wrong == n else float(betaincinv(wrong + 1, n - wrong, 1 - tail))
    return low, high


def has_class_scores(classifier: Estimator) -> bool:
    """Tell whether ``decision_function`` has scores of classes, not of pairs of classes."""
    pairwise = getattr(classifier, "decision_function_shape", None) == "ovo" and len(classifier.classes_) > 2
    return hasattr(classifier, "decision_function") and not pairwise


def mean_auc(known: Array, scores: Floats, weights: Floats | None = None) -> float | None:
    """Return the mean area under the ROC curves of columns that tell which rows are of a class, and of their scores.

    Classes that all rows have, or none, do not count; None if no other is left.
    """
    both = [k for k in range(known.shape[1]) if 0 < np.count_nonzero(known[:, k]) < len(known)]
    areas = [roc_auc_score(known[:, k], scores[:, k], sample_weight=weights) for k in both]
    return float(np.mean(areas)) if areas else None


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
    """

    def __init__(self, model: Estimator, *, all_rules: bool = False, threshold: float | None = None) -> None:
        self.model, self.classifier, self.threshold = model, classifier_of(model), threshold
        self.classes = plain_labels(self.classifier.classes_)
        if threshold is not None and len(self.classes) != 2:
            message = f"A threshold is for two classes. The model has {len(self.classes)}."
            raise VotronError(message, parameter="threshold")
        self.counts = Confusion()
        self.rules: RulesOverTime | None = None
        if all_rules and not has_moments(self.classifier):
            message = f"Several rules are for models that keep their record. Got a {type(self.classifier).__name__}."
            raise VotronError(message, parameter="all_rules")
        if all_rules:
            record, rules = self.classifier.record_, rules_that_differ(len(self.classes))
            self.rules = RulesOverTime(self.classifier, rules, [record.n_steps / record.n_examples])
        self._logs: list[Floats] = []
        self._scores: list[Floats] = []
        self._true: list[Array] = []
        self._right: list[Array] = []

    def add(self, X: RowsLike, y: Labels) -> Array:
        """Predict a batch and count it; return the predicted labels."""
        X, y, model = rows_for_classifier(self.model, X), np.asarray(y), self.classifier
        logs = _log_probabilities(model, X)
        if logs is not None:
            self._logs.append(logs)
        elif has_class_scores(model):
            self._scores.append(np.asarray(model.decision_function(X)))
        if logs is not None and self.threshold is not None:
            predicted = model.classes_[(logs[:, 1] >= np.log(self.threshold)).astype(int)]
        elif logs is not None and isinstance(model, ProbabilisticClassifier):  # predicts the most probable label
            predicted = model.classes_[logs.argmax(axis=1)]
        else:
            predicted = np.asarray(model.predict(X))
        self._true.append(y)
        self._right.append(predicted == y)
        self.counts.add(y, predicted)
        if self.rules is not None:
            self.rules.add(X, y)
        return np.asarray(predicted)

    @property
    def labels(self) -> list[Label]:
        """The model's labels, and those of the data that it has never seen."""
        return self.counts.labels(self.classes)

    @property
    def log_loss(self) -> float | None:
        """The mean log-loss, where there are probabilities, of labels that the model knows."""
        if not self._logs or not (known := self._known()).any(axis=1).all():
            return None
        return -float(np.concatenate(self._logs)[known].sum()) / len(known)

    @property
    def auc(self) -> float | None:
        """The area under the ROC curve: of several classes the mean of each that occurs, against the rest."""
        scores, known = self._ranks(), self._known()
        if scores is None:
            return None
        return mean_auc(known[:, -1:], scores[:, -1:]) if len(self.classes) == 2 else mean_auc(known, scores)

    def ranking(self) -> tuple[Array, Floats] | None:
        """Return of two classes whether rows are of the second, and their scores for it; None where there are none."""
        scores, known = self._ranks(), self._known()[:, -1]
        if scores is None or self.auc is None or len(self.classes) != 2:
            return None
        return known, scores[:, -1]

    def _ranks(self) -> Floats | None:
        """Return what rows are ranked by: the probabilities, or else the scores."""
        batches = self._logs or self._scores
        return np.concatenate(batches).reshape(self.counts.n, -1) if batches else None

    def sureness(self) -> tuple[Floats, Array]:
        """Return the largest probability of each row, and whether its label is right; nothing without probabilities."""
        if not self._logs:
            return np.zeros(0), np.zeros(0, dtype=np.bool_)
        return np.exp(np.concatenate(self._logs).max(axis=1)), np.concatenate(self._right)

    def gaps(self) -> list[tuple[Label, float, float]]:
        """Return the classes whose mean probability differs from their share of the rows, and both, furthest first.

        Were the probabilities of a class right, the number of its rows would have the mean Σp and the variance
        Σp(1 - p). A class is returned if it is off by more than three standard deviations, and by 3 points, or by half
        a point and half of its share; of two classes the rarer one. Reference: D. Spiegelhalter, Statistics in
        Medicine 5 (1986), 421-433.
        """
        if not self._logs:
            return []
        p = np.exp(np.concatenate(self._logs))
        mean, share = p.mean(axis=0), self._known().mean(axis=0)
        chance = 3 * np.sqrt((p * (1 - p)).sum(axis=0)) / len(p)
        gap = np.abs(mean - share)
        off = (gap > chance) & (gap > np.minimum(0.03, np.maximum(0.005, share / 2)))
        order = np.argsort(share if len(share) == 2 else -gap, kind="stable")
        classes = self.classes.tolist()
        found = [(classes[k], float(mean[k]), float(share[k])) for k in order if off[k]]
        return found[:1] if len(share) == 2 else found

    def _known(self) -> Array:
        """Return which class is the true label of each row."""
        return np.asarray(np.concatenate(self._true)[:, None] == self.classifier.classes_)

    def error_in_words(self, confidence: float = 0.95, between: str = "; ") -> str:
        """Return the error with its interval."""
        found = self.counts
        return (
            f"error {percent(found.error)}: {found.wrong:,} of {counted(found.n, 'row')} wrong{between}"
            f"{100 * confidence:g} % interval {percent_range(found.interval(confidence))}"
        )

    def to_text(self, confidence: float = 0.95, width: int = 120, *, weighed: bool = False) -> str:
        """Return errors, confusions and classes as lines of at most so many characters; ``weighed``: by weights."""
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
            as_text(rules) if (rules := self.rule_cells(confidence)) else "",
            self._confusion_table(labels, width),
            as_text(self.class_cells(confidence)),
        ]
        return "\n\n".join(filter(None, parts))

    def class_cells(self, confidence: float = 0.95) -> list[list[str]]:
        """Return the errors of each class as a table, the head first."""
        cells = [["class", "rows", "wrong", "error", f"{100 * confidence:g} % interval", "precision", "recall", "F1"]]
        for entry in self.counts.by_class(self.labels):
            shares = ["" if entry[name] is None else f"{entry[name]:.3f}" for name in ("precision", "recall", "f1")]
            cells.append([name_of(entry["label"]), *_counted_cells(entry["wrong"], entry["rows"], confidence), *shares])
        return cells

    def rule_cells(self, confidence: float = 0.95) -> list[list[str]]:
        """Return the errors of the rules as a table, the head first; nothing without a record."""
        if self.rules is None:
            return []
        cells, mine = [["rule", "wrong", "error", f"{100 * confidence:g} % interval"]], self.classifier
        for rule, wrong in self.rules.wrong.items():
            own = " (this model)" if rule == (mine.rule_, mine.normalize_vectors) else ""
            cells.append([rule_words(rule) + own, *_counted_cells(int(wrong[-1]), self.rules.n, confidence)[1:]])
        return cells

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
        return f"The largest confusions\n{as_text(rows, left=(0, 1))}"

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
                for rule, (*_, wrong) in self.rules.wrong.items()
            ]
        return {name: value for name, value in document.items() if value is not None}


def _numbers(wrong: int, n: int, confidence: float) -> Params:
    return {"error": wrong / n, "wrong": wrong, "rows": n, "interval": list(clopper_pearson(wrong, n, confidence))}


def _counted_cells(wrong: int, n: int, confidence: float) -> list[str]:
    """Return rows, wrong rows, error and interval as text."""
    error = [percent(wrong / n), percent_range(clopper_pearson(wrong, n, confidence))] if n else ["", ""]
    return [f"{n:,}", f"{wrong:,}", *error]


def _log_probabilities(model: Estimator, X: RowsLike) -> Floats | None:
    """Return logarithms of probabilities, one column a class; None where there are no probabilities."""
    if not hasattr(model, "predict_proba"):
        return None
    if isinstance(model, ProbabilisticClassifier):  # whose logarithms are exact where probabilities round to 0 or 1
        return np.asarray(model.predict_log_proba(X))
    return np.asarray(np.log(np.maximum(model.predict_proba(X), np.finfo(np.float64).eps)))
