"""Everything that is written has a meaning."""

import ast

import pytest

from searchless_rl.results.glossary import COLUMNS, SUITE_FIGURES, TRAINING, meaning_of


def test_every_column_has_a_meaning():
    assert meaning_of("beta") is COLUMNS["beta"]
    assert meaning_of("final_kl_base_policy") is TRAINING["kl_base_policy"]
    assert meaning_of("mate3_k").text.endswith("; mates in 3")
    with pytest.raises(KeyError):
        meaning_of("final_unheard_of")


@pytest.mark.parametrize(
    ("room", "functions", "known"),
    [
        ("selfplay", ("summarize_step", "_endings", "observe", "openings"), TRAINING),
        ("evaluation", ("summarize",), SUITE_FIGURES),
    ],
)
def test_every_figure_that_the_code_writes_has_a_meaning(pytestconfig, room, functions, known):
    """Keys of the dictionaries in these functions, read from the source."""
    paths = sorted((pytestconfig.rootpath / "src" / "searchless_rl" / room).glob("*.py"))
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    bodies = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name in functions]
    assert {body.name for body in bodies} == set(functions)
    written = {
        key.value
        for body in bodies
        for node in ast.walk(body)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    assert len(written) > 5
    assert not written - known.keys()
