# SPDX-License-Identifier: BSD-3-Clause
"""From a module to a program that the interpreter computes: the partitioner, the payload and the calls of MediaTek's
compiler."""

from __future__ import annotations

import struct
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import export

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mediatek_lowering import PLATFORM, REFERENCE, computed, lower, quantized

from npu_models import MODELS, Convolutional, Function, model_of, snr, written
from sdk.backends.mediatek import NeuropilotPartitioner, Precision
from sdk.backends.mediatek.compiler import COMPILER, options_of
from sdk.backends.mediatek.preprocess import NeuropilotBackend, assert_default_dim_order, network_of
from sdk.backends.mediatek.verify import ReferenceProgram
from sdk.backends.npu.compiler import CompilerNotInstalledError
from sdk.backends.registry import backends
from sdk.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes, get_refusals
from sdk.exir.lowered_backend_module import get_lowered_submodules


def payloads(manager: Any, method: str = "forward") -> list[bytes]:
    module = manager.exported_program(method).graph_module
    return [bytes(lowered.processed_bytes) for _, lowered, _ in get_lowered_submodules(module)]


def reasons(model: torch.nn.Module, *inputs: torch.Tensor, **skipped: Any) -> set[str]:
    partitioner = NeuropilotPartitioner([PLATFORM, REFERENCE], **skipped)
    module = (
        to_edge_transform_and_lower(export(model, inputs), partitioner=[partitioner]).exported_program().graph_module
    )
    return {reason for node in get_non_lowered_nodes(module.graph) for reason in get_refusals(node).values()}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_one_partition(name: str, tmp_path: Path) -> None:
    """MTK-05: the compile spec names the platform. The whole model is one delegate, and gives eager's results."""
    model, inputs = model_of(name)
    manager = lower(model, inputs)
    module = manager.exported_program().graph_module
    assert len(list(get_delegates(module.graph))) == 1 and not get_non_lowered_nodes(module.graph)
    torch.testing.assert_close(computed(manager, inputs, tmp_path), model(*inputs))


def test_the_header_of_a_payload() -> None:
    """The header has the version 1, the numbers of inputs and outputs, and the size of the network."""
    (payload,) = payloads(lower(Function(lambda a, b: (a + b, a * b)), (torch.ones(3), torch.ones(3))))
    assert struct.unpack_from("<BIII", payload) == (1, 2, 2, len(payload) - 13)
    assert bytes(network_of(payload)) == payload[13:]
    for wrong, says in ((payload[:5], "5 bytes"), (b"\2" + payload[1:], "version 2"), (payload[:-1], "announces")):
        with pytest.raises(ValueError, match=says):
            network_of(wrong)


def test_two_exports_give_the_same_bytes() -> None:
    first, second = (payloads(lower(*model_of("convolutional"))) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("platform", [b"mt6989", b"mt6991"])
def test_both_chips(platform: bytes, tmp_path: Path) -> None:
    """MTK-01: a program for each chip of the page names it."""
    model, inputs = Function(lambda a, b: a * b), (torch.full((3,), 2.0), torch.arange(3.0))
    partitioner = NeuropilotPartitioner([CompileSpec("platform-config", platform), REFERENCE])
    manager = to_edge_transform_and_lower(export(model, inputs), partitioner=[partitioner])
    (delegate,) = manager.to_executorch().executorch_program.execution_plan[0].delegates
    assert [bytes(spec.value) for spec in delegate.compile_specs if spec.key == "platform-config"] == [platform]
    torch.testing.assert_close(computed(manager, inputs, tmp_path), model(*inputs))


def test_compile_specs_are_checked() -> None:
    """MTK-05"""
    with pytest.raises(ValueError, match="'mt1'; expected one of mt6989, mt6991, mt6993"):
        NeuropilotPartitioner([CompileSpec("platform-config", b"mt1")])
    with pytest.raises(RuntimeError, match="lack platform-config"):
        NeuropilotPartitioner([])
    with pytest.raises(RuntimeError, match="platform-config more than once"):
        NeuropilotPartitioner([PLATFORM, PLATFORM])
    with pytest.raises(ValueError, match="expected text"):
        NeuropilotPartitioner([CompileSpec("platform-config", b"\xff")])


def test_options_of_the_compiler() -> None:
    specs = [PLATFORM, CompileSpec("gno", b"LTS"), CompileSpec("gno-exp", b""), CompileSpec("ImportForever", b"\1")]
    specs += [CompileSpec("HighAddr", b"\0"), CompileSpec("ExtractSharedBlobKey", b"w"), REFERENCE]
    assert options_of(specs) == [
        "--relax-fp32", "--opt=3", "--platform-config=mt6989", "--gno=LTS", "--gno-exp", "--dla-opt=0"
    ]  # fmt: skip


def test_refusals_are_in_words() -> None:
    x = torch.ones(2, 3)
    assert reasons(Function(lambda a: torch.cumsum(a, 0)), x) == {"MediaTek has no such operator"}
    assert reasons(Function(lambda a: a + a), x.double()) == {"a tensor is float64, which MediaTek does not have"}
    assert not reasons(Function(lambda a: a + 1), torch.ones(1, 1, 2, 2, 2, 2))
    five = torch.ones(2, 2, 2, 2, 2)
    assert reasons(Function(lambda a: a + 1), five) == {"a tensor has 5 dimensions; MediaTek has at most 4"}
    long = torch.ones(65536)
    assert reasons(Function(lambda a: a + 1), long) == {
        "a tensor has the sizes [65536]; those of MediaTek are 1 to 65535"
    }
    assert reasons(
        Function(lambda a, b: torch.nn.functional.conv2d(a, b)), torch.ones(1, 2, 4, 4), torch.ones(3, 2, 1, 1)
    ) == {"its weight is not a constant"}
    assert reasons(
        Function(lambda a: torch.nn.functional.max_pool2d(a, 2, return_indices=True)), torch.ones(1, 1, 4, 4)
    ) == {"more than its first result is read"}
    assert reasons(Function(lambda a: a.clone()), x) == {
        "alone it is not worth a delegate: MediaTek takes none of its neighbours"
    }


def test_operators_and_nodes_that_are_skipped() -> None:
    x = torch.ones(2, 3)
    model = Function(lambda a: torch.relu(a) + 1)
    assert reasons(model, x, op_types_to_skip={"aten.relu.default"}) == {"op_types_to_skip has its operator"}
    assert reasons(model, x, op_names_to_skip={"aten_relu_default"}) == {"op_names_to_skip has its name"}


def test_inputs_in_another_order_stay_outside() -> None:
    x = torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last)
    found = reasons(Function(lambda a: torch.relu(a) * 2), x)
    assert found and all("in another dim order where it enters or leaves" in reason for reason in found)
    program = to_edge(export(Function(lambda a: torch.relu(a)), (x,))).exported_program()
    with pytest.raises(RuntimeError, match="has the dim order"):
        assert_default_dim_order(program.graph_module)


def test_without_the_compiler_it_says_what_to_install() -> None:
    """MTK-02: the error is one sentence that names the packages and says how to export without them."""
    assert COMPILER.missing() == ["mtk_converter", "mtk_neuron"]
    with pytest.raises(
        CompilerNotInstalledError, match=r"no module mtk_converter and no module mtk_neuron. Install"
    ) as error:
        to_edge_transform_and_lower(export(*model_of("convolutional")), partitioner=[NeuropilotPartitioner()])
    assert "EXECUTORCH_REFERENCE_PAYLOADS=1" in str(error.value)


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Modules with the names of MediaTek's, which record how they are called."""
    calls: list[Any] = []

    class Converter:
        @classmethod
        def from_exported_program(cls, program: Any) -> Any:
            return cls()

        def convert_to_mlir(self) -> str:
            calls.append(dict(vars(self)))
            return "mlir"

    def compile(mlir: str, options: str) -> bytes:
        calls.append(options)
        return b"network %d" % len(calls)

    def extract(models: list[bytes], options: str) -> tuple[bytes, list[bytes]]:
        calls.append(options)
        return b"shared", [b"rest of " + model for model in models]

    def module(name: str, **names: Any) -> None:
        made = types.ModuleType(name)
        made.__spec__ = types.SimpleNamespace(name=name)  # type: ignore[assignment]
        vars(made).update(names)
        monkeypatch.setitem(sys.modules, name, made)

    module("mtk_neuron", compile=compile, extract_shared_data=extract)
    module("mtk_converter", PyTorchV2Converter=Converter)
    module("mtk_converter.python")
    module("mtk_converter.python.converters")
    module("mtk_converter.python.converters.pytorch")
    module(
        "mtk_converter.python.converters.pytorch.importer_v2",
        is_fx_node_supported=lambda node: "tanh" not in str(node.target),
    )
    return calls


def test_with_the_compiler_payloads_are_its_networks(packages: list[Any], tmp_path: Path) -> None:
    """The process that compiled the payloads verifies them with the graphs that they were compiled from."""
    model = Function(lambda a, b: torch.relu(a) + b.to(torch.float32))
    inputs = (torch.randn(3), torch.tensor([1, 2, 3]))
    manager = to_edge_transform_and_lower(export(model, inputs), partitioner=[NeuropilotPartitioner([PLATFORM])])
    assert payloads(manager) == [struct.pack("<BIII", 1, 2, 1, 9) + b"network 2"]
    settings, options = packages
    assert settings["prepend_input_quantize_ops_indices"] == [0]
    assert settings["append_output_dequantize_ops_indices"] == [0]
    assert settings["quantize"] is settings["allow_missing_quantization_ranges"] is True
    assert options == "--relax-fp32 --opt=3 --platform-config=mt6989"
    torch.testing.assert_close(computed(manager, inputs, tmp_path), model(*inputs))
    file = written(manager, tmp_path)
    file.write_bytes(file.read_bytes().replace(b"network 2", b"network 3"))
    with pytest.raises(ValueError, match="MediaTek's compiler compiled in another process"):
        ReferenceProgram(file)


def test_the_converter_decides_where_it_is_installed(packages: list[Any]) -> None:
    assert reasons(Function(lambda a: torch.tanh(a).neg()), torch.ones(3)) == {"MediaTek's converter does not take it"}


def _methods(key: bytes, *specs: CompileSpec) -> tuple[Any, Any, dict[str, torch.Tensor]]:
    model = torch.nn.Linear(64, 64)
    inputs = {"prefill": torch.randn(4, 64), "decode": torch.randn(1, 64)}
    partitioner = NeuropilotPartitioner([PLATFORM, CompileSpec("ExtractSharedBlobKey", key), *specs])
    programs = {name: export(model, (x,)) for name, x in inputs.items()}
    manager = to_edge_transform_and_lower(programs, partitioner={name: [partitioner] for name in programs})
    return manager, model, inputs


def test_methods_share_weights(tmp_path: Path) -> None:
    """The weights are in the program once, and both methods compute with them."""
    manager, model, inputs = _methods(b"weights", REFERENCE)
    file = written(manager, tmp_path)
    weights = 4 * (64 * 64 + 64)
    assert weights < file.stat().st_size < weights + 4096
    assert all(len(payload) < 1024 for name in inputs for payload in payloads(manager, name))
    program = ReferenceProgram(file)
    for name, x in inputs.items():
        torch.testing.assert_close(program.run_method(name, (x,))[0], model(x))


def test_the_compiler_extracts_what_methods_share(packages: list[Any], tmp_path: Path) -> None:
    manager, model, inputs = _methods(b"weights")
    assert packages[-1] == "-e union" and "--dla-opt=0" in packages[1]
    for name in inputs:
        (payload,) = payloads(manager, name)
        assert bytes(network_of(payload)).startswith(b"rest of network")
    program = ReferenceProgram(written(manager, tmp_path))
    torch.testing.assert_close(program.run_method("decode", (inputs["decode"],))[0], model(inputs["decode"]))


def test_the_declaration_names_what_exists() -> None:
    declared = backends()["mediatek"]
    assert declared.id == NeuropilotBackend.__name__
    assert isinstance(declared.make("partitioner"), NeuropilotPartitioner)
    provider = declared.make("recipes")
    known = {kind.value: kind for kind in provider.get_supported_recipes()}
    assert {declared.float_recipe, *(scheme.recipe for scheme in declared.quantization.values())} == set(known)
    recipe = provider.create_recipe(known["mediatek_a16w8"], platform="mt6991")
    assert recipe.quantization_recipe.quantizers[0]._precision is Precision.A16W8


def test_importing_needs_no_package_of_mediatek() -> None:
    """DINT-06"""
    code = (
        "import sys, sdk.backends.mediatek as m; m.NeuropilotPartitioner; m.NeuropilotQuantizer;"
        "print([n for n in sys.modules if n.startswith('mtk')])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_quantized_model_is_computed_in_integers(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, inputs = Convolutional().eval(), (torch.randn(1, 3, 16, 16),)
    manager = lower(quantized(model, inputs, Precision.A8W8), inputs)
    program = ReferenceProgram(written(manager, tmp_path))
    (delegate,) = program._methods["forward"]._delegates
    in_floats = [call.name for call, rule in zip(delegate.graph.calls, delegate._rules, strict=True) if rule is None]
    # The average is not annotated, so it computes floats, and so does the layer that reads it.
    assert in_floats == ["quantize", "aten.mean.dim", "aten.linear.default", "dequantize"]
    assert snr(model(*inputs), program.run_method("forward", inputs)[0]) > 30


def test_weights_in_a_data_file(tmp_path: Path) -> None:
    """Kernels and delegates read weights of the `.ptd`; without it, and with another one, the program is refused."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel, self.delegated = (torch.nn.Parameter(torch.randn(4)) for _ in range(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.atan2(torch.relu(x * self.delegated), self.kernel)

    def files(model: torch.nn.Module, folder: Path) -> tuple[Path, Path]:
        folder.mkdir()
        program = lower(model, inputs).to_executorch(ExecutorchBackendConfig(external_constants=True))
        (folder / "program.pte").write_bytes(program.buffer)
        program.write_tensor_data_to_file(str(folder))
        (weights,) = folder.glob("*.ptd")
        return folder / "program.pte", weights

    model, inputs = Model().eval(), (torch.randn(4),)
    program, weights = files(model, tmp_path / "files")
    (found,) = ReferenceProgram(program, weights).run_method("forward", inputs)
    torch.testing.assert_close(found, model(*inputs))
    with pytest.raises(ValueError, match=r"no data named 'kernel'; give the \.ptd file"):
        ReferenceProgram(program)
    model.kernel = torch.nn.Parameter(torch.randn(1))
    with pytest.raises(ValueError, match=r"'kernel' has the layout .* expects"):
        ReferenceProgram(program, files(model, tmp_path / "other")[1])
