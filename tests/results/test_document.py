"""A stage's JSON is checked as it is read; a message names the file, the part and what was found."""

import json

import pytest

from searchless_rl.results.document import Document, MalformedFile, read_suites


def _document(tmp_path, value):
    path = tmp_path / "summary.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return Document(path, tmp_path)


def test_parts_are_read_by_their_type(tmp_path):
    suites = {"main": {"k": 3, "n": 4, "accuracy": 0.75}, "mate5": {"k": 0, "n": 0, "accuracy": None}}
    document = _document(tmp_path, {"weights": "abc", "plies": 4, "final": {"loss": 0.5}, "suites": suites})
    assert document.text("weights") == "abc"
    assert document.whole("plies") == 4
    assert document.numbers("final") == {"loss": 0.5}
    assert document.suites() == {"main": suites["main"], "mate5": {"k": 0, "n": 0}}
    assert isinstance(document.suites()["main"]["k"], int)


@pytest.mark.parametrize(
    ("value", "read", "message"),
    [
        ("{", lambda d: d, "summary.json line 1: not JSON, or cut off"),
        ("[]", lambda d: d, "summary.json: expected an object, found list"),
        ({}, lambda d: d.text("a"), "summary.json: a: expected a string, found None"),
        ({"a": True}, lambda d: d.whole("a"), "summary.json: a: expected an integer, found True"),
        ({"a": 1}, lambda d: d.mapping("a"), "summary.json: a: expected an object, found 1"),
        ({"a": {"b": 1}}, lambda d: d.mappings("a"), "summary.json: a.b: expected an object, found 1"),
        ({"a": {"b": None}}, lambda d: d.numbers("a"), "summary.json: a.b: None is not a finite number"),
        ('{"a": {"b": NaN}}', lambda d: d.numbers("a"), "summary.json: a.b: nan is not a finite number"),
        ({"suites": {"main": {"k": True}}}, lambda d: d.suites(), "summary.json: suites.main.k: True is not"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, value, read, message):
    with pytest.raises(MalformedFile) as caught:
        read(_document(tmp_path, value))
    assert str(caught.value).startswith(message)


def test_a_summary_that_is_missing_has_no_suites(tmp_path):
    assert read_suites(tmp_path / "summary.json") == {}
