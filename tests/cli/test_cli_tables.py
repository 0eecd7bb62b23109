"""Tables as users bring them, at the command line: encodings, holes, odd names, large models, slips of options."""

import json

import numpy as np
import pytest
from scipy.sparse import random as random_matrix

from votron import AveragedPerceptronClassifier, load, save
from votron.cli import main
from votron.data import read_examples
from votron.errors import DataError, VotronError

PENGUINS = "tests/data/tables/penguins.csv"


def run(capsys, *arguments, status=0):
    assert main([str(each) for each in arguments]) == status
    return capsys.readouterr()


# -- encodings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig"])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.csv.gz"])
def test_texts_in_any_encoding(tmp_path, encoding, name):
    import gzip

    text = 'ö,y\n"é, ü",1\nx,2\n' if "csv" in name else '{"ö": "é, ü", "y": 1}\n{"ö": "x", "y": 2}\n'
    content = text.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    found = read_examples(tmp_path / name, label="y", encoding=encoding)
    assert found.X.to_dict(as_series=False) == {"ö": ["é, ü", "x"]}
    from votron.data import open_batches

    batches = list(open_batches(tmp_path / name, label="y", encoding=encoding, batch_bytes=10))
    assert [row for batch in batches for row in batch.X.rows()] == found.X.rows()


def test_encodings_that_are_none_or_wrong(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,y\né,1\n".encode("latin-1"))
    with pytest.raises(
        DataError, match=r"line 2 has the byte .* say how it is encoded, such as with encoding='latin-1'\."
    ):
        read_examples(tmp_path / "t.csv", label="y")
    with pytest.raises(DataError, match="is not text in ascii: say how it is encoded"):
        read_examples(tmp_path / "t.csv", label="y", encoding="ascii")
    for bad in ("klingon", "rot13", "hex", 7):
        with pytest.raises(VotronError, match="must be an encoding of text that Python knows"):
            read_examples(tmp_path / "t.csv", label="y", encoding=bad)
    np.save(tmp_path / "t.npy", np.ones((2, 2)))
    with pytest.raises(DataError, match="There is no text in"):
        read_examples(tmp_path / "t.npy", labels="none", encoding="latin-1")


def test_the_encoding_of_training_is_kept(tmp_path, capsys):
    data, model = tmp_path / "t.csv", tmp_path / "m.votron"
    data.write_bytes(("w,y\n" + "é,1\nx,2\n" * 5).encode("latin-1"))
    assert "--encoding: " in run(capsys, "train", data, "--label", "y", "-o", model, status=1).err
    run(capsys, "train", data, "--label", "y", "-o", model, "--encoding", "latin-1")
    assert run(capsys, "predict", model, data).out.split()[1:] == ["1", "2"] * 5


# -- holes -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "m.votron"
    assert main(["train", PENGUINS, "--label", "Species", "--missing", "drop", "-o", str(path), "--quiet"]) == 0
    return path


def test_errors_do_not_list_every_column(model, tmp_path, capsys):
    data = tmp_path / "t.csv"
    names = [f"column {i}" for i in range(64)]
    data.write_text(",".join([*names, "y"]) + "\n" + ",".join(["1"] * 65) + "\n" + ",".join(["2"] * 65) + "\n")
    for options in (["--label", "Y"], ["--label", "y", "--discrete", "colum 7"], ["--label", "y", "--text", "t"]):
        error = run(capsys, "train", data, *options, "-o", tmp_path / "m", status=1).err
        assert "..." in error
        assert "column 20" not in error.replace("Did you mean", "")
    (tmp_path / "t.svm").write_text("1 1:1 2:1\n")
    assert "takes tables with the columns" in run(capsys, "predict", model, tmp_path / "t.svm", status=1).err


# -- large models ------------------------------------------------------------------------------------------------------


def test_thin_weights_take_little_room_and_score_the_same(tmp_path):
    rng = np.random.default_rng(0)
    X = random_matrix(400, 30_000, density=0.0005, random_state=0, format="csr")
    y = rng.integers(0, 20, 400)
    model = AveragedPerceptronClassifier(random_state=0).fit(X, y)
    save(model, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 0.2 * model._trainer.weights.nbytes
    again = load(tmp_path / "m")
    save(again, tmp_path / "twice")
    assert (tmp_path / "twice").read_bytes() == (tmp_path / "m").read_bytes()
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    save(again, tmp_path / "used")
    assert (tmp_path / "used").read_bytes() == (tmp_path / "m").read_bytes()
    for other in (load(tmp_path / "m"), load(tmp_path / "m", mmap=True)):
        other.partial_fit(X[:50], y[:50])
        other.decision_function(X)
    model.partial_fit(X[:50], y[:50])
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


def test_words_are_features_of_their_own_unless_there_are_too_many(tmp_path, capsys, monkeypatch):
    from votron.tables import text

    data = tmp_path / "t.csv"
    data.write_text("t,y\n" + "red wine,1\nblue sky,2\n" * 5)
    arguments = ["train", data, "--label", "y", "--text", "t", "--estimator", "averaged", "-o", tmp_path / "m"]
    assert "4 features" in run(capsys, *arguments).out
    assert "262,144 features" in run(capsys, *arguments, "--stream").out
    monkeypatch.setattr(text, "MOST_WORDS", 3)
    assert "262,144 features" in run(capsys, *arguments).out


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "columns", "where"),
    [
        ("t.csv", "a,b,y\n1,2,x\nk.A.,3,y\n5,6,x\n", "a", "'k.A.' in line 3"),
        ("t.csv", "a,b,y\n1,2,x\n3,n.d.,y\nk.A.,5,x\n7,6,x\n", "ab", "'k.A.' in line 4"),
        ("t.csv", "a,b,y\n1,2,x\ninf,3,y\n5,6,x\n1,2,y\n2,3,y\n", "a", "because of inf in line 3"),
        ("t.json", '[{"a": 1, "b": 2}, {"a": "k.A.", "b": 3}, {"a": 4, "b": 3}]', "a", "'k.A.' in row 2"),
    ],
)
def test_odd_values_are_described_as_text_and_named(name, content, columns, where, tmp_path, capsys):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    said = run(capsys, "data", "describe", path, "--json")
    kinds = {column["name"]: column["kind"] for column in json.loads(said.out)["columns"]}
    assert {column for column in "ab" if kinds[column] == "text"} == set(columns)
    assert where in " ".join(said.err.split())
    for column in columns:
        assert f"The column '{column}' is described as text" in " ".join(said.err.split())
    assert run(capsys, "data", "describe", path, "--quiet").err == ""


# -- the index of pandas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ("train", "--label", "y", "-o", "m.votron"),
        ("train", "--label", "y", "-o", "m.votron", "--stream", "--estimator", "averaged"),
        ("data", "describe", "--label", "y"),
        ("data", "convert", "out.csv"),
    ],
)
def test_the_index_of_pandas_is_remarked_upon_once(command, tmp_path, capsys, monkeypatch):
    polars = pytest.importorskip("polars")
    monkeypatch.chdir(tmp_path)
    frame = polars.DataFrame({"a": range(40), "y": ["p", "q"] * 20, "__index_level_0__": range(40)})
    frame.write_parquet("t.parquet")
    at = 2 if command[0] == "data" else 1
    found = run(capsys, *command[:at], "t.parquet", *command[at:])
    assert " ".join(found.err.split()).count("the column '__index_level_0__', an index of pandas") == 1
    if command[0] == "train":
        frame.select("a").write_csv("new.csv")
        assert run(capsys, "predict", "m.votron", "new.csv").out.count("\n") >= 40
        assert "index" not in run(capsys, "predict", "m.votron", "t.parquet").err


# -- what marks missing values ----------------------------------------------------------------------------------------


@pytest.fixture
def marked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["1,north,p", ".,south,q", "NA,north,p", "4,NA,q", "5,south,NA"] * 8
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    return tmp_path


def kinds(capsys, *options):
    found = json.loads(run(capsys, "data", "describe", "t.csv", "--label", "y", "--json", *options).out)
    return {column["name"]: (column["kind"], column["missing"]) for column in found["columns"]}, found["unlabelled"]


def test_na_values_are_added_to_the_usual_ones(marked, capsys):
    assert kinds(capsys, "--na-values", ".") == ({"a": ("number", 16), "b": ("text", 8)}, 8)
    only = ("--only-na-values", "--na-values", ".", "--na-values", "NA")
    assert kinds(capsys, *only) == ({"a": ("number", 16), "b": ("text", 8)}, 8)
    assert kinds(capsys, "--only-na-values") == ({"a": ("text", 0), "b": ("text", 0)}, 0)


def test_na_values_of_json_are_those_that_are_typed(marked, capsys):
    (marked / "t.jsonl").write_text('{"b": "."}\n{"b": "NA"}\n{"b": "x"}\n')
    found = json.loads(run(capsys, "data", "describe", "t.jsonl", "--json", "--na-values", ".").out)
    assert found["columns"][0]["values"] == ["NA", "x"]


def test_models_keep_what_marked_missing_values(marked, capsys):
    options = ("--label", "y", "--na-values", ".", "--drop-unlabelled", "--missing", "mean", "-o", "m.votron")
    run(capsys, "train", "t.csv", *options)
    reading = json.loads(run(capsys, "inspect", "m.votron", "--json").out)["provenance"]["reading"]
    assert (reading["na_values"], reading["only_na_values"]) == (["."], False)
    assert len(run(capsys, "predict", "m.votron", "t.csv").out.split()) == 41


# -- folders of tables ------------------------------------------------------------------------------------------------


# -- descriptions -----------------------------------------------------------------------------------------------------


def test_numbers_are_described_as_people_write_them(marked, capsys):
    (marked / "t.csv").write_text("a,b,c\n44292.2,7043540,0.25\n886149,1,17\n")
    out = run(capsys, "data", "describe", "t.csv").out
    assert all(span in out for span in ("44,292.2 to 886,149", "1 to 7,043,540", "0.25 to 17"))
    np.save(marked / "t.npy", np.array([[0.5, 7043540.0]]))
    assert "0.5 to 7,043,540" in run(capsys, "data", "describe", "t.npy").out


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl", "t.csv"])
def test_dates_are_described_as_such_in_every_format(name, marked, capsys):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"day": ["2024-01-31", "2024-03-01"], "word": ["x", "y"]})
    {"t.parquet": frame.write_parquet, "t.jsonl": frame.write_ndjson, "t.csv": frame.write_csv}[name](name)

    def described(*options):
        found = json.loads(run(capsys, "data", "describe", name, "--json", *options).out)["columns"]
        return {column["name"]: column["kind"] for column in found}, found[0].get("max")

    assert described() == ({"day": "date", "word": "text"}, "2024-03-01")
    assert described("--discrete", "day") == ({"day": "text", "word": "text"}, None)
