"""Errors in the words of options: parameters are named as options, and what users wrote stays as they wrote it."""

import ast
import graphlib
import gzip
from pathlib import Path

import pytest

import votron.cli
from votron.cli import _parser, _predict, main

ROWS = "1,2,x\n3,4,y\n5,6,x\n7,8,y\n"


def complaint(capsys, *arguments):
    assert main([*arguments, "-o", "m.votron"]) != 0
    return capsys.readouterr().err.strip().removeprefix("votron train: ")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "column", ["na_values", "as_text", "max_bytes", "zero_based", "header=False", "missing='drop'"]
)
def test_names_of_columns_stay(column, here, capsys):
    (here / "a.csv").write_text(f"{column},b,label\n{ROWS.replace('3,4', 'warm,4')}")
    said = complaint(capsys, "train", "a.csv", "--label", "label")
    assert said == (
        f"The column {column!r} of 'a.csv' must hold numbers alone, as most of its values are. Got 'warm' in line 3 "
        "instead: mend it, name it in --na-values if it means that nothing is there, or say with --discrete that it is "
        "a column of names."
    )


def test_names_of_columns_stay_where_others_are_listed(here, capsys):
    (here / "a.csv").write_text(f"n_features,with label,y\n{ROWS}")
    said = complaint(capsys, "train", "a.csv")
    assert said == "Say which column of 'a.csv' holds the labels, with --label: it has 'n_features', 'with label', 'y'."


@pytest.mark.parametrize("name", ["with label.csv", "max_bytes.csv", "as_text.csv", "quote=''.csv", "drop=2.csv"])
def test_names_of_files_stay(name, here, capsys):
    (here / name).write_text(f"a,b,c\n{ROWS}")
    said = complaint(capsys, "train", name)
    assert said == f"Say which column of {name!r} holds the labels, with --label: it has 'a', 'b', 'c'."


def test_a_file_that_expands_too_far_keeps_its_name(here, capsys):
    (here / "max_bytes.csv.gz").write_bytes(gzip.compress(b"a,b,c\n" + 1000 * b"1,2,x\n"))
    said = complaint(capsys, "train", "max_bytes.csv.gz", "--label", "c", "--max-expanded", "1000")
    assert said == (
        "The gzip compression of 'max_bytes.csv.gz' expands to more than the 1000 bytes that --max-expanded allows: "
        "raise it if that is right."
    )


def test_labels_stay(here, capsys):
    (here / "a.csv").write_text(f"a,b,c\n{ROWS.replace('x', 'header=False').replace('y', 'header=False')}")
    said = complaint(capsys, "train", "a.csv", "--label", "c")
    assert (
        said == "The labels must have at least 2 classes to tell apart. Got 1 class instead, 'header=False', in 4 rows."
    )


def test_values_that_were_typed_stay(here, capsys):
    (here / "a.csv").write_text(f"a,b,c\n{ROWS}")
    said = complaint(capsys, "train", "a.csv", "--label", "as_text")
    assert said == "The label must be a column of 'a.csv', which has 'a', 'b', 'c'. Got 'as_text' instead."


def test_a_column_that_sounds_like_a_sentence(here, capsys):
    """Words of a model that is not there, as an error would have them, are data like others."""
    (here / "a.csv").write_text(f"The 'x' parameter of Y,b,c\n{ROWS}")
    said = complaint(capsys, "train", "a.csv")
    assert said == (
        "Say which column of 'a.csv' holds the labels, with --label: it has \"The 'x' parameter of Y\", 'b', 'c'."
    )


def test_a_name_that_was_meant_may_have_a_quote(here, capsys):
    (here / "a.csv").write_text(f"a,b,it's\n{ROWS}")
    assert complaint(capsys, "train", "a.csv", "--label", "its").endswith("Got 'its' instead. Did you mean \"it's\"?")


def test_images_that_are_too_large_name_the_options(here, capsys):
    from PIL import Image

    for name in ("a", "b"):
        (here / "images" / name).mkdir(parents=True)
        Image.new("L", (40, 40)).save(here / "images" / name / "one.png")
    said = complaint(capsys, "train", "images", "--max-expanded", "1000")
    assert said.endswith("that --max-expanded allows: make them smaller with --resize, or raise it.")


# -- what the command line is built on --------------------------------------------------------------------------------


def imports_of_the_command_line():
    """Yield the modules of the command line, each with what it imports, inside functions too."""
    for path in sorted(Path(votron.cli.__file__).parent.glob("*.py")):
        name = "votron.cli" if path.stem == "__init__" else f"votron.cli.{path.stem}"
        found = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                found |= {f"{node.module}.{one.name}" for one in node.names} | {node.module}
            elif isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
        yield name, found


SHARED = {"_confusion", "_files", "_forecast", "_frames", "_plotting", "_progress", "_resources", "_sentences"}
SHARED |= {"_pipelines", "_text_tables"}
"""Modules that all of Votron shares: the docstring of `votron.cli` has the rule."""


def test_the_command_line_uses_public_modules_and_shared_ones():
    used = {one for _, found in imports_of_the_command_line() for one in found if one.split(".")[0] == "votron"}
    parts = [one.split(".") for one in used if not f"{one}.".startswith("votron.cli.")]
    private = {tuple(each) for each in parts if any(part.startswith("_") and part != "__version__" for part in each)}
    assert {each[1] for each in private} == SHARED
    assert not [each for each in private if any(part.startswith("_") for part in each[2:])]


def test_modules_of_the_command_line_import_each_other_one_way():
    graph = dict(imports_of_the_command_line())
    # The reference of the command line and its commands are loaded by name, which no import here says.
    graphlib.TopologicalSorter({name: found & set(graph) for name, found in graph.items()}).prepare()


@pytest.mark.slow
def test_words_are_for_phrases_that_the_library_has():
    names = set()
    for path in Path(votron.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Phrase":
                names.add(node.args[0].value)
    assert set(_parser._PHRASES) <= names
    assert set(_predict._WORDS) <= names


WEATHER = "2,5.5,a\n3,1.5,b\n5,0.5,a\n7,3.5,b\n" * 3
OF_PYTHON = ("partial_fit", "X_val", "sample_weight=", "of X ", "Classifier(", "=None")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("train t.csv --label y -o m --stream", "--gamma must be a number with --stream, since"),
        (
            "train t.csv --label y -o m --stream --estimator averaged --class-weight balanced",
            "--class-weight must give weights by label, such as yes=5,no=1, with --stream, since",
        ),
        (
            "train t.csv --label y -o m --estimator winnow",
            "The features must be Boolean, 0 or 1, unless --binarize says where to cut (--binarize 0.5 takes what is "
            "above 0.5 for 1). Got 2.0 in row 1, column 'p', instead.",
        ),
        ("evaluate voted t.csv --rule holdout", "The rule 'holdout' needs held-out data: train with --rule holdout."),
        ("certify voted half.csv", "DATA must be what the model was trained on. Got others: there are 6 rows, and"),
        ("certify bayes t.csv", "Margins and certificates are those of models of --estimator voted, averaged and"),
        (
            "predict winnow t.csv --proba",
            "--proba needs a model with probabilities. Got a WinnowClassifier without them in 'winnow' instead: train "
            "with --estimator voted, averaged or naive-bayes, or ask for --scores.",
        ),
    ],
)
def test_sentences_name_options(arguments, sentence, here, capsys):
    (here / "t.csv").write_text("p,q,y\n" + WEATHER)
    (here / "half.csv").write_text("p,q,y\n" + WEATHER[: len(WEATHER) // 2])
    train = ["train", "t.csv", "--label", "y", "--quiet", "-o"]
    assert main([*train, "voted"]) == 0
    assert main([*train, "bayes", "--estimator", "naive-bayes"]) == 0
    assert main([*train, "winnow", "--estimator", "winnow", "--binarize", "2.5"]) == 0
    capsys.readouterr()
    assert main(arguments.split()) != 0
    said = capsys.readouterr().err
    assert sentence in said
    assert not [word for word in OF_PYTHON if word in said]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("train t.csv --label HEIGHTS -o m", "'height'"),
        ("train t.csv --label y -o m --drop Height", "'height'"),
        ("train t.csv --label y -o m --discrete hight", "'height'"),
        ("train t.csv --label y -o m --keep-names hight", "'height'"),
        ("train t.csv --label y -o m --sample-weight hight", "'height'"),
        ("train t.csv --label y -o m --class-weight SMALL=2", "'small'"),
        ("train t.csv --label y -o m --kernel pol", "poly"),
        ("train t.csv --label y -o m --rule votes", "vote"),
        ("train t.csv --label y -o m --estimator winow", "winnow"),
        ("tune t.csv --label y --kernels rbff", "rbf"),
        ("predict voted t.csv --keep hight", "'height'"),
        ("evaluate voted t.csv --sample-weight hight", "'height'"),
        ("explain voted t.csv --row 1 --of Small", "'small'"),
        ("predict voted other.csv", "'heights'"),
    ],
)
def test_names_that_are_nearly_right(arguments, meant, here, capsys):
    rows = "2,5.5,small\n3,1.5,large\n5,0.5,small\n7,3.5,large\n" * 3
    (here / "t.csv").write_text("height,q,y\n" + rows)
    (here / "other.csv").write_text("heights,q,y\n" + rows)
    assert main(["train", "t.csv", "--label", "y", "--quiet", "-o", "voted"]) == 0
    capsys.readouterr()
    assert main(arguments.split()) != 0
    assert capsys.readouterr().err.endswith(f" Did you mean {meant}?\n")
