"""A puzzle file turned into suites: validated, split, with winning sets, and a report of what was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from searchless_rl.files import sha256_of, write_json
from searchless_rl.suites.catalogue import Catalogue, RowStore
from searchless_rl.suites.files import SuiteItem, read_game_moves, write_suite
from searchless_rl.suites.game_moves import HistoryOutcome
from searchless_rl.suites.puzzles import Puzzle, iter_checked, position_keys
from searchless_rl.suites.rows import ReadReport
from searchless_rl.suites.split import Overlap, Split, SplitError, SuiteSizes, split_catalogue
from searchless_rl.suites.winning import WinningTable, marked_moves, read_winning_table, winning_sets

REPORT_NAME = "report.json"
POOL = "control"
DEPTHS = (1, 2, 3, 4, 5)
_QUANTILES = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}


def build_suites(
    source_csv: Path,
    out_dir: Path,
    sizes: SuiteSizes,
    seed: int,
    *,
    winning: Path | None = None,
    any_forced_mate: bool = False,
    game_moves: Path | None = None,
) -> dict[str, Any]:
    """Validate a puzzle file, split it and write one CSV per suite and `report.json` into `out_dir`.

    The same source, sizes and seed give the same bytes. Ratings are Lichess puzzle ratings (Glicko-2). Memory
    grows by the columns of `Catalogue` and not by the rows. The control's pool is trained on and not scored,
    so its winning sets are the marked moves, its labels.

    Args:
        source_csv: a puzzle file.
        out_dir: made if absent.
        sizes: how many puzzles go where.
        seed: of the split, >= 0.
        winning: a table of searched winning sets (`winning.read_winning_table`); None: sets by the rules.
            Puzzles that end in mate and are not in it have those too, and are counted.
        any_forced_mate: count mates of any length as right, not only optimal ones; needs `winning`.
        game_moves: a CSV of game moves (`read_game_moves`), in place of those `source_csv` may carry.

    Returns:
        The report: source name and sha256, rows read and rejected by reason, mate depths in the whole source,
        per suite the number of puzzles, solver positions and the rating quantiles (values that occur), and
        what the control's pool is made of (`control_pool`). Where they are given: what became of the game
        moves; the table and the mates that are not in it.

    Raises:
        PuzzleFileError: see `iter_checked` and `read_winning_table`.
        SplitError: see `split_catalogue`; the file is named.
        ValueError: `any_forced_mate` without `winning`.
    """
    if any_forced_mate and winning is None:
        raise ValueError("any_forced_mate needs a table of winning sets: name one, or count optimal mates")
    table = None if winning is None else read_winning_table(winning)
    given = None if game_moves is None else read_game_moves(game_moves)
    read = ReadReport()
    with RowStore() as store:
        catalogue = Catalogue.of(store.keep(iter_checked(source_csv, read, game_moves=given)))
        try:
            split = split_catalogue(catalogue, sizes, seed)
        except SplitError as error:
            raise SplitError(f"{source_csv}: {error}") from error
        for name, places in split.suites.items():
            write_suite(
                out_dir / f"{name}.csv",
                _items(store, catalogue.row[places], table, any_forced_mate, scored=name != POOL),
                with_history=bool(catalogue.has_history[places].any()),
            )
        dropped = [_describe_overlap(overlap, catalogue, store) for overlap in split.overlaps]
    report = _report(source_csv, catalogue, read, split, sizes, seed) | {"overlaps_dropped": dropped}
    report |= _extras(catalogue, read, table, any_forced_mate)
    # Last, so that a report means that the suites beside it are complete.
    write_json(out_dir / REPORT_NAME, report)
    return report


def _items(
    store: RowStore, rows: np.ndarray, table: WinningTable | None, any_forced_mate: bool, *, scored: bool
) -> Iterator[SuiteItem]:
    for row in rows.tolist():
        puzzle = store.read(row)
        if scored:
            yield SuiteItem(puzzle, winning_sets(puzzle, table, any_forced_mate=any_forced_mate))
        else:
            yield SuiteItem(puzzle, marked_moves(puzzle))


def _describe_overlap(overlap: Overlap, catalogue: Catalogue, store: RowStore) -> dict[str, str]:
    dropped: Puzzle = store.read(int(catalogue.row[overlap.dropped]))
    return {
        "dropped": dropped.id,
        "kept": catalogue.id(overlap.kept),
        "position": position_keys(dropped)[overlap.position],
    }


def _report(
    source: Path, catalogue: Catalogue, read: ReadReport, split: Split, sizes: SuiteSizes, seed: int
) -> dict[str, Any]:
    return {
        "source": {"name": source.name, "sha256": sha256_of(source)},
        "seed": seed,
        "sizes": asdict(sizes),
        "rows": {
            "read": read.rows,
            "accepted": read.accepted,
            "rejected": {reason.value: read.rejected[reason] for reason in sorted(read.rejected)},
        },
        "mate_depths": _mate_depths(catalogue.mate_depth),
        "suites": {
            name: _suite_summary(catalogue, places, sizes.hard_rating)
            for name, places in split.suites.items()
        },
        "control_pool": _pool_summary(catalogue, split.suites[POOL]),
    }


def _mate_depths(depths: np.ndarray) -> dict[str, int]:
    found, counts = np.unique(depths[depths > 0], return_counts=True)
    return {str(depth): count for depth, count in zip(found.tolist(), counts.tolist(), strict=True)}


def _suite_summary(catalogue: Catalogue, places: np.ndarray, hard_rating: int) -> Mapping[str, Any]:
    ratings = catalogue.rating[places]
    return {
        "puzzles": len(places),
        "solver_positions": int(catalogue.positions[places].sum()),
        "rated_hard": int((ratings >= hard_rating).sum()),
        "rating": {
            name: int(np.quantile(ratings, share, method="inverted_cdf"))
            for name, share in _QUANTILES.items()
        }
        if len(places)
        else None,
    }


def _pool_summary(catalogue: Catalogue, places: np.ndarray) -> dict[str, Any]:
    """What the control learns from: puzzles, positions, mean rating, mates in 1 to 5 and their share."""
    depths = catalogue.mate_depth[places]
    mates = {str(depth): int((depths == depth).sum()) for depth in DEPTHS}
    return {
        "puzzles": len(places),
        "positions": int(catalogue.positions[places].sum()),
        "mean_rating": float(catalogue.rating[places].mean()) if len(places) else None,
        "mates": mates,
        "mate_share": sum(mates.values()) / len(places) if len(places) else None,
    }


def _extras(
    catalogue: Catalogue, read: ReadReport, table: WinningTable | None, any_forced_mate: bool
) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    if read.histories:
        extras["histories"] = {outcome.value: read.histories.get(outcome, 0) for outcome in HistoryOutcome}
        extras["lost_histories"] = {outcome.value: ids for outcome, ids in read.lost_histories.items()}
    if table is not None:
        mates = catalogue.ids[catalogue.mate_depth > 0].tolist()
        extras["winning_table"] = {
            "name": table.path.name,
            "sha256": sha256_of(table.path),
            "any_forced_mate": any_forced_mate,
            "mates_not_in_it": sum(name.decode("ascii") not in table for name in mates),
        }
    return extras
