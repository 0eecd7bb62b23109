"""Runs, drawings and one's own models, as the server answers: what `staged_decision_function` and the record say."""

import base64
import json
import re

import numpy as np
import pytest

from votron import AveragedPerceptronClassifier, VotedPerceptronClassifier, save
from votron.cli import main
from votron.errors import VotronError
from votron.record import labels_of
from votron.web._app import STATIC
from votron.web._digit import answer, as_seen
from votron.web._lecture import MODULES, export_lecture, game_of_link
from votron.web._models import Piece, for_drawings, pieces


@pytest.mark.parametrize("name", ["moons", "clouds", "digits"])
def test_every_moment_is_a_mistake_of_the_record(client, workshop, name):
    trained = workshop[name].trained
    model, record = trained.model, trained.model.record_
    overview = client.get(f"/runs/{name}").json()
    times = overview["times"]
    assert set(times) <= set(record.time.tolist())
    assert len(times) == min(240, len(set(record.time.tolist())))
    assert overview["mistakes"] == [int((record.time <= t).sum()) for t in times]
    rules = list(overview["errors"])
    codes = np.searchsorted(model.classes_, trained.y)
    some = [0, len(times) // 2, len(times) - 1]
    at = [times[i] / record.n_examples for i in some]
    for i, (_, scores) in zip(some, model.staged_decision_function(trained.X, at=at, rules=rules), strict=True):
        for rule in rules:
            assert overview["errors"][rule][i] == float(np.mean(labels_of(scores[rule]) != codes))
        moment = client.get(f"/runs/{name}/moments/{i}").json()
        mine = np.flatnonzero(record.time == times[i])
        assert [m["example"] for m in moment["made"]] == record.example[mine].tolist()
        assert [m["sign"] for m in moment["made"]] == record.sign[mine].tolist()
        assert overview["survival"][i] == record.survival[mine].max()
        for alive in moment["alive"]:
            assert alive["born"] <= times[i] < alive["born"] + alive["survival"]
    assert client.get(f"/runs/{name}/moments/{len(times)}").status_code == 404


def test_the_boundary_of_a_moment_is_that_of_the_vectors_of_then(workshop):
    moment = workshop["moons"].trained.moment(20, "last")
    ticks = np.linspace(-moment.field.extent, moment.field.extent, moment.field.size)
    corners = np.array([[ticks[0], ticks[-1]], [ticks[-1], ticks[-1]], [ticks[0], ticks[0]], [ticks[-1], ticks[0]]])
    model = workshop["moons"].trained.model
    ((_, scores),) = model.staged_decision_function(corners, at=[moment.epoch], rules=["last"])
    size = moment.field.size
    values = np.array(moment.field.values)[[0, size - 1, size * (size - 1), size * size - 1]]
    assert (np.sign(values) == np.sign(scores["last"])).all()


def test_a_drawing_is_answered_by_every_rule(client, workshop):
    trained = workshop["digits"].trained
    drawn = client.get("/digit/sample", params={"seed": 3}).json()
    found = client.post("/digit", json={"pixels": drawn["pixels"]}).json()
    row = as_seen(drawn["pixels"], trained.shape, 16.0)[None]
    for each in found["rules"]:
        expected = trained.model.with_rule(each["rule"]).decision_function(row)[0]
        assert each["scores"] == pytest.approx(expected.tolist(), rel=1e-12)
        assert each["label"] == str(trained.model.with_rule(each["rule"]).predict(row)[0])
    assert found["label"] == str(trained.model.predict(row)[0])
    seen = np.frombuffer(base64.b64decode(found["seen"]), dtype=np.uint8)
    assert seen.tolist() == np.round(255 * row[0] / 16).tolist()
    votes, births = found["history"]["votes"], found["history"]["births"]
    assert [len(row) for row in votes] == [len(births)] * 10
    last = trained.model.with_rule("last").decision_function(row)[0]
    assert [column[-1] for column in votes] == ["+" if score >= 0 else "-" for score in last]
    assert len(found["reasons"]) == 10
    weights = [abs(reason["weight"]) for reason in found["reasons"]]
    assert weights == sorted(weights, reverse=True)


def test_an_empty_drawing_has_an_answer(client):
    assert client.post("/digit", json={"pixels": [0] * 784}).status_code == 200
    assert client.post("/digit", json={"pixels": [3] * 784}).status_code == 200
    for wrong in ([0] * 783, [256] * 784, ["a"] * 784):
        assert client.post("/digit", json={"pixels": wrong}).status_code == 422


@pytest.mark.parametrize("shape", [(8, 8), (28, 28), (20, 20)])
def test_drawings_are_placed_as_the_data_are(shape):
    drawing = np.zeros((28, 28), dtype=int)
    drawing[2:12, 20:24] = 255  # in a corner
    seen = as_seen(drawing.ravel(), shape, 255.0).reshape(shape)
    rows, columns = np.nonzero(seen > 60)
    middle = (shape[0] - 1) / 2
    assert np.mean(rows) == pytest.approx(middle, abs=0.6)
    assert np.mean(columns) == pytest.approx(middle, abs=0.6)
    assert seen.max() <= 255


# -- one's own --------------------------------------------------------------------------------------------------------


def rows(n_features, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 17, (n, n_features)).astype(float)
    return X, (X[:, 0] > 8).astype(int)


@pytest.mark.parametrize(("n_features", "kind"), [(2, "plane"), (64, "images"), (5, "other")])
def test_any_model_can_be_shown(n_features, kind):
    X, y = rows(n_features)
    model = VotedPerceptronClassifier(random_state=0).fit(X, y)
    for data in ((None, None), (X, y)):
        piece = pieces(model, "mine.votron", *data)[-1]
        assert piece.kind == kind
        piece.work()
        run = piece.trained
        assert (run.overview(piece).errors == {}) == (data[0] is None)
        moment = run.moment(len(run.times) - 1, "vote")
        assert (moment.field is not None, len(moment.images) > 0) == (kind == "plane", kind == "images")
    if kind == "images":
        assert pieces(model, "scaled", raw=False)[-1].kind == "other"
        assert for_drawings([piece]) is piece
        assert answer(piece.trained, [0] * 300 + [255] * 100 + [0] * 384).label in ("0", "1")


def test_mnist_is_there_where_its_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("VOTRON_DATA", str(tmp_path))
    missing = pieces()[-1]
    assert missing.id == "mnist"
    missing.work()
    assert "VOTRON_DATA" in missing.problem


def test_a_model_without_a_record_is_refused():
    X, y = rows(4)
    with pytest.raises(VotronError, match=r"shows models of VotedPerceptronClassifier.* Got a Averaged"):
        pieces(AveragedPerceptronClassifier().fit(X, y), "other")
    with pytest.raises(VotronError, match="precomputed kernel"):
        pieces(VotedPerceptronClassifier("precomputed").fit(X @ X.T, y), "other")


# -- one file ---------------------------------------------------------------------------------------------------------


def link_of(setup, moves):
    text = json.dumps({"setup": setup, "moves": moves}).encode()
    return "http://127.0.0.1:1/#game=" + base64.urlsafe_b64encode(text).decode().rstrip("=")


def test_a_link_is_a_game():
    game = game_of_link(link_of({"angle": 90}, [[0.1, 0.5, 1], [0.3, -0.4, -1]]))
    assert [(move.x, move.y) for move in game.moves] == [([0.1, 0.5], 1), ([0.3, -0.4], -1)]
    for wrong in ("", "http://127.0.0.1/", "#game=%%", link_of({"angle": 900}, []), link_of({}, [[1]]), link_of(3, 4)):
        with pytest.raises(VotronError, match="is not a link to a game"):
            game_of_link(wrong)
    with pytest.raises(VotronError, match="Rule γ"):
        game_of_link(link_of({"angle": 90}, [[0.1, 0.05, 1]]))


def test_the_modules_of_the_file_have_names_of_their_own():
    """They become one script, in which each imports nothing but from those before it."""
    names, before = [], set()
    for module in MODULES:
        text = (STATIC / f"{module}.js").read_text(encoding="utf-8")
        assert set(re.findall(r'from "\./(\w+)\.js"', text)) <= before
        before.add(module)
        found = re.findall(r"^(?:export )?(?:async )?(?:const|let|class|function) (\[[^\]]*\]|\w+)", text, re.MULTILINE)
        names += [name.strip() for each in found for name in each.strip("[]").split(",")]
    assert len(names) == len(set(names)) > 20


def test_what_a_file_says_of_itself_cannot_end_its_script(workshop, tmp_path):
    piece = workshop["clouds"]
    named = Piece("clouds", "</script><script>alert(1)</script>", "plane", piece.make, trained=piece.trained)
    export_lecture(str(tmp_path / "a.html"), named, [link_of({"angle": 90}, [[0.1, 0.5, 1]])])
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script>") == 2
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 2


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--game", "x"], 2, "--game goes with --export"),
        (["--test", "digits"], 2, "--test goes with --model"),
        (["--export", "no/such/folder/a.html"], 2, "there is no folder"),
        (["--model", "none.votron"], 1, "none.votron"),
    ],
)
def test_what_the_command_refuses(options, status, words, capsys):
    assert main(["play", *options]) == status
    assert words in capsys.readouterr().err


def test_the_command_writes_one_file_with_a_model_of_ones_own(tmp_path, capsys):
    X, y = rows(2)
    save(VotedPerceptronClassifier(random_state=0).fit(X, y), tmp_path / "mine.votron")
    np.savez(tmp_path / "test.npz", X=X, y=y)
    out = tmp_path / "lecture.html"
    test = str(tmp_path / "test.npz")
    assert main(["play", "--export", str(out), "--model", str(tmp_path / "mine.votron"), "--test", test]) == 0
    assert "mine.votron" in out.read_text(encoding="utf-8")
    assert "Wrote" in capsys.readouterr().err
    save(AveragedPerceptronClassifier().fit(X, y), tmp_path / "other.votron")
    assert main(["play", "--model", str(tmp_path / "other.votron"), "--no-browser"]) == 1
    assert "shows models of VotedPerceptronClassifier" in capsys.readouterr().err
