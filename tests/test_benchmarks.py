"""The parts of the benchmarks that do not depend on the machine: what is counted, compared and written."""

import ast
import copy
import csv
import importlib
import json
import time
import tracemalloc
from pathlib import Path

import chess
import numpy as np
import pytest
import torch

from searchless_rl.board import GameBatch, encode_game, move_index
from searchless_rl.cells import Cell
from searchless_rl.lc0 import load_network
from searchless_rl.nets import NetOutput
from searchless_rl.selfplay.distributions import LegalRows
from searchless_rl.selfplay.module import SelfPlayModule
from searchless_rl.suites.puzzles import position_keys, read_puzzles

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
MICRO = BENCHMARKS.parent / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"
CELL = Cell.parse("forward_kl-adaptive-0.01-s0")


@pytest.fixture(autouse=True)
def _scripts(monkeypatch):
    """Scripts import each other as they do when they are run."""
    monkeypatch.syspath_prepend(BENCHMARKS)


def _import(name):
    return importlib.import_module(name)


# --- the loop on python-chess ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "shuffle"),
    [
        (None, "g1f3 g8f6 f3g1 f6g8"),
        ("r3k2r/pppq1ppp/2npbn2/2b1p3/P7/2NPBN2/1PPQPPPP/R3K2R b KQkq - 0 9", "f6g4 f3g5 g4f6 g5f3"),
        ("r3k2r/pppq1ppp/2npbn2/2b1p3/P7/2NPBN2/1PPQPPPP/R3K2R b KQkq a3 0 9", ""),
    ],
)
def test_the_loop_sees_the_planes_of_the_project(fen, shuffle):
    one_board, generator = _import("shared.one_board"), np.random.default_rng(3)
    board, repeated = chess.Board(fen) if fen else chess.Board(), 0
    for ply in range(60):
        seen = encode_game(fen, [move.uci() for move in board.move_stack])
        np.testing.assert_array_equal(one_board.planes_of(board), seen)
        repeated += seen[12].any()
        drawn = list(board.legal_moves)[generator.integers(board.legal_moves.count())]
        board.push(chess.Move.from_uci(shuffle.split()[ply % 4]) if shuffle and ply < 8 else drawn)
    assert repeated >= 4 or not shuffle


# --- rows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "ratio", "target", "met"),
    [
        (5.0, None, "value <= 5", "yes"),
        (5.001, None, "value <= 5", "no"),
        (1.0, 50.0, "ratio >= 50", "yes"),
        (51.0, 49.9, "ratio >= 50", "no"),
        (1.0, 2.0, "", ""),
    ],
)
def test_a_target_is_met_at_its_bound(value, ratio, target, met):
    assert _import("shared.rows").Row("p", "s", value, "ms", None, ratio, target).met == met


def test_rows_that_cannot_be_judged():
    rows = _import("shared.rows")
    with pytest.raises(ValueError, match="target 'fast': write value or ratio"):
        rows.Row("p", "s", 1.0, "ms", target="fast")
    with pytest.raises(ValueError, match="s: a target for a ratio that was not computed"):
        _ = rows.Row("p", "s", 1.0, "ms", target="ratio >= 2").met
    absent = rows.Row("p", "s", None, "", target="ratio >= 2", problem="no compiler")
    assert absent.met == "not measured: no compiler"


def test_rows_as_csv():
    rows = _import("shared.rows")
    text = rows.to_csv(
        [
            rows.Row("host", "a, b", 274123.4, "boards/s", 1234567.0, 0.000012346, "ratio >= 50"),
            rows.Row("formats", "compiled", None, "", problem="no compiler"),
        ]
    )
    first, second = csv.DictReader(text.splitlines())
    assert first == {
        "part": "host",
        "setting": "a, b",
        "value": "274100",
        "unit": "boards/s",
        "baseline": "1235000",
        "ratio": "1.235e-05",
        "target": "ratio >= 50",
        "met": "no",
    }
    assert (second["value"], second["met"]) == ("", "not measured: no compiler")


# --- host --------------------------------------------------------------------------------------------


def test_random_games_are_games_that_go_on():
    settings = _import("selfplay_parts.settings")
    # Two of the first twelve games of this seed end before ply 150, and must be left out.
    moves, texts = settings.random_games(12, 150, seed=4)
    assert len(moves) == len(texts) == 12
    assert len({tuple(line) for line in texts}) == 12
    for line, uci in zip(moves, texts, strict=True):
        board = chess.Board()
        for index, text in zip(line, uci, strict=True):
            assert index == move_index(board, board.parse_uci(text))  # raises where it is not legal
            assert not board.is_game_over()
            board.push_uci(text)
        assert len(board.move_stack) == 150
        assert board.outcome() is None
        assert not board.is_repetition(3)
        assert board.halfmove_clock < 100
    again = settings.random_games(12, 150, seed=4)
    assert again == (moves, texts)


class _Board(chess.Board):
    """Stands in for lczerolens' board class, with this project's encoder."""

    def to_input_tensor(self):
        return torch.from_numpy(encode_game(None, [move.uci() for move in self.move_stack]))

    def encode_move(self, move, turn):
        assert turn == self.turn
        return move_index(self, move)


def test_the_baseline_plays_a_ply_of_every_game():
    baseline = _import("lczerolens_baseline")
    mates = "f2f3 e7e5 g2g4".split()  # and then Qh4
    boards = [baseline.replay(_Board, moves) for moves in ([], ["e2e4"], mates)]
    logits = torch.zeros(3, 1858)
    logits[1, move_index(boards[1], chess.Move.from_uci("c7c5"))] = 100
    logits[2, move_index(boards[2], chess.Move.from_uci("d8h4"))] = 100
    measured = baseline.play_ply(boards, logits)
    assert measured["legal_moves"] == 20 + 20 + 30
    assert all(measured[part] > 0 for part in ("encode", "play", "end_now", "end"))
    assert len(boards[0].move_stack) == 1
    assert boards[1].peek().uci() == "c7c5"
    assert boards[2].fen() == chess.STARTING_FEN  # mated, so a new game


def test_our_side_of_the_comparison_plays_the_same_ply():
    host, settings = _import("selfplay_parts.host"), _import("selfplay_parts.settings")
    moves, texts = settings.random_games(8, 60, seed=5)
    games = GameBatch.replay([None] * 8, moves)
    boards = [_import("lczerolens_baseline").replay(chess.Board, line) for line in texts]
    logits = torch.full((8, 1858), -100.0)
    chosen = [sorted(board.legal_moves, key=str)[0] for board in boards]
    for row, (board, move) in enumerate(zip(boards, chosen, strict=True)):
        logits[row, move_index(board, move)] = 100
    measured = host.play_ply(games, logits, np.full(8, 0.5))
    assert measured["legal_moves"] == sum(board.legal_moves.count() for board in boards)
    for row, (board, move) in enumerate(zip(boards, chosen, strict=True)):
        board.push(move)
        assert games.board_fen(row).split()[0] == board.fen().split()[0]


# --- step --------------------------------------------------------------------------------------------


def _train(module_class, steps, params):
    """A module of six games after some steps, and the times of each."""
    training = _import("selfplay_parts.training")
    base = load_network(MICRO)
    games = GameBatch([None] * 6)
    module = module_class(base, games, CELL, params(6, steps))
    times = []
    if isinstance(module, training.ClockedModule):
        training.run_steps(module, bf16=False, after=times.append)
    return module, base, times


def test_the_clock_changes_nothing_and_counts_every_pass():
    training = _import("selfplay_parts.training")

    def params(games, steps):
        return training.step_params(games, steps).model_copy(update={"micro_batch": 4})

    clocked, _, times = _train(training.ClockedModule, 2, params)
    # The same steps without a clock in the module: run_steps asks for one, so Lightning is called here.
    plain = SelfPlayModule(load_network(MICRO), GameBatch([None] * 6), CELL, params(6, 2))
    import pytorch_lightning as pl

    pl.Trainer(
        max_steps=2, max_epochs=-1, accelerator="cpu", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    ).fit(plain, torch.utils.data.DataLoader(range(2), batch_size=None))  # fmt: skip
    assert clocked.games.moves == plain.games.moves
    for mine, other in zip(clocked.parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine, other)

    # Per micro-batch: the online pass, the temperature's, the base's, the successors', and back.
    expected = [(what, size) for size in (4, 2) for what in ("online", "ema", "base", "ema", "backward")]
    for step in times:
        assert [tuple(call) for call in step.calls] == expected
        assert 0 < step.network + step.update < step.whole
        assert step.update > 0


def test_adamw_and_ema_are_timed_apart_from_the_network(monkeypatch):
    training = _import("selfplay_parts.training")
    pause, real = 0.2, training.update_ema

    class Slow(training.ClockedModule):
        def configure_optimizers(self):
            configured = super().configure_optimizers()
            configured["optimizer"].register_step_pre_hook(lambda *_: time.sleep(pause))
            return configured

    def slow_ema(*arguments):
        time.sleep(2 * pause)
        real(*arguments)

    monkeypatch.setattr(training, "update_ema", slow_ema)
    _, _, (step,) = _train(Slow, 1, training.step_params)
    assert step.update >= 3 * pause
    assert step.whole - step.network >= step.update


def test_the_bound_repeats_the_passes_of_a_step():
    training = _import("selfplay_parts.training")
    module, base, times = _train(training.ClockedModule, 1, training.step_params)
    before = copy.deepcopy(module.state_dict())
    bound = training.NetworkBound(module, base, torch.rand(9, 112, 8, 8), bf16=False)
    seen = []
    for what, network in bound._networks.items():
        network.register_forward_hook(
            lambda net, args, out, what=what: seen.append((what, len(args[0]), out.policy.requires_grad))
        )
    weights = {what: next(net.parameters()).clone() for what, net in bound._networks.items()}
    assert bound.seconds(times[0].calls) > 0
    forwards = [(call.what, call.positions, call.what == "online") for call in times[0].calls]
    assert seen == [entry for entry in forwards if entry[0] != "backward"]
    moved = {
        what: not torch.equal(weights[what], next(net.parameters())) for what, net in bound._networks.items()
    }
    assert moved == {"online": True, "ema": True, "base": False}
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name]), name


# --- memory, growth, formats -------------------------------------------------------------------------


def test_traced_bytes_are_those_that_stay():
    memory = _import("selfplay_parts.memory")

    def make():
        _ = np.zeros(3_000_000, np.uint8)  # gone when make returns
        return np.zeros(1_000_000, np.uint8)

    assert memory.traced_bytes(make) == pytest.approx(1_000_000, abs=2_000)
    assert not tracemalloc.is_tracing()


def test_quarters_leave_the_first_out():
    growth = _import("selfplay_parts.growth")
    assert growth.quarters([900.0] * 4 + [1.0, 2.0, 3.0, 9.0] + [50.0] * 4 + [4.0, 5.0, 6.0, 7.0]) == (
        2.5,
        5.5,
    )


def test_differences_are_of_legal_moves():
    formats = _import("selfplay_parts.formats")
    legal = LegalRows(torch.tensor([[3, 5], [7, 0]]), torch.tensor([[True, True], [True, False]]))
    one, other = torch.zeros(2, 1858), torch.zeros(2, 1858)
    other[0, 3], other[0, 5], other[1, 7] = 0.5, -1.0, 0.0
    other[0, 4] = other[1, 0] = 100.0  # not legal there, and padding
    wdl = torch.tensor([[0.5, 0.25, 0.25]] * 2)
    moved = wdl.clone()
    moved[1] = torch.tensor([0.5, 0.375, 0.125])
    pair = (NetOutput(policy, w, None, w) for policy, w in ((one, wdl), (other, moved)))
    assert formats.difference(*pair, legal) == (1.0, 0.5, 0.125)


def test_a_compiler_that_fails_is_a_row_that_says_so(monkeypatch):
    formats, settings = _import("selfplay_parts.formats"), _import("selfplay_parts.settings")

    def broken(network):
        raise RuntimeError("no C++ compiler found\nand a long trace")

    monkeypatch.setattr(torch, "compile", broken)
    moves, _ = settings.random_games(8, 10, seed=0)
    games = GameBatch.replay([None] * 8, moves)
    rows = formats.measure(settings.QUICK, "micro", load_network(MICRO), games)
    failed = [row for row in rows if row.value is None]
    assert len(failed) == 4  # two networks, float32 and bf16
    assert {row.met for row in failed} == {"not measured: RuntimeError: no C++ compiler found"}
    speeds = [row for row in rows if row.unit == "positions/s"]
    assert len(speeds) == 4  # two networks, forward alone and with backward, bf16 without compilation
    for row in speeds:
        assert row.ratio == pytest.approx(row.value / row.baseline)


# --- puzzle files -----------------------------------------------------------------------------------------


def test_rows_of_the_suites_benchmark_are_valid_and_share_no_position(tmp_path):
    suites = _import("suites")
    path = tmp_path / "rows.csv"
    suites.write_rows(path, 300)
    puzzles, report = read_puzzles(path, max_reject_share=0.0)
    assert len(puzzles) == report.rows == suites.validate(path, 300) == 300
    keys = [key for puzzle in puzzles for key in set(position_keys(puzzle))]
    assert len(set(keys)) == len(keys)


# --- report ------------------------------------------------------------------------------------------

CSV = """part,setting,value,unit,baseline,ratio,target,met
host,one way,12,µs,600,50,ratio >= 50,yes
host,a|b,7,µs,,,value <= 5,no
disk,plain,3,bytes,,,,
disk,gone,,,,,value <= 5,not measured: no disk
"""


def _folder(tmp_path, results):
    (tmp_path / "results").mkdir()
    (tmp_path / "speed.py").write_text('"""How fast.\n\n    python speed.py\n\nMore words.\n"""\n')
    (tmp_path / "speed_parts").mkdir()
    (tmp_path / "speed_parts" / "host.py").write_text('"""What host means."""\n')
    for name, text in results.items():
        (tmp_path / "results" / name).write_text(text)
    return tmp_path


def test_the_report_tells_every_number_with_its_meaning(tmp_path):
    report = _import("report")
    machine = {
        "cpu": "Some CPU",
        "cores": 2,
        "threads": 1,
        "torch": "9.9",
        "python": "3.11.7",
        "baseline": "other 1.0",
    }
    text = report.render(
        _folder(
            tmp_path,
            {"speed.csv": CSV, "speed.machine.json": json.dumps(machine), "alone.csv": "x,y\n1.50,2\n"},
        )
    )
    assert "Measured on Some CPU, 2 cores, 1 thread(s), torch 9.9, Python 3.11.7, beside other 1.0." in text
    assert "1 of 3 targets are met. Not met: a|b (value <= 5); gone (value <= 5)." in text
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"
    ]
    assert ["one way", "12", "µs", "600", "50", "ratio >= 50", "yes"] in lines
    assert ["plain", "3", "bytes", "", ""] in lines  # columns that are empty throughout are left out
    assert r"| a\|b " in text  # no column of its own
    assert ["1.50", "2"] in lines  # as written, also without a script
    order = [text.index(words) for words in ("## alone", "## speed", "    python speed.py", "More words.")]
    order += [text.index(words) for words in ("### host", "What host means.", "one way", "### disk", "plain")]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("speed.machine.json", "{", "speed.machine.json: not a description"),
        ("speed.machine.json", '{"cpu": "x"}', "speed.machine.json: not a description of a machine .'cores'"),
        ("speed.csv", "part,met\na,yes\n", "speed.csv: no column 'setting'"),
    ],
)
def test_the_report_names_what_it_cannot_read(tmp_path, name, content, words):
    folder = _folder(tmp_path, {"speed.csv": CSV} | {name: content})
    with pytest.raises(ValueError, match=words):
        _import("report").render(folder)


def test_the_readme_is_the_report():
    written = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert written == _import("report").render(BENCHMARKS), "run python benchmarks/report.py"


def test_every_part_is_explained():
    parts = BENCHMARKS / "selfplay_parts"
    for name in ("host", "step", "memory", "growth", "formats"):
        assert name == _import(f"selfplay_parts.{name}").PART
        assert len(ast.get_docstring(ast.parse((parts / f"{name}.py").read_text())).split("\n\n")) > 1
