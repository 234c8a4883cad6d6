"""The CSV of a report, read as it was written: counts stay integers, and text stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

_INTEGER = re.compile(r"-?\d+")


class ReportError(ValueError):
    """A report that cannot be read."""


def read_table(path: Path) -> pd.DataFrame:
    """A written frame: integer columns as Int64, other numbers as float64, flags as bool, text as str.

    Raises:
        ReportError: as `texts_of`.
    """
    written, frame = texts_of(path), pd.read_csv(path)
    for name in frame.columns:
        if pd.api.types.is_string_dtype(frame[name]):
            frame[name] = frame[name].fillna("")
        texts = [text for text in written[name] if text]
        if pd.api.types.is_float_dtype(frame[name]) and texts and all(map(_INTEGER.fullmatch, texts)):
            frame[name] = frame[name].astype("Int64")
    return frame


def texts_of(path: Path) -> pd.DataFrame:
    """The same as text, entry by entry; an empty entry is an empty text.

    Raises:
        ReportError: no such file, or not a table.
    """
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    except FileNotFoundError:
        raise ReportError(f"{path}: no such file") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: not a table: {error}") from error


def intervals(columns: list[str]) -> Iterator[tuple[str, str, str]]:
    """Columns that hold a value and its interval: (value, low, high).

    ``PREFIXlow`` and ``PREFIXhigh`` belong to the column PREFIX without its last underscore, if there is one,
    else to the nearest column before them that begins with PREFIX and is no count.
    """
    for place, low in enumerate(columns):
        prefix = low.removesuffix("low")
        high = f"{prefix}high"
        if prefix == low or high not in columns:
            continue
        own = prefix.rstrip("_")
        before = (name for name in reversed(columns[:place]) if name.startswith(prefix))
        nearest = next((name for name in before if name.split("_")[-1] not in ("k", "n")), None)
        value = own if own in columns else nearest
        if value is not None:
            yield value, low, high
