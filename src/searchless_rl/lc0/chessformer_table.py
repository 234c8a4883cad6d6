"""Where an attention-body network's sizes and parameters are in a network file."""

from __future__ import annotations

from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.header import InputEmbedding, MovesLeftFormat
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.lc0.rows import Row, TensorRow, count, divided, linear_rows, norm_rows, present
from searchless_rl.lc0.value_lift import value_output_rows
from searchless_rl.lc0.wire import Message, find
from searchless_rl.nets.attention_heads import AttentionPolicyConfig, TokenHeadConfig
from searchless_rl.nets.chessformer import PIECE_PLANES, ChessformerConfig, DenseEmbeddingConfig
from searchless_rl.nets.encoder import SQUARES, EncoderConfig, SmolgenConfig

_SMOLGEN = "weights.encoder[0].mha.smolgen"


def read_config(file: NetworkFile, policy_head: str, value_head: str) -> ChessformerConfig:
    """Sizes from the lengths of the tensors; NetworkFileError where they fit no network."""
    net = file.net
    width = count(net, "weights.ip_emb_b")
    value_path = file.value_head_path(value_head)
    encoders = _encoders(net, "weights.encoder", "weights.headcount")
    if encoders is None:
        raise NetworkFileError("weights.encoder: missing")
    dense = None
    if file.format.input_embedding is InputEmbedding.PE_DENSE:
        position = count(net, "weights.ip_emb_preproc_b")
        dense = DenseEmbeddingConfig(
            divided(position, SQUARES, "weights.ip_emb_preproc_b"), count(net, "weights.ip_emb_ffn.dense1_b")
        )
    moves_left = None
    if file.format.moves_left is MovesLeftFormat.V1:
        moves_left = TokenHeadConfig(count(net, "weights.ip_mov_b"), count(net, "weights.ip1_mov_b"))
    return ChessformerConfig(
        width=width,
        encoders=encoders,
        policy=_policy(file, policy_head),
        value=TokenHeadConfig(count(net, f"{value_path}.ip_val_b"), count(net, f"{value_path}.ip1_val_b")),
        moves_left=moves_left,
        dense=dense,
        gates=_gates(net),
        smolgen=_smolgen(net, width, encoders),
        activation=file.format.activation(),
        ffn_activation=file.format.activation(file.format.ffn_activation),
        smolgen_activation=file.format.activation(file.format.smolgen_activation),
    )


def _encoders(net: Message, path: str, headcount_path: str) -> EncoderConfig | None:
    """Sizes of a stack of encoders, from its first; None where there are none."""
    layers = find(net, path)
    if not layers:
        return None
    for index, layer in enumerate(layers):
        for name in ("rpe_q", "rpe_k", "rpe_v"):
            if present(layer, f"mha.{name}"):
                raise NetworkFileError(
                    f"{path}[{index}].mha.{name}: relative position encoding is not supported"
                )
    attention, heads = count(net, f"{path}[0].mha.q_b"), find(net, headcount_path)
    if not heads:
        raise NetworkFileError(f"{headcount_path}: missing or 0")
    divided(attention, heads, f"{path}[0].mha.q_b, heads")
    return EncoderConfig(len(layers), heads, attention, count(net, f"{path}[0].ffn.dense1_b"))


def _gates(net: Message) -> bool:
    names = ("weights.ip_mult_gate", "weights.ip_add_gate")
    found = [present(net, name) for name in names]
    if any(found) and not all(found):
        raise NetworkFileError(
            f"{names[found.index(False)]}: missing, while {names[found.index(True)]} is there"
        )
    return all(found)


def _smolgen(net: Message, width: int, encoders: EncoderConfig) -> SmolgenConfig | None:
    with_smolgen = [find(layer, "mha.smolgen") is not None for layer in find(net, "weights.encoder")]
    if not any(with_smolgen):
        return None
    if not all(with_smolgen):
        missing = with_smolgen.index(False)
        raise NetworkFileError(
            f"weights.encoder[{missing}].mha.smolgen: missing, while other encoders have it"
        )
    return SmolgenConfig(
        compress=divided(count(net, f"{_SMOLGEN}.compress"), width, f"{_SMOLGEN}.compress"),
        hidden=count(net, f"{_SMOLGEN}.dense1_b"),
        generator=divided(count(net, f"{_SMOLGEN}.dense2_b"), encoders.heads, f"{_SMOLGEN}.dense2_b"),
    )


def _policy(file: NetworkFile, policy_head: str) -> AttentionPolicyConfig:
    net, path = file.net, file.policy_head_path(policy_head)
    encoders = _encoders(net, f"{path}.pol_encoder", f"{path}.pol_headcount")
    for index in range(encoders.layers if encoders else 0):
        smolgen = f"{path}.pol_encoder[{index}].mha.smolgen"
        if find(net, smolgen) is not None:
            raise NetworkFileError(f"{smolgen}: smolgen in a policy head is not supported")
    bias = _policy_embedding(file, policy_head)[1][0]
    return AttentionPolicyConfig(count(net, bias), count(net, f"{path}.ip2_pol_b"), encoders)


def _policy_embedding(file: NetworkFile, policy_head: str) -> list[tuple[str, str | None]]:
    """(path, path for a changed value) of the policy embedding's weight and bias.

    Heads without an embedding of their own use the one in ``policy_heads``, else the one at top level.
    If a head that is not loaded uses it too, a changed embedding becomes the loaded head's own.
    """
    net, own = file.net, file.policy_head_path(policy_head)
    paths: list[tuple[str, str | None]] = []
    for name in ("ip_pol_w", "ip_pol_b"):
        candidates = [f"{own}.{name}", f"weights.policy_heads.{name}", f"weights.{name}"]
        # In a file yet to be written, none is present: the first.
        path = next((path for path in candidates if present(net, path)), candidates[0])
        others = [file.policy_head_path(head) for head in file.policy_heads() if head != policy_head]
        shared = path != candidates[0] and any(not present(net, f"{other}.{name}") for other in others)
        paths.append((path, candidates[0] if shared else None))
    return paths


def rows(config: ChessformerConfig, file: NetworkFile, policy_head: str, value_head: str) -> list[Row]:
    """The binding table."""
    width, policy_path = config.width, file.policy_head_path(policy_head)
    table: list[Row] = [*_embedding_rows(config)]
    if config.smolgen is not None:
        shape = (SQUARES * SQUARES, config.smolgen.generator)
        table.append(TensorRow("smolgen_generator", "weights.smolgen_w", shape))
    for index in range(config.encoders.layers):
        table += _encoder_rows(
            f"blocks.{index}", f"weights.encoder[{index}]", width, config.encoders, config.smolgen
        )
    table += _policy_rows(config, policy_path, _policy_embedding(file, policy_head))
    value_path = file.value_head_path(value_head)
    table += [
        *_head_rows("value", f"{value_path}.ip{{}}_val", width, config.value),
        *value_output_rows(
            file, "value.output", f"{value_path}.ip2_val_w", f"{value_path}.ip2_val_b", config.value.hidden
        ),
    ]
    if config.moves_left is not None:
        hidden = config.moves_left.hidden
        table += [
            *_head_rows("moves_left", "weights.ip{}_mov", width, config.moves_left),
            *linear_rows("moves_left.output", "weights.ip2_mov_w", "weights.ip2_mov_b", 1, hidden),
        ]
    return table


def _embedding_rows(config: ChessformerConfig) -> list[TensorRow]:
    width = config.width
    rows = linear_rows(
        "embedding.project", "weights.ip_emb_w", "weights.ip_emb_b", width, config.embedding_inputs
    )
    if config.dense is not None:
        rows += [
            *linear_rows(
                "embedding.preprocess",
                "weights.ip_emb_preproc_w",
                "weights.ip_emb_preproc_b",
                SQUARES * config.dense.position,
                SQUARES * PIECE_PLANES,
            ),
            *norm_rows("embedding.norm", "weights.ip_emb_ln", width),
            *_ffn_rows("embedding.ffn", "weights.ip_emb_ffn", width, config.dense.ffn),
            *norm_rows("embedding.ffn_norm", "weights.ip_emb_ffn_ln", width),
        ]
    if config.gates:
        rows += [
            TensorRow("embedding.gate.scale", "weights.ip_mult_gate", (SQUARES, width), transposed=True),
            TensorRow("embedding.gate.shift", "weights.ip_add_gate", (SQUARES, width), transposed=True),
        ]
    return rows


def _ffn_rows(parameter: str, path: str, width: int, hidden: int) -> list[TensorRow]:
    return [
        *linear_rows(f"{parameter}.expand", f"{path}.dense1_w", f"{path}.dense1_b", hidden, width),
        *linear_rows(f"{parameter}.contract", f"{path}.dense2_w", f"{path}.dense2_b", width, hidden),
    ]


def _encoder_rows(
    parameter: str, path: str, width: int, config: EncoderConfig, smolgen: SmolgenConfig | None
) -> list[TensorRow]:
    mha, attention = f"{path}.mha", config.attention
    rows = [
        *linear_rows(f"{parameter}.attention.query", f"{mha}.q_w", f"{mha}.q_b", attention, width),
        *linear_rows(f"{parameter}.attention.key", f"{mha}.k_w", f"{mha}.k_b", attention, width),
        *linear_rows(f"{parameter}.attention.value", f"{mha}.v_w", f"{mha}.v_b", attention, width),
        *linear_rows(f"{parameter}.attention.output", f"{mha}.dense_w", f"{mha}.dense_b", width, attention),
        *norm_rows(f"{parameter}.attention_norm", f"{path}.ln1", width),
        *_ffn_rows(f"{parameter}.ffn", f"{path}.ffn", width, config.ffn),
        *norm_rows(f"{parameter}.ffn_norm", f"{path}.ln2", width),
    ]
    if smolgen is not None:
        name, gen = f"{parameter}.attention.smolgen", f"{mha}.smolgen"
        outputs = config.heads * smolgen.generator
        rows += [
            *linear_rows(f"{name}.compress", f"{gen}.compress", None, smolgen.compress, width),
            *linear_rows(
                f"{name}.hidden",
                f"{gen}.dense1_w",
                f"{gen}.dense1_b",
                smolgen.hidden,
                SQUARES * smolgen.compress,
            ),
            *norm_rows(f"{name}.hidden_norm", f"{gen}.ln1", smolgen.hidden),
            *linear_rows(f"{name}.per_head", f"{gen}.dense2_w", f"{gen}.dense2_b", outputs, smolgen.hidden),
            *norm_rows(f"{name}.per_head_norm", f"{gen}.ln2", outputs),
        ]
    return rows


def _policy_rows(
    config: ChessformerConfig, path: str, embedding: list[tuple[str, str | None]]
) -> list[TensorRow]:
    policy = config.policy
    (weight, own_weight), (bias, own_bias) = embedding
    inner, outer = policy.embedding, policy.width
    rows = [
        TensorRow("policy.embedding.weight", weight, (inner, config.width), own_path=own_weight),
        TensorRow("policy.embedding.bias", bias, (inner,), own_path=own_bias),
        *linear_rows("policy.query", f"{path}.ip2_pol_w", f"{path}.ip2_pol_b", outer, inner),
        *linear_rows("policy.key", f"{path}.ip3_pol_w", f"{path}.ip3_pol_b", outer, inner),
        *linear_rows("policy.promotion", f"{path}.ip4_pol_w", None, 4, outer),
    ]
    if policy.encoders is not None:
        for index in range(policy.encoders.layers):
            rows += _encoder_rows(
                f"policy.encoders.{index}", f"{path}.pol_encoder[{index}]", inner, policy.encoders, None
            )
    return rows


def _head_rows(parameter: str, path: str, width: int, head: TokenHeadConfig) -> list[TensorRow]:
    """All of a head but its last layer."""
    embedding, hidden = path.format(""), path.format(1)
    return [
        *linear_rows(f"{parameter}.embedding", f"{embedding}_w", f"{embedding}_b", head.channels, width),
        *linear_rows(
            f"{parameter}.hidden", f"{hidden}_w", f"{hidden}_b", head.hidden, SQUARES * head.channels
        ),
    ]
