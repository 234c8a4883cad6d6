"""A name of the package's documentation, looked up."""

import importlib


def named(dotted):
    """A module, function or constant below the package; AttributeError or AssertionError without it."""
    parts = ["searchless_rl", *dotted.split(".")]
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise AssertionError(dotted)
