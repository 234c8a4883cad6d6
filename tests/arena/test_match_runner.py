"""Games move by move against python-chess, one position at a time, and the real lc0."""

import sys
from pathlib import Path

import chess
import chess.engine
import chess.pgn
import numpy as np
import pytest
import torch
from small_arenas import BLACK_TO_MOVE, OPENINGS, PLIES, arena, board_of, evaluator_of, play

from searchless_rl.arena.match_runner import PLY_CAP, play_games
from searchless_rl.arena.openings import Opening, write_openings
from searchless_rl.arena.players import Player
from searchless_rl.arena.randomness import Stream, game_uniforms
from searchless_rl.arena.schedule import round_robin
from searchless_rl.board import GameBatch, encode_game, move_index
from searchless_rl.evaluation.policy import TIE
from searchless_rl.nets.evaluator import Evaluation
from searchless_rl.selfplay import distributions


def test_games_follow_the_rules_of_python_chess(played):
    """Results and reasons with claimed draws, the cap, and who is credited."""
    _, frame, _ = played
    assert len(frame) == 8 + 8 + 6
    for row in frame.itertuples():
        board = board_of(row)
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
    evaluators = {player.name: evaluator_of(player.weights) for player in listed}
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
    outcomes = play(games, players)
    evaluators = {player.name: evaluator_of(player.weights) for player in players}
    checked = 0
    for game in games:
        board, moves = board_of(game.opening), list(game.opening.moves)
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
        play(games, players, **{name: 0})


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("name", ["micro_bt4", "maia-1900"])
def test_the_real_lc0_makes_every_move(name, pytestconfig, request, tmp_path):
    """lc0 itself on every position, with its history, of 20 argmax games.

    Its classic search of one node picks the policy's best move, of probabilities kept with 11 bits. Its
    policy-head player (0.32.1) does so without the planes that mark repeated positions; it is held to the
    network evaluated without them.
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
    frame = arena(pair, tmp_path / "openings.csv", tmp_path / "out", games=40, max_plies=120)
    evaluator = evaluator_of(path)
    options = [f"--weights={path}", "--backend=eigen", "--history-fill-new=fen_only", "--nncache=0"]
    classic = ["--temperature=0", "--threads=1", "--minibatch-size=1", "--smart-pruning-factor=0"]
    checked = ties = 0
    with (
        chess.engine.SimpleEngine.popen_uci([str(program), "classic", *options, *classic]) as search,
        chess.engine.SimpleEngine.popen_uci([str(program), "policyhead", *options]) as head,
    ):
        for row in frame[frame["white"] == "one"].itertuples():  # the other half is the same games
            board, moves = board_of(row), row.moves.split()
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
                        checked += 1
                        ties += engine is search and answer.uci() != uci
                board.push_uci(uci)
    assert checked > 2000
    assert ties <= checked / 1000
