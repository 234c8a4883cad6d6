"""Training games of the real lc0 (version 6): made by hand here, and by lc0 itself (extra `oracle`)."""

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from searchless_rl.board import GameBatch
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.pretrain.records import ShardError
from searchless_rl.pretrain.v6 import RECORD, planes_of, read_game, read_records
from searchless_rl.search import SearchConfig, run_mcts_batched

MATE = "e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7".split()


def records_of(line, result):
    """The records of a game as lc0 lays them out; the first legal move has two thirds of the visits."""
    games, records = GameBatch([None]), np.zeros(len(line), RECORD)
    for ply, uci in enumerate(line):
        record, legal = records[ply], games.legal().index
        record["version"], record["input_format"] = 6, 1
        record["probabilities"] = -1
        record["probabilities"][legal] = 0
        record["probabilities"][legal[0]], record["probabilities"][legal[-1]] = 2 / 3, 1 / 3
        squares = games.planes()[0, :104].astype(np.uint8)
        record["planes"] = np.packbits(squares, axis=2).reshape(104, 8).view("<u8")[:, 0]
        record["played_idx"] = games.index(0, uci)
        record["root_q"] = 0.1 * ply
        record["result_q"] = result if ply % 2 == 0 else -result
        games.play([[uci]])
    return records


def write(path, records):
    path.write_bytes(gzip.compress(records.tobytes()))
    return path


def test_a_record_has_lc0s_size_and_offsets():
    assert RECORD.itemsize == 8356
    offsets = {
        "planes": 7440,
        "castling": 8272,
        "root_q": 8280,
        "result_q": 8308,
        "visits": 8340,
        "q_st": 8352,
    }
    assert {name: RECORD.fields[name][1] for name in offsets} == offsets


@pytest.mark.parametrize("result", [1, 0, -1])
def test_a_game_is_read_with_its_targets(tmp_path, result):
    records = records_of(MATE, result)
    game = read_game(write(tmp_path / "game_0.gz", records))
    expected = GameBatch([None])
    expected.play([MATE])
    assert game.moves == expected.moves[0]
    assert game.result == result
    assert game.counts.tolist() == [2] * len(MATE)
    np.testing.assert_allclose(game.target_weights, [2 / 3, 1 / 3] * len(MATE), rtol=1e-6)
    np.testing.assert_allclose(game.values, 0.1 * np.arange(len(MATE)), rtol=1e-6)


def changed(name, value, at=2):
    records = records_of(MATE, 1)
    records[name][at] = value
    return records


@pytest.mark.parametrize(
    ("records", "words"),
    [
        (changed("version", 5), "records of version 5, 6; version 6 is read"),
        (changed("input_format", 3), "input format 1, 3; format 1"),
        (changed("played_idx", 1857), "record 2: "),
        (changed("played_idx", 60000), "record 2: "),
        (changed("played_idx", records_of(MATE, 1)["played_idx"][0], at=3), "record 3: |record 4 is not"),
        (records_of(MATE, 1)[1:], "record 0 is not the position"),
    ],
)
def test_files_that_are_no_such_game_are_refused(tmp_path, records, words):
    with pytest.raises(ShardError, match=words):
        read_game(write(tmp_path / "game_0.gz", records))


def test_damaged_files_are_refused(tmp_path):
    path = write(tmp_path / "game_0.gz", records_of(MATE, 1))
    whole = path.read_bytes()
    for content in (whole[:-30], b"", b"no gzip", gzip.compress(b"x" * 100), gzip.compress(b"")):
        path.write_bytes(content)
        with pytest.raises(ShardError, match=r"game_0\.gz: "):
            read_records(path)
    path.write_bytes(gzip.compress(bytes(2001 * RECORD.itemsize)))
    with pytest.raises(ShardError, match="a file is one game"):
        read_records(path)


@pytest.mark.oracle
@pytest.mark.slow
def test_games_that_the_real_lc0_made(tmp_path, pytestconfig, monkeypatch):
    """Its planes are ours (read_game holds them), and its visits are near ours at as many simulations."""
    program = shutil.which("lc0", path=str(Path(sys.executable).parent))
    network = pytestconfig.rootpath / "data" / "downloads" / "meangirl-8.pb.gz"
    if program is None or not network.exists():
        pytest.skip("needs the real lc0 and the network meangirl-8 (searchless fetch meangirl-8)")
    options = (
        *("--visits=64", "--games=1", "--parallelism=1", "--backend=eigen", f"--weights={network}"),
        *("--policy-softmax-temp=1.0", "--noise-epsilon=0.0", "--reuse-tree=false", "--minibatch-size=1"),
        *("--cpuct=1.5", "--cpuct-factor=0.0", "--smart-pruning-factor=0.0", "--temperature=1.0"),
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    subprocess.run(
        [program, "selfplay", "--training=true", *options], cwd=tmp_path, check=True, capture_output=True
    )
    (path,) = tmp_path.rglob("game_*.gz")
    records, game = read_records(path), read_game(path)
    rows = np.linspace(0, len(records) - 1, 24).astype(int)
    positions = GameBatch.replay([None] * len(rows), [game.moves[:row] for row in rows])
    np.testing.assert_array_equal(positions.planes()[0, :104], planes_of(records[rows[0]]))
    config = SearchConfig(c_puct=1.5, unvisited_reduction=0)  # as lc0 plays for training
    found = run_mcts_batched(positions, Evaluator(load_network(network), 24), config, simulations=64)
    distances = []
    for place, row in enumerate(rows):
        ours = np.zeros(1858)
        part = found.line(place)
        ours[found.move[part]] = found.visits[part] / found.visits[part].sum()
        theirs = np.maximum(records[row]["probabilities"], 0)
        distances.append(np.abs(ours - theirs).sum() / 2)
    print("total variation:", np.mean(distances))
    assert np.mean(distances) < 0.2
