"""Checkpoint files: whole, hashed, unexecuted; damage of any kind is one error that says what to do."""

import io
import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from cell_runs import Stop, at_step, checkpointed_step, stop, train

from searchless_rl.selfplay import checkpoint, stage
from searchless_rl.selfplay.checkpoint import MAGIC, read_checkpoint, write_checkpoint
from searchless_rl.selfplay.stage import CHECKPOINT
from searchless_rl.unfinished import CannotContinue


class Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self._path = path

    def __reduce__(self):
        return (Path.touch, (self._path,))


@pytest.fixture
def interrupted(tmp_path, monkeypatch, micro, params, warm_start, cell):
    """The checkpoint of a cell stopped after step 2."""
    undo = at_step(monkeypatch, 3, stop)
    with pytest.raises(Stop):
        train(cell, params, micro, warm_start, tmp_path)
    undo()
    return tmp_path / "scratch" / CHECKPOINT


def _refused(tmp_path, micro, params, warm_start, cell, words=""):
    """Training ends with one error that names file and remedy, and starts again once that is followed."""
    scratch = tmp_path / "scratch"
    with pytest.raises(CannotContinue) as refusal:
        train(cell, params, micro, warm_start, tmp_path)
    text = str(refusal.value)
    assert text.startswith(f"{scratch / CHECKPOINT}: not a ")
    assert text.endswith(f"delete {scratch} to start again")
    assert "weights_only" not in text
    assert "\n" not in text
    assert words in text
    return text


def test_a_payload_is_refused_unexecuted(tmp_path, interrupted, micro, params, warm_start, cell):
    """A real one, in a file that is whole and has the right hash."""
    executed = tmp_path / "executed"
    state = read_checkpoint(interrupted, ())
    write_checkpoint(interrupted, state | {"payload": Payload(executed)})
    _refused(tmp_path, micro, params, warm_start, cell, "objects other than tensors")
    assert not executed.exists()


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "bare", "longer", "block", "bit", "trailer"])
def test_damage_is_refused(tmp_path, interrupted, micro, params, warm_start, cell, damage):
    content = interrupted.read_bytes()
    middle = len(content) // 2
    changed = {
        "empty": b"",
        "cut": content[:middle],
        "text": b"no checkpoint",
        "bare": content[: -checkpoint.TRAILER_BYTES],
        "longer": content + b"\0",
        "block": content[:middle] + bytes(512) + content[middle + 512 :],
        "bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "trailer": content[:-1] + bytes([content[-1] ^ 1]),
    }[damage]
    interrupted.write_bytes(changed)
    _refused(tmp_path, micro, params, warm_start, cell)


def test_no_random_damage_is_accepted(tmp_path):
    path = tmp_path / "last.ckpt"
    write_checkpoint(path, {"step": 1, "tensor": torch.arange(1000.0)})
    content, rng = path.read_bytes(), random.Random(0)
    for _ in range(300):
        damaged, at = bytearray(content), rng.randrange(len(content))
        if rng.random() < 0.5:
            damaged[at] ^= 1 << rng.randrange(8)
        else:
            del damaged[at : at + rng.randrange(1, 600)]
        path.write_bytes(damaged)
        with pytest.raises(CannotContinue, match=r"last\.ckpt: not a usable checkpoint"):
            read_checkpoint(path, ("step",))


def _without(key):
    return lambda state: state.pop(key)


def _spoil(state):
    next(iter(state["state_dict"].values())).view(-1)[0] = torch.nan


def _widen(state):
    name = next(iter(state["state_dict"]))
    state["state_dict"][name] = torch.zeros(3)


def _forget_moments(state):
    state["optimizer_states"][0]["state"] = {}


def _spoil_moments(state):
    state["optimizer_states"][0]["state"][0]["exp_avg"].view(-1)[0] = torch.inf


def _illegal_game(state):
    state["games"]["moves"][0] = [99999]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without("games"), "missing: 'games'"),
        (_without("loops"), "missing: 'loops'"),
        (_without("optimizer_states"), "missing: 'optimizer_states'"),
        (lambda state: state.update(loops={}), "missing"),
        (_spoil, "is not finite"),
        (lambda state: state["state_dict"].popitem(), "is missing"),
        (_widen, "has shape (3,), not "),
        (_forget_moments, "the optimizer state of backbone is missing (parameter 0)"),
        (_spoil_moments, "exp_avg of backbone (parameter 0) is not finite"),
        (_illegal_game, ""),
        (lambda state: state.update(statistics=3), ""),
        (lambda state: state.update(state_dict=3), ""),
    ],
)
def test_a_whole_checkpoint_of_wrong_content_is_refused(
    tmp_path, interrupted, micro, params, warm_start, cell, change, words
):
    state = read_checkpoint(interrupted, ())
    change(state)
    write_checkpoint(interrupted, state)
    _refused(tmp_path, micro, params, warm_start, cell, words)


def test_a_list_is_no_checkpoint(tmp_path):
    write_checkpoint(tmp_path / "last.ckpt", {})
    stream = io.BytesIO()
    torch.save([1, 2], stream)
    content = stream.getvalue()
    digest = checkpoint.hashlib.sha256(content).hexdigest().encode()
    (tmp_path / "last.ckpt").write_bytes(content + MAGIC + digest)
    with pytest.raises(CannotContinue, match="not a usable checkpoint"):
        read_checkpoint(tmp_path / "last.ckpt", ("step",))


WRITE = """
import sys
from pathlib import Path
import torch
from searchless_rl.selfplay.checkpoint import write_checkpoint

path = Path(sys.argv[1])
write_checkpoint(path, {"step": 1, "tensor": torch.zeros(100)})
before = path.read_bytes()
try:
    write_checkpoint(path, {"step": 2, "tensor": torch.zeros(1_000_000)})
except OSError as error:
    print(error)
assert path.read_bytes() == before
print(sorted(child.name for child in path.parent.iterdir() if child.name != "lost+found"))
"""


def _write_two(path, **options):
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(path)], capture_output=True, text=True, check=True, **options
    )
    return done.stdout.splitlines()


def test_a_full_disk_is_named_and_the_old_checkpoint_stays(tmp_path):
    """A file system of one megabyte, really full."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if not made or made.returncode:
        pytest.skip("no right to mount a small file system")
    try:
        message, names = _write_two(disk / "last.ckpt")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert message == f"[Errno 28] No space left on device: '{disk / 'last.ckpt'}'"
    assert names == "['last.ckpt']"


def test_a_file_limit_is_named_and_the_old_checkpoint_stays(tmp_path):
    """The same failure of the system's write, for users who may not mount."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    message, names = _write_two(tmp_path / "last.ckpt", preexec_fn=limit)
    assert message == f"[Errno 27] File too large: '{tmp_path / 'last.ckpt'}'"
    assert names == "['last.ckpt']"


def test_a_full_disk_at_a_checkpoint_leaves_the_old_one(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    """The system refuses a write of the second checkpoint half-way through; the cell goes on later."""
    expected = train(cell, params, micro, warm_start, tmp_path / "whole")
    writers = []

    class Full(checkpoint._HashedStream):
        def __init__(self, stream):
            super().__init__(stream)
            writers.append(self)
            if len(writers) == 2:
                self._stream = io.FileIO("/dev/full", "w")

    monkeypatch.setattr(checkpoint, "_HashedStream", Full)
    with pytest.raises(OSError, match=r"No space left on device.*last\.ckpt"):
        train(cell, params, micro, warm_start, tmp_path / "full")
    assert {path.name for path in (tmp_path / "full" / "scratch").iterdir()} == {
        *(CHECKPOINT, stage.METRICS, "inputs.json", "lock")
    }
    assert checkpointed_step(tmp_path / "full") == 2
    assert train(cell, params, micro, warm_start, tmp_path / "full") == expected
