"""What the games must not depend on, and how often a network is evaluated for them."""

import pytest
from small_arenas import BATCH, OPENINGS, PLIES, arena, board_of, bytes_of, evaluator_of, play

from searchless_rl.arena import match_runner
from searchless_rl.arena.match_runner import play_games
from searchless_rl.arena.players import Player
from searchless_rl.arena.schedule import round_robin
from searchless_rl.board import GameBatch


@pytest.mark.slow
def test_a_game_is_the_same_whatever_runs_beside_it(players):
    """Pairs alone and together, few or many at a time, one network in memory or all, in another order."""
    together = round_robin(players, OPENINGS, games=4)
    outcomes = play(together, players)
    expected = {game.address: (game, outcome) for game, outcome in _zip(together, outcomes)}
    assert len(expected) == 24
    for pair in ((players[0], players[2]), (players[1], players[3]), (players[3], players[2])):
        alone = round_robin(pair, OPENINGS, games=4)
        for game, outcome in _zip(alone, play(alone, pair)):
            assert outcome.moves == expected[game.address][1].moves
            assert outcome.result == expected[game.address][1].result
    for changes in ({"in_flight": 1}, {"in_flight": 5, "max_loaded": 1}):
        assert play(together, players, **changes) == outcomes, changes
    assert play(together[::-1], players) == outcomes
    sampled = [outcome.moves for game, outcome in expected.values() if {game.white, game.black} & {2, 3}]
    other = play(together, players, seed=6)
    assert sum(outcome.moves in sampled for outcome in other.values()) == 0


def test_full_batches_are_encoded_together_and_the_games_stay_the_same(players, monkeypatch):
    """One network sees a batch at a time, in its shape; only what surrounds the passes is shared."""
    games, encode, encoded = round_robin(players, OPENINGS, games=4), GameBatch.planes, []

    def counted(batch, rows):
        encoded.append(len(rows))
        return encode(batch, rows)

    monkeypatch.setattr(GameBatch, "planes", counted)
    together = play(games, players)
    assert max(encoded) > BATCH
    encoded.clear()
    monkeypatch.setattr(match_runner, "_AT_ONCE", BATCH)
    assert play(games, players) == together
    assert max(encoded) == BATCH


def _zip(games, outcomes):
    return [(game, outcomes[game.number]) for game in games]


def test_a_position_is_evaluated_once_a_network(weights):
    """Argmax players of a network under two names, and a third: as many positions as there are lines."""
    listed = [Player("a", weights[0]), Player("again-a", weights[0]), Player("b", weights[1])]
    games = round_robin(listed, OPENINGS, games=8)
    evaluated = []

    def load(path):
        evaluator = evaluator_of(path)

        def call(planes):
            evaluated.append(len(planes))
            return evaluator(planes)

        call.batch_size = BATCH
        return call

    outcomes = list(play_games(games, listed, load, seed=0, max_plies=PLIES, in_flight=len(games)))
    lines, plies = set(), 0
    for outcome in outcomes:
        game = games[outcome.number]
        first = board_of(game.opening).turn == (len(game.opening.moves) % 2 == 0)
        for ply in range(len(outcome.moves)):
            player = listed[game.white if first == (ply % 2 == 0) else game.black]
            lines.add((player.weights, game.opening.id, outcome.moves[:ply]))
        plies += len(outcome.moves)
    assert sum(evaluated) == len(lines) < plies / 2
    few = list(play_games(games, listed, load, seed=0, max_plies=PLIES, in_flight=2))
    assert sorted(few, key=lambda outcome: outcome.number) == sorted(
        outcomes, key=lambda outcome: outcome.number
    )


def test_at_most_so_many_networks_are_in_memory(weights):
    players = [Player(name, path) for name, path in zip("abc", weights, strict=True)]
    loaded = []

    def load(path):
        loaded.append(path)
        return evaluator_of(path)

    games = round_robin(players, OPENINGS, games=2)
    settings = {"seed": 0, "max_plies": 20, "in_flight": 6}
    assert len(list(play_games(games, players, load, **settings))) == 6
    assert sorted(loaded) == sorted(weights)
    loaded.clear()
    assert len(list(play_games(games, players, load, **settings, max_loaded=2))) == 6
    assert len(loaded) > 3


def test_reruns_give_the_same_bytes(players, openings, tmp_path):
    for out in ("one/out", "two/out"):
        arena(players, openings, tmp_path / out)
    assert bytes_of(tmp_path / "one" / "out") == bytes_of(tmp_path / "two" / "out")
    assert not list((tmp_path / "one" / "out-scratch").glob("*.json*"))
