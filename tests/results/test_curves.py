"""Training curves are read line by line."""

import json

import pytest

from searchless_rl.results.curves import read_steps
from searchless_rl.results.document import MalformedFile


def _write(tmp_path, *records):
    path = tmp_path / "metrics.jsonl"
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_a_metric_has_the_steps_that_measured_it(tmp_path):
    records = [{"step": 1, "loss": 2.0, "kl": 0.5}, {"step": 2, "loss": 1.5}, {"step": 4, "kl": 0.25}]
    assert read_steps(_write(tmp_path, *records)) == {
        "loss": [(1, 2.0), (2, 1.5)],
        "kl": [(1, 0.5), (4, 0.25)],
    }


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"step": 1, "loss": 1}, '{"step": 2, "lo'], "metrics.jsonl line 2: not JSON, or cut off"),
        ([{"step": 1, "loss": 1}, {"step": 1, "loss": 1}], "metrics.jsonl line 2: step 1 after step 1"),
        ([{"step": True, "loss": 1}], "metrics.jsonl line 1: step True after step 0"),
        (['{"step": 1, "loss": NaN}'], "metrics.jsonl line 1: loss: nan is not a finite number"),
        ([], "metrics.jsonl: no metrics"),
    ],
)
def test_a_faulty_line_is_named(tmp_path, records, message):
    with pytest.raises(MalformedFile) as caught:
        read_steps(_write(tmp_path, *records), tmp_path)
    assert str(caught.value).startswith(message)
