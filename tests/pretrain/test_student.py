"""A student: its loss in closed form, its targets, training that resumes to the bit, and what is written."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from searchless_rl.board import GameBatch
from searchless_rl.lc0 import describe, load_network, save_network
from searchless_rl.nets.se_resnet import ConvHeadConfig, SEResNet, SEResNetConfig
from searchless_rl.pretrain import student_stage
from searchless_rl.pretrain.dataset import positions_of
from searchless_rl.pretrain.records import LabelledGame, ShardError, shard_path, write_shard
from searchless_rl.pretrain.settings import StudentParams
from searchless_rl.pretrain.student import losses, value_logits, wdl_targets
from searchless_rl.pretrain.student_stage import calibrated_base, target_entropy, train_student
from searchless_rl.statistics.calibration import Calibration

PARAMS = StudentParams(
    filters=12,
    blocks=2,
    se_hidden=4,
    seed=0,
    steps=6,
    batch_size=8,
    learning_rate=1e-3,
    weight_decay=1e-4,
    warmup_steps=2,
    value_coefficient=1.0,
    outcome_share=0.5,
    surprise_share=0.5,
    validation_every=4,
    checkpoint_every=2,
    precision="float32",
)


def random_game(seed, result):
    """Ten random plies; at each position a target over all legal moves."""
    generator, batch = np.random.default_rng(seed), GameBatch([None])
    moves, weights, counts = [], [], []
    for _ in range(10):
        legal = batch.legal().index
        moves.append(legal)
        weights.append(1 + 6 * (legal % 5))  # something that can be learnt
        counts.append(len(legal))
        batch.step(np.array([0]), generator.choice(legal, 1))
    values = 0.4 * result * (-1.0) ** np.arange(10) + generator.uniform(-0.5, 0.5, 10)  # White moves first
    return LabelledGame(
        None,
        batch.moves[0],
        result,
        np.arange(10, dtype=np.uint16),
        np.array(counts, np.uint8),
        np.concatenate(moves).astype(np.uint16),
        np.concatenate(weights).astype(np.float32),
        values.astype(np.float32),
    )


@pytest.fixture(scope="module")
def games():
    return [random_game(seed, seed % 3 - 1) for seed in range(12)]


@pytest.fixture(scope="module")
def project(games, tmp_path_factory):
    """A small base and two shards."""
    root = tmp_path_factory.mktemp("student")
    torch.manual_seed(1)
    network = SEResNet(SEResNetConfig(filters=8, blocks=1, se_hidden=2, value=ConvHeadConfig(4, 8)))
    save_network(network, root / "base.pb.gz")
    for number in range(2):
        write_shard(shard_path(root / "games", number), games[6 * number : 6 * number + 6], {"kind": "test"})
    return root


def train(project, tmp_path, params=PARAMS, name="out"):
    train_student(
        params,
        base=project / "base.pb.gz",
        games=project / "games",
        out=tmp_path / name,
        scratch=tmp_path / f"scratch-{name}",
    )
    return tmp_path / name


def test_losses_are_cross_entropies_over_legal_moves(games, project):
    """Against sums over python floats, position by position."""
    positions = positions_of(games[:2])
    network = load_network(project / "base.pb.gz")
    targets = wdl_targets(positions, Calibration(0.7, 0.3), 0.25)
    rows = np.array([3, 17, 4])
    found = losses(network, positions, targets, rows)
    policy, value = 0.0, 0.0
    for row in rows:
        own = slice(positions.legal.start[row], positions.legal.start[row + 1])
        with torch.no_grad():
            out = network(torch.from_numpy(positions.encoded.planes(np.array([row]))))
        logits = out.policy[0].double().numpy()[positions.legal.index[own]]
        log_policy = logits - np.log(np.exp(logits).sum())
        policy -= float((positions.target[own] * log_policy).sum()) / len(rows)
        value -= float((targets[row] * np.log(out.wdl[0].double().numpy())).sum()) / len(rows)
    assert found.policy.item() == pytest.approx(policy, abs=1e-5)
    assert found.value.item() == pytest.approx(value, abs=1e-5)


def test_targets_of_the_value_head_mix_the_outcome_and_the_calibrated_search_value(games):
    positions = positions_of(games[:3])
    outcome = wdl_targets(positions, Calibration(1, 0), 1.0)
    np.testing.assert_array_equal(outcome, np.eye(3)[positions.outcome])
    searched = wdl_targets(positions, Calibration(1.0, -40.0), 0.0)
    np.testing.assert_allclose(searched[:, 0] - searched[:, 2], positions.value, atol=1e-6)  # tanh z again
    mixed = wdl_targets(positions, Calibration(1.0, -40.0), 0.25)
    np.testing.assert_allclose(mixed, 0.25 * outcome + 0.75 * searched, atol=1e-6)
    assert np.isfinite(value_logits(np.array([1.0, -1.0]))).all()


def test_a_student_begins_with_a_value_head_that_knows_draws(games, project, tmp_path):
    """Outcomes as the network forecasts them, and then a head that takes draws for impossible."""
    positions = positions_of(games)
    rows, generator = np.arange(len(positions)), np.random.default_rng(0)
    network = load_network(project / "base.pb.gz")
    with torch.no_grad():
        network.value.output.weight *= 40  # a random network's forecasts are all alike
        wdl = network(torch.from_numpy(positions.encoded.planes(rows))).wdl.numpy()
        network.value.output.bias[1] -= 12  # as a scalar head is read
    drawn = (generator.random(len(rows))[:, None] > np.cumsum(wdl, 1)).sum(1).clip(max=2)
    positions = replace(positions, outcome=drawn)
    save_network(network, tmp_path / "scalar.pb.gz")
    first = calibrated_base(tmp_path / "scalar.pb.gz", positions)
    targets = wdl_targets(positions, Calibration(1, 0), 1.0)
    before, after = (losses(one, positions, targets, rows) for one in (network, first))
    assert after.value < 0.5 * before.value
    assert torch.equal(after.policy, before.policy)
    shares = np.bincount(positions.outcome, minlength=3) / len(positions)
    assert after.value <= -(shares * np.log(shares)).sum() + 1e-3  # no worse than a constant forecast


def test_a_base_whose_forecasts_say_nothing_keeps_its_value_head(games, project):
    drawn = positions_of([replace(game, result=0) for game in games])
    kept, network = calibrated_base(project / "base.pb.gz", drawn), load_network(project / "base.pb.gz")
    for one, other in zip(kept.parameters(), network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_what_is_written_is_a_network_lc0_could_load_and_what_was_measured_of_it(project, tmp_path, games):
    out = train(project, tmp_path)
    assert describe(out / "weights.pb.gz")["sizes"]["filters"] == 12
    assert describe(out / "weights.pb.gz")["training_steps"] == 6
    told = json.loads((out / "student.json").read_text())
    assert told["games"] == 12
    assert told["positions"] == {"training": 90, "validation": 30}
    entropy = told["validation"]["search_entropy"]
    assert told["validation"]["student"]["policy"] > entropy > 0
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 6
    assert target_entropy(positions_of(games[3::4])) == pytest.approx(entropy)


def test_a_student_learns_its_games(project, tmp_path):
    long = PARAMS.model_copy(update={"steps": 250, "learning_rate": 1e-2, "checkpoint_every": 250})
    out = train(project, tmp_path, long)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    entropy = json.loads((out / "student.json").read_text())["validation"]["search_entropy"]
    first, last = (np.mean([line["policy"] for line in part]) for part in (lines[:10], lines[-10:]))
    assert last - entropy < 0.7 * (first - entropy), (first, last, entropy)
    assert lines[-1]["value"] < lines[0]["value"]


def test_a_stopped_training_continues_to_the_same_bytes(project, tmp_path, monkeypatch):
    whole = train(project, tmp_path, name="whole")
    step = student_stage.StudentModule.training_step

    def stops(self, batch, number):
        if self.global_step == 5 and not (tmp_path / "stopped").exists():
            (tmp_path / "stopped").touch()
            raise KeyboardInterrupt
        return step(self, batch, number)

    monkeypatch.setattr(student_stage.StudentModule, "training_step", stops)
    with pytest.raises((KeyboardInterrupt, SystemExit, RuntimeError)):
        train(project, tmp_path, name="torn")
    torn = train(project, tmp_path, name="torn")
    for name in ("weights.pb.gz", "metrics.jsonl", "student.json"):
        assert (torn / name).read_bytes() == (whole / name).read_bytes()


def test_without_shards_or_with_too_few_games_nothing_is_trained(project, tmp_path):
    with pytest.raises(ShardError, match="there are no shards; `searchless visits` makes them"):
        train_student(
            PARAMS, base=project / "base.pb.gz", games=tmp_path, out=tmp_path / "o", scratch=tmp_path / "s"
        )
    with pytest.raises(ShardError, match="12 games: validation_every = 20"):
        train(project, tmp_path, PARAMS.model_copy(update={"validation_every": 20}))
