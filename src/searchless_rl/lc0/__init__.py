"""The Lc0 network file: read, describe, write."""

from searchless_rl.lc0.describe import describe as describe
from searchless_rl.lc0.errors import NetworkFileError as NetworkFileError
from searchless_rl.lc0.network_io import load_network as load_network
from searchless_rl.lc0.network_io import save_network as save_network

__all__ = ["NetworkFileError", "describe", "load_network", "save_network"]
