"""A grown network computes what the small one does, and everything in it can learn."""

import pytest
import torch

from searchless_rl.nets.se_resnet import ConvHeadConfig, SEResNet, SEResNetConfig
from searchless_rl.pretrain.grow import grow


@pytest.fixture
def small():
    torch.manual_seed(0)
    config = SEResNetConfig(
        filters=16, blocks=2, se_hidden=4, value=ConvHeadConfig(8, 16), moves_left=ConvHeadConfig(4, 8)
    )
    network = SEResNet(config)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.1)
        network.moves_left.output.bias.fill_(5.0)
    return network


@pytest.mark.parametrize("sizes", [(16, 2, 4), (24, 2, 4), (16, 4, 4), (16, 2, 9), (28, 5, 11)])
def test_outputs_are_kept(small, sizes):
    filters, blocks, se_hidden = sizes
    large = grow(small, filters=filters, blocks=blocks, se_hidden=se_hidden, seed=1)
    assert (large.config.filters, large.config.blocks, large.config.se_hidden) == sizes
    planes = torch.rand(6, 112, 8, 8)
    with torch.no_grad():
        before, after = small(planes), large(planes)
    for one, other in zip(before, after, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-6)


def test_new_weights_get_gradients_within_two_steps(small):
    """Old channels read new ones by weights of zero: these move first, then what feeds them."""
    large = grow(small, filters=24, blocks=3, se_hidden=6, seed=1)
    optimizer = torch.optim.SGD(large.parameters(), 0.1)
    planes = torch.rand(8, 112, 8, 8)
    for _ in range(3):
        optimizer.zero_grad()
        out = large(planes)
        (out.policy.square().mean() + out.wdl[:, 0].mean() + out.moves_left.mean()).backward()
        optimizer.step()
    still = [name for name, parameter in large.named_parameters() if not parameter.grad.any()]
    assert not still


def test_seeds_differ_and_the_same_one_does_not(small):
    one, same, other = (grow(small, filters=24, blocks=3, se_hidden=4, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.input.weight, same.input.weight)
    assert not torch.equal(one.input.weight, other.input.weight)


def test_a_network_does_not_shrink(small):
    with pytest.raises(ValueError, match="smaller than"):
        grow(small, filters=8, blocks=2, se_hidden=4, seed=0)
