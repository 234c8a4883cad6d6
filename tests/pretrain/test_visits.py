"""Games played by tree search: what is recorded, and that a shard is the same however it came to be."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from searchless_rl.board import GameBatch
from searchless_rl.pretrain.records import ShardError, read_shard, shard_path
from searchless_rl.pretrain.settings import VisitParams
from searchless_rl.pretrain.stage import _evaluator, make_visits
from searchless_rl.pretrain.visits import play_games
from searchless_rl.search import SearchConfig, run_mcts
from searchless_rl.unfinished import Busy


@pytest.fixture(scope="module")
def micro(pytestconfig):
    return pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


@pytest.fixture(scope="module")
def params(micro):
    return VisitParams(
        base=str(micro),
        seed=5,
        games=10,
        games_per_shard=4,
        opening_plies=6,
        sampled_plies=5,
        max_plies=16,
        search={"simulations": 6, "c_puct": 1.5, "unvisited_reduction": 0.25},
        precision="float32",
        slots=4,
        batch_size=4,
        processes=1,
    )


@pytest.fixture(scope="module")
def made(params, tmp_path_factory):
    """The shards, made in one go."""
    out = tmp_path_factory.mktemp("visits")
    make_visits(params, out / "downloads", out)
    return out


def shards_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("shard-*.parquet"))}


def test_every_position_after_the_opening_has_the_visits_of_its_search(made, params, micro):
    """Without a kept tree the counts are those of a search of that position alone: the first of each game."""
    evaluate = _evaluator(micro, params.batch_size, "float32")
    games = [game for number in range(3) for game in read_shard(shard_path(made, number))]
    assert len(games) == params.games
    for game in games:
        opening = int(game.plies[0])
        assert opening <= params.opening_plies
        assert game.plies.tolist() == list(range(opening, len(game.moves)))
        first = slice(0, int(game.counts[0]))
        position = GameBatch.replay([None], [game.moves[:opening]])
        found = run_mcts(position, evaluate, SearchConfig(), simulations=params.search.simulations)
        visited = found.visits > 0
        recorded = dict(
            zip(game.target_moves[first].tolist(), game.target_weights[first].tolist(), strict=True)
        )
        assert recorded == dict(
            zip(found.move[visited].tolist(), found.visits[visited].tolist(), strict=True)
        )
        assert game.values[0] == pytest.approx(found.value[0], abs=1e-6)
        ends = np.cumsum(game.counts.astype(int))
        sums = [part.sum() for part in np.split(game.target_weights, ends[:-1])]
        assert set(sums) == {params.search.simulations}
        for ply, part in zip(game.plies, np.split(game.target_moves, ends[:-1]), strict=True):
            assert game.moves[ply] in part  # what is played was visited


def test_openings_differ_and_outcomes_are_those_of_the_games(made, params):
    games = [game for number in range(3) for game in read_shard(shard_path(made, number))]
    assert len({game.moves[:4] for game in games}) > 1
    for game in games:
        end = GameBatch.replay([None], [game.moves])
        assert bool(end.over[0]) or len(game.moves) == params.max_plies
        if game.result:
            assert end.ending[0] == 1
            assert game.result == (-1 if end.is_white[0] else 1)


def test_a_game_depends_on_its_number_alone(made, params, micro):
    evaluate = _evaluator(micro, params.batch_size, "float32")
    alone = dict(play_games([9, 2], evaluate, evaluate, params.model_copy(update={"slots": 1})))
    shards = {2: read_shard(shard_path(made, 0))[2], 9: read_shard(shard_path(made, 2))[1]}
    for number, game in shards.items():
        assert alone[number].moves == game.moves
        assert alone[number].target_weights.tolist() == game.target_weights.tolist()
    assert sorted(alone) == [2, 9]


def test_processes_and_what_lies_there_do_not_change_the_shards(made, params, tmp_path):
    out = tmp_path / "visits"
    out.mkdir()
    shard_path(out, 1).write_bytes(shards_of(made)["shard-00001.parquet"])
    several = params.model_copy(update={"processes": 2, "slots": 3})
    summary = make_visits(several, tmp_path, out)
    assert shards_of(out) == shards_of(made)
    assert summary == json.loads((made / "visits.json").read_text())
    assert summary["positions"] > 40


@pytest.mark.slow
def test_a_killed_run_continues_to_the_same_shards(made, params, tmp_path, pytestconfig):
    out = tmp_path / "visits"
    program = (
        "import sys; from pathlib import Path; from searchless_rl.pretrain.settings import VisitParams;"
        "from searchless_rl.pretrain.stage import make_visits;"
        "make_visits(VisitParams.model_validate_json(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", program, params.model_dump_json(), str(out)]
    for _ in range(3):
        running = subprocess.Popen(command, cwd=tmp_path)
        deadline, before = time.monotonic() + 60, len(shards_of(out))
        while len(shards_of(out)) <= before and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.wait()
    make_visits(params, tmp_path, out)
    assert shards_of(out) == shards_of(made)


def test_a_torn_shard_and_one_made_otherwise_are_named(made, params, tmp_path):
    out = tmp_path / "visits"
    out.mkdir()
    path = shard_path(out, 0)
    path.write_bytes(shards_of(made)["shard-00000.parquet"][:-200])
    with pytest.raises(ShardError, match=r"shard-00000\.parquet: not a whole shard"):
        make_visits(params, tmp_path, out)
    path.write_bytes(shards_of(made)["shard-00000.parquet"])
    more = params.model_copy(update={"seed": 6})
    with pytest.raises(ShardError, match="made otherwise .seed: 5 there, 6 wanted"):
        make_visits(more, tmp_path, out)


def test_a_full_disk_loses_no_shard_that_is_done(made, params, tmp_path, monkeypatch):
    from searchless_rl.pretrain import stage

    out = tmp_path / "visits"
    write, written = stage.write_shard, []

    def full(path, *rest):
        if written:
            raise OSError(28, "No space left on device", str(path))
        written.append(path.name)
        write(path, *rest)

    monkeypatch.setattr(stage, "write_shard", full)
    with pytest.raises(OSError, match="No space left on device"):
        make_visits(params, tmp_path, out)
    assert list(shards_of(out)) == written
    monkeypatch.undo()
    make_visits(params, tmp_path, out)
    assert shards_of(out) == shards_of(made)


def test_two_processes_do_not_work_in_one_folder(params, tmp_path):
    from searchless_rl.unfinished import exclusive

    with exclusive(tmp_path), pytest.raises(Busy, match=str(os.getpid())):
        make_visits(params, tmp_path, tmp_path)
