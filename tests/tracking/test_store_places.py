"""Which folder owns the tracking store."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from searchless_rl.checkout import main_checkout
from searchless_rl.tracking import default_store
from searchless_rl.tracking.places import NO_GIT, git_commit


def make_repository(folder: Path) -> None:
    """A Git repository with one commit."""
    folder.mkdir(parents=True)
    for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(
            ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True
        )


def test_a_plain_folder_owns_its_store(tmp_path: Path) -> None:
    assert default_store(tmp_path) == f"sqlite:///{tmp_path}/mlflow.db"
    assert git_commit(tmp_path) == NO_GIT


@pytest.mark.parametrize("workspace", [".dvc/tmp/exps/tmp1", ".dvc/tmp/exps/standalone/tmp2"])
def test_a_temporary_workspace_of_dvc_uses_the_store_of_its_project(tmp_path: Path, workspace: str) -> None:
    make_repository(tmp_path / "project" / workspace)

    assert main_checkout(tmp_path / "project" / workspace) == tmp_path / "project"


def test_a_git_worktree_uses_the_store_of_the_main_one(tmp_path: Path) -> None:
    make_repository(tmp_path / "project")
    subprocess.run(
        ["git", "-C", str(tmp_path / "project"), "worktree", "add", "-q", str(tmp_path / "other")], check=True
    )
    (tmp_path / "other/sub").mkdir()

    assert main_checkout(tmp_path / "other") == tmp_path / "project"
    assert main_checkout(tmp_path / "other/sub") == tmp_path / "project/sub"


def test_the_environment_names_another_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHLESS_MAIN", str(tmp_path / "elsewhere"))

    assert default_store(tmp_path) == f"sqlite:///{tmp_path}/elsewhere/mlflow.db"


def test_without_git_the_folder_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_repository(tmp_path / "project")
    monkeypatch.setenv("PATH", "")

    assert main_checkout(tmp_path / "project") == tmp_path / "project"
    assert git_commit(tmp_path / "project") == NO_GIT
