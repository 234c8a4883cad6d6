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
    ("module", "functions"),
    [
        ("selfplay/diagnostics.py", ("summarize_step", "_endings")),
        ("selfplay/ledger.py", ("observe", "openings")),
        ("evaluation/tactics.py", ("summarize",)),
    ],
)
def test_every_metric_that_the_code_writes_has_a_meaning(pytestconfig, module, functions):
    """Keys of the dictionaries in these functions, read from the source."""
    tree = ast.parse((pytestconfig.rootpath / "src" / "searchless_rl" / module).read_text())
    bodies = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in functions]
    assert len(bodies) == len(functions)
    written = {
        key.value
        for body in bodies
        for node in ast.walk(body)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    assert len(written) >= 3
    assert not written - (TRAINING.keys() | SUITE_FIGURES.keys())
