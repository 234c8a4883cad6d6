"""The tracking store: its default place, its address in reports, the revision it is filled from."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from searchless_rl.checkout import git, main_checkout
from searchless_rl.params import Params

DATABASE = "mlflow.db"
NO_GIT = "no-git"


def default_store(root: Path) -> str:
    """The SQLite tracking URI used without `MLFLOW_TRACKING_URI`; absolute, in `main_checkout`."""
    return f"sqlite:///{main_checkout(root) / DATABASE}"


def experiment_name(params: Params) -> str:
    """The experiment of a scale: suites and step counts of two scales must not meet in one table."""
    return f"{params.tracking.experiment}/{params.scale}"


def git_commit(root: Path) -> str:
    """The commit checked out in `root`, or ``no-git`` (no repository, no commit yet, no Git)."""
    return git(root, "rev-parse", "--verify", "HEAD") or NO_GIT


def params_hash(params: Params) -> str:
    """SHA-256 of the parameter values; comments and order in the file do not count."""
    return hashlib.sha256(json.dumps(params.model_dump(), sort_keys=True).encode()).hexdigest()


def sqlite_file(uri: str) -> Path | None:
    """The database file of an SQLite URI, or None."""
    return Path(uri.removeprefix("sqlite:///")).absolute() if uri.startswith("sqlite:///") else None


def shown_uri(uri: str, root: Path) -> str:
    """The URI for reports: no credentials, no query, and relative to the main checkout where inside it."""
    database = sqlite_file(uri)
    if database is not None:
        main = main_checkout(root)
        inside = database.is_relative_to(main)
        return f"sqlite:///{database.relative_to(main) if inside else database}"
    return _without_userinfo(uri).partition("?")[0]


def without_credentials(text: str, uri: str) -> str:
    """`text` without the password and the query of `uri`, and without the user of any address in it."""
    text = _without_userinfo(text)
    try:
        parts = urlsplit(uri)
    except ValueError:
        return text
    if parts.query:
        text = text.replace(f"?{parts.query}", "")
    secret = parts.password or parts.username  # alone, the user is a token
    for spelling in (secret, unquote(secret)) if secret else ():
        text = text.replace(spelling, "***")
    return text


def _without_userinfo(text: str) -> str:
    return re.sub(r"(?<=://)[^\s/]*@", "", text)
