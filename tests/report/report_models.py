"""Models of real tables and of digits, for tests of reports."""

from pathlib import Path

from votron.cli import main

TABLES = Path(__file__).parent.parent / "data" / "tables"


def train_models(found):
    """Write models of bird strikes, of penguins and of digits into a folder; one of digits is certified."""
    common = ["--random-state", "0", "--quiet"]
    filled = ["--missing", "most-frequent", "--test", "0.3"]
    birds = [str(TABLES / "birdstrikes.csv"), "--label", "Wildlife Size", *filled]
    assert main(["train", *birds, "--certificate", "-o", str(found / "birds.votron"), *common]) == 0
    assert main(["train", *birds, "--estimator", "averaged", "-o", str(found / "linear.votron"), *common]) == 0
    penguins = [str(TABLES / "penguins.csv"), "--label", "Sex", "--missing", "drop", "--drop-unlabelled"]
    assert main(["train", *penguins, "-o", str(found / "penguins.votron"), *common]) == 0
    assert main(["train", "digits", "--epochs", "1", "--certificate", "-o", str(found / "digits.votron"), *common]) == 0
    certified = ["--kernel", "poly", "--degree", "2", "--gamma", "1", "--margin", "0", "--normalize-kernel"]
    certified += ["--epochs", "none", "--rule", "last"]
    assert main(["train", "digits", *certified, "--certificate", "-o", str(found / "certified.votron"), *common]) == 0
