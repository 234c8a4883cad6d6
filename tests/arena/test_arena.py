"""The arena against python-chess and one position at a time; what its results must not depend on."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import chess
import chess.engine
import chess.pgn
import numpy as np
import pandas as pd
import pytest
import torch

from searchless_rl.arena import stage as arena_stage
from searchless_rl.arena.match_runner import PLY_CAP, Outcome, play_games
from searchless_rl.arena.openings import Opening, OpeningError, write_openings
from searchless_rl.arena.pgn import game_text, notation
from searchless_rl.arena.players import Player
from searchless_rl.arena.randomness import Stream, game_uniforms
from searchless_rl.arena.results import results_frame, summarize_games
from searchless_rl.arena.schedule import round_robin
from searchless_rl.arena.stage import run_arena
from searchless_rl.board import GameBatch, encode_game, move_index
from searchless_rl.evaluation.policy import TIE
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.nets.evaluator import Evaluation, Evaluator
from searchless_rl.selfplay import distributions

BATCH = 4
PLIES = 40
BLACK_TO_MOVE = "r1bq1rk1/pp1pn1bp/2n3p1/2p1pp2/4PP2/2PP2PN/PP4BP/RNBQ1RK1 b - - 1 9"
OPENINGS = [
    Opening("lines:1", None, ("e2e4", "e7e5", "g1f3", "b8c6")),
    Opening("lines:2", None, ("d2d4", "d7d5")),
    Opening("black:1", BLACK_TO_MOVE),
    Opening("black:2", BLACK_TO_MOVE, ("d7d6", "c1e3")),
]
OUTPUTS = ("games.parquet", "games.pgn", "summary.json")


@pytest.fixture(scope="module")
def weights(tmp_path_factory, pytestconfig):
    """Three small random networks that disagree."""
    folder = tmp_path_factory.mktemp("networks")
    paths = []
    for seed in range(3):
        network = load_network(pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz")
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                spread = parameter.std(correction=0) if parameter.numel() > 1 else 0.0
                parameter += 0.3 * spread * torch.randn(parameter.shape, generator=generator)
        paths.append(folder / f"{'abc'[seed]}.pb.gz")
        save_network(network, paths[-1])
    return paths


@pytest.fixture
def players(weights):
    """Every kind of player; three share a network."""
    return [
        Player("argmax-a", weights[0]),
        Player("argmax-b", weights[1]),
        Player("raw-b", weights[1], 1.0),
        Player("adaptive-b", weights[1], "adaptive"),
    ]


@pytest.fixture
def openings(tmp_path):
    write_openings(tmp_path / "openings.csv", OPENINGS)
    return tmp_path / "openings.csv"


def _load(path):
    return Evaluator(load_network(path), BATCH)


def _arena(players, openings, out, **changes):
    settings = {"games": 4, "seed": 5, "batch_size": BATCH, "max_plies": PLIES} | changes
    run_arena(players, openings, out, scratch=out.parent / f"{out.name}-scratch", **settings)
    return pd.read_parquet(out / "games.parquet")


def _play(games, players, **changes):
    settings = {"seed": 5, "max_plies": PLIES, "in_flight": 100} | changes
    return {outcome.number: outcome for outcome in play_games(games, players, _load, **settings)}


def _board(row):
    return chess.Board(row.fen) if row.fen else chess.Board()


def _bytes(folder):
    return {name: (folder / name).read_bytes() for name in OUTPUTS}


# --- the schedule --------------------------------------------------------------------------------


def test_every_pair_plays_every_opening_from_both_colours(players):
    schedule = round_robin(players, OPENINGS, games=4, base="argmax-b", games_against_base=6)
    assert [game.number for game in schedule] == list(range(3 * 6 + 3 * 4))
    met = {}
    for game in schedule:
        met.setdefault(frozenset((game.white, game.black)), []).append((game.opening.id, game.white))
    assert len(met) == 6
    for pair, played in met.items():
        wanted = 6 if 1 in pair else 4
        assert len(set(played)) == wanted
        assert {name for name, _ in played} == {opening.id for opening in OPENINGS[: wanted // 2]}
    for first, second in zip(schedule[::2], schedule[1::2], strict=True):
        assert first.pair == second.pair
        assert (first.white, first.black, first.opening) == (second.black, second.white, second.opening)
    assert len({game.address for game in schedule}) == len(schedule)
    only_base = round_robin(players, OPENINGS, games=0, base="raw-b", games_against_base=2)
    assert {frozenset((game.white, game.black)) for game in only_base} == {
        frozenset((2, other)) for other in (0, 1, 3)
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"games": 3}, "games: 3 is not allowed"),
        ({"games": 10}, "10 games need 5 openings, but there are 4"),
        ({"games": 2, "base": "argmax-a", "games_against_base": -2}, "games_against_base: -2"),
        ({"games": 2, "base": "nobody"}, "base 'nobody' is not among"),
        ({"games": 0}, "no games"),
    ],
)
def test_schedules_that_cannot_be(players, changes, message):
    with pytest.raises(ValueError, match=message):
        round_robin(players, OPENINGS, **changes)


def test_names_must_differ(players):
    for listed in (players[:1], [players[0], players[0]]):
        with pytest.raises(ValueError, match="different names"):
            round_robin(listed, OPENINGS, games=2)


# --- what is played ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def played(weights, tmp_path_factory):
    """One arena of argmax players and its results, for several tests."""
    folder = tmp_path_factory.mktemp("played")
    write_openings(folder / "openings.csv", OPENINGS)
    listed = [Player(name, path) for name, path in zip("abc", weights, strict=True)]
    frame = _arena(listed, folder / "openings.csv", folder / "out", games=6, base="a", games_against_base=8)
    return listed, frame, folder / "out"


def test_games_follow_the_rules_of_python_chess(played):
    """Results and reasons with claimed draws, the cap, and who is credited."""
    _, frame, _ = played
    assert len(frame) == 8 + 8 + 6
    for row in frame.itertuples():
        board = _board(row)
        start = board.ply()
        moves = row.moves.split()
        for ply, uci in enumerate(moves):
            outcome = board.outcome(claim_draw=False)
            is_drawn = board.is_repetition(3) or board.is_fifty_moves()
            assert ply <= row.opening_plies or (outcome is None and not is_drawn), row
            board.push(board.parse_uci(uci))
        assert row.plies == start + len(moves)
        outcome = board.outcome(claim_draw=False)
        if row.reason == PLY_CAP:
            assert outcome is None
            assert (row.result, row.plies) == ("1/2-1/2", PLIES)
        elif outcome is not None:
            assert row.result == outcome.result()
            assert row.reason == outcome.termination.name.lower().replace("_", " ")
        else:
            assert row.result == "1/2-1/2"
            assert {"threefold repetition": board.is_repetition(3), "fifty moves": board.is_fifty_moves()}[
                row.reason
            ]


def test_replaying_the_pgn_through_the_network_gives_every_argmax_move(played):
    """Read by python-chess, encoded alone: the move is the lowest of those that tie, and ties are counted."""
    listed, frame, out = played
    evaluators = {player.name: _load(player.weights) for player in listed}
    with (out / "games.pgn").open() as stream:
        games = [chess.pgn.read_game(stream) for _ in range(len(frame) + 1)]
    assert games.pop() is None
    for game, row in zip(games, frame.itertuples(), strict=True):
        assert not game.errors
        board, moves, ties = game.board(), [], 0
        for ply, move in enumerate(game.mainline_moves()):
            if ply >= row.opening_plies:
                name = game.headers["White" if board.turn else "Black"]
                logits = evaluators[name](encode_game(row.fen or None, moves)[None]).policy[0]
                legal = sorted(move_index(board, other) for other in board.legal_moves)
                near = [index for index in legal if logits[index] >= logits[legal].max() - TIE]
                assert move_index(board, move) == near[0]
                ties += len(near) > 1
            moves.append(move.uci())
            board.push(move)
        assert " ".join(moves) == row.moves
        assert ties == row.ties


def test_sampled_moves_come_from_the_tempered_policy_by_the_games_numbers(players):
    """Every move again from self-play's own tempering and sampling, position by position."""
    games = round_robin(players, OPENINGS, games=2)
    outcomes = _play(games, players)
    evaluators = {player.name: _load(player.weights) for player in players}
    checked = 0
    for game in games:
        board, moves = _board(game.opening), list(game.opening.moves)
        for uci in moves:
            board.push_uci(uci)
        numbers = game_uniforms(Stream.ARENA, 5, game.address, PLIES)
        for ply, uci in enumerate(outcomes[game.number].moves):
            player = players[game.white if board.turn else game.black]
            if player.is_sampled:
                out = evaluators[player.name](encode_game(game.opening.fen, moves)[None])
                legal = sorted(move_index(board, move) for move in board.legal_moves)
                mask = torch.ones(1, len(legal), dtype=torch.bool)
                scores = torch.from_numpy(out.policy[:, legal].astype(np.float64))
                tau = torch.ones(1, dtype=torch.float64)
                if player.temperature == "adaptive":
                    tau = distributions.wdl_entropy(torch.from_numpy(out.wdl).double())
                mu = distributions.temper(distributions.log_normalize(scores, mask), mask, tau)
                column = int(distributions.sample(mu, mask, numbers[ply : ply + 1]))
                assert move_index(board, chess.Move.from_uci(uci)) == legal[column]
                checked += 1
            board.push_uci(uci)
            moves.append(uci)
    assert checked > 150


def test_the_pgn_says_what_was_played(played):
    _, frame, out = played
    text = (out / "games.pgn").read_text()
    stream = io.StringIO(text)
    for row in frame.itertuples():
        headers = chess.pgn.read_headers(stream)
        assert list(headers)[:7] == ["Event", "Site", "Date", "Round", "White", "Black", "Result"]
        assert (headers["White"], headers["Black"], headers["Result"]) == (row.white, row.black, row.result)
        assert headers["Round"] == f"{row.game // 2 + 1}.{row.game + 1}"
        assert headers["Date"] == "????.??.??"
        assert headers["Termination"] == row.reason
        assert headers["Opening"] == row.opening
        assert headers["PlyCount"] == str(len(row.moves.split()))
        assert headers.get("FEN", "") == row.fen
        assert headers.get("SetUp", "") == ("1" if row.fen else "")
    assert max(map(len, text.splitlines())) < 256
    assert text.count("\n[Event ") == len(frame) - 1


def test_the_summary_counts(played):
    _, frame, out = played
    summary = json.loads((out / "summary.json").read_text())
    assert summary["games_played"] == len(frame) == sum(summary["reasons"].values())
    assert summary["results"] == frame["result"].value_counts().sort_index().to_dict()
    assert (summary["games_failed"], summary["games_dropped"], summary["failures"]) == (0, 0, [])
    assert summary["inputs"]["players"]["b"]["temperature"] == 0.0


# --- what results must not depend on --------------------------------------------------------------


def test_a_game_is_the_same_whatever_runs_beside_it(players):
    """Pairs alone and together, few or many at a time, one network in memory or all, in another order."""
    together = round_robin(players, OPENINGS, games=4)
    outcomes = _play(together, players)
    expected = {game.address: (game, outcome) for game, outcome in _zip(together, outcomes)}
    assert len(expected) == 24
    for pair in ((players[0], players[2]), (players[1], players[3]), (players[3], players[2])):
        alone = round_robin(pair, OPENINGS, games=4)
        for game, outcome in _zip(alone, _play(alone, pair)):
            assert outcome.moves == expected[game.address][1].moves
            assert outcome.result == expected[game.address][1].result
    for changes in ({"in_flight": 1}, {"in_flight": 5, "max_loaded": 1}):
        assert _play(together, players, **changes) == outcomes, changes
    assert _play(together[::-1], players) == outcomes
    sampled = [outcome.moves for game, outcome in expected.values() if {game.white, game.black} & {2, 3}]
    other = _play(together, players, seed=6)
    assert sum(outcome.moves in sampled for outcome in other.values()) == 0


def _zip(games, outcomes):
    return [(game, outcomes[game.number]) for game in games]


def test_a_network_is_asked_once_about_a_position(weights):
    """Argmax players of a network under two names, and a third: as many positions as there are lines."""
    listed = [Player("a", weights[0]), Player("again-a", weights[0]), Player("b", weights[1])]
    games = round_robin(listed, OPENINGS, games=8)
    asked = []

    def load(path):
        evaluator = _load(path)

        def call(planes):
            asked.append(len(planes))
            return evaluator(planes)

        call.batch_size = BATCH
        return call

    outcomes = list(play_games(games, listed, load, seed=0, max_plies=PLIES, in_flight=len(games)))
    lines, plies = set(), 0
    for outcome in outcomes:
        game = games[outcome.number]
        first = _board(game.opening).turn == (len(game.opening.moves) % 2 == 0)
        for ply in range(len(outcome.moves)):
            player = listed[game.white if first == (ply % 2 == 0) else game.black]
            lines.add((player.weights, game.opening.id, outcome.moves[:ply]))
        plies += len(outcome.moves)
    assert sum(asked) == len(lines) < plies / 2
    few = list(play_games(games, listed, load, seed=0, max_plies=PLIES, in_flight=2))
    assert sorted(few, key=lambda outcome: outcome.number) == sorted(
        outcomes, key=lambda outcome: outcome.number
    )


def test_at_most_so_many_networks_are_in_memory(weights):
    players = [Player(name, path) for name, path in zip("abc", weights, strict=True)]
    loaded = []

    def load(path):
        loaded.append(path)
        return _load(path)

    games = round_robin(players, OPENINGS, games=2)
    settings = {"seed": 0, "max_plies": 20, "in_flight": 6}
    assert len(list(play_games(games, players, load, **settings))) == 6
    assert sorted(loaded) == sorted(weights)
    loaded.clear()
    assert len(list(play_games(games, players, load, **settings, max_loaded=2))) == 6
    assert len(loaded) > 3


def test_reruns_give_the_same_bytes(players, openings, tmp_path):
    for out in ("one/out", "two/out"):
        _arena(players, openings, tmp_path / out)
    assert _bytes(tmp_path / "one" / "out") == _bytes(tmp_path / "two" / "out")
    assert not list((tmp_path / "one" / "out-scratch").glob("*.json*"))


def test_a_stopped_run_continues_and_ends_the_same(players, openings, tmp_path, monkeypatch):
    """Also with a torn last line; no finished game is played again."""
    _arena(players, openings, tmp_path / "whole" / "out")
    out = tmp_path / "stopped" / "out"
    append, played = arena_stage.Journal.append, []

    def stop_after_nine(journal, outcome):
        if len(played) == 9:
            raise KeyboardInterrupt
        played.append(outcome.number)
        append(journal, outcome)

    monkeypatch.setattr(arena_stage.Journal, "append", stop_after_nine)
    with pytest.raises(KeyboardInterrupt):
        _arena(players, openings, out, in_flight=4)
    assert not out.exists()
    journal = out.parent / "out-scratch" / "games.jsonl"
    with journal.open("a") as stream:
        stream.write('{"game": 23, "resu')

    def keep(journal, outcome):
        assert outcome.number not in played
        append(journal, outcome)

    monkeypatch.setattr(arena_stage.Journal, "append", keep)
    _arena(players, openings, out)
    assert _bytes(out) == _bytes(tmp_path / "whole" / "out")


def test_a_run_stopped_while_results_are_written_plays_nothing_again(
    players, openings, tmp_path, monkeypatch
):
    _arena(players[:2], openings, tmp_path / "whole" / "out")
    out = tmp_path / "stopped" / "out"

    def full_disk(frame, path):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(arena_stage, "write_parquet", full_disk)
        with pytest.raises(OSError, match="No space left"):
            _arena(players[:2], openings, out)
    monkeypatch.setattr(arena_stage, "load_network", None)
    _arena(players[:2], openings, out)
    assert _bytes(out) == _bytes(tmp_path / "whole" / "out")


@pytest.mark.slow
def test_a_killed_process_loses_no_finished_game(weights, openings, tmp_path):
    program = (
        "import sys; from pathlib import Path; import torch; torch.set_num_threads(1)\n"
        "from searchless_rl.arena.stage import run_arena\n"
        "from searchless_rl.arena.players import Player\n"
        "a, b, openings, out = map(Path, sys.argv[1:])\n"
        "run_arena([Player('a', a), Player('b', b, 1.0)], openings, out, scratch=out.parent / 'scratch',\n"
        "          games=8, seed=1, batch_size=8, in_flight=2, max_plies=100)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def start(out):
        command = [sys.executable, "-c", program, *map(str, (*weights[:2], openings, out))]
        return subprocess.Popen(command, env=environment)

    assert start(tmp_path / "whole" / "out").wait() == 0
    out = tmp_path / "killed" / "out"
    journal = out.parent / "scratch" / "games.jsonl"
    process = start(out)
    while not (journal.exists() and journal.read_text().count("\n") >= 2):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not out.exists()
    before = journal.read_bytes()
    assert start(out).wait() == 0
    assert before.count(b"\n") >= 2
    assert _bytes(out) == _bytes(tmp_path / "whole" / "out")


def _interrupted(players, openings, out, monkeypatch, **changes):
    """Leave an unfinished run behind."""
    append = arena_stage.Journal.append

    def stop(journal, outcome):
        append(journal, outcome)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(arena_stage.Journal, "append", stop)
        with pytest.raises(KeyboardInterrupt):
            _arena(players, openings, out, **changes)


def test_an_unfinished_run_with_other_inputs_is_refused(players, openings, tmp_path, monkeypatch):
    _interrupted(players[:2], openings, tmp_path / "out", monkeypatch)
    with pytest.raises(ValueError, match="seed: 5 then, 6 now"):
        _arena(players[:2], openings, tmp_path / "out", seed=6)
    warmer = [players[0], Player("argmax-b", players[1].weights, 0.5)]
    with pytest.raises(ValueError, match=r"players\.argmax-b\.temperature: 0\.0 then, 0\.5 now"):
        _arena(warmer, openings, tmp_path / "out")
    other = [players[0], Player("argmax-b", players[0].weights)]
    with pytest.raises(ValueError, match=r"players\.argmax-b\.weights_sha256"):
        _arena(other, openings, tmp_path / "out")
    assert len(_arena(players[:2], openings, tmp_path / "out", in_flight=1)) == 4


def test_other_code_starts_again(players, openings, tmp_path, monkeypatch):
    _interrupted(players[:2], openings, tmp_path / "out", monkeypatch)
    monkeypatch.setattr(arena_stage, "_code", lambda: "another")
    with pytest.warns(UserWarning, match="begun with other code"):
        assert len(_arena(players[:2], openings, tmp_path / "out", seed=7)) == 4


def test_a_damaged_journal_is_named(players, openings, tmp_path, monkeypatch):
    _interrupted(players[:2], openings, tmp_path / "out", monkeypatch)
    journal = tmp_path / "out-scratch" / "games.jsonl"
    journal.write_text("rubbish\n" + journal.read_text())
    with pytest.raises(ValueError, match=r"games\.jsonl: damaged"):
        _arena(players[:2], openings, tmp_path / "out")
    (tmp_path / "out-scratch" / "inputs.json").write_text("{")
    with pytest.raises(ValueError, match=r"inputs\.json: not readable"):
        _arena(players[:2], openings, tmp_path / "out")


# --- failures, repeats, endings -------------------------------------------------------------------


class _Faulty:
    """A network that fails where Black has castled short: NaN, or an exception for the whole batch."""

    batch_size = BATCH

    def __init__(self, path, how):
        self._evaluator = _load(path)
        self._how = how

    def __call__(self, planes):
        out = self._evaluator(planes)
        # Seen by the mover: the opponent's king and rook, or the own ones, on g8 and f8 (g1 and f1).
        own = (planes[:, 5, 0, 6] == 1) & (planes[:, 3, 0, 5] == 1) & (planes[:, 108, 0, 0] == 1)
        enemy = (planes[:, 11, 7, 6] == 1) & (planes[:, 9, 7, 5] == 1) & (planes[:, 108, 0, 0] == 0)
        bad = own | enemy
        if self._how == "raises" and bad.any():
            raise RuntimeError("no such castle")
        out.policy[bad] = np.nan
        return out


@pytest.mark.parametrize("how", ["nan", "raises"])
def test_a_failing_game_takes_its_pair_with_it_and_no_other(players, weights, how):
    listed = players[:2]
    games = round_robin(listed, OPENINGS, games=8)
    sound = _play(games, listed)

    def load(path):
        return _Faulty(path, how) if path == weights[0] else _load(path)

    outcomes = {
        outcome.number: outcome
        for outcome in play_games(games, listed, load, seed=5, max_plies=PLIES, in_flight=100)
    }
    failed = {number for number, outcome in outcomes.items() if outcome.failed}
    # In the openings black:1 and black:2 Black has castled before play starts, and argmax-a begins in these.
    assert failed >= {5, 7}
    assert all(outcomes[number] == sound[number] for number in set(outcomes) - failed)
    ordered = [outcomes[game.number] for game in games]
    frame = results_frame(games, ordered, listed)
    lost = {number // 2 for number in failed}
    assert frame["game"].tolist() == [number for number in range(8) if number // 2 not in lost]
    assert len(frame) > 0
    summary = summarize_games(games, ordered, listed, frame)
    assert summary["games_failed"] == len(failed)
    assert summary["games_dropped"] == 2 * len(lost)
    assert len(summary["failures"]) == len(failed)
    expected = "outputs that are not finite" if how == "nan" else "RuntimeError: no such castle"
    assert f"argmax-a: {expected} in " in summary["failures"][0]
    assert outcomes[5].reason.endswith(f" in {BLACK_TO_MOVE}")


def test_half_a_failed_pair_is_dropped(players):
    games = round_robin(players[:2], OPENINGS, games=4)
    outcomes = [_play(games, players[:2])[number] for number in range(4)]
    outcomes[1] = Outcome(1, "*", "argmax-b: broken", 0, ())
    frame = results_frame(games, outcomes, players[:2])
    assert frame["game"].tolist() == [2, 3]
    assert summarize_games(games, outcomes, players[:2], frame)["games_dropped"] == 2


def test_a_player_without_any_game_is_an_error(players, weights, openings, tmp_path, monkeypatch):
    def load(path):
        network = load_network(path)
        if path == weights[2]:
            with torch.no_grad():
                next(network.parameters()).fill_(float("nan"))
        return network

    monkeypatch.setattr(arena_stage, "load_network", load)
    with pytest.raises(RuntimeError, match=r"no game of c could be played .*\n  game \d+: c: outputs"):
        _arena([*players[:2], Player("c", weights[2])], openings, tmp_path / "out")


def test_memory_that_runs_out_is_no_failed_game(players):
    def load(path):
        def evaluator(planes):
            raise torch.OutOfMemoryError("CUDA out of memory")

        evaluator.batch_size = BATCH
        return evaluator

    games = round_robin(players[:2], OPENINGS, games=2)
    with pytest.raises(torch.OutOfMemoryError):
        list(play_games(games, players[:2], load, seed=0, max_plies=PLIES, in_flight=2))


def test_identical_games_are_reported(players, tmp_path):
    """The second opening is the first and the move that White makes there: argmax games repeat."""
    listed = players[:2]
    first = Opening("short", None, ("e2e4", "e7e5"))
    games = round_robin(listed, [first], games=2)
    by_a, by_b = (_play(games, listed)[number].moves[0] for number in (0, 1))
    longer = [Opening("longer", None, (*first.moves, by_a))]
    if by_b != by_a:
        longer.append(Opening("longest", None, (*first.moves, by_b)))
    write_openings(tmp_path / "openings.csv", [first, *longer])
    frame = _arena(listed, tmp_path / "openings.csv", tmp_path / "out", games=2 + 2 * len(longer))
    assert frame["moves"][0].split()[: frame["opening_plies"][0] + 1] == ["e2e4", "e7e5", by_a]
    repeats = frame[frame["repeat_of"] >= 0]
    assert {(row.game, row.repeat_of) for row in repeats.itertuples()} >= {(2, 0)}
    for row in repeats.itertuples():
        assert row.moves == frame["moves"][row.repeat_of]
        assert row.white == frame["white"][row.repeat_of]
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["repeats"] == len(repeats)


def test_the_same_moves_of_other_players_are_no_repeat(players):
    games = round_robin(players[:3], OPENINGS, games=2)
    moves = ("a2a3",)
    outcomes = [Outcome(game.number, "1/2-1/2", "x", 0, moves) for game in games]
    frame = results_frame(games, outcomes, players[:3])
    assert frame["repeat_of"].tolist() == [-1] * 6


def _scripted(lines):
    """A network that plays given UCI moves in given positions (board and side to move)."""

    class Scripted:
        batch_size = 4

        def __call__(self, planes):
            policy = np.zeros((len(planes), 1858), np.float32)
            for row, seen in enumerate(planes):
                policy[row, lines[seen[:12].tobytes() + seen[108].tobytes()]] = 9
            return Evaluation(policy, np.full((len(planes), 3), 1 / 3, np.float32))

    return lambda path: Scripted()


def _script(fen, moves):
    lines, game, board = {}, GameBatch([fen]), chess.Board(fen)
    for uci in moves:
        seen = game.planes()[0]
        index = game.index(0, uci)
        lines[seen[:12].tobytes() + seen[108].tobytes()] = index
        game.step(np.zeros(1, np.int64), np.array([index]))
        board.push_uci(uci)
    return lines


@pytest.mark.parametrize(
    ("fen", "moves", "result", "reason"),
    [
        ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "f1f8", "1-0", "checkmate"),
        ("7K/8/6k1/8/8/8/8/5q2 b - - 0 1", "f1f8", "0-1", "checkmate"),
        ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "f1f7", "1/2-1/2", "stalemate"),
        ("7k/8/8/8/8/8/6q1/7K w - - 0 1", "h1g2", "1/2-1/2", "insufficient material"),
        ("7k/8/8/8/8/8/6R1/7K w - - 98 10", "h1h2 h8h7", "1/2-1/2", "fifty moves"),
        ("7k/8/8/8/8/8/6R1/7K w - - 99 10", "g2g8", "1/2-1/2", "fifty moves"),
        ("k7/8/8/8/8/8/6R1/7K w - - 0 1", "h1h2 a8a7 h2h1 a7a8 " * 2, "1/2-1/2", "threefold repetition"),
        ("k7/8/8/8/8/8/6R1/7K w - - 0 19", "h1h2 a8a7 h2h3 a7a8", "1/2-1/2", PLY_CAP),
        ("7k/8/6K1/8/8/8/8/5Q2 b - - 0 20", "h8g8 f1f7", "1/2-1/2", PLY_CAP),
        ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 20", "f1e1 h8g8", "1/2-1/2", PLY_CAP),
    ],
)
def test_every_ending(tmp_path, fen, moves, result, reason):
    """The cap is 40 plies from the standard start position, by the FEN's counter."""
    moves = moves.split()
    listed = [Player("x", tmp_path / "x"), Player("y", tmp_path / "y")]
    games = round_robin(listed, [Opening("end", fen)], games=2)
    for outcome in play_games(
        games, listed, _scripted(_script(fen, moves)), seed=0, max_plies=40, in_flight=2
    ):
        played = 40 - games[0].opening.plies if reason == PLY_CAP else len(moves)
        assert (outcome.result, outcome.reason, outcome.moves) == (result, reason, tuple(moves[:played]))


def test_mate_on_the_last_ply_is_mate(tmp_path):
    fen = "7k/8/6K1/8/8/8/8/5Q2 w - - 0 20"  # ply 38
    listed = [Player("x", tmp_path / "x"), Player("y", tmp_path / "y")]
    games = round_robin(listed, [Opening("end", fen)], games=2)
    network = _scripted(_script(fen, ["f1f8"]))
    outcomes = list(play_games(games, listed, network, seed=0, max_plies=39, in_flight=1))
    assert {outcome.result for outcome in outcomes} == {"1-0"}
    with pytest.raises(ValueError, match="opening end: ply 38, not below max_plies = 38"):
        list(play_games(games, listed, network, seed=0, max_plies=38, in_flight=1))


@pytest.mark.parametrize("name", ["in_flight", "max_loaded"])
def test_at_least_one_game_and_one_network(players, name):
    games = round_robin(players, OPENINGS, games=2)
    with pytest.raises(ValueError, match=f"{name}: 0 is not allowed"):
        _play(games, players, **{name: 0})


def test_bad_openings_stop_the_arena_before_it_starts(players, tmp_path):
    with pytest.raises(OpeningError, match=r"none\.csv"):
        _arena(players, tmp_path / "none.csv", tmp_path / "out")


# --- notation -------------------------------------------------------------------------------------


def test_notation_is_that_of_python_chess():
    """Random games from positions rich in promotions, castling and pieces of one kind."""
    fens = [
        None,
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
        "Q6Q/8/8/1k6/8/7K/8/Q6Q b - - 0 3",
        "4k3/8/8/N1N5/8/N1N5/8/4K3 w - - 0 1",
    ]
    rng = np.random.default_rng(0)
    seen = set()
    for round_ in range(6):
        for fen in fens:
            board = chess.Board(fen) if fen else chess.Board()
            moves, expected = [], []
            while len(moves) < 80 and not board.is_game_over():
                listed = list(board.legal_moves)
                move = listed[rng.integers(len(listed))]
                moves.append(move.uci())
                expected.append(board.san(move))
                board.push(move)
            found = list(notation(fen, moves))
            assert found == expected, (round_, fen)
            seen |= {letter for text in found for letter in text}
            text = game_text({"Result": "*"}, fen, moves, "*")
            game = chess.pgn.read_game(io.StringIO(text))
            assert not game.errors
            assert [move.uci() for move in game.mainline_moves()] == moves
            assert game.end().board().fullmove_number == board.fullmove_number
    assert seen >= set("KQRBNOx+#=-12345678abcdefgh")
    with pytest.raises(ValueError, match="illegal move e2e5"):
        list(notation(None, ["e2e5"]))


def test_castling_and_its_look_alikes():
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    assert list(notation(fen, ["e1g1", "e8c8"])) == ["O-O", "O-O-O"]
    assert list(notation(fen, ["h1h8", "e8e7"])) == ["Rxh8+", "Ke7"]
    queen = "3k4/8/8/8/8/8/8/4Q1K1 w - - 0 1"
    assert list(notation(queen, ["e1c1"])) == ["Qc1"]


def test_headers_are_escaped():
    text = game_text({"Event": 'a "b" \\ c'}, None, [], "1/2-1/2")
    assert text.startswith(r'[Event "a \"b\" \\ c"]')
    assert not chess.pgn.read_game(io.StringIO(text)).errors


# --- the real lc0 ---------------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("name", ["micro_bt4", "maia-1900"])
def test_the_real_lc0_makes_every_move(name, pytestconfig, request, tmp_path):
    """lc0 itself on every position, with its history, of 20 argmax games.

    Its classic search of one node picks the policy's best move, of probabilities kept with 11 bits. Its
    policy-head player (0.32.1) does so without the planes that mark repeated positions; it is held to the
    network asked without them.
    """
    program = Path(sys.executable).parent / "lc0"
    if not program.exists():
        pytest.skip(f"needs the extra `oracle`: no {program}")
    path = pytestconfig.rootpath / "tests" / "data" / "lc0" / f"{name}.pb.gz"
    if not path.exists():
        path = request.getfixturevalue("shared") / "lc0" / f"{name}.pb.gz"
    firsts = [move.uci() for move in chess.Board().legal_moves][:17]
    listed = [Opening(f"x:{uci}", None, (uci,)) for uci in firsts]
    listed += [Opening("x:18", BLACK_TO_MOVE), Opening("x:19", BLACK_TO_MOVE, ("d7d6", "c1e3"))]
    listed.append(Opening("x:20", "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 4 9"))
    write_openings(tmp_path / "openings.csv", listed)
    pair = [Player("one", path), Player("two", path)]
    frame = _arena(pair, tmp_path / "openings.csv", tmp_path / "out", games=40, max_plies=120)
    evaluator = _load(path)
    options = [f"--weights={path}", "--backend=eigen", "--history-fill-new=fen_only", "--nncache=0"]
    classic = ["--temperature=0", "--threads=1", "--minibatch-size=1", "--smart-pruning-factor=0"]
    asked = ties = 0
    with (
        chess.engine.SimpleEngine.popen_uci([str(program), "classic", *options, *classic]) as search,
        chess.engine.SimpleEngine.popen_uci([str(program), "policyhead", *options]) as head,
    ):
        for row in frame[frame["white"] == "one"].itertuples():  # the other half is the same games
            board, moves = _board(row), row.moves.split()
            for ply, uci in enumerate(moves):
                if ply >= row.opening_plies:
                    planes = encode_game(row.fen or None, moves[:ply])[None]
                    unmarked = planes.copy()
                    unmarked[:, 12:104:13] = 0
                    for engine, seen, tie in ((search, planes, 2**-11), (head, unmarked, 1e-4)):
                        answer = engine.play(board, chess.engine.Limit(nodes=1)).move
                        logits = evaluator(seen).policy[0]
                        scores = [logits[move_index(board, move)] for move in board.legal_moves]
                        gap = max(scores) - logits[move_index(board, answer)]
                        assert gap < tie, (board.fen(), answer)
                        asked += 1
                        ties += engine is search and answer.uci() != uci
                board.push_uci(uci)
    assert asked > 2000
    assert ties <= asked / 1000
