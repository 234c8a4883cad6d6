"""Where an SE-ResNet's sizes and parameters are in a network file."""

from __future__ import annotations

from typing import Literal

from searchless_rl.board.policy_map import POLICY_SIZE
from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.header import MovesLeftFormat, PolicyFormat
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.lc0.rows import ConvRow, Row, count, divided, linear_rows
from searchless_rl.lc0.value_lift import value_output_rows
from searchless_rl.lc0.wire import Message, find
from searchless_rl.nets.se_resnet import INPUT_PLANES, POLICY_PLANES, ConvHeadConfig, SEResNetConfig


def read_config(file: NetworkFile, policy_head: str, value_head: str) -> SEResNetConfig:
    """Sizes from the lengths of the tensors; NetworkFileError where they fit no network."""
    net = file.net
    if find(net, "weights.encoder[0]") is not None or find(net, "weights.residual[0]") is None:
        raise NetworkFileError("weights: a convolutional network has residual blocks and no encoders")
    filters = _channels(net, "weights.input.weights", INPUT_PLANES * 9)
    policy_path = file.policy_head_path(policy_head)
    value_path = file.value_head_path(value_head)
    policy: Literal["convolution", "classical"] = "convolution"
    policy_channels = 0
    if file.format.policy is PolicyFormat.CLASSICAL:
        policy = "classical"
        policy_channels = _channels(net, f"{policy_path}.policy.weights", filters)
    moves_left = None
    if file.format.moves_left is MovesLeftFormat.V1:
        moves_left = ConvHeadConfig(
            _channels(net, "weights.moves_left.weights", filters), count(net, "weights.ip1_mov_b")
        )
    return SEResNetConfig(
        filters=filters,
        blocks=len(find(net, "weights.residual")),
        se_hidden=_se_hidden(net),
        value=ConvHeadConfig(
            _channels(net, f"{value_path}.value.weights", filters), count(net, f"{value_path}.ip1_val_b")
        ),
        moves_left=moves_left,
        policy=policy,
        policy_channels=policy_channels,
        activation=file.format.activation(),
    )


def _channels(net: Message, path: str, inputs: int) -> int:
    return divided(count(net, path), inputs, path)


def _se_hidden(net: Message) -> int | None:
    with_se = [block.get("se") is not None for block in find(net, "weights.residual")]
    if all(with_se):
        return count(net, "weights.residual[0].se.b1")
    if any(with_se):
        missing = with_se.index(False)
        raise NetworkFileError(f"weights.residual[{missing}].se: missing, while other blocks have it")
    return None


def rows(config: SEResNetConfig, file: NetworkFile, policy_head: str, value_head: str) -> list[Row]:
    """The binding table."""
    filters = config.filters
    policy_path, value_path = file.policy_head_path(policy_head), file.value_head_path(value_head)
    table: list[Row] = [ConvRow("input", "weights.input", (filters, INPUT_PLANES, 3, 3))]
    for index in range(config.blocks):
        parameter, path = f"blocks.{index}", f"weights.residual[{index}]"
        table += [
            ConvRow(f"{parameter}.conv1", f"{path}.conv1", (filters, filters, 3, 3)),
            ConvRow(f"{parameter}.conv2", f"{path}.conv2", (filters, filters, 3, 3)),
        ]
        if config.se_hidden is not None:
            table += [
                *linear_rows(
                    f"{parameter}.se.squeeze", f"{path}.se.w1", f"{path}.se.b1", config.se_hidden, filters
                ),
                *linear_rows(
                    f"{parameter}.se.excite", f"{path}.se.w2", f"{path}.se.b2", 2 * filters, config.se_hidden
                ),
            ]
    if config.policy == "convolution":
        table += [
            ConvRow("policy.conv", f"{policy_path}.policy1", (filters, filters, 3, 3)),
            ConvRow("policy.planes", f"{policy_path}.policy", (POLICY_PLANES, filters, 3, 3)),
        ]
    else:
        channels = config.policy_channels
        table += [
            ConvRow("policy.conv", f"{policy_path}.policy", (channels, filters, 1, 1)),
            *linear_rows(
                "policy.output",
                f"{policy_path}.ip_pol_w",
                f"{policy_path}.ip_pol_b",
                POLICY_SIZE,
                channels * 64,
            ),
        ]
    table += [
        *_head_rows("value", f"{value_path}.value", f"{value_path}.ip1_val", config.value, filters),
        *value_output_rows(
            file, "value.output", f"{value_path}.ip2_val_w", f"{value_path}.ip2_val_b", config.value.hidden
        ),
    ]
    if config.moves_left is not None:
        hidden = config.moves_left.hidden
        table += [
            *_head_rows("moves_left", "weights.moves_left", "weights.ip1_mov", config.moves_left, filters),
            *linear_rows("moves_left.output", "weights.ip2_mov_w", "weights.ip2_mov_b", 1, hidden),
        ]
    return table


def _head_rows(parameter: str, conv: str, hidden: str, head: ConvHeadConfig, filters: int) -> list[Row]:
    """All of a head but its last layer."""
    return [
        ConvRow(f"{parameter}.conv", conv, (head.channels, filters, 1, 1)),
        *linear_rows(f"{parameter}.hidden", f"{hidden}_w", f"{hidden}_b", head.hidden, head.channels * 64),
    ]
