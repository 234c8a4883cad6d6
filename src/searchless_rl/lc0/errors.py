"""The one exception of this package."""


class NetworkFileError(ValueError):
    """A network file that cannot be read or is not supported; the message names the file and the field."""
