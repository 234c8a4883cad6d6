"""The stages `fetch` and `suites` as a user meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from searchless_rl.cli import main
from searchless_rl.lc0 import NetworkFileError, load_network
from searchless_rl.params import SuiteParams
from searchless_rl.suites.download import FetchError
from searchless_rl.suites.fetch_stage import fetch_base
from searchless_rl.suites.files import read_suite
from searchless_rl.suites.stage import make_suites

ROOT = Path(__file__).resolve().parents[2]
MICRO = ROOT / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"
SHARED = Path(os.environ.get("SEARCHLESS_SHARED", ROOT.parent / "shared"))
BUNDLED = ROOT / "data" / "lichess" / "torre_6605_2026.csv"


def as_old_network(path: Path) -> Path:
    """A copy of the network whose header says that its value head is scalar."""
    from searchless_rl.lc0.container import read_protobuf, write_protobuf
    from searchless_rl.lc0.schema import NET
    from searchless_rl.lc0.wire import encode, find, parse

    net = parse(read_protobuf(MICRO), NET)
    find(net, "format.network_format").values["value"] = 3
    write_protobuf(encode(net), path)
    return path


def test_a_supported_base_is_put_in_place(tmp_path: Path) -> None:
    fetch_base(str(MICRO), tmp_path / "data")
    assert (tmp_path / "data" / "fetched" / "base.pb.gz").read_bytes() == MICRO.read_bytes()


def test_an_unsupported_base_is_refused_at_fetch_by_its_own_name(tmp_path: Path) -> None:
    base = as_old_network(tmp_path / "old.pb.gz")
    with pytest.raises(FetchError, match=rf"{base}.* is not a network that can be trained: .*value = PARAM"):
        fetch_base(str(base), tmp_path / "data")
    assert not (tmp_path / "data" / "fetched").exists()
    damaged = tmp_path / "damaged.pb.gz"
    damaged.write_bytes(MICRO.read_bytes()[:5000])
    with pytest.raises(NetworkFileError, match=rf"{damaged}: "):
        fetch_base(str(damaged), tmp_path / "data")
    assert not (tmp_path / "data" / "fetched").exists()


def test_describe_fails_for_a_network_it_calls_unsupported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = as_old_network(tmp_path / "old.pb.gz")
    assert main(["describe", str(base)]) == 1
    said = capsys.readouterr()
    assert "value = PARAM" in json.loads(said.out)["unsupported"]
    assert str(base) in said.err
    assert main(["describe", str(MICRO)]) == 0


def test_a_home_folder_is_expanded_in_every_file_that_parameters_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    lines = BUNDLED.read_text().splitlines()
    (tmp_path / "p.csv").write_text("\n".join(lines[:400]) + "\n")
    (tmp_path / "w.csv").write_text("PuzzleId,Optimal,AnyMate\n")
    (tmp_path / "g.csv").write_text("PuzzleId,GameMoves\n")
    params = SuiteParams(
        source="~/p.csv",
        seed=0,
        selection=10,
        main=10,
        hard=1,
        mate_cap=5,
        control_pool=20,
        winning="~/w.csv",
        any_forced_mate=False,
        game_moves="~/g.csv",
    )
    make_suites(params, tmp_path / "out")
    assert len(read_suite(tmp_path / "out" / "control.csv")) == 20
    (tmp_path / "micro.pb.gz").write_bytes(MICRO.read_bytes())
    fetch_base("~/micro.pb.gz", tmp_path / "data")
    load_network("~/micro.pb.gz")


def test_suites_need_no_torch() -> None:
    """The stage starts in a fraction of a second."""
    code = (
        "import sys, searchless_rl.suites.stage; sys.exit('torch' in sys.modules or 'pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_outputs_that_are_not_finite_stop_the_warm_start_with_the_networks_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that are finite and pass every check of the file, and yet outputs that are not."""
    network = SHARED / "review" / "inputs" / "net_outputs_nan.pb.gz"
    if not network.is_file():
        pytest.skip(f"outside data absent: {network} (set SEARCHLESS_SHARED)")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text((ROOT / "scales" / "smoke.yaml").read_text())
    base = tmp_path / "data" / "base" / "base.pb.gz"
    base.parent.mkdir(parents=True)
    base.write_bytes(network.read_bytes())
    assert main(["warm-start", "0"]) == 1
    said = capsys.readouterr().err
    assert "data/base/base.pb.gz: the network's outputs" in said
    assert not (tmp_path / "data" / "warm_start").exists()
