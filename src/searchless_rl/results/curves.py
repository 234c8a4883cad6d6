"""The curves of a training run, one JSON object a step."""

from __future__ import annotations

from pathlib import Path

from searchless_rl.results.document import MalformedFile, finite_number, parse_object

Curve = list[tuple[int, float]]
"""(optimizer step, value), steps ascending."""


def read_steps(path: Path, root: Path | None = None) -> dict[str, Curve]:
    """Every metric of a metrics.jsonl, at the steps that have it.

    Args:
        path: the file.
        root: messages name the file relative to it; None: as given.

    Raises:
        MalformedFile: a line that is torn, no JSON object, out of order or not finite; no metric at all.
    """
    name_of_file = str(path) if root is None else path.relative_to(root).as_posix()
    curves: dict[str, Curve] = {}
    last = 0
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise MalformedFile(f"{name_of_file}: {error}") from error
    for number, line in enumerate(lines, start=1):
        where = f"{name_of_file} line {number}"
        record = parse_object(line, where)
        step = record.pop("step", None)
        if not isinstance(step, int) or isinstance(step, bool) or step <= last:
            raise MalformedFile(f"{where}: step {step!r} after step {last}")
        last = step
        for name, value in record.items():
            curves.setdefault(name, []).append((step, finite_number(value, f"{where}: {name}")))
    if not curves:
        raise MalformedFile(f"{name_of_file}: no metrics")
    return curves
