"""What the Lc0 network families have in common."""

from __future__ import annotations

from torch import nn

_HEAD_ROLES = {"policy": "policy_head", "value": "value_head", "moves_left": "moves_left_head"}


class PolicyValueNet(nn.Module):
    """Base of the Lc0 families: ``forward(planes [B, 112, 8, 8]) -> NetOutput``.

    Subclasses name their repeated layers ``blocks`` and their heads ``policy``, ``value`` and
    ``moves_left``.
    """

    blocks: nn.ModuleList
    source: object | None
    """The network file the parameters came from (set by ``lc0.load_network``, read by ``save_network``).
    Immutable, so copies of the module share it."""

    def __init__(self) -> None:
        super().__init__()
        self.source = None

    def parameter_roles(self) -> dict[str, str]:
        """Every parameter name -> the part of the network that it belongs to.

        "backbone", "final_block" (the last of ``blocks``), "policy_head", "value_head" or
        "moves_left_head". What lies before the blocks, and what they share, is backbone.
        """
        return {name: self._role(name) for name, _ in self.named_parameters()}

    def _role(self, name: str) -> str:
        if name.startswith(f"blocks.{len(self.blocks) - 1}."):
            return "final_block"
        return _HEAD_ROLES.get(name.split(".", 1)[0], "backbone")
