"""The classifiers of Votron, in scikit-learn's interface."""

from typing import TYPE_CHECKING, Any

from votron.estimators._training import held_out_split
from votron.estimators.adatron import KernelAdatronClassifier
from votron.estimators.averaged import AveragedPerceptronClassifier
from votron.estimators.base import VotronClassifier
from votron.estimators.compact import CompactClassifier
from votron.estimators.naive_bayes import NaiveBayesLinearClassifier
from votron.estimators.voted import VotedPerceptronClassifier
from votron.estimators.voted_cv import VotedPerceptronClassifierCV
from votron.estimators.winnow import WinnowClassifier

if TYPE_CHECKING:
    from votron.estimators.pipelines import ClassifierPipeline, encoder_for, table_classifier, table_options

ESTIMATORS: dict[str, type[VotronClassifier]] = {
    "voted": VotedPerceptronClassifier,
    "averaged": AveragedPerceptronClassifier,
    "adatron": KernelAdatronClassifier,
    "winnow": WinnowClassifier,
    "naive-bayes": NaiveBayesLinearClassifier,
}
"""The classifiers that can be trained, by their names on the command line."""

__all__ = [
    "ESTIMATORS",
    "AveragedPerceptronClassifier",
    "ClassifierPipeline",
    "CompactClassifier",
    "KernelAdatronClassifier",
    "NaiveBayesLinearClassifier",
    "VotedPerceptronClassifier",
    "VotedPerceptronClassifierCV",
    "WinnowClassifier",
    "encoder_for",
    "held_out_split",
    "table_classifier",
    "table_options",
]


def __getattr__(name: str) -> Any:
    if name in (
        "ClassifierPipeline",
        "encoder_for",
        "table_classifier",
        "table_options",
    ):  # which need the encoders of tables
        from votron.estimators import pipelines

        return getattr(pipelines, name)
    raise AttributeError(f"module 'votron.estimators' has no attribute {name!r}")
