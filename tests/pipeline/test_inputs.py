"""Links to the files that params.yaml names."""

import shutil

import pytest

from searchless_rl.params import load_params
from searchless_rl.pipeline.inputs import NONE, link_inputs, named_files


@pytest.fixture
def params(tmp_path, monkeypatch, pytestconfig):
    monkeypatch.chdir(tmp_path)
    smoke = load_params(pytestconfig.rootpath / "scales" / "smoke.yaml")
    (tmp_path / "puzzles.csv").write_text("puzzles\n")
    return smoke.model_copy(
        update={"suites": smoke.suites.model_copy(update={"source": "puzzles.csv", "winning": None})}
    )


def _with_book(params, book):
    return params.model_copy(update={"arena": params.arena.model_copy(update={"book": str(book)})})


def test_a_place_is_a_link_to_its_file_or_says_that_there_is_none(params, tmp_path):
    (tmp_path / "my.epd").write_text("openings\n")
    link_inputs(named_files(_with_book(params, "my.epd")), tmp_path / "data" / "inputs")
    found = {path.name: path.read_text() for path in (tmp_path / "data" / "inputs").iterdir()}
    assert found == {
        "base": NONE,  # a known name
        "source": "puzzles\n",
        "winning": NONE,
        "game_moves": NONE,
        "book": "openings\n",
    }


def test_a_base_by_path_is_one_of_them(params, tmp_path):
    (tmp_path / "my.pb.gz").write_bytes(b"network")
    named = named_files(params.model_copy(update={"base": str(tmp_path / "my.pb.gz")}))
    link_inputs(named, tmp_path / "inputs")
    assert (tmp_path / "inputs" / "base").read_bytes() == b"network"


def test_links_follow_the_parameters_and_unchanged_ones_are_left_alone(params, tmp_path):
    inputs = tmp_path / "inputs"
    for name in ("a.epd", "b.epd"):
        (tmp_path / name).write_text(name)
    link_inputs(named_files(_with_book(params, "a.epd")), inputs)
    before = (inputs / "source").lstat().st_ctime_ns
    link_inputs(named_files(_with_book(params, tmp_path / "b.epd")), inputs)
    assert (inputs / "book").read_text() == "b.epd"
    assert (inputs / "source").lstat().st_ctime_ns == before
    link_inputs(named_files(params), inputs)
    assert (inputs / "book").read_text() == NONE
    assert (tmp_path / "b.epd").read_text() == "b.epd"


def test_a_project_that_is_moved_keeps_its_links(params, tmp_path):
    (tmp_path / "project").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "project")
        (tmp_path / "project" / "my.epd").write_text("inside")
        shutil.copy(tmp_path / "puzzles.csv", tmp_path / "project" / "puzzles.csv")
        link_inputs(named_files(_with_book(params, "my.epd")), tmp_path / "project" / "data" / "inputs")
    (tmp_path / "project").rename(tmp_path / "moved")
    assert (tmp_path / "moved" / "data" / "inputs" / "book").read_text() == "inside"


def test_a_missing_file_is_named_with_its_key_and_leaves_no_dead_link(params, tmp_path):
    book = tmp_path / "my.epd"
    book.write_text("openings\n")
    link_inputs(named_files(_with_book(params, book)), tmp_path / "inputs")
    book.unlink()
    with pytest.raises(ValueError, match=r"arena\.book: '.*my\.epd' is no file"):
        link_inputs(named_files(_with_book(params, book)), tmp_path / "inputs")
    assert (tmp_path / "inputs" / "book").read_text() == NONE
