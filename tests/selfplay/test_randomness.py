"""Random numbers depend on their whole address and on nothing else."""

import numpy as np
import pytest

from searchless_rl.selfplay.distributions import Stream, uniforms


@pytest.mark.parametrize("plies", [(None,), (0, 1, 2)], ids=["step", "ply"])
def test_every_part_of_the_address_counts(plies):
    addresses = [
        (stream, seed, step, 4, ply)
        for stream in Stream
        for seed in (0, 1)
        for step in (0, 1, 2)
        for ply in plies
    ]
    drawn = [uniforms(*address).tobytes() for address in addresses]
    assert len(set(drawn)) == len(addresses)
    assert [uniforms(*address).tobytes() for address in addresses] == drawn


def test_a_game_draws_the_same_however_many_there_are():
    few, many = (uniforms(Stream.SELF_PLAY, 3, 7, count) for count in (5, 1000))
    np.testing.assert_array_equal(few, many[:5])
    assert few.dtype == np.float64
    assert (many >= 0).all()
    assert (many < 1).all()
    assert abs(many.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 1000)
