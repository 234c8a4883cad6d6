"""What stages cost: the sum counts each stage once."""

import json
import time
from pathlib import Path

from searchless_rl.pipeline.timing import collect, record


def test_the_sum_leaves_out_the_command_around_the_stages(tmp_path: Path) -> None:
    for name, seconds in (("fan-out", 30.0), ("fetch", 1.25), ("suites", 11.5)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"seconds": seconds, "peak_memory_mib": 5}))
    found = collect(tmp_path, ["fetch", "suites", "never run"], around="fan-out")
    assert found["sum_seconds"] == 12.8
    assert list(found["stages"]) == ["fan-out", "fetch", "suites"]


def test_a_record_is_of_this_process(tmp_path: Path) -> None:
    record(tmp_path, "fetch")
    ((name, cost),) = collect(tmp_path, ["fetch"], around="fan-out")["stages"].items()
    assert name == "fetch"
    assert cost["seconds"] > 0
    assert 20 < cost["peak_memory_mib"] < 1_000_000
    assert "ended" not in cost  # what Git holds has no dates
    ended = json.loads((tmp_path / "fetch.json").read_text())["ended"]
    assert abs(time.time() - ended) < 60
