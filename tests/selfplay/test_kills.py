"""A cell killed with -9 in chosen and in random places is the same cell in the end."""

import json
import multiprocessing
import os
import random
import signal

import pytest
import torch
from cell_runs import train

from searchless_rl.selfplay import callbacks, checkpoint, module
from searchless_rl.selfplay.stage import METRICS, train_cell

PLACES = ("anywhere", "mid-step", "mid-checkpoint", "mid-line")


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def _doomed(place, countdown, delay, arguments):
    """Run in a fresh process: train, and die in the given place at its `countdown`-th occasion."""
    torch.set_num_threads(1)
    cell, params, micro, warm_start, folder = arguments
    occasions = [countdown]

    def due():
        occasions[0] -= 1
        return occasions[0] == 0

    if place == "mid-step":  # moves are played, gradients half summed, parameters not yet moved
        losses = module.losses
        module.losses = lambda *given: (_die() if due() else None) or losses(*given)
    elif place == "mid-checkpoint":
        save = torch.save

        def half(value, stream):
            if due():
                stream.write(b"PK\x03\x04 half a checkpoint" * 100_000)
                _die()
            save(value, stream)

        checkpoint.torch.save = half
    elif place == "mid-line":
        dumps = json.dumps

        def torn(value, **options):
            text = dumps(value, **options)
            if "step" in value and due():
                path = folder / "scratch" / METRICS
                with path.open("a") as stream:
                    stream.write(text[: len(text) // 2])
                _die()
            return text

        callbacks.json.dumps = torn
    else:
        signal.setitimer(signal.ITIMER_REAL, delay)  # whose default action ends the process like a kill
    train_cell(
        cell, params, base=micro, warm_start=warm_start, out=folder / "out", scratch=folder / "scratch"
    )


def kill_repeatedly(arguments, kills, seed, longest):
    """Kill a cell's training `kills` times in seeded places; returns how often it died in each.

    Processes are forked from one that has imported everything, so that a kill costs no imports.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["searchless_rl.selfplay.stage", __name__])
    rng = random.Random(seed)
    died = dict.fromkeys(PLACES, 0)
    while sum(died.values()) < kills:
        place = PLACES[sum(died.values()) % len(PLACES)]
        countdown = rng.randrange(1, 4 if place != "mid-checkpoint" else 2)
        process = context.Process(
            target=_doomed, args=(place, countdown, rng.uniform(0.3, longest), arguments)
        )
        process.start()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode in (-signal.SIGKILL, -signal.SIGALRM)
        died[place] += 1
    return died


@pytest.mark.slow
def test_killed_ten_times_at_random_points_it_is_the_same_cell(tmp_path, micro, params, warm_start, cell):
    params = params.model_copy(update={"steps": 60, "checkpoint_every": 4, "max_plies": 24})
    expected = train(cell, params, micro, warm_start, tmp_path / "whole")
    folder = tmp_path / "killed"
    died = kill_repeatedly((cell, params, micro, warm_start, folder), kills=10, seed=5, longest=1.2)
    assert sum(died.values()) == 10
    assert min(died.values()) >= 2
    assert train(cell, params, micro, warm_start, folder) == expected
