"""Which games are scheduled."""

import pytest
from small_arenas import OPENINGS

from searchless_rl.arena.schedule import round_robin


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
        ({"games": 0}, "no games to play"),
    ],
)
def test_schedules_that_cannot_be(players, changes, message):
    with pytest.raises(ValueError, match=message):
        round_robin(players, OPENINGS, **changes)


def test_names_must_differ(players):
    for listed in (players[:1], [players[0], players[0]]):
        with pytest.raises(ValueError, match="different names"):
            round_robin(listed, OPENINGS, games=2)


def test_players_apart_meet_the_closed_pool_and_not_each_other(players):
    """The pool's games come first and are those of the pool alone, numbers included."""
    apart = [players[1].name, players[3].name]
    together = round_robin(players, OPENINGS, games=4, apart=apart)
    met = {frozenset((game.white, game.black)) for game in together}
    assert met == {frozenset(pair) for pair in ((0, 2), (0, 1), (0, 3), (1, 2), (2, 3))}
    closed = round_robin([players[0], players[2]], OPENINGS, games=4)
    first = together[: len(closed)]
    assert [(game.number, game.pair, game.opening, game.address) for game in first] == [
        (game.number, game.pair, game.opening, game.address) for game in closed
    ]
    assert {frozenset((game.white, game.black)) for game in first} == {frozenset((0, 2))}
    with pytest.raises(ValueError, match="players apart nobody: not among"):
        round_robin(players, OPENINGS, games=4, apart=["nobody"])
