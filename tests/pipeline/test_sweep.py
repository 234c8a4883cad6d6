"""Cells outside the grid: what a row of sweep.csv says of its origin."""

import json
import subprocess

import pandas as pd
import pytest

from searchless_rl.cells import Cell
from searchless_rl.checkout import revision
from searchless_rl.params import load_params
from searchless_rl.pipeline import sweep

CELLS = ("none-adaptive-0-s1", "forward_kl-fixed-0.05-s2")


@pytest.fixture
def usual(pytestconfig):
    return load_params(pytestconfig.rootpath / "scales" / "smoke.yaml")


@pytest.fixture
def run(tmp_path, monkeypatch, usual):
    """Run a sweep whose training and scoring are made up."""
    for name in ("base.pb.gz", "main.csv", "openings.csv"):
        (tmp_path / name).write_bytes(b"a base")
    trained = []

    def train(params, *, base, out, scratch, show_progress):
        trained.append(params.cell.id)
        out.mkdir(parents=True, exist_ok=True)
        (out / "cell.json").write_text(json.dumps({"precision": "float32", "final": {"loss": 0.5}}))

    def score(weights, suites, names, out, **_):
        out.mkdir(parents=True, exist_ok=True)
        figures = dict.fromkeys(sweep.FIGURES, 1)
        (out / "summary.json").write_text(json.dumps({"suites": dict.fromkeys(names, figures)}))

    def play(params, *, base, openings, out, **_):
        """One won and one drawn game, and a pair of each colour."""
        sides, results = [("base", params.cell.id), (params.cell.id, "base")], ["0-1", "1/2-1/2"]
        frame = pd.DataFrame(sides, columns=["white", "black"]).assign(
            result=results, opening="o", repeat_of=-1
        )
        (out / "games").mkdir(exist_ok=True)
        frame.to_parquet(out / "games" / "games.parquet")

    monkeypatch.setattr(sweep, "train_requested", train)
    monkeypatch.setattr(sweep, "play_base", play)
    monkeypatch.setattr(sweep, "run_tactics", score)

    def go(params=usual, revision="abc"):
        sweep.run_sweep(
            params,
            [Cell.parse(text) for text in CELLS],
            usual=usual,
            revision=revision,
            base=tmp_path / "base.pb.gz",
            suites=tmp_path,
            openings=tmp_path / "openings.csv",
            scratch=tmp_path / "scratch",
            report=tmp_path / "sweep.csv",
        )
        return pd.read_csv(tmp_path / "sweep.csv")

    go.trained = trained
    return go


def test_a_row_says_what_it_was_made_with(run, usual):
    rows = run()
    assert set(rows["model"]) == set(CELLS)
    assert rows["changed"].isna().all()
    assert set(rows["revision"]) == {"abc"}
    longer = usual.model_copy(update={"selfplay": usual.selfplay.model_copy(update={"steps": 9, "games": 4})})
    rows = run(longer)
    assert len(rows) == 4
    assert rows["params_sha256"].nunique() == 2
    assert rows.loc[rows["changed"].notna(), "changed"].tolist() == ["selfplay.games=4 selfplay.steps=9"] * 2


def test_a_row_holds_what_settings_are_chosen_by(run):
    row = run().iloc[0]
    assert row[["main_k", "hard_geometric_mean", "final_loss"]].tolist() == [1, 1, 0.5]
    assert row[["base_games", "score"]].tolist() == [2, 0.75]
    assert 0 < row["elo"] < row["elo_high"]


def test_a_changed_base_value_is_told(run, usual):
    rows = run(usual.model_copy(update={"base_value": "calibrated"}))
    assert set(rows["changed"]) == {"base_value=calibrated"}


def test_nothing_is_trained_without_openings(run, tmp_path):
    (tmp_path / "openings.csv").unlink()
    with pytest.raises(ValueError, match=r"openings\.csv is missing: `searchless openings` makes it"):
        run()
    assert run.trained == []


def test_a_repeated_cell_replaces_its_row(run):
    run()
    rows = run(revision="def")
    assert len(rows) == 2
    assert set(rows["revision"]) == {"def"}


def test_another_base_is_another_row(run, tmp_path):
    run()
    (tmp_path / "base.pb.gz").write_bytes(b"another base")
    assert len(run()) == 4


def test_a_report_of_an_older_version_is_refused_by_name_before_training(run, tmp_path):
    (tmp_path / "sweep.csv").write_text("model,k\nnone-adaptive-0-s1,3\n")
    with pytest.raises(
        sweep.SweepError, match=r"sweep\.csv: an older version .*without revision.*sweep none-ada"
    ):
        run()
    assert run.trained == []


def test_a_revision_is_a_commit_and_says_when_the_source_differs(tmp_path):
    assert revision(tmp_path) == "no-git"
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "x.py").write_text("x = 1\n")
    git = ("git", "-C", str(tmp_path), "-c", "user.name=T", "-c", "user.email=t@example.org")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "A commit"]):
        subprocess.run([*git, *words], check=True)
    commit = revision(tmp_path)
    assert len(commit) == 12
    (tmp_path / "src" / "x.py").write_text("x = 2\n")
    assert revision(tmp_path) == f"{commit}-dirty"
