"""Random network files of every supported shape, written tensor by tensor from the file format.

Independent of the binding tables: field names and tensor orders are written out here again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from searchless_rl.lc0 import schema
from searchless_rl.lc0.container import write_protobuf
from searchless_rl.lc0.layer import encode_layer
from searchless_rl.lc0.wire import Message, encode

WIDTH, HEADS, FFN = 24, 3, 40
POSITION = 3  # channels a square of the dense embedding
HIDDEN = 128
FILTERS = 16


def make_layer(values: np.ndarray, path: str) -> Message:
    """A new layer message with the given values."""
    return Message(schema.LAYER, **encode_layer(values, path))


class Maker:
    """Draws layers; weights are scaled by their fan-in so that logits stay of the order of one."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def weight(self, *shape: int, planes: bool = False) -> Message:
        """``planes``: the inputs begin with the 112 planes, where the clock (0 to 99) has index 109."""
        values = self.rng.normal(0, 1.5 / np.sqrt(np.prod(shape[1:])), shape)
        if planes:
            values[:, 109] /= 99
        return make_layer(values, "weight")

    def vector(self, size: int, center: float = 0.0) -> Message:
        return make_layer(self.rng.normal(center, 0.2, size), "vector")

    def positive(self, size: int) -> Message:
        return make_layer(self.rng.uniform(0.3, 1.5, size), "positive")

    def dense(self, name: str, outputs: int, inputs: int, *, bias: bool = True) -> dict[str, Message]:
        fields = {f"{name}_w": self.weight(outputs, inputs)}
        return fields | {f"{name}_b": self.vector(outputs)} if bias else fields

    def norm(self, name: str, size: int) -> dict[str, Message]:
        return {f"{name}_gammas": self.vector(size, 1.0), f"{name}_betas": self.vector(size)}

    def conv(self, outputs: int, inputs: int, size: int, kind: str = "bias") -> Message:
        """kind: "bias", "bn" (means, variances, gammas, betas), "old_bn" (means, variances, bias)."""
        fields = {"weights": self.weight(outputs, inputs, size, size, planes=inputs == 112)}
        if kind != "bn":
            fields["biases"] = self.vector(outputs)
        if kind in ("bn", "old_bn"):
            fields |= {"bn_means": self.vector(outputs), "bn_stddivs": self.positive(outputs)}
        if kind == "bn":
            fields |= {"bn_gammas": self.vector(outputs, 1.0), "bn_betas": self.vector(outputs)}
        return Message(schema.CONV_BLOCK, **fields)

    def ffn(self, width: int, hidden: int) -> Message:
        return Message(
            schema.FFN, **self.dense("dense1", hidden, width), **self.dense("dense2", width, hidden)
        )

    def encoder(
        self, width: int, attention: int, ffn: int, smolgen: tuple[int, int, int] | None = None
    ) -> Message:
        mha = Message(
            schema.MHA,
            **self.dense("q", attention, width),
            **self.dense("k", attention, width),
            **self.dense("v", attention, width),
            **self.dense("dense", width, attention),
        )
        if smolgen is not None:
            compress, hidden, generator = smolgen
            mha.values["smolgen"] = Message(
                schema.SMOLGEN,
                compress=self.weight(compress, width),
                **self.dense("dense1", hidden, 64 * compress),
                **self.norm("ln1", hidden),
                **self.dense("dense2", HEADS * generator, hidden),
                **self.norm("ln2", HEADS * generator),
            )
        return Message(
            schema.ENCODER_LAYER,
            mha=mha,
            ffn=self.ffn(width, ffn),
            **self.norm("ln1", width),
            **self.norm("ln2", width),
        )


def _net(weights: Message, version: int, **network_format: int) -> Message:
    header = {"input": 1, "output": 2, "value": 2} | network_format
    return Message(
        schema.NET,
        magic=0x1C0,
        license=b"random numbers",
        min_version=Message(schema.ENGINE_VERSION, major=0, minor=version, patch=0),
        format=Message(
            schema.FORMAT,
            weights_encoding=1,
            network_format=Message(schema.NETWORK_FORMAT, **header),
        ),
        training_params=Message(schema.TRAINING_PARAMS, training_steps=7, accuracy=0.25, lc0_params=b"none"),
        weights=weights,
    )


def attention_network(
    seed: int = 0,
    *,
    dense: bool = True,
    gates: bool = True,
    smolgen: bool = True,
    policy_encoders: int = 0,
    embedding: str = "shared",
    multihead: bool = True,
    network: int = 7,
    moves_left: bool = True,
    attention: int = WIDTH,
    default_activation: int = 1,
    ffn_activation: int = 0,
    smolgen_activation: int = 7,
    value_format: int = 2,
) -> Message:
    """An attention-body ``Net``. ``embedding``: where the policy embedding is: "shared", "own", "top"."""
    make = Maker(seed)
    sizes = (2, 20, 12)  # smolgen
    weights: dict[str, Any] = {
        "ip_emb_w": make.weight(WIDTH, 112 + (POSITION if dense else 64), planes=True),
        "ip_emb_b": make.vector(WIDTH),
        "encoder": [make.encoder(WIDTH, attention, FFN, sizes if smolgen else None) for _ in range(2)],
        "headcount": HEADS,
    }
    if dense:
        weights |= {
            **make.dense("ip_emb_preproc", 64 * POSITION, 768),
            **make.norm("ip_emb_ln", WIDTH),
            "ip_emb_ffn": make.ffn(WIDTH, FFN),
            **make.norm("ip_emb_ffn_ln", WIDTH),
        }
    if gates:
        weights |= {"ip_mult_gate": make.vector(64 * WIDTH, 1.0), "ip_add_gate": make.vector(64 * WIDTH)}
    if smolgen:
        weights["smolgen_w"] = make.weight(4096, sizes[2])
    if moves_left:
        weights |= {
            **make.dense("ip_mov", 3, WIDTH),
            **make.dense("ip1_mov", HIDDEN, 64 * 3),
            "ip2_mov_w": make.weight(1, HIDDEN),
            "ip2_mov_b": make_layer(np.array([3.0]), "ip2_mov_b"),
        }

    policy_embedding, policy_width = 20, 28
    policies = {name: {} for name in ("vanilla", "optimistic_st")} if multihead else {"vanilla": {}}
    for fields in policies.values():
        if policy_encoders:
            fields["pol_encoder"] = [
                make.encoder(policy_embedding, policy_embedding, FFN) for _ in range(policy_encoders)
            ]
            fields["pol_headcount"] = 2
        fields |= make.dense("ip2_pol", policy_width, policy_embedding)
        fields |= make.dense("ip3_pol", policy_width, policy_embedding)
        fields |= make.dense("ip4_pol", 4, policy_width, bias=False)
        if embedding == "own":
            fields |= make.dense("ip_pol", policy_embedding, WIDTH)
    value = {
        **make.dense("ip_val", 5, WIDTH),
        **make.dense("ip1_val", HIDDEN, 64 * 5),
        **make.dense("ip2_val", 3 if value_format == 2 else 1, HIDDEN),
    }
    shared = {} if embedding == "own" else make.dense("ip_pol", policy_embedding, WIDTH)
    if multihead:
        heads = {name: Message(schema.POLICY_HEAD, **fields) for name, fields in policies.items()}
        in_group, at_top = (shared, {}) if embedding == "shared" else ({}, shared)
        weights |= at_top
        weights["policy_heads"] = Message(schema.POLICY_HEADS, **in_group, **heads)
        weights["value_heads"] = Message(
            schema.VALUE_HEADS,
            winner=Message(schema.VALUE_HEAD, **value, **make.dense("ip_val_err", 1, HIDDEN)),
        )
    else:
        weights |= policies["vanilla"] | value | shared
    return _net(
        Message(schema.WEIGHTS, **weights),
        31 if multihead else 30,
        output=value_format,
        value=value_format,
        network=network,
        policy=3,
        moves_left=int(moves_left),
        default_activation=default_activation,
        smolgen_activation=smolgen_activation,
        ffn_activation=ffn_activation,
        input_embedding=2 if dense else 1,
    )


def conv_network(
    seed: int = 0,
    *,
    se: bool = True,
    policy: int = 2,
    moves_left: bool = False,
    mish: bool = False,
    conv: str = "bn",
    value: int = 2,
) -> Message:
    """A convolutional ``Net``. ``policy``: 1 classical, 2 convolution. ``conv``: as in Maker.conv."""
    make = Maker(seed)

    def residual() -> Message:
        block = Message(
            schema.RESIDUAL,
            conv1=make.conv(FILTERS, FILTERS, 3, conv),
            conv2=make.conv(FILTERS, FILTERS, 3, conv),
        )
        if se:
            block.values["se"] = Message(
                schema.SE_UNIT,
                w1=make.weight(4, FILTERS),
                b1=make.vector(4),
                w2=make.weight(2 * FILTERS, 4),
                b2=make.vector(2 * FILTERS),
            )
        return block

    weights: dict[str, Any] = {
        "input": make.conv(FILTERS, 112, 3, conv),
        "residual": [residual() for _ in range(2)],
        "value": make.conv(6, FILTERS, 1, conv),
        **make.dense("ip1_val", HIDDEN, 6 * 64),
        **make.dense("ip2_val", 3 if value == 2 else 1, HIDDEN),
    }
    if policy == 2:
        weights |= {
            "policy1": make.conv(FILTERS, FILTERS, 3, conv),
            "policy": make.conv(80, FILTERS, 3),
        }
    else:
        weights |= {"policy": make.conv(8, FILTERS, 1, conv), **make.dense("ip_pol", 1858, 8 * 64)}
    if moves_left:
        weights |= {
            "moves_left": make.conv(4, FILTERS, 1, conv),
            **make.dense("ip1_mov", HIDDEN, 4 * 64),
            "ip2_mov_w": make.weight(1, HIDDEN),
            "ip2_mov_b": make_layer(np.array([2.0]), "ip2_mov_b"),
        }
    return _net(
        Message(schema.WEIGHTS, **weights),
        29 if mish else 21,
        output=value,
        value=value,
        network=4 if se else 3,
        policy=policy,
        moves_left=int(moves_left),
        default_activation=int(mish),
    )


def write(net: Message, path: Path) -> Path:
    """Write a ``Net`` as a ``.pb.gz`` and return the path."""
    write_protobuf(encode(net), path)
    return path
