"""Per-puzzle scores are read, and a damaged file is named."""

import pandas as pd
import pytest

from searchless_rl.results.scores import read_scores

NONE = "none-adaptive-0-s0"


def test_scores_are_read_and_missing_suites_left_out(tmp_path):
    (tmp_path / "base").mkdir()
    frame = pd.DataFrame({"puzzle_id": list("abc"), "rating": [900, 1500, 2500]})
    frame = frame.assign(solved=[True, False, True], log_probability=[-0.1, -2.0, -0.7], ties=0)
    frame.to_parquet(tmp_path / "base" / "main.parquet")
    scores = read_scores({"base": tmp_path / "base", NONE: tmp_path / "absent"}, ("main", "hard"))
    assert list(scores) == ["base", NONE]
    assert list(scores["base"]) == ["main"]
    assert scores[NONE] == {}
    pd.testing.assert_frame_equal(scores["base"]["main"], frame.drop(columns="ties"))


@pytest.mark.parametrize("content", [b"PAR1 this is none", None])
def test_a_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "main.parquet"
    if content is None:
        pd.DataFrame({"other": [1]}).to_parquet(path)
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"main\.parquet: not scores of puzzles .* Run the stage `tactics`"):
        read_scores({"base": tmp_path}, ("main",))
