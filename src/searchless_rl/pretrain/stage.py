"""The stage `visits`: shards of games played by tree search, made by several processes, continued later."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from searchless_rl.files import sha256_of, write_json
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluation, Evaluator
from searchless_rl.nets.precision import resolve_precision
from searchless_rl.pretrain.records import LabelledGame, read_shard, shard_path, write_shard
from searchless_rl.pretrain.settings import VisitParams
from searchless_rl.pretrain.visits import play_games
from searchless_rl.progress import Progress
from searchless_rl.suites.download import resolve_base
from searchless_rl.unfinished import exclusive

_FEW = 16
"""Positions per forward pass where single games play their openings."""
SUMMARY = "visits.json"


def made_by(params: VisitParams, network: Path) -> dict[str, Any]:
    """What decides the content of every shard."""
    told = params.model_dump(exclude={"games", "slots", "processes"})
    told["precision"] = resolve_precision(params.precision)
    return told | {"kind": "visits", "network_sha256": sha256_of(network)}


def make_visits(params: VisitParams, data: Path, out: Path) -> dict[str, Any]:
    """Make every shard that is missing or damaged; the summary, also written as `out`/visits.json.

    Args:
        params: see pretrain/params.yaml.
        data: the data folder, for the base.
        out: the folder of the shards.

    Raises:
        Busy: another process works in `out`.
        FetchError, NetworkFileError: there is no such base.
        ShardError: a shard there was made otherwise.
        RuntimeError: a process that plays was killed or failed; what it had finished is kept.
    """
    network = resolve_base(params.base, data)
    made = made_by(params, network)
    with exclusive(out):
        missing = [number for number in range(_shard_count(params)) if not _is_whole(out, number, made)]
        done = params.games - sum(len(_games_of(number, params)) for number in missing)
        with Progress("visits", params.games, "game", initial=done) as progress:
            _play_shards(missing, params, network, made, out, progress.update)
        summary = _summary(params, made, out)
        write_json(out / SUMMARY, summary)
    return summary


def _shard_count(params: VisitParams) -> int:
    return -(-params.games // params.games_per_shard)


def _games_of(shard: int, params: VisitParams) -> range:
    begin = shard * params.games_per_shard
    return range(begin, min(begin + params.games_per_shard, params.games))


def _is_whole(out: Path, number: int, made: dict[str, Any]) -> bool:
    path = shard_path(out, number)
    if not path.exists():
        return False
    read_shard(path, made)
    return True


def _play_shards(
    missing: list[int],
    params: VisitParams,
    network: Path,
    made: dict[str, Any],
    out: Path,
    progress: Callable[[int], None],
) -> None:
    processes = min(params.processes, len(missing))
    if processes <= 1:
        for _ in _make_shards(missing, params, network, made, out):
            progress(1)
        return
    context = multiprocessing.get_context("spawn")
    finished: Any = context.SimpleQueue()
    workers = [
        context.Process(
            target=_work, args=(missing[place::processes], params, network, made, out, finished), daemon=True
        )
        for place in range(processes)
    ]
    for worker in workers:
        worker.start()
    try:
        going = len(workers)
        while going:
            said = finished.get()
            if said is None:
                going -= 1
            elif isinstance(said, str):
                raise RuntimeError(said)
            else:
                progress(said)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _work(
    missing: list[int], params: VisitParams, network: Path, made: dict[str, Any], out: Path, finished: Any
) -> None:
    try:
        for _ in _make_shards(missing, params, network, made, out):
            finished.put(1)
        finished.put(None)
    except Exception as error:
        finished.put(f"a process that plays games failed: {error}")


def _make_shards(
    missing: list[int], params: VisitParams, network: Path, made: dict[str, Any], out: Path
) -> Iterator[int]:
    """Play the games of some shards, and write each shard with its last game; the number of every game."""
    torch.set_num_threads(1)
    precision = resolve_precision(params.precision)
    evaluate, few = (_evaluator(network, size, precision) for size in (params.batch_size, _FEW))
    numbers = [number for shard in missing for number in _games_of(shard, params)]
    unfinished: dict[int, dict[int, LabelledGame]] = {shard: {} for shard in missing}
    for number, game in play_games(numbers, evaluate, few, params):
        shard = number // params.games_per_shard
        unfinished[shard][number] = game
        if len(unfinished[shard]) == len(_games_of(shard, params)):
            games = unfinished.pop(shard)
            write_shard(shard_path(out, shard), [games[key] for key in sorted(games)], made)
        yield number


def _evaluator(network: Path, batch_size: int, precision: str) -> Callable[[Any], Evaluation]:
    evaluator = Evaluator(load_network(network), batch_size)
    if precision == "float32":
        return evaluator

    def in_bf16(planes: Any) -> Evaluation:
        with torch.autocast(evaluator.device.type, torch.bfloat16):
            return evaluator(planes)

    return in_bf16


def _summary(params: VisitParams, made: dict[str, Any], out: Path) -> dict[str, Any]:
    games = [game for shard in range(_shard_count(params)) for game in read_shard(shard_path(out, shard))]
    results = [game.result for game in games]
    summary = {
        "games": len(games),
        "positions": sum(len(game.plies) for game in games),
        "plies": sum(len(game.moves) for game in games),
        "white_wins": results.count(1),
        "draws": results.count(0),
        "black_wins": results.count(-1),
        "made": made,
    }
    return json.loads(json.dumps(summary))  # type: ignore[no-any-return]
