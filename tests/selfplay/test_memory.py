"""Memory that runs out: smaller micro-batches, the same moves and the same gradient."""

import pytest
import torch
from cell_runs import Stop, at_step, stop, train

from searchless_rl.selfplay import module
from searchless_rl.selfplay.guards import TrainingFailure
from searchless_rl.selfplay.memory import is_out_of_memory


def _limit_memory(monkeypatch, most, message="CUDA out of memory. Tried to allocate 2.00 GiB"):
    """The online network's backward pass fails for more than `most` positions at once, after the moves."""
    losses, sizes = module.losses, []

    def limited(log_policy, *rest):
        sizes.append(len(log_policy))
        if len(log_policy) > most:
            raise torch.OutOfMemoryError(message)
        return losses(log_policy, *rest)

    monkeypatch.setattr(module, "losses", limited)
    return sizes


def test_out_of_memory_halves_the_micro_batch_and_nothing_else(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    """6 games fail, 3 at a time pass: bit by bit the run that was told 3 from the start."""
    expected = train(cell, params.model_copy(update={"micro_batch": 3}), micro, warm_start, tmp_path / "3")
    sizes = _limit_memory(monkeypatch, 3)
    with pytest.warns(UserWarning, match=r"out of memory at step 1; going on with 3 positions"):
        found = train(cell, params, micro, warm_start, tmp_path / "6")
    assert found["weights.pb.gz"] == expected["weights.pb.gz"]
    assert found["metrics.jsonl"] == expected["metrics.jsonl"]
    assert sizes == [6] + [3] * (2 * params.steps)


def test_memory_lost_half_way_leaves_no_gradient_behind(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    """4 of 6 games have left their gradient when the other two fail."""
    params = params.model_copy(update={"micro_batch": 2})
    expected = train(cell, params, micro, warm_start, tmp_path / "2")
    losses, sizes = module.losses, []

    def limited(log_policy, *rest):
        sizes.append(len(log_policy))
        if len(sizes) == 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return losses(log_policy, *rest)

    monkeypatch.setattr(module, "losses", limited)
    with pytest.warns(UserWarning, match=r"out of memory at step 1; going on with 2 positions"):
        found = train(cell, params.model_copy(update={"micro_batch": 4}), micro, warm_start, tmp_path / "4")
    assert sizes == [4, 2] + [2, 2, 2] * params.steps
    assert found["weights.pb.gz"] == expected["weights.pb.gz"]
    assert found["metrics.jsonl"] == expected["metrics.jsonl"]


def test_lost_memory_is_recognised_on_the_cpu():
    with pytest.raises(RuntimeError) as lost:
        torch.empty(2**50, dtype=torch.uint8)
    assert is_out_of_memory(lost.value)
    assert not is_out_of_memory(RuntimeError("shapes do not match"))
    assert not is_out_of_memory(MemoryError("DefaultCPUAllocator"))


def test_a_lowered_micro_batch_is_kept_over_an_interruption(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    sizes = _limit_memory(monkeypatch, 3)
    undo = at_step(monkeypatch, 3, stop)
    with pytest.warns(UserWarning, match="out of memory"), pytest.raises(Stop):
        train(cell, params, micro, warm_start, tmp_path)
    undo()
    del sizes[:]
    train(cell, params, micro, warm_start, tmp_path)
    assert set(sizes) == {3}


def test_out_of_memory_with_one_position_stops_with_the_cell_and_step(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    _limit_memory(monkeypatch, 0)
    with (
        pytest.warns(UserWarning, match="out of memory"),
        pytest.raises(
            TrainingFailure, match=r"forward_kl-adaptive-0.01-s0: out of memory with one .* at step 1"
        ),
    ):
        train(cell, params, micro, warm_start, tmp_path)


def test_other_errors_are_not_taken_for_lost_memory(tmp_path, monkeypatch, micro, params, warm_start, cell):
    def broken(*_):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(module, "losses", broken)
    with pytest.raises(RuntimeError, match="^shapes do not match$"):
        train(cell, params, micro, warm_start, tmp_path)
