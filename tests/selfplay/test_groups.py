"""Which tensor trains at which rate (paper Table 2, appendix G), tensor by tensor in both families."""

import re

import pytest
import torch

from searchless_rl.lc0 import load_network
from searchless_rl.selfplay.optimizer import build_optimizer

# What lies before the blocks, what they share (smolgen's generator) and all blocks but the last are backbone.
# The last encoder of a Chessformer and the last residual block of an SE-ResNet are the final block, each with
# its norms, biases, smolgen layers and squeeze-and-excitation. The moves-left head is not trained.
CHESSFORMER = (
    (r"embedding\..*", "backbone"),
    (r"smolgen_generator", "backbone"),
    (r"blocks\.{early}\..*", "backbone"),
    (r"blocks\.{last}\..*", "final_block"),
    (r"policy\..*", "policy_head"),
    (r"value\..*", "value_head"),
    (r"moves_left\..*", None),
)
SE_RESNET = (
    (r"input\..*", "backbone"),
    (r"blocks\.{early}\..*", "backbone"),
    (r"blocks\.{last}\..*", "final_block"),
    (r"policy\..*", "policy_head"),
    (r"value\..*", "value_head"),
    (r"moves_left\..*", None),
)


def _expected(name, table, blocks):
    early = "(" + "|".join(map(str, range(blocks - 1))) + ")"
    found = [
        role
        for pattern, role in table
        if re.fullmatch(pattern.replace("{early}", early).replace("{last}", str(blocks - 1)), name)
    ]
    assert len(found) == 1, f"{name} matches {len(found)} patterns"
    return found[0]


def _check(network, table, params, must_contain):
    rates = params.learning_rates
    group_of = {}
    for group in build_optimizer(network, params).param_groups:
        assert group["lr"] == getattr(rates, group["name"])
        assert group["betas"] == (0.9, 0.98)
        assert group["weight_decay"] == 0
        for tensor in group["params"]:
            assert id(tensor) not in group_of
            group_of[id(tensor)] = group["name"]
    names = dict(network.named_parameters())
    assert {name: group_of.get(id(tensor)) for name, tensor in names.items()} == {
        name: _expected(name, table, len(network.blocks)) for name in names
    }
    for fragment, role in must_contain.items():
        tensors = [name for name in names if fragment in name and group_of.get(id(names[name])) == role]
        assert tensors, f"nothing named {fragment} in {role}"


def test_chessformer(network, params):
    _check(
        network,
        CHESSFORMER,
        params,
        {
            "smolgen_generator": "backbone",
            "embedding": "backbone",
            "value.": "value_head",
            "moves_left": None,
            f"blocks.{len(network.blocks) - 1}.": "final_block",
        },
    )
    # Tied once: a matrix that every encoder uses is one parameter.
    assert sum("smolgen_generator" in name for name, _ in network.named_parameters()) == 1
    # Structural constants (residual alpha, epsilon, 1/sqrt(d)) are no parameters; Lc0's input gate is.
    constants = [name for name, _ in network.named_parameters() if re.search("alpha|eps|scale", name)]
    assert constants == ["embedding.gate.scale"]


def test_se_resnet(shared, params):
    network = load_network(shared / "lc0" / "maia-1900.pb.gz")
    _check(network, SE_RESNET, params, {"squeeze": "final_block", "value.": "value_head"})


@pytest.mark.parametrize("family", ["chessformer", "se_resnet"])
def test_nothing_drops_out_and_every_normalization_is_fixed(family, request, network):
    """No dropout, no batch statistics: training and evaluation mode are the same function."""
    if family == "se_resnet":
        network = load_network(request.getfixturevalue("shared") / "lc0" / "maia-1900.pb.gz")
    planes = torch.rand(3, 112, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        train, evaluate = network.train()(planes), network.eval()(planes)
    torch.testing.assert_close(train.policy, evaluate.policy, rtol=0, atol=0)
    torch.testing.assert_close(train.wdl, evaluate.wdl, rtol=0, atol=0)
    kinds = {type(module).__name__ for module in network.modules()}
    assert not [kind for kind in kinds if "Dropout" in kind or "BatchNorm" in kind]
