"""The network families: which module, and which table, a file belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from searchless_rl.lc0 import chessformer_table, se_resnet_table
from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.header import check_supported
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.lc0.rows import Row
from searchless_rl.lc0.wire import find
from searchless_rl.nets.chessformer import Chessformer
from searchless_rl.nets.se_resnet import SEResNet


@dataclass(frozen=True)
class Family:
    """A module class and its binding table.

    ``read_config(file, policy_head, value_head)`` gives the sizes, ``rows(config, file, policy_head,
    value_head)`` the table.
    """

    name: str
    module: type[Chessformer] | type[SEResNet]
    read_config: Callable[[NetworkFile, str, str], Any]
    rows: Callable[[Any, NetworkFile, str, str], list[Row]]


CHESSFORMER = Family("chessformer", Chessformer, chessformer_table.read_config, chessformer_table.rows)
SE_RESNET = Family("se_resnet", SEResNet, se_resnet_table.read_config, se_resnet_table.rows)


def family_of_file(file: NetworkFile) -> Family:
    """The family of a file; NetworkFileError, naming field and value, where there is none."""
    if file.format.attention_body and find(file.net, "weights.residual[0]") is not None:
        raise NetworkFileError("weights.residual: residual blocks before an attention body are not supported")
    check_supported(file.format)
    return CHESSFORMER if file.format.attention_body else SE_RESNET
