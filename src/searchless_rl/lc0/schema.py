"""Field numbers of the Lc0 network file (protobuf message ``Net``).

Fields that nothing here reads (ONNX models, head maps, tensor dimensions, ...) are left out: the reader
keeps them as unknown fields.
"""

from __future__ import annotations

from searchless_rl.lc0.wire import MessageType

LAYER = MessageType(
    "Layer",
    {1: ("min_val", "float"), 2: ("max_val", "float"), 3: ("params", "bytes"), 4: ("encoding", "uint")},
)


def _layers(name: str, *fields: str) -> MessageType:
    """A message type whose fields 1, 2, 3, ... are layers."""
    return MessageType(name, {number: (field, LAYER) for number, field in enumerate(fields, start=1)})


CONV_BLOCK = _layers("ConvBlock", "weights", "biases", "bn_means", "bn_stddivs", "bn_gammas", "bn_betas")
SE_UNIT = _layers("SEunit", "w1", "b1", "w2", "b2")
RESIDUAL = MessageType("Residual", {1: ("conv1", CONV_BLOCK), 2: ("conv2", CONV_BLOCK), 3: ("se", SE_UNIT)})

SMOLGEN = _layers(
    "Smolgen",
    "compress",
    "dense1_w",
    "dense1_b",
    "ln1_gammas",
    "ln1_betas",
    "dense2_w",
    "dense2_b",
    "ln2_gammas",
    "ln2_betas",
)
MHA = MessageType(
    "MHA",
    {
        1: ("q_w", LAYER),
        2: ("q_b", LAYER),
        3: ("k_w", LAYER),
        4: ("k_b", LAYER),
        5: ("v_w", LAYER),
        6: ("v_b", LAYER),
        7: ("dense_w", LAYER),
        8: ("dense_b", LAYER),
        9: ("smolgen", SMOLGEN),
        10: ("rpe_q", LAYER),
        11: ("rpe_k", LAYER),
        12: ("rpe_v", LAYER),
    },
)
FFN = _layers("FFN", "dense1_w", "dense1_b", "dense2_w", "dense2_b")
ENCODER_LAYER = MessageType(
    "EncoderLayer",
    {
        1: ("mha", MHA),
        2: ("ln1_gammas", LAYER),
        3: ("ln1_betas", LAYER),
        4: ("ffn", FFN),
        5: ("ln2_gammas", LAYER),
        6: ("ln2_betas", LAYER),
    },
)

POLICY_HEAD = MessageType(
    "PolicyHead",
    {
        1: ("ip_pol_w", LAYER),
        2: ("ip_pol_b", LAYER),
        3: ("ip2_pol_w", LAYER),
        4: ("ip2_pol_b", LAYER),
        5: ("ip3_pol_w", LAYER),
        6: ("ip3_pol_b", LAYER),
        7: ("ip4_pol_w", LAYER),
        8: ("pol_encoder", [ENCODER_LAYER]),
        9: ("pol_headcount", "uint"),
        10: ("policy1", CONV_BLOCK),
        11: ("policy", CONV_BLOCK),
    },
)
POLICY_HEADS = MessageType(
    "PolicyHeads",
    {
        1: ("ip_pol_w", LAYER),
        2: ("ip_pol_b", LAYER),
        3: ("vanilla", POLICY_HEAD),
        4: ("optimistic_st", POLICY_HEAD),
        5: ("soft", POLICY_HEAD),
        6: ("opponent", POLICY_HEAD),
    },
)
VALUE_HEAD = MessageType(
    "ValueHead",
    {
        1: ("ip_val_w", LAYER),
        2: ("ip_val_b", LAYER),
        3: ("ip1_val_w", LAYER),
        4: ("ip1_val_b", LAYER),
        5: ("ip2_val_w", LAYER),
        6: ("ip2_val_b", LAYER),
        7: ("ip_val_err_w", LAYER),
        8: ("ip_val_err_b", LAYER),
        9: ("ip_val_cat_w", LAYER),
        10: ("ip_val_cat_b", LAYER),
        11: ("value", CONV_BLOCK),
    },
)
VALUE_HEADS = MessageType(
    "ValueHeads", {1: ("winner", VALUE_HEAD), 2: ("q", VALUE_HEAD), 3: ("st", VALUE_HEAD)}
)

WEIGHTS = MessageType(
    "Weights",
    {
        1: ("input", CONV_BLOCK),
        2: ("residual", [RESIDUAL]),
        3: ("policy", CONV_BLOCK),
        4: ("ip_pol_w", LAYER),
        5: ("ip_pol_b", LAYER),
        6: ("value", CONV_BLOCK),
        7: ("ip1_val_w", LAYER),
        8: ("ip1_val_b", LAYER),
        9: ("ip2_val_w", LAYER),
        10: ("ip2_val_b", LAYER),
        11: ("policy1", CONV_BLOCK),
        12: ("moves_left", CONV_BLOCK),
        13: ("ip1_mov_w", LAYER),
        14: ("ip1_mov_b", LAYER),
        15: ("ip2_mov_w", LAYER),
        16: ("ip2_mov_b", LAYER),
        17: ("ip2_pol_w", LAYER),
        18: ("ip2_pol_b", LAYER),
        19: ("ip3_pol_w", LAYER),
        20: ("ip3_pol_b", LAYER),
        21: ("pol_encoder", [ENCODER_LAYER]),
        22: ("ip4_pol_w", LAYER),
        24: ("pol_headcount", "uint"),
        25: ("ip_emb_w", LAYER),
        26: ("ip_emb_b", LAYER),
        27: ("encoder", [ENCODER_LAYER]),
        28: ("headcount", "uint"),
        29: ("ip_val_w", LAYER),
        30: ("ip_val_b", LAYER),
        31: ("ip_mov_w", LAYER),
        32: ("ip_mov_b", LAYER),
        33: ("ip_mult_gate", LAYER),
        34: ("ip_add_gate", LAYER),
        35: ("smolgen_w", LAYER),
        36: ("smolgen_b", LAYER),
        37: ("ip_emb_preproc_w", LAYER),
        38: ("ip_emb_preproc_b", LAYER),
        39: ("ip_emb_ln_gammas", LAYER),
        40: ("ip_emb_ln_betas", LAYER),
        41: ("ip_emb_ffn", FFN),
        42: ("ip_emb_ffn_ln_gammas", LAYER),
        43: ("ip_emb_ffn_ln_betas", LAYER),
        44: ("value_heads", VALUE_HEADS),
        45: ("policy_heads", POLICY_HEADS),
    },
)

ENGINE_VERSION = MessageType(
    "EngineVersion", {1: ("major", "uint"), 2: ("minor", "uint"), 3: ("patch", "uint")}
)
NETWORK_FORMAT = MessageType(
    "NetworkFormat",
    {
        1: ("input", "uint"),
        2: ("output", "uint"),
        3: ("network", "uint"),
        4: ("policy", "uint"),
        5: ("value", "uint"),
        6: ("moves_left", "uint"),
        7: ("default_activation", "uint"),
        8: ("smolgen_activation", "uint"),
        9: ("ffn_activation", "uint"),
        10: ("input_embedding", "uint"),
    },
)
FORMAT = MessageType("Format", {1: ("weights_encoding", "uint"), 2: ("network_format", NETWORK_FORMAT)})
TRAINING_PARAMS = MessageType(
    "TrainingParams",
    {
        1: ("training_steps", "uint"),
        2: ("learning_rate", "float"),
        3: ("mse_loss", "float"),
        4: ("policy_loss", "float"),
        5: ("accuracy", "float"),
        6: ("lc0_params", "bytes"),
    },
)
NET = MessageType(
    "Net",
    {
        1: ("magic", "fixed32"),
        2: ("license", "bytes"),
        3: ("min_version", ENGINE_VERSION),
        4: ("format", FORMAT),
        5: ("training_params", TRAINING_PARAMS),
        10: ("weights", WEIGHTS),
    },
)
