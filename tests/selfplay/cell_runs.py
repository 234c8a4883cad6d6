"""Training a toy cell in a folder, and stopping it at a step; shared by the tests of interruptions."""

from searchless_rl.selfplay.checkpoint import read_checkpoint
from searchless_rl.selfplay.module import SelfPlayModule
from searchless_rl.selfplay.stage import CHECKPOINT, RESULTS, train_cell


def results(folder):
    """The bytes of a cell's files by name."""
    return {name: (folder / "out" / name).read_bytes() for name in RESULTS}


def train(cell, params, micro, warm_start, folder):
    """Train into folder/out with scratch folder/scratch; the results."""
    train_cell(
        cell, params, base=micro, warm_start=warm_start, out=folder / "out", scratch=folder / "scratch"
    )
    return results(folder)


def checkpointed_step(folder):
    """The step of the checkpoint in folder/scratch."""
    return read_checkpoint(folder / "scratch" / CHECKPOINT, ("global_step",))["global_step"]


class Stop(Exception):
    """Ends training in a test."""


def stop():
    """End training."""
    raise Stop


def at_step(monkeypatch, step, action):
    """Do something when training reaches a step; returns how to undo that."""
    training_step = SelfPlayModule.training_step

    def acting(self, batch, index):
        if self.global_step == step:
            action()
        training_step(self, batch, index)

    monkeypatch.setattr(SelfPlayModule, "training_step", acting)
    return lambda: monkeypatch.setattr(SelfPlayModule, "training_step", training_step)
