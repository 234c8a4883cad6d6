"""The UCI engine, driven by python-chess and by hand; a game against Stockfish."""

import io
import math
import random
import shutil
import sys
import threading

import chess
import chess.engine
import numpy as np
import pytest
import torch

from searchless_rl.arena.players import choose_move
from searchless_rl.arena.randomness import Stream, game_uniforms
from searchless_rl.board import GameBatch, encode_game, move_index
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.play import uci
from searchless_rl.play.uci import centipawns, run_uci

PROGRAM = "import sys; from pathlib import Path; from searchless_rl.play.uci import run_uci; " + (
    "run_uci(Path(sys.argv[1]), sys.stdin, sys.stdout)"
)
POSITIONS = [
    (chess.STARTING_FEN, ""),
    (chess.STARTING_FEN, "e2e4 e7e5 g1f3 b8c6 f1c4 g8f6 e1g1 f8c5"),
    ("r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R b KQkq - 4 9", "e8c8"),
    ("8/P1k5/8/8/8/8/1p2K3/8 w - - 0 1", ""),
    ("8/P1k5/8/8/8/8/1p2K3/8 w - - 0 1", "a7a8q"),
    ("rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3", ""),
]


@pytest.fixture(scope="module")
def micro(pytestconfig):
    return pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


@pytest.fixture(scope="module")
def engine(micro):
    command = [sys.executable, "-c", PROGRAM, str(micro)]
    with chess.engine.SimpleEngine.popen_uci(
        command, timeout=120, env={"PYTHONPATH": ":".join(sys.path)}
    ) as it:
        yield it


def _talk(weights, *commands, **settings):
    """The lines of answers to some commands."""
    out = io.StringIO()
    run_uci(weights, [f"{command}\n" for command in commands], out, **settings)
    return out.getvalue().splitlines()


def _board(fen, moves):
    board = chess.Board(fen)
    for move in moves.split():
        board.push_uci(move)
    return board


@torch.no_grad()
def _best(network, fen, moves):
    """The argmax move by the network alone, and its win/draw/loss probabilities."""
    board = _board(fen, moves)
    out = network(torch.from_numpy(encode_game(fen, moves.split()))[None])
    best = max(board.legal_moves, key=lambda move: float(out.policy[0, move_index(board, move)]))
    return best.uci(), out.wdl[0].numpy()


def test_python_chess_plays_with_it(engine, micro):
    """The argmax move with the value head's score, whatever the limit."""
    network = load_network(micro)
    limits = [
        chess.engine.Limit(time=0.1),
        chess.engine.Limit(nodes=1),
        chess.engine.Limit(depth=5, mate=2),
        chess.engine.Limit(white_clock=10, black_clock=10, white_inc=1, black_inc=1, remaining_moves=5),
    ]
    assert engine.id["name"].startswith("searchless-rl ")
    assert engine.id["name"].endswith("micro_bt4.pb.gz")
    engine.configure({"UCI_ShowWDL": True})
    for number, (fen, moves) in enumerate(POSITIONS):
        board = _board(fen, moves)
        limit = limits[number % len(limits)]
        played = engine.play(board, limit, game=number, info=chess.engine.INFO_ALL)
        move, wdl = _best(network, fen, moves)
        assert played.move.uci() == move
        assert played.info["pv"] == [played.move]
        assert played.info["score"].relative.score() == pytest.approx(
            90 * math.tan(1.5637541897 * (wdl[0] - wdl[2])), abs=0.6
        )
        reported = played.info["wdl"].relative
        assert list(reported) == pytest.approx(1000 * wdl, abs=1.1)
        assert sum(reported) == 1000


def test_an_analysis_ends_when_it_is_stopped(engine):
    board = chess.Board()
    with engine.analysis(board) as analysis:
        info = analysis.next()
        assert info["pv"]
    assert engine.analyse(board, chess.engine.Limit(nodes=1))["pv"] == info["pv"]
    only = engine.play(board, chess.engine.Limit(nodes=1), root_moves=[chess.Move.from_uci("a2a3")])
    assert only.move.uci() == "a2a3"


def test_the_handshake_does_not_wait_for_the_network(micro, monkeypatch):
    loading = threading.Event()
    load = uci.load_evaluator

    def slow_load(weights):
        loading.wait(30)
        return load(weights)

    monkeypatch.setattr(uci, "load_evaluator", slow_load)
    out = io.StringIO()

    def commands():
        yield "uci\n"
        assert out.getvalue().endswith("uciok\n")
        yield "setoption name Temperature value 0.5\n"
        yield "position startpos moves e2e4\n"
        assert not loading.is_set()
        threading.Timer(0.2, loading.set).start()
        yield "isready\n"
        assert loading.is_set()
        assert out.getvalue().endswith("readyok\n")
        yield "go\n"

    run_uci(micro, commands(), out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("id name ")
    assert [line for line in lines if line.startswith("option ")] == [
        f"option name WeightsFile type string default {micro}",
        "option name Sims type spin default 0 min 0 max 1000000",
        "option name Temperature type string default 0",
        "option name HistoryFill type combo default fen_only var fen_only",
        "option name UCI_ShowWDL type check default false",
    ]
    assert lines[-1].startswith("bestmove ")
    assert not [line for line in lines if line.startswith("info string")]


def test_nothing_heavy_is_imported_before_the_handshake():
    import subprocess

    program = (
        "import sys; import searchless_rl.play.uci; sys.exit(bool({'torch', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_infinite_and_ponder_are_answered_when_asked_for(micro):
    found = _talk(
        micro, "go infinite", "isready", "stop", "stop", "go ponder wtime 1", "ponderhit", "quit", "go"
    )
    kinds = [line.split()[0] for line in found]
    assert kinds == ["info", "readyok", "bestmove", "info", "bestmove"]


def test_the_same_position_in_any_spelling(micro):
    fen = _board(chess.STARTING_FEN, "e2e4 e7e5").fen()
    answers = [
        _talk(micro, f"position {text}", "go")[-1]
        for text in ("startpos moves e2e4 e7e5", f"fen {chess.STARTING_FEN} moves e2e4 e7e5")
    ]
    assert (
        answers[0]
        == answers[1]
        == "bestmove " + _best(load_network(micro), None or chess.STARTING_FEN, "e2e4 e7e5")[0]
    )
    without_history = _talk(micro, f"position fen {fen}", "go")[-1]
    assert without_history == "bestmove " + _best(load_network(micro), fen, "")[0]
    assert _talk(micro, "position startpos moves e2e4 e7e5 e1h1")[-1].startswith("info string")


def test_finished_games_have_no_best_move(micro):
    mated, stalemated = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
    for fen in (mated, stalemated):
        assert _talk(micro, f"position fen {fen}", "go nodes 1") == ["bestmove (none)"]
    drawn = "startpos moves " + "g1f3 g8f6 f3g1 f6g8 " * 3  # a GUI may ask on
    assert _talk(micro, f"position {drawn}", "go")[-1] != "bestmove (none)"


def test_temperature_samples_by_seed_game_and_ply(micro):
    def moves(*before, seed=0):
        return _talk(micro, "setoption name Temperature value 1", *before, "go", seed=seed)[-1]

    assert moves() == moves()
    assert moves("go")[:8] == "bestmove"
    assert moves("go", "go infinite", "stop") == moves()  # the same place in the same game
    uniform = game_uniforms(Stream.SINGLE_GAME, 3, "1", 3)
    game = GameBatch([None])
    for move in ("e2e4", "e7e5"):
        game.step(np.zeros(1, np.int64), np.array([game.index(0, move)]))
    expected = choose_move(Evaluator(load_network(micro), 1), game, 1.0, uniform[2]).move
    assert moves("ucinewgame", "position startpos moves e2e4 e7e5", seed=3) == f"bestmove {expected}"
    by_seed = {moves(seed=seed) for seed in range(12)}
    by_game = {moves(*["ucinewgame"] * count) for count in range(12)}
    assert len(by_seed) > 3
    assert len(by_game) > 3
    cold = _talk(micro, "setoption name Temperature value 1", "setoption name Temperature value 0", "go")
    assert cold[-1] == "bestmove " + _best(load_network(micro), chess.STARTING_FEN, "")[0]
    assert _talk(micro, "setoption name temperature value adaptive", "go")[-1].startswith("bestmove ")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("setoption name HistoryFill value no", "HistoryFill 'no' is not supported; allowed: fen_only"),
        ("setoption name HistoryFill value always", "allowed: fen_only"),
        ("setoption name HistoryFill value", "HistoryFill '' is not supported; allowed: fen_only"),
        ("setoption name Temperature value -1", "Temperature '-1'; allowed: adaptive, or a number >= 0"),
        ("setoption name Temperature value warm", "Temperature 'warm'; allowed: adaptive, or a number >= 0"),
        ("setoption name Temperature value ", "Temperature ''; allowed: adaptive, or a number >= 0"),
        ("setoption name Temperature value nan", "Temperature 'nan'; allowed"),
        ("setoption name Temperature", "Temperature ''; allowed"),
        ("setoption name Sims value -1", "Sims '-1'; allowed: 0 to 1000000"),
        ("setoption name Sims value 1000001", "Sims '1000001'; allowed"),
        ("setoption name Sims value ten", "Sims 'ten'; allowed"),
        ("setoption name Sims", "Sims ''; allowed"),
        ("setoption name UCI_ShowWDL value on", "UCI_ShowWDL 'on'; allowed: true, false"),
        ("setoption name UCI_ShowWDL value 1", "UCI_ShowWDL '1'; allowed: true, false"),
        ("setoption name UCI_ShowWDL value", "UCI_ShowWDL ''; allowed: true, false"),
        ("setoption name WeightsFile value", "WeightsFile ''; allowed: the path"),
        ("setoption name Hash value 64", "unknown option 'Hash'; known: WeightsFile, Sims, Temperature"),
        ("setoption", "setoption needs name OPTION value VALUE"),
        ("jump", "unknown command 'jump'"),
    ],
)
def test_what_is_not_understood_is_said_and_changes_nothing(micro, command, message):
    found = _talk(
        micro, "position startpos moves d2d4", command, "go", "setoption name HistoryFill value fen_only"
    )
    assert found[0].startswith("info string ")
    assert message in found[0]
    assert found[-1] == "bestmove " + _best(load_network(micro), chess.STARTING_FEN, "d2d4")[0]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("position", "write position startpos"),
        ("position startpos e2e4", "write position startpos [moves ...] or position fen FEN [moves ...]"),
        ("position fen", "not a FEN"),
        ("position fen 8/8/8/8 w - -", "not a FEN"),
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "NO_WHITE_KING"),
        ("position fen 8/8/8/3k4/8/3K4/8/R6r w - - 0 70000", "full-move number 70000 is out of range"),
        ("position fen 8/8/8/3k4/8/3K4/8/R6r w - - 3000000000 1", "half-move clock 3000000000 is out of"),
        ("position startpos moves e2e5", "illegal move e2e5 (move 1, in rnbqkbnr/"),
        (
            "position startpos moves e2e4 xyz",
            "'xyz' is not a move in UCI notation such as e2e4 or e7e8q (move 2",
        ),
        ("position startpos moves g1f3n", "no pawn reaches the last rank"),
        ("position fen 8/P1k5/8/8/8/8/1p2K3/8 w - - 0 1 moves a7a8", "names no piece to promote to"),
    ],
)
def test_a_rejected_position_is_never_answered_for_another(micro, command, message):
    """The reason and a null move, until a position is accepted or a new game begins."""
    found = _talk(micro, "position startpos moves d2d4", command, "go", "go infinite", "isready", "stop")
    assert found[0].startswith("info string position rejected: ")
    assert message in found[0]
    assert found[1:] == [found[0], "bestmove 0000", found[0], "readyok", "bestmove 0000"]
    accepted = _talk(micro, command, "position startpos moves d2d4", "go")
    assert accepted[-1] == "bestmove " + _best(load_network(micro), chess.STARTING_FEN, "d2d4")[0]
    begun = _talk(micro, "position startpos moves d2d4", command, "ucinewgame", "go")
    assert begun[-1] == "bestmove " + _best(load_network(micro), chess.STARTING_FEN, "")[0]


@pytest.mark.parametrize("clock", [100, 103, 149, 400])
def test_positions_past_the_fifty_moves_are_answered(micro, clock):
    fen = f"8/8/8/3k4/8/3K4/8/R6r w - - {clock} 120"
    for moves in ("", "a1a2", "a1a2 h1h2 a2a1"):
        expected = _best(load_network(micro), fen, moves)[0]
        assert _talk(micro, f"position fen {fen} moves {moves}", "go")[-1] == f"bestmove {expected}"


def test_values_of_options_are_read_in_any_case(micro):
    found = _talk(
        micro,
        "setoption name TEMPERATURE value Adaptive",
        "setoption name historyfill value FEN_ONLY",
        "setoption name uci_showwdl value TRUE",
        "go",
        "setoption name UCI_ShowWDL value False",
        "go",
    )
    assert [line.split()[0] for line in found] == ["info", "bestmove"] * 2
    assert [" wdl " in line for line in found] == [True, False, False, False]


def test_the_network_is_an_option(micro, tmp_path):
    network = load_network(micro)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0))
    other = tmp_path / "my value of it.pb.gz"
    save_network(network, other)
    moves = {path: _best(load_network(path), chess.STARTING_FEN, "")[0] for path in (micro, other)}
    assert len(set(moves.values())) == 2
    found = _talk(micro, "go", f"setoption name WeightsFile value {other}", "go")
    assert found[1::2] == [f"bestmove {moves[micro]}", f"bestmove {moves[other]}"]


def test_a_network_that_is_missing_leaves_the_other_and_a_damaged_one_ends_the_engine(micro, tmp_path):
    refused, _, answer = _talk(micro, "setoption name WeightsFile value absent.pb.gz", "go")
    assert refused == "info string WeightsFile 'absent.pb.gz': no such file; the network stays as it was"
    assert answer == f"bestmove {_best(load_network(micro), chess.STARTING_FEN, '')[0]}"
    damaged, out = tmp_path / "damaged.pb.gz", io.StringIO()
    damaged.write_bytes(micro.read_bytes()[:1000])
    with pytest.raises(RuntimeError, match=r"damaged\.pb\.gz"):
        run_uci(micro, [f"setoption name WeightsFile value {damaged}\n", "go\n"], out)
    assert "damaged.pb.gz" in out.getvalue().splitlines()[-1]


def test_a_network_is_loaded_once_whatever_a_gui_repeats(micro, monkeypatch):
    loaded = []
    monkeypatch.setattr(uci, "load_evaluator", loaded.append)
    _talk(micro, "uci", *[f"setoption name WeightsFile value {micro}"] * 2)
    _talk(None, "setoption name WeightsFile value <base>", f"setoption name WeightsFile value {micro}")
    assert loaded == [micro, None, micro]


def test_the_base_of_the_parameters_plays_where_no_network_is_named(
    micro, tmp_path, monkeypatch, pytestconfig
):
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with pytest.raises(RuntimeError, match=r"no network is named, .*params\.yaml.*Give --weights FILE"):
        run_uci(None, ["uci\n", "isready\n"], out)
    lines = out.getvalue().splitlines()
    assert lines[0].endswith(" base")
    assert "option name WeightsFile type string default <base>" in lines
    assert "info string no network is named" in lines[-1]

    text = (pytestconfig.rootpath / "scales" / "smoke.yaml").read_text()
    named = "\n".join(f"base: {micro}" if line.startswith("base:") else line for line in text.splitlines())
    (tmp_path / "params.yaml").write_text(named + "\n")
    assert _talk(None, "go") == _talk(micro, "go")


def test_a_long_word_is_cut_in_the_answer(micro):
    word = "x" * 10_000
    commands = [
        word,
        f"setoption name {word} value 1",
        f"setoption name Temperature value {word}",
        f"setoption name HistoryFill value {word}",
        f"setoption name UCI_ShowWDL value {word}",
        f"position startpos moves {word}",
        f"position fen {word}",
        f"position fen {word} w - - 0 1",
    ]
    found = _talk(micro, *commands)
    assert len(found) == len(commands)
    for line in found:
        assert line.startswith("info string ")
        assert "xxx" in line
        assert len(line) < 700


def test_no_rubbish_ends_it(micro):
    rng = random.Random(0)
    words = "uci isready setoption name value Temperature HistoryFill ucinewgame position startpos fen moves"
    words += (
        " e2e4 e1g1 a7a8q go infinite searchmoves depth -1 1e9 stop ponderhit debug register w KQkq - 8/8"
    )
    words = [*words.split(), "NaN", "inf", "\x00", "ÿ"]
    lines = [" ".join(rng.choices(words, k=rng.randrange(7))) for _ in range(600)]
    found = _talk(
        micro, *lines, "", "   ", "position startpos", "setoption name Temperature value 0", "stop", "go"
    )
    assert found[-1] == "bestmove " + _best(load_network(micro), chess.STARTING_FEN, "")[0]


def test_a_network_that_cannot_be_loaded_ends_it_with_a_message(tmp_path):
    out = io.StringIO()
    with pytest.raises(RuntimeError, match=r"none\.pb\.gz"):
        run_uci(tmp_path / "none.pb.gz", ["uci\n", "isready\n"], out)
    last = out.getvalue().splitlines()[-1]
    assert last.startswith("info string ")
    assert "none.pb.gz" in last


def test_a_gui_that_is_gone_is_no_error(micro):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    run_uci(micro, ["uci\n", "go\n"], Closed())


def test_centipawns_are_lc0s():
    assert [centipawns(q) for q in (0.0, 0.5, -0.5, 1.0, -1.0)] == [0, 89, -89, 12780, -12780]


def test_a_game_against_stockfish(engine):
    program = shutil.which("stockfish") or shutil.which("stockfish", path="/usr/games")
    if program is None:
        pytest.skip("needs Stockfish (apt-get install stockfish)")
    board = chess.Board()
    with chess.engine.SimpleEngine.popen_uci(program) as stockfish:
        while not board.is_game_over(claim_draw=True):
            player = engine if board.turn else stockfish
            move = player.play(board, chess.engine.Limit(nodes=200), game="one").move
            assert move in board.legal_moves
            board.push(move)
    assert board.ply() >= 4
    assert np.isin(board.result(claim_draw=True), ["0-1", "1/2-1/2", "1-0"])
