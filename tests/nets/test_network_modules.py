"""Modules of the two Lc0 families: roles, gradients, precision, copies. Outputs: tests/lc0."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

from searchless_rl.lc0 import load_network
from searchless_rl.nets import (
    AttentionPolicyConfig,
    Chessformer,
    ChessformerConfig,
    ConvHeadConfig,
    DenseEmbeddingConfig,
    EncoderConfig,
    PolicyValueNet,
    SEResNet,
    SEResNetConfig,
    SmolgenConfig,
    TokenHeadConfig,
)
from searchless_rl.nets.activations import ACTIVATIONS

MICRO = Path(__file__).resolve().parent.parent / "data" / "lc0" / "micro_bt4.pb.gz"

CHESSFORMER = ChessformerConfig(
    width=16,
    encoders=EncoderConfig(layers=2, heads=2, attention=16, ffn=24),
    policy=AttentionPolicyConfig(12, 20, EncoderConfig(layers=1, heads=3, attention=12, ffn=24)),
    value=TokenHeadConfig(4, 32),
    moves_left=TokenHeadConfig(3, 32),
    dense=DenseEmbeddingConfig(2, 24),
    smolgen=SmolgenConfig(2, 8, 8),
)
MAP = ChessformerConfig(
    width=16,
    encoders=EncoderConfig(layers=1, heads=2, attention=16, ffn=24),
    policy=AttentionPolicyConfig(12, 20),
    value=TokenHeadConfig(4, 32),
    gates=False,
)
SE_RESNET = SEResNetConfig(16, 2, 4, ConvHeadConfig(4, 32), ConvHeadConfig(2, 32), activation="mish")
CLASSICAL = SEResNetConfig(
    16, 1, None, ConvHeadConfig(4, 32), policy="classical", policy_channels=8, activation="mish"
)
CONFIGS = {"chessformer": CHESSFORMER, "map": MAP, "se_resnet": SE_RESNET, "classical": CLASSICAL}


def build(name: str) -> PolicyValueNet:
    torch.manual_seed(11)
    config = CONFIGS[name]
    module = Chessformer(config) if isinstance(config, ChessformerConfig) else SEResNet(config)
    if module.moves_left is not None:
        with torch.no_grad():
            module.moves_left.output.bias += 5  # the side of the final relu that has a gradient
    return module


def planes(batch: int = 3) -> torch.Tensor:
    return (torch.rand(batch, 112, 8, 8, generator=torch.Generator().manual_seed(2)) < 0.2).float()


def expand(names: str, prefix: str = "") -> set[str]:
    """Names with .weight and .bias; a name with a dot at the end has only .weight."""
    found = set()
    for name in names.split():
        found |= (
            {f"{prefix}{name}weight"}
            if name.endswith(".")
            else {f"{prefix}{name}.weight", f"{prefix}{name}.bias"}
        )
    return found


ENCODER = (
    "attention.query attention.key attention.value attention.output attention_norm "
    "ffn.expand ffn.contract ffn_norm"
)
SMOLGEN = "compress. hidden hidden_norm per_head per_head_norm"


def test_roles_of_a_chessformer():
    body = {
        i: expand(ENCODER, f"blocks.{i}.") | expand(SMOLGEN, f"blocks.{i}.attention.smolgen.") for i in (0, 1)
    }
    embedding = "project preprocess norm ffn.expand ffn.contract ffn_norm"
    gates = {"embedding.gate.scale", "embedding.gate.shift"}
    expected = {
        "backbone": expand(embedding, "embedding.") | gates | {"smolgen_generator"} | body[0],
        "final_block": body[1],
        "policy_head": expand("embedding query key promotion.", "policy.")
        | expand(ENCODER, "policy.encoders.0."),
        "value_head": expand("embedding hidden output", "value."),
        "moves_left_head": expand("embedding hidden output", "moves_left."),
    }
    assert_roles(build("chessformer"), expected)


def test_roles_of_an_se_resnet():
    block = "conv1 conv2 se.squeeze se.excite"
    expected = {
        "backbone": expand("input") | expand(block, "blocks.0."),
        "final_block": expand(block, "blocks.1."),
        "policy_head": expand("conv planes", "policy."),
        "value_head": expand("conv hidden output", "value."),
        "moves_left_head": expand("conv hidden output", "moves_left."),
    }
    assert_roles(build("se_resnet"), expected)


def assert_roles(module: PolicyValueNet, expected: dict[str, set[str]]) -> None:
    roles = module.parameter_roles()
    assert roles.keys() == dict(module.named_parameters()).keys()
    assert roles == {name: role for role, names in expected.items() for name in names}


def test_bt4_has_the_published_number_of_parameters():
    bt4 = ChessformerConfig(
        width=1024,
        encoders=EncoderConfig(layers=15, heads=32, attention=1024, ffn=1536),
        policy=AttentionPolicyConfig(1024, 1024),
        value=TokenHeadConfig(128, 128),
        moves_left=TokenHeadConfig(32, 128),
        dense=DenseEmbeddingConfig(512, 1536),
        smolgen=SmolgenConfig(32, 256, 256),
    )
    with torch.device("meta"):
        module = Chessformer(bt4)
    sizes = {name: parameter.numel() for name, parameter in module.named_parameters()}
    assert sum(sizes.values()) == 185_254_052
    assert sum(size for name, size in sizes.items() if name.startswith("blocks.3.")) == 10_030_336
    assert sizes["embedding.preprocess.weight"] == 25_165_824


def test_a_network_of_one_block_has_no_block_in_its_backbone():
    roles = build("classical").parameter_roles()
    assert {name for name, role in roles.items() if role == "backbone"} == {"input.weight", "input.bias"}
    assert roles["policy.output.weight"] == "policy_head"


@pytest.mark.parametrize("name", CONFIGS)
def test_shapes_dtypes_and_ranges(name):
    module = build(name)
    out = module(planes())
    assert out.policy.shape == (3, 1858)
    assert out.wdl.shape == out.value_logits.shape == (3, 3)
    torch.testing.assert_close(out.wdl.sum(dim=1), torch.ones(3))
    torch.testing.assert_close(out.wdl, out.value_logits.softmax(dim=1))
    if module.config.moves_left is None:
        assert out.moves_left is None
    else:
        assert out.moves_left.shape == (3,)
        assert (out.moves_left >= 0).all()
    assert {tensor.dtype for tensor in out if tensor is not None} == {torch.float32}
    alone = module(planes()[1:2])
    torch.testing.assert_close(out.policy[1:2], alone.policy, rtol=0, atol=1e-5)
    torch.testing.assert_close(out.wdl[1:2], alone.wdl, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", CONFIGS)
def test_gradients_are_those_of_finite_differences(name):
    """Along random directions over all parameters, in float64."""
    module = build(name).double()
    inputs = planes().double()
    parameters = list(module.parameters())
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(3, 1858, generator=generator, dtype=torch.float64)

    def loss() -> torch.Tensor:
        out = module(inputs)
        assert out.policy.dtype == torch.float64
        total = (out.policy * weights).mean() + out.wdl[:, 0].log().sum()
        return total if out.moves_left is None else total + out.moves_left.sum()

    gradients = torch.autograd.grad(loss(), parameters)
    assert all(gradient.abs().max() > 0 for gradient in gradients)
    step = 1e-6
    for _ in range(3):
        direction = [torch.randn(p.shape, generator=generator, dtype=torch.float64) for p in parameters]
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                for parameter, d in zip(parameters, direction, strict=True):
                    parameter += sign * step * d
                values.append(loss().item())
                for parameter, d in zip(parameters, direction, strict=True):
                    parameter -= sign * step * d
        expected = (values[0] - values[1]) / (2 * step)
        found = sum((g * d).sum().item() for g, d in zip(gradients, direction, strict=True))
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", CONFIGS)
def test_autocast_returns_float32_close_to_float32(name):
    module = build(name)
    exact = module(planes())
    with torch.autocast("cpu", torch.bfloat16):
        out = module(planes())
        (out.policy.logsumexp(dim=1).sum() + out.wdl[:, 0].sum()).backward()
    for one, other in zip(out, exact, strict=True):
        if one is not None:
            assert one.dtype == torch.float32
            assert 0 < (one - other).abs().max() < 0.05 * max(1.0, other.abs().max().item())
    # Not bfloat16 numbers in float32 clothes: the last product of each head is float32.
    assert (out.policy.bfloat16() != out.policy).float().mean() > 0.9
    assert (out.value_logits.bfloat16() != out.value_logits).any()
    assert all(
        parameter.grad is not None and parameter.grad.dtype == torch.float32
        for parameter_name, parameter in module.named_parameters()
        if not parameter_name.startswith("moves_left.")
    )


def test_layer_norms_see_float32_under_autocast():
    module = build("chessformer")
    seen: list[torch.dtype] = []
    for part in module.modules():
        if isinstance(part, torch.nn.LayerNorm):
            part.register_forward_hook(lambda _module, _inputs, output: seen.append(output.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        module(planes())
    assert len(seen) == 2 + 2 * 4 + 2
    assert set(seen) == {torch.float32}


def test_a_copy_shares_the_source_and_nothing_else():
    module = load_network(MICRO)
    twin = copy.deepcopy(module)
    assert twin.source is module.source
    own = {parameter.data_ptr() for parameter in module.parameters()}
    assert own.isdisjoint(parameter.data_ptr() for parameter in twin.parameters())
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
    assert module(planes()).policy.abs().max() > 0


def test_the_state_dict_is_the_parameters():
    for name in CONFIGS:
        module = build(name)
        assert module.state_dict().keys() == dict(module.named_parameters()).keys()


def test_the_smolgen_generator_is_one_tensor():
    module = build("chessformer")
    assert [name for name, _ in module.named_parameters() if "generator" in name] == ["smolgen_generator"]


def test_convolutions_are_channels_last():
    module = build("se_resnet")
    layouts = []
    for block in module.blocks:
        block.register_forward_hook(
            lambda _module, _inputs, output: layouts.append(
                output.is_contiguous(memory_format=torch.channels_last)
            )
        )
    module(planes())
    assert layouts == [True, True]
    for part in (module, copy.deepcopy(module), copy.deepcopy(module).double()):
        assert part.blocks[0].conv1.weight.is_contiguous(memory_format=torch.channels_last)


def test_activation_formulas():
    x = torch.linspace(-60, 60, 2401, dtype=torch.float64)
    formulas = {
        "relu": x.clamp(min=0),
        "mish": x * torch.tanh(torch.log1p(torch.exp(x))),
        "none": x,
        "tanh": (1 - torch.exp(-2 * x)) / (1 + torch.exp(-2 * x)),
        "sigmoid": 1 / (1 + torch.exp(-x)),
        "selu": 1.0507009873554805 * torch.where(x > 0, x, 1.6732632423543772 * (torch.exp(x) - 1)),
        "swish": x / (1 + torch.exp(-x)),
        "relu_2": x.clamp(min=0) ** 2,
    }
    assert formulas.keys() == ACTIVATIONS.keys()
    for name, expected in formulas.items():
        torch.testing.assert_close(ACTIVATIONS[name](x), expected, rtol=1e-9, atol=1e-12)
