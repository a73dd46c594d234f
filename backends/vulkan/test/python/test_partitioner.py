# SPDX-License-Identifier: BSD-3-Clause
"""Options of the partitioner, calls that it does not delegate and the reasons, and data that payloads share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lowered
import pytest
import torch
from reference import payloads
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))

import vulkan_operators

import sdk.extension.llm.custom_ops.custom_ops  # noqa: F401 - registers llama's operators
from sdk.backends.registry import backend
from sdk.backends.vulkan.op_registry import has_impl, operator_name
from sdk.backends.vulkan.options import options_of
from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner, parse_compile_options
from sdk.backends.vulkan.serialization.vulkan_graph_schema import VkMemoryLayout, VkStorageType
from sdk.backends.vulkan.vulkan_preprocess import parse_compile_spec


class Net(nn.Module):
    """Two convolutions with what follows them, and an operator that no GPU has."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, groups=8), nn.BatchNorm2d(8))
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.second(self.first(x))
        return self.head(x.mean((2, 3)))


class Attends(nn.Module):
    """Attention over a dynamic number of positions."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.linear(x).reshape(x.shape[0], x.shape[1], 3, 8).unbind(2)
        return torch.softmax(q @ k.transpose(1, 2), -1) @ v + x.shape[1]


IMAGE = (torch.randn(1, 3, 10, 10),)


def test_declaration() -> None:
    """`--backend vulkan` finds the partitioner (VK-01)."""
    assert isinstance(backend("vulkan").make("partitioner"), VulkanPartitioner)
    assert backend("vulkan").id == "VulkanBackend"


def test_fused_network() -> None:
    """Batch norms and clamps are fused into convolutions, so the net is one delegate."""
    torch.manual_seed(0)
    model = Net()
    for norm in (model.first[1], model.second[1]):
        nn.init.uniform_(norm.running_mean)
        nn.init.uniform_(norm.running_var, 0.5, 2)
        nn.init.uniform_(norm.weight)
    program = lowered.lower(model, IMAGE)
    assert len(payloads(program)) == 1
    assert lowered.names(program) == [
        "et_vk.conv_with_clamp.default",
        "aten.convolution.default",
        "aten.mean.dim",
        "aten.view_copy.default",
        "aten.linear.default",
    ]
    lowered.check(program, model, IMAGE)


def test_compatible_network_has_transitions() -> None:
    """With compat, one clone makes the textures of convolutions contiguous for the linear layer."""
    program = lowered.lower(Net(), IMAGE, compile_options={"compat": "1.4"})
    assert lowered.names(program).count("aten.clone.default") == 1
    (runner,) = lowered.runners(program)
    storages = {v.value.storage_type for v in runner.graph.values if isinstance(v.value, lowered.schema.VkTensor)}
    assert VkStorageType.TEXTURE_3D in storages


def test_memory_is_shared() -> None:
    """A chain of operators needs the memory of two tensors; with skip_memory_planning, each tensor has its own
    memory."""
    model = nn.Sequential(*(nn.Tanh() for _ in range(6)))
    x = (torch.randn(4, 4),)
    for skip, count in ((False, 2), (True, 1)):
        program = lowered.lower(model, x, compile_options={"skip_memory_planning": skip})
        (runner,) = lowered.runners(program)
        tensors = [v.value for v in runner.graph.values if isinstance(v.value, lowered.schema.VkTensor)]
        assert len({tensor.mem_obj_id for tensor in tensors}) == count
        lowered.check(program, model, x)


class Views(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.tanh(x).reshape(4, 6).unsqueeze(1)
        z = torch.relu(y.permute(1, 0, 2).squeeze(0))  # no element moves
        return z.permute(1, 0), y.reshape(24) + 1  # here all do


@pytest.mark.parametrize("options", [{}, {"force_fp16": True}, {"compat": "1.4"}])
def test_views_have_the_memory_of_their_operand(options: dict[str, Any]) -> None:
    """A view that moves no elements has the memory of its operand. With compat it has its own memory, because the
    original's runtime copies the elements."""
    x = (torch.randn(2, 3, 4),)
    program = lowered.lower(Views(), x, compile_options=options)
    (runner,) = lowered.runners(program)
    memory = [v.value.mem_obj_id if isinstance(v.value, lowered.schema.VkTensor) else -1 for v in runner.graph.values]
    views = [call for call in runner.graph.chain if re.search("view|squeeze|permute", call.name)]
    shared = [memory[call.args[0]] == memory[call.args[-1]] for call in views]
    assert len(views) == 6
    assert shared.count(True) == (0 if "compat" in options else 5)
    lowered.check(program, Views(), x, tolerance=2e-3 if "force_fp16" in options else 1e-5)


def test_equal_weights_are_stored_once() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            self.b.load_state_dict(self.a.state_dict())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.b(self.a(x))

    program = lowered.lower(Twice(), (torch.randn(2, 4),))
    ((_, data),) = payloads(program)
    assert sorted(map(len, data.values())) == [16, 64]


def test_dynamic_shapes() -> None:
    """Sizes change up to the bounds, in views too (VK-05)."""
    size = torch.export.Dim("size", min=2, max=9)
    model = Attends().eval()
    program = lowered.lower(model, (torch.randn(2, 5, 8),), {"x": {1: size}})
    for count in (2, 5, 9):
        lowered.check(program, model, (torch.randn(2, count, 8),))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"operator_blocklist": ["aten.linear.default"]}, "blocklist"),
        ({"operator_blocklist": [torch.ops.aten.linear.default]}, "blocklist"),
        ({"operator_allowlist": ["aten.convolution.default"]}, "allowlist"),
        ({"nn_module_blocklist": ["Linear"]}, "nn_module_blocklist"),
        ({"nn_module_allowlist": ["Conv2d"]}, "nn_module_allowlist"),
        ({"compile_options": {"buffer_limit": 300}}, "buffer_limit"),
    ],
)
def test_what_is_left_has_a_reason(options: dict, reason: str) -> None:
    program = lowered.lower(Net(), IMAGE, **options)
    reasons = lowered.left(program)
    assert any(reason in text for text in reasons.values()), reasons
    assert all(reasons.values())


def test_unknown_operator_has_a_reason() -> None:
    program = lowered.lower(nn.Sequential(nn.Linear(4, 4), nn.LogSigmoid()), (torch.randn(2, 4),))
    assert all(lowered.left(program).values())


def test_bool_tensors_can_be_left() -> None:
    class Masks(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.where(x * 2 > 0, x, -x)

    program = lowered.lower(Masks(), (torch.randn(4),), compile_options={"skip_bool_tensors": True})
    assert any("skip_bool_tensors" in reason for reason in lowered.left(program).values())


def test_options_reach_the_backend() -> None:
    """VK-02: each option is written to compile specs and read back."""
    given = {
        "require_dynamic_shapes": True,
        "force_fp16": True,
        "texture_limits": (64, 32, 16),
        "buffer_limit": 1000,
        "skip_bool_tensors": True,
        "storage_type_override": VkStorageType.TEXTURE_3D,
        "memory_layout_override": VkMemoryLayout.TENSOR_CHANNELS_PACKED,
        "downcast_64_bit": False,
        "skip_memory_planning": True,
        "skip_tag_memory_metadata": True,
        "compat": "1.4",
    }
    found = options_of(parse_compile_options(given))
    assert {name: getattr(found, name) for name in given} == given
    assert parse_compile_spec(parse_compile_options({"small_texture_limits": True})) == {"small_texture_limits": True}
    assert options_of(parse_compile_options({"small_texture_limits": True})).texture_limits == (2048, 2048, 2048)


@pytest.mark.parametrize(
    "options", [{"force_fp16": 1}, {"texture_limits": (1, 2)}, {"buffer_limit": 0}, {"compat": "2"}]
)
def test_wrong_values_are_errors(options: dict) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))!r} is"):
        VulkanPartitioner(options)


def test_unknown_options_are_reported() -> None:
    from sdk.exir.backend.declarations import get_losses
    from sdk.exir.lowered_backend_module import get_lowered_backend_modules

    options = {"required_dynamic_shapes": True}
    program = lowered.lower(nn.Linear(4, 4), (torch.randn(2, 4),), compile_options=options)
    (module,) = get_lowered_backend_modules(program.exported_program().graph_module)
    assert [kind for kind, _ in get_losses(module)] == ["ignored option"]
    assert "required_dynamic_shapes" in get_losses(module)[0][1]


def test_page_lists_the_operators() -> None:
    """VK-04: docs/backends-vulkan.md has the list of the registry; scripts/pages writes it."""
    assert vulkan_operators.page() == vulkan_operators.PAGE.read_text()


def test_receipt_counts_transitions() -> None:
    """The receipt counts copies of tensors to another layout: none without the original's textures."""
    for compat, found in ((None, "of which 0 copy"), ("1.4", "of which 1 copy")):
        program = lowered.lower(Net().eval(), IMAGE, compile_options={"compat": compat}).to_executorch()
        (note,) = [note for note in program.get_receipt().notes if "VulkanBackend" in note]
        assert note.startswith("forward: VulkanBackend says: ") and found in note, note


@pytest.mark.parametrize("name", ["ge", "add", "sym_size.int", "_assert_scalar.default", "aten.add.Tensor"])
def test_names_of_operators(name: str) -> None:
    """Names that are registered are found, and short ones are completed."""
    assert has_impl(name) and operator_name(name) == name
    assert operator_name("aten::relu") == "aten.relu.default"


def test_integers_that_the_gpu_computes() -> None:
    """The runtime needs integers that decide shapes before anything runs on the GPU, so the GPU cannot compute them."""

    class Slices(nn.Module):
        def forward(self, x: torch.Tensor, n: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
            length = (n.abs() if self.computed else n + torch.arange(1, 3) + m)[1].item()
            torch._check(length >= 1)
            torch._check(length <= 4)
            return torch.relu(x[:length].sum(0))

    inputs = torch.randn(4, 3), torch.tensor([1, 1]), torch.tensor([0, 1])
    model = Slices()
    model.computed = False
    program = lowered.lower(model, inputs)
    assert not lowered.left(program)
    lowered.check(program, model, inputs)
    lowered.check(program, model, (inputs[0], torch.tensor([0, -1]), torch.tensor([7, 0])))
    model.computed = True
    left = lowered.left(lowered.lower(model, inputs))
    assert "it reads an integer that the GPU computes" in left["_local_scalar_dense_default"]


@pytest.mark.parametrize(
    "function",
    [
        lambda n: torch.add(n, n, alpha=2),
        lambda n: torch.add(n + 5, n, alpha=-1),
        lambda n: torch.ops.aten.add.Scalar(n, 1, 2),
        lambda n: torch.ops.aten.sub.Scalar(n, -1, 2),
        lambda n: torch.rsub(n, 5),
        lambda n: torch.rsub(n, 7, alpha=2),
    ],
)
def test_integers_from_sums_with_factors(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """The length is what eager computes, wherever the sum with the factor is computed."""

    class Slices(nn.Module):
        def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
            length = function(n)[0].item()
            torch._check(length >= 1)
            torch._check(length <= 8)
            return torch.relu(x[:length].sum(0))

    inputs = torch.randn(8, 3), torch.tensor([2])
    lowered.check(lowered.lower(Slices(), inputs), Slices(), inputs)


@pytest.mark.parametrize("alpha", [1, 3])
def test_norms_with_a_factor_of_epsilon(alpha: int) -> None:
    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.rand(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            mean = (x * x).mean(-1, keepdim=True)
            return x * torch.rsqrt(torch.add(mean, 0.5, alpha=alpha)) * self.weight

    model, inputs = Norm().eval(), (torch.randn(2, 3, 8),)
    program = lowered.lower(model, inputs)
    assert lowered.names(program) == ["et_vk.rms_norm.default"]
    lowered.check(program, model, inputs)


@pytest.mark.parametrize("is_bool", [False, True], ids=["added", "bool"])
def test_attention_with_a_mask(is_bool: bool) -> None:
    """Attention over a cache with a mask, which the original's runtime does not support."""

    class Masked(nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = torch.ops.llama.custom_sdpa(q, k, v, 2, mask)
            return found

    mask = torch.ones(3, 7).tril(2)
    inputs = torch.randn(1, 3, 4, 8), torch.randn(1, 7, 2, 8), torch.randn(1, 7, 2, 8), mask > 0 if is_bool else mask
    program = lowered.lower(Masked(), inputs)
    assert not lowered.left(program)
    lowered.check(program, Masked(), inputs)
    left = lowered.left(lowered.lower(Masked(), inputs, compile_options={"compat": "1.4"}))
    assert "it has a mask" in left["llama_custom_sdpa_default"]
