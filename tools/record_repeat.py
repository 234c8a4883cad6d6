"""Write docs/repeat.md: a recorded run held against a second run of the same parameters, verdict by verdict.

    python tools/record_repeat.py FIRST SECOND "what the first ran on" "what the second ran on"

FIRST and SECOND are report folders. The page is written once, from both; only one of them is kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from searchless_rl.audit.compare import VERDICTS, compare, summary
from searchless_rl.claims.findings import read_findings

PAGE = Path("docs/repeat.md")


def page(first: Path, second: Path, names: tuple[str, str]) -> str:
    """The page: what was run twice, how far the numbers agree, which verdicts changed."""
    counts = summary(compare(second, first))
    shown = counts[["file", *VERDICTS]].to_markdown(index=False)
    ours, theirs = (
        read_findings(folder / "findings.csv").set_index("id").to_dict("index") for folder in (first, second)
    )
    shared = [name for name in ours if name in theirs]
    rows = [
        {
            "The paper's claim": ours[name]["claim"],
            "First run": f"{ours[name]['measured']}: **{ours[name]['as_measured']}**",
            "Second run": f"{theirs[name]['measured']}: **{theirs[name]['as_measured']}**",
        }
        for name in shared
        if ours[name]["as_measured"] != theirs[name]["as_measured"]
    ]
    changed = pd.DataFrame(rows).to_markdown(index=False) if rows else "None."
    return f"""# The same study, run twice

Written by `tools/record_repeat.py`. Two runs of one commit's parameters with the same seeds: the first on
{names[0]}, the second on {names[1]}.

The processor and the number format changed together, and there is one run of each. So a difference may
come from the format or from chance: from the first difference in rounding on, games take other turns.
The page does not tell the two apart, and two runs are too few to say how much results vary; it shows
which do not survive the change.

## Verdicts that changed

{len(rows)} of {len(shared)} findings. An interval over puzzles or games covers neither source of change.

{changed}

## Numbers

`searchless compare`. *Equal*: to all digits written. *Inside*: each value lies in the other's 95 % interval.
*Differs*: unequal, without an interval. *Missing*: rows of one side alone, such as another selected cell.

{shown}
"""


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    PAGE.write_text(page(Path(sys.argv[1]), Path(sys.argv[2]), (sys.argv[3], sys.argv[4])), encoding="utf-8")
    print(f"{PAGE}: written")
