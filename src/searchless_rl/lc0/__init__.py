"""The Lc0 network file: read, describe, write.

`container` is the compressed file, `wire` and `schema` the protobuf in it, `layer` a tensor. `header` says
what kind of network it is, `families` which module and table belong to it (`chessformer_table` and
`se_resnet_table`, made of `rows`). `network_io` has `load_network` and `save_network`, `new_file` the header
of a network built in Python, `describe` the summary.
"""

from searchless_rl.lc0.describe import describe as describe
from searchless_rl.lc0.errors import NetworkFileError as NetworkFileError
from searchless_rl.lc0.network_io import load_network as load_network
from searchless_rl.lc0.network_io import save_network as save_network

__all__ = ["NetworkFileError", "describe", "load_network", "save_network"]
