"""Books of every format against python-chess; what is damaged costs one game, and no line is made up."""

import gzip
import io
from collections import Counter
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from searchless_rl.arena import book_formats
from searchless_rl.arena.book_draw import draw_openings
from searchless_rl.arena.openings import Opening, OpeningError, read_openings
from searchless_rl.pipeline.openings import prepare_openings

FEN_A = "r1b1k1nr/pppp1p2/2nb1q1p/4p1p1/2BPP3/2P2N2/P4PPP/RNBQ1R1K w kq - 0 9"
FEN_B = "r1bq1rk1/pp1pn1bp/2n3p1/2p1pp2/4PP2/2PP2PN/PP4BP/RNBQ1RK1 b - - 1 9"
MATED = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"
DEAD = "8/8/4k3/8/8/3K4/8/8 w - - 0 1"
NOT_CHESS = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQ1BNR w kq - 0 1"

PGN = f"""\
[Event "one"]
[Result "*"]

1. e4 e5 2. Nf3 {{a comment with
[brackets] at the start of a line}} Nc6 (2... d6) *

[Event "the same by another way"]

1. Nf3 Nc6 2. e4 e5 *

[Event "from a position"]
[FEN "{FEN_B}"]
[SetUp "1"]

9... d6 *

[Event "an illegal move"]

1. e4 Ke7 *

[Event "fool's mate"]

1. f3 e5 2. g4 Qh4# 0-1

[Event "no moves"]

*

[Event "a variant"]
[Variant "Atomic"]

1. e4 *
"""


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def lines_of(folder, text):
    """First position and moves of every game that can be used, in the order of the book, and the faults."""
    book = book_formats.open_book(write(folder, "book.pgn", text))
    found, faults = [], []
    for number, entry in book.entries:
        try:
            opening = book.parse(f"{book.name}:{number}", entry)
            found.append((opening.fen, " ".join(opening.moves)))
        except OpeningError as error:
            faults.append(str(error))
    return found, faults


def test_every_spelling_of_a_position(tmp_path):
    lines = [
        "# a comment",
        FEN_A,
        "",
        "r1bq1rk1/pp1pn1bp/2n3p1/2p1pp2/4PP2/2PP2PN/PP4BP/RNBQ1RK1 b - -",
        'rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6 hmvc 0; fmvn 2; id "a b";',
        chess.STARTING_FEN,
    ]
    path = write(tmp_path, "mixed.epd", "\r\n".join(lines))
    with pytest.raises(OpeningError, match=r"only 3 of 4 entries can be used \(1 invalid\).*\n.* bare start"):
        draw_openings(path, count=4, seed=0)
    drawn = draw_openings(path, count=3, seed=0)
    assert drawn.entries == 4
    assert {opening.id: opening.fen for opening in drawn.openings} == {
        "mixed:2": FEN_A,
        "mixed:4": FEN_B.replace("- 1 9", "- 0 1"),
        "mixed:5": "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6 0 2",
    }
    assert all(opening.moves == () for opening in drawn.openings)
    plies = {opening.id: opening.plies for opening in drawn.openings}
    assert plies == {"mixed:2": 16, "mixed:4": 1, "mixed:5": 2}


def test_games_keep_their_moves_as_history(tmp_path):
    drawn = draw_openings(write(tmp_path, "lines.pgn", PGN), count=2, seed=1)
    found = {opening.id: opening for opening in drawn.openings}
    assert drawn.entries == 7
    first = [found.pop(name) for name in ("lines:1", "lines:2") if name in found]
    assert len(first) == 1  # two ways to one position: whichever is drawn first
    assert " ".join(first[0].moves) in ("e2e4 e7e5 g1f3 b8c6", "g1f3 b8c6 e2e4 e7e5")
    assert found == {"lines:3": Opening("lines:3", FEN_B, ("d7d6",))}
    assert found["lines:3"].plies == 18


def test_what_cannot_be_played_is_counted_and_named(tmp_path):
    with pytest.raises(OpeningError) as error:
        draw_openings(write(tmp_path, "lines.pgn", PGN), count=4, seed=1)
    message = str(error.value)
    assert "only 2 of 7 entries" in message
    assert "3 invalid, 1 over, 1 repeated" in message
    assert "Ke7" in message
    assert "Atomic" in message
    twice = FEN_A.replace("0 9", "3 12")
    text = "\n".join([MATED, DEAD, NOT_CHESS, "8/8/8/8 w - - 0 1", "hello", FEN_A, twice])
    with pytest.raises(OpeningError) as error:
        draw_openings(write(tmp_path, "bad.epd", text), count=2, seed=0)
    assert "only 1 of 7 entries can be used (3 invalid, 2 over, 1 repeated)" in str(error.value)


def test_an_en_passant_square_without_a_capture_makes_no_new_position(tmp_path):
    fens = ["rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"] * 2
    fens[1] = fens[1].replace("e3", "-")
    with pytest.raises(OpeningError, match="1 repeated"):
        draw_openings(write(tmp_path, "ep.epd", "\n".join(fens)), count=2, seed=0)


def test_files_that_are_no_books(tmp_path):
    with pytest.raises(OSError, match=r"none\.epd"):
        draw_openings(tmp_path / "none.epd", count=1, seed=0)
    packed = tmp_path / "book.epd.zip"
    packed.write_bytes(b"PK\x03\x04rest")
    with pytest.raises(OpeningError, match="unzip it first"):
        draw_openings(packed, count=1, seed=0)
    cut = tmp_path / "book.epd.gz"
    cut.write_bytes(gzip.compress(FEN_A.encode() * 100)[:-20])
    with pytest.raises(OpeningError, match=r"book\.epd\.gz: damaged"):
        draw_openings(cut, count=1, seed=0)
    packed = bytearray(gzip.compress(FEN_A.encode() * 100))
    packed[-8] ^= 1  # of the checksum
    cut.write_bytes(packed)
    with pytest.raises(OpeningError, match=r"book\.epd\.gz: damaged .*CRC check failed"):
        draw_openings(cut, count=1, seed=0)
    with pytest.raises(OpeningError, match="0 openings wanted"):
        draw_openings(cut, count=0, seed=0)


def test_a_packed_book_is_the_book(tmp_path):
    plain = write(tmp_path, "lines_+0.80.pgn", PGN)
    packed = tmp_path / "lines_+0.80.pgn.gz"
    packed.write_bytes(gzip.compress(PGN.encode()))
    one, other = (draw_openings(path, count=2, seed=5).openings for path in (plain, packed))
    assert one == other
    assert one[0].id.startswith("lines_+0.80:")


def test_the_draw_is_seeded_and_uniform(tmp_path):
    boards = []
    for first in chess.Board().legal_moves:
        board = chess.Board()
        board.push(first)
        boards.append(board.fen())
    path = write(tmp_path, "first.epd", "\n".join(boards))
    ten = draw_openings(path, count=10, seed=7).openings
    prepare_openings(tmp_path, tmp_path / "ten.csv", book=path, count=10, seed=7, batch_size=1)
    assert read_openings(tmp_path / "ten.csv") == ten
    assert draw_openings(path, count=4, seed=7).openings == ten[:4]
    seen = Counter(
        opening.id for seed in range(200) for opening in draw_openings(path, count=5, seed=seed).openings
    )
    assert len(seen) == 20
    assert abs(np.array(list(seen.values())) - 50).max() < 4 * np.sqrt(200 * 0.25 * 0.75)


def test_the_published_book(shared):
    """2,000 positions of UHO 4060 v4: White to move at ply 16, all different, drawn by seed."""
    path = shared / "data" / "uho" / "UHO_4060_v4_sample2000.epd"
    lines = path.read_text().split("\n")
    drawn = draw_openings(path, count=500, seed=3)
    assert drawn.entries == 2000
    assert not drawn.rejected
    assert len({opening.fen for opening in drawn.openings}) == 500
    for opening in drawn.openings:
        assert opening.fen == lines[int(opening.id.split(":")[1]) - 1].strip()
        assert opening.plies == 16
        board = chess.Board(opening.fen)
        assert board.is_valid()
        assert board.turn == chess.WHITE
        assert not board.is_game_over(claim_draw=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Two empty lines between tags and moves; also with a position.
        (
            '[Event "a"]\n[Result "*"]\n\n\n1. e4 e5 2. Nf3 *\n\n[Event "b"]\n[Result "*"]\n\n\n1. d4 d5 *\n',
            [(None, "e2e4 e7e5 g1f3"), (None, "d2d4 d7d5")],
        ),
        (f'[Event "a"]\n[FEN "{FEN_B}"]\n\n\n9... d6 10. Be3 *\n', [(FEN_B, "d7d6 c1e3")]),
        # Tags parted by empty lines, an empty line within the moves, no tags at all.
        (f'[Event "a"]\n\n\n[FEN "{FEN_B}"]\n\n9... d6 *\n', [(FEN_B, "d7d6")]),
        ('[Event "a"]\n\n1. e4 e5\n\n2. Nf3 Nc6 *\n', [(None, "e2e4 e7e5 g1f3 b8c6")]),
        (
            "1. e4 e5 *\n\n1. d4 d5\n1-0 1. c4 1/2-1/2\n",
            [(None, "e2e4 e7e5"), (None, "d2d4 d7d5"), (None, "c2c4")],
        ),
        # No result, Windows line ends, no space after numbers, comments of every kind, results in comments.
        ('[Event "a"]\r\n\r\n1.e4 e5\r\n[Event "b"]\r\n\r\n1.d4\r\n', [(None, "e2e4 e7e5"), (None, "d2d4")]),
        (
            '% 1. a3\n1. e4 {0-1 [Event "x"]\n[Event "y"]} 1... e5 ; 1-0 (\n'
            "2. Nf3 $1 Nc6!? (2... d6 (2... f6) *) *",
            [(None, "e2e4 e7e5 g1f3 b8c6")],
        ),
        # Quotes in a value, two tags in a line, a position of four fields.
        (
            f'[Event "the "x" open"]\n[White "a"] [FEN "{FEN_A[:-4]}"]\n\n1. Bd5 *',
            [(FEN_A[:-4] + " 0 1", "c4d5")],
        ),
        ("1. e4 e5 2. Nf3 Nc6 3. Bc4 Nf6 4. 0-0 *", [(None, "e2e4 e7e5 g1f3 b8c6 f1c4 g8f6 e1g1")]),
        ("1. e4 c5 2. e5 d5 3. exd6 e.p. *", [(None, "e2e4 c7c5 e4e5 d7d5 e5d6")]),
    ],
)
def test_a_game_ends_with_its_result_or_before_the_next_tags(tmp_path, text, expected):
    assert lines_of(tmp_path, text) == (expected, [])


GOOD = '[Event "good"]\n\n1. d4 d5 *\n'


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('[Event "a"]\n[Result "*"]\n[PlyCount "0"]\n\n\n', "a game without moves and without a position"),
        ('[Event "a"]\n\n*\n\n', "a game without moves and without a position"),
        ('[Event "a"]\n\n1. e4 e5 2. Ke3 ) 3. d4 *\n\n', "illegal san: 'Ke3'"),
        ("d6){\n\n", "a comment without end"),
        ('[Event "a"]\n\n1. e4 {no end e5 *\n\n', "a comment without end"),
        ('[Event "a"]\n\n1. e4 (1. d4 e5 *\n\n', "a variation without end"),
        ('[Event "a"]\n\n1. e4 ) e5 *\n\n', "a variation ends that did not begin"),
        ('[Event "a"]\n\n1. e4 #5 2. Nf3 *\n\n', "invalid san: '#5'"),
        ('[Event "a"]\n\n1. e4 -- 2. Nf3 *\n\n', "-- is no move"),
        ('[Event "a"]\n\n2. Nf3 Nc6 *\n\n', "move number 2 in place of 1"),
        ('[Event "a"]\n\n1. e4 e5 3. Nf3 *\n\n', "move number 3 in place of 2"),
        ('[Event "a"]\n[FEN "rnbq\n\n1. e4 *\n\n', "a damaged tag"),
        ('[Event "a"]\n[SetUp "1"]\n\n1. e4 *\n\n', "no tag FEN"),
        (f'[Event "a"]\n[FEN "{NOT_CHESS}"]\n\n1. e4 *\n\n', "not a playable position"),
        ('[Event "a"]\n[FEN "x"]\n\n1. e4 *\n\n', "neither FEN nor EPD: 'x'"),
        ('[Event "a"]\n[Variant "Chess960"]\n\n1. e4 *\n\n', "a variant of chess"),
    ],
)
def test_a_damaged_game_is_named_and_the_book_goes_on(tmp_path, bad, message):
    for text in (GOOD + "\n" + bad + GOOD, GOOD + "\n" + bad.rstrip()):
        found, faults = lines_of(tmp_path, text)
        assert set(found) == {(None, "d2d4 d7d5")}
        assert len(faults) == 1
        assert faults[0].startswith("opening book:2: ")
        assert message in faults[0]


def test_written_games_are_read_as_python_chess_reads_them(tmp_path):
    """Random games with comments, glyphs and variations in python-chess's own spelling."""
    rng = np.random.default_rng(0)
    texts, expected = [], []
    for number in range(40):
        fen = [None, FEN_A, FEN_B][number % 3]
        game = chess.pgn.Game()
        if fen:
            game.setup(chess.Board(fen))
        node, board = game, game.board()
        for _ in range(rng.integers(1, 40)):
            listed = list(board.legal_moves)
            if not listed:
                break
            move, other = (listed[rng.integers(len(listed))] for _ in range(2))
            if rng.random() < 0.2 and other != move:
                aside = node.add_variation(other, comment="aside {1. e4 *")
                node.promote_to_main(aside)
            child = node.add_variation(move, comment=rng.choice(["", "0-1 [Event", "; (x"]))
            node.promote_to_main(child)
            child.nags = {int(rng.integers(1, 20))} if rng.random() < 0.2 else set()
            board.push(move)
            node = child
        game.headers["Result"] = rng.choice(["1-0", "0-1", "1/2-1/2", "*"])
        texts.append(game.accept(chess.pgn.StringExporter(columns=rng.choice([None, 40]))))
        read = chess.pgn.read_game(io.StringIO(texts[-1]))
        expected.append((fen, " ".join(move.uci() for move in read.mainline_moves())))
    assert lines_of(tmp_path, "\n\n".join(texts)) == (expected, [])


def test_a_file_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(book_formats, "MAX_BYTES", 2**20)
    bomb = tmp_path / "bomb.epd.gz"
    bomb.write_bytes(gzip.compress(b"#" * 2**21))
    with pytest.raises(OpeningError, match=r"bomb\.epd\.gz: more than 1 MiB unpacked"):
        draw_openings(bomb, count=1, seed=0)
    bomb.write_bytes(gzip.compress((FEN_A + "\n" + "#" * (2**20 - len(FEN_A) - 1)).encode()))
    assert draw_openings(bomb, count=1, seed=0).openings[0].fen == FEN_A


def test_names_of_books_in_any_case_and_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("BOOK.PGN", "Book.Pgn.GZ", "book.pgn.gz"):
        content = PGN.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.lower().endswith("gz") else content)
        book = Path("~") / name
        prepare_openings(tmp_path, tmp_path / "out.csv", book=book, count=2, seed=0, batch_size=1)
        found = read_openings(tmp_path / "out.csv")
        assert {opening.id.split(":")[0] for opening in found} == {name.split(".")[0]}
        assert all(opening.moves for opening in found)
