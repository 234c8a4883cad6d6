"""A scalar value head is read as a WDL head with the same evaluation, and written as one."""

from __future__ import annotations

import numpy as np
import pytest
import random_networks
import torch

from searchless_rl.lc0 import describe, load_network, save_network
from searchless_rl.lc0.layer import decode_layer
from searchless_rl.lc0.wire import find

KINDS = {
    "convolutions": random_networks.conv_network(value=1),
    "no head formats": random_networks.conv_network(value=1, policy=1),
    "attention": random_networks.attention_network(dense=False, multihead=False, network=6, value_format=1),
}
for _old in ("output", "policy", "value"):  # the header of a network older than head formats
    find(KINDS["no head formats"], "format.network_format").values.pop(_old)
find(KINDS["no head formats"], "format.network_format").values["network"] = 2


def scalar_outputs(net, module, planes):
    """float64 [B]: tanh(z) by the tensors of the file, after the module's hidden layer."""
    captured = []
    handle = module.value.output.register_forward_pre_hook(lambda _, inputs: captured.append(inputs[0]))
    with torch.no_grad():
        wdl = module(planes).wdl.double().numpy()
    handle.remove()
    weight, bias = (decode_layer(find(net, f"weights.ip2_val_{part}")) for part in "wb")
    return np.tanh(captured[0].double().numpy() @ weight.astype(float) + bias.astype(float)), wdl


@pytest.fixture(params=KINDS)
def lifted(request, tmp_path):
    net = KINDS[request.param]
    path = random_networks.write(net, tmp_path / "scalar.pb.gz")
    planes = torch.from_numpy(np.random.default_rng(0).random((16, 112, 8, 8), np.float32))
    return net, path, planes


def test_win_minus_loss_is_the_scalar_value_and_draws_have_no_probability(lifted):
    net, path, planes = lifted
    expected, wdl = scalar_outputs(net, load_network(path), planes)
    assert expected.std() > 0.01
    np.testing.assert_allclose(wdl[:, 0] - wdl[:, 2], expected, rtol=0, atol=4e-6)
    assert (wdl[:, 1] > 0).all()
    assert (wdl[:, 1] < 4e-6).all()


def test_what_is_saved_is_a_plain_wdl_network_also_if_nothing_changed(lifted, tmp_path):
    _, path, planes = lifted
    module, saved = load_network(path), tmp_path / "saved.pb.gz"
    save_network(module, saved)
    found = describe(saved)
    assert (found["format"]["value"], found["format"]["output"]) == ("WDL", "WDL")
    assert found["value_lift"] is None
    assert found["unsupported"] is None
    again = load_network(saved)
    with torch.no_grad():
        before, after = module(planes), again(planes)
    assert torch.equal(before.policy, after.policy)  # other tensors keep their bytes
    np.testing.assert_allclose(after.wdl.numpy(), before.wdl.numpy(), rtol=0, atol=1e-4)
    save_network(again, tmp_path / "twice.pb.gz")
    assert (tmp_path / "twice.pb.gz").read_bytes() == saved.read_bytes()


def test_describe_says_what_was_done(lifted):
    _, path, _ = lifted
    found = describe(path)
    assert found["unsupported"] is None
    assert found["value_lift"] == "scalar value z read as win/draw/loss logits (z, -12, -z)"
    assert found["parameters"] == sum(p.numel() for p in load_network(path).parameters())


def test_a_plain_file_loads_like_a_packed_one(lifted, tmp_path):
    net, path, planes = lifted
    from searchless_rl.lc0.wire import encode

    plain = tmp_path / "scalar.pb"
    plain.write_bytes(b"".join(bytes(part) for part in encode(net)))
    with torch.no_grad():
        assert torch.equal(load_network(plain)(planes).wdl, load_network(path)(planes).wdl)


def test_meangirl_evaluates_as_the_real_lc0_recorded(shared):
    """The network itself is fetched, so this looks for it where it has been."""
    network = shared / "lc0" / "meangirl-8.pb.gz"
    if not network.exists():
        pytest.skip(f"{network} is not there")
    with np.load(shared / "lc0" / "golden" / "meangirl-8.npz") as golden, torch.no_grad():
        out = load_network(network)(torch.from_numpy(golden["planes"]))
        np.testing.assert_allclose(out.policy.numpy(), golden["policy_vanilla"], rtol=0, atol=5e-5)
        win_minus_loss = (out.wdl[:, 0] - out.wdl[:, 2]).numpy()
        np.testing.assert_allclose(win_minus_loss, golden["q_winner"], rtol=0, atol=5e-6)
