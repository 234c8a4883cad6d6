"""Results, PGN and summary of an arena; failures and repeats in them."""

import io
import json

import chess
import chess.engine
import chess.pgn
import numpy as np
import pytest
import torch
from small_arenas import BATCH, BLACK_TO_MOVE, OPENINGS, PLIES, arena, evaluator_of, play

from searchless_rl.arena import stage as arena_stage
from searchless_rl.arena.match_runner import Outcome, play_games
from searchless_rl.arena.openings import Opening, OpeningError, write_openings
from searchless_rl.arena.players import Player
from searchless_rl.arena.results import results_frame, summarize_games
from searchless_rl.arena.schedule import round_robin
from searchless_rl.lc0 import load_network


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
        assert (headers["TimeControl"], headers["WhiteType"], headers["BlackType"]) == (
            "-",
            "program",
            "program",
        )
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


class _Faulty:
    """A network that fails where Black has castled short: NaN, or an exception for the whole batch."""

    batch_size = BATCH

    def __init__(self, path, how):
        self._evaluator = evaluator_of(path)
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
    sound = play(games, listed)

    def load(path):
        return _Faulty(path, how) if path == weights[0] else evaluator_of(path)

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
    outcomes = [play(games, players[:2])[number] for number in range(4)]
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
    with pytest.raises(RuntimeError, match=r"no game of c could be played .*\n  game \d+: c: OutputError: "):
        arena([*players[:2], Player("c", weights[2])], openings, tmp_path / "out")


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
    by_a, by_b = (play(games, listed)[number].moves[0] for number in (0, 1))
    longer = [Opening("longer", None, (*first.moves, by_a))]
    if by_b != by_a:
        longer.append(Opening("longest", None, (*first.moves, by_b)))
    write_openings(tmp_path / "openings.csv", [first, *longer])
    frame = arena(listed, tmp_path / "openings.csv", tmp_path / "out", games=2 + 2 * len(longer))
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


def test_bad_openings_stop_the_arena_before_it_starts(players, tmp_path):
    with pytest.raises(OpeningError, match=r"none\.csv"):
        arena(players, tmp_path / "none.csv", tmp_path / "out")
