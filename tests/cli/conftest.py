"""A folder with data and two models, which the tests of a module share."""

import os

import pytest
from cli_files import write_files

from votron.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("commands")
    write_files(made)
    before = os.getcwd()
    os.chdir(made)
    try:
        assert main(["train", "digits", "-o", "digits.votron", "--random-state", "0"]) == 0
        days = ["train", "days.csv", "--label", "Play", "-o", "days.votron", "--certificate"]
        assert main([*days, "--random-state", "0"]) == 0
    finally:
        os.chdir(before)
    return made


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    return folder
