"""Which games a closed round-robin consists of, and those of players outside it (paper appendix F)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from searchless_rl.arena.openings import Opening
from searchless_rl.arena.players import Player


@dataclass(frozen=True)
class Game:
    """A game to be played.

    Attributes:
        number: from 0, in the order of the schedule.
        pair: number of the two games that share players and opening, from 0.
        opening: where play starts.
        white: place of the player with White in the list of players.
        black: place of the other player.
        address: names the game's random numbers; it does not depend on what else is played.
    """

    number: int
    pair: int
    opening: Opening
    white: int
    black: int
    address: str


def round_robin(
    players: Sequence[Player],
    openings: Sequence[Opening],
    *,
    games: int,
    base: str | None = None,
    games_against_base: int | None = None,
    apart: Collection[str] = (),
) -> list[Game]:
    """Every two players, from the first openings of the list, each opening from both colours.

    The closed pool's games come first and are the same, with the same numbers, whoever plays apart from it.

    Args:
        players: at least two, with different names.
        openings: at least half as many as any two players play games.
        games: of any two players, an even number; 0 leaves only games with the base.
        base: the player whose games have a number of their own.
        games_against_base: that number; default: as `games`.
        apart: names of players outside the closed pool, who play everybody in it and not each other.

    Raises:
        ValueError: what is wrong with the players, the counts or the number of openings.
    """
    names = [player.name for player in players]
    if len(names) < 2 or len(set(names)) != len(names):
        raise ValueError(f"players {', '.join(names)}: at least two are needed, with different names")
    if base is not None and base not in names:
        raise ValueError(f"base {base!r} is not among the players {', '.join(names)}")
    if unknown := set(apart) - set(names):
        raise ValueError(f"players apart {', '.join(sorted(unknown))}: not among {', '.join(names)}")
    with_base = games if games_against_base is None else games_against_base
    for label, wanted in (("games", games), ("games_against_base", with_base)):
        if wanted < 0 or wanted % 2:
            raise ValueError(
                f"{label}: {wanted} is not allowed; every opening is played from both colours: 0, 2, ..."
            )
        if wanted > 2 * len(openings):
            raise ValueError(
                f"{label}: {wanted} games need {wanted // 2} openings, but there are {len(openings)}; "
                "draw more openings or play fewer games"
            )
    pairs = list(combinations(range(len(players)), 2))
    outside = [sum(names[place] in apart for place in pair) for pair in pairs]
    order = [pair for count in (0, 1) for pair, here in zip(pairs, outside, strict=True) if here == count]
    schedule = list(_games(players, openings, order, base, games, with_base))
    if not schedule:
        raise ValueError("no games to play: games and games_against_base are 0")
    return schedule


def _games(
    players: Sequence[Player],
    openings: Sequence[Opening],
    pairs: Sequence[tuple[int, int]],
    base: str | None,
    games: int,
    with_base: int,
) -> Iterator[Game]:
    number = 0
    for first, second in pairs:
        wanted = with_base if base in (players[first].name, players[second].name) else games
        for opening in openings[: wanted // 2]:
            for white, black in ((first, second), (second, first)):
                address = f"{players[white].name} {players[black].name} {opening.id}"
                yield Game(number, number // 2, opening, white, black, address)
                number += 1
