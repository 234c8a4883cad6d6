"""The two readings of the method, and that switching between them touches nothing else."""

from pathlib import Path

import pytest

from searchless_rl.files import flatten
from searchless_rl.params import ParamsError, load_params
from searchless_rl.presets import METHOD_KEYS, PRESETS, preset_values, write_preset

ROOT = Path(__file__).resolve().parent.parent
SCALES = sorted(path.stem for path in (ROOT / "scales").glob("*.yaml"))

# At Table 2's rates. Second column: what the released trainer does.
READINGS = {
    "temperature_source": ("ema", "online"),
    "cap_target": ("draw", "bootstrap"),
    "learning_rates.value_head": (3e-5, 3e-6),
    "base_wdl_coefficient": (0.0, 0.02),
    "promotions": ("separate", "merged"),
    "reverse_kl_floor": (0.0, 1e-8),
}


def _comments(path):
    return [line.partition("#")[2] for line in path.read_text().splitlines()]


def test_presets_are_the_two_readings_key_by_key():
    params = load_params(ROOT / "scales" / "paper.yaml").selfplay
    for column, name in enumerate(PRESETS):
        assert preset_values(name, params) == {key: both[column] for key, both in READINGS.items()}
    assert {key.key: key.read(params) for key in METHOD_KEYS} == preset_values("paper", params)


@pytest.mark.parametrize("scale", SCALES)
def test_a_preset_changes_its_keys_only_and_paper_brings_all_back(tmp_path, scale):
    source, path = ROOT / "scales" / f"{scale}.yaml", tmp_path / "params.yaml"
    path.write_bytes(source.read_bytes())
    before = flatten(load_params(path).model_dump())
    changed = write_preset("authors_code", path)
    after = flatten(load_params(path).model_dump())
    expected = preset_values("authors_code", load_params(source).selfplay)
    assert changed == expected
    assert {key for key in after if after[key] != before[key]} == {f"selfplay.{key}" for key in READINGS}
    assert {key: after[f"selfplay.{key}"] for key in READINGS} == expected
    assert write_preset("authors_code", path) == {}
    assert set(write_preset("paper", path)) == set(READINGS)
    assert load_params(path) == load_params(source)
    assert _comments(path) == _comments(source)


def test_an_unknown_preset_is_refused_with_those_there_are(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_bytes((ROOT / "scales" / "smoke.yaml").read_bytes())
    with pytest.raises(ParamsError, match="'code' is unknown; allowed: paper, authors_code"):
        write_preset("code", path)
    assert path.read_bytes() == (ROOT / "scales" / "smoke.yaml").read_bytes()
