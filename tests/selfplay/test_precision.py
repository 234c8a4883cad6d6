"""float32 is strict; bf16 and torch.compile change the speed of a step, not what it is."""

import copy
import logging
import shutil

import pytest
import pytorch_lightning as pl
import torch

from searchless_rl.board import GameBatch
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.selfplay.module import SelfPlayModule
from searchless_rl.supervised.control import Example
from searchless_rl.supervised.control_stage import ControlRun


def _gradients(base, cell, params, precision="32-true"):
    """Gradients of the first step from the standard position, by parameter name."""
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    module = SelfPlayModule(copy.deepcopy(base), GameBatch([None] * params.games), cell, params)
    trainer = pl.Trainer(
        max_steps=1, max_epochs=-1, accelerator="cpu", devices=1, logger=False, precision=precision,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(module, torch.utils.data.DataLoader(range(1), batch_size=None))
    named = module.online.named_parameters()
    return {name: parameter.grad for name, parameter in named if parameter.grad is not None}


def _relative_difference(found, expected):
    # A compiled network gives the untrained moves-left head zeros where the eager one gives it nothing.
    assert not any(found[name].any() for name in found.keys() - expected.keys())
    assert expected.keys() <= found.keys()
    both = [(found[name].flatten(), expected[name].flatten()) for name in expected]
    difference = torch.cat([a - b for a, b in both]).norm()
    return float(difference / torch.cat([b for _, b in both]).norm())


@pytest.mark.parametrize("micro_batch", [6, 2])
def test_bf16_gives_every_tensor_its_gradient(network, params, cell, micro_batch):
    """Also in micro-batches, where autocast could hand the second one weights cut off from their gradient."""
    params = params.model_copy(update={"micro_batch": micro_batch})
    expected = _gradients(network, cell, params)
    found = _gradients(network, cell, params, "bf16-mixed")
    assert all(gradient.dtype == torch.float32 for gradient in found.values())
    assert 1e-6 < _relative_difference(found, expected) < 0.1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler on the CPU")
def test_compiled_networks_take_the_same_step(network, params, cell):
    expected = _gradients(network, cell, params)
    found = _gradients(network, cell, params.model_copy(update={"compile": True}))
    assert _relative_difference(found, expected) < 1e-4


@pytest.fixture
def loose():
    """PyTorch set to compute float32 with fewer bits on GPUs; restored afterwards."""
    before = (
        torch.backends.cudnn.allow_tf32,
        torch.backends.cuda.matmul.allow_tf32,
        torch.get_float32_matmul_precision(),
    )
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.set_float32_matmul_precision("medium")
    yield
    torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before[:2]
    torch.set_float32_matmul_precision(before[2])


@pytest.mark.parametrize("runner", ["evaluator", "self-play", "control"])
def test_whatever_runs_a_network_makes_float32_strict(loose, network, cell, params, runner):
    """Evaluation, self-play and the control: none of them computes in TF32."""
    if runner == "evaluator":
        Evaluator(network, 4)
    elif runner == "self-play":
        SelfPlayModule(network, GameBatch([None] * params.games), cell, params)
    else:
        ControlRun(network, [Example("abcde", None, ("e2e4",), "e7e5")], params, 0, "float32")
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.matmul.allow_tf32
    assert torch.get_float32_matmul_precision() == "highest"
