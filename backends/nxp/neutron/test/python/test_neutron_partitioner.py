# SPDX-License-Identifier: BSD-3-Clause
"""Compile specs, the partitioner, the payload, and the calls of NXP's converter."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import export
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent))

from neutron_lowering import REFERENCE, TARGET, computed, lower, quantized
from neutron_operators import IMAGE, After

from npu_models import Function, model_of, written
from sdk.backends.npu.compiler import CompilerNotInstalledError
from sdk.backends.nxp.backend.custom_delegation_options import CustomDelegationOptions
from sdk.backends.nxp.backend.data_format import DataFormat
from sdk.backends.nxp.edge_passes.neutron_edge_pass_manager import NeutronEdgePassManager
from sdk.backends.nxp.edge_passes.remove_io_quant_ops_pass import RemoveIOQuantOpsPass
from sdk.backends.nxp.neutron.payload import NeutronNodeArtifacts, compose, network_of
from sdk.backends.nxp.neutron.verify import ReferenceProgram
from sdk.backends.nxp.neutron_node_extraction import extract_artifacts_from_neutron_node
from sdk.backends.nxp.neutron_partitioner import NeutronPartitioner
from sdk.backends.nxp.nxp_backend import (
    NeutronBackend,
    NeutronCompileSpecBuilder,
    core_aten_ops_exception_list,
    generate_neutron_compile_spec,
)
from sdk.backends.registry import backends
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes, get_refusals

STAND_IN = Path(__file__).resolve().parent / "converter"


def graph_of(manager: Any) -> torch.fx.Graph:
    found: torch.fx.Graph = manager.exported_program().graph_module.graph
    return found


def reasons(function: Any, *shapes: tuple[int, ...], **named: Any) -> set[str]:
    inputs = tuple(torch.randn(shape) for shape in shapes or (IMAGE,))
    model = function if isinstance(function, torch.nn.Module) else Function(function)
    graph = graph_of(lower(quantized(model.eval(), inputs), inputs, **named))
    return {reason for node in get_non_lowered_nodes(graph) for reason in get_refusals(node).values() if reason}


def test_the_compile_specs() -> None:
    """NXP-05: the compile specs of both releases, from the function and from the builder."""
    specs = generate_neutron_compile_spec("imxrt700", operators_not_to_delegate=["aten::relu", "aten::add"])
    assert {spec.key: bytes(spec.value).decode() for spec in specs} == {
        "output_format": "tflite",
        "compile_flags": "",
        "target": "imxrt700",
        "intermediates_dir": "None",
        "operators_not_to_delegate": "aten_relu,aten_add",
        "use_neutron_for_format_conversion": "True",
        "fetch_constants_to_sram": "False",
        "dump_kernel_selection_code": "False",
        "use_profiling": "False",
    }
    old = generate_neutron_compile_spec(
        "imxrt700", operators_not_to_delegate=None, neutron_converter_flavor="SDK_25_06", extra_flags="--x"
    )
    assert [bytes(spec.value) for spec in old if spec.key in ("neutron_converter_flavor", "compile_flags")] == [
        b"--x",
        b"SDK_25_06",
    ]
    builder = NeutronCompileSpecBuilder().neutron_compile_spec("imxrt700", use_profiling=True)
    assert bytes(builder.build()[-1].value) == b"True"
    with pytest.raises(RuntimeError, match="use another NeutronCompileSpecBuilder"):
        builder.neutron_compile_spec("imxrt700")
    with pytest.raises(ValueError, match="there is no target 'imxrt600' of Neutron"):
        generate_neutron_compile_spec("imxrt600")


@pytest.mark.parametrize(
    ("specs", "says"),
    [
        ([], "lack target: make them with generate_neutron_compile_spec"),
        ([CompileSpec("target", b"imx93")], "there is no target 'imx93'"),
        ([CompileSpec("target", b"\xff")], "expected text"),
    ],
)
def test_wrong_compile_specs_are_refused(specs: list[CompileSpec], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        NeutronPartitioner(specs)


def test_wrong_settings_are_refused() -> None:
    model, inputs = model_of("convolutional")
    scheme = quantized(model, inputs)
    for spec, says in (
        (CompileSpec("output_format", b"onnx"), "output_format of Neutron is 'onnx'; expected 'tflite'"),
        (CompileSpec("use_profiling", b"1"), "use_profiling of Neutron is '1'; expected 'True' or 'False'"),
        (CompileSpec("intermediates_dir", b"/nowhere"), "'/nowhere', which is not a folder"),
    ):
        with pytest.raises(ValueError, match=says):
            lower(scheme, inputs, spec)


def test_the_partitioner_of_both_releases() -> None:
    """NXP-04, NXP-06"""
    options = CustomDelegationOptions(allow_no_op_partitions=True)
    specs = generate_neutron_compile_spec("imxrt700")
    assert NeutronPartitioner().neutron_target_spec.get_name() == "imxrt700"
    assert NeutronPartitioner(specs, options).custom_delegation_options is options
    new = NeutronPartitioner(specs, TARGET, options, post_quantization_state_dict={}, preserve_ops=None)
    assert new.neutron_target_spec is TARGET and new.custom_delegation_options is options
    assert (
        core_aten_ops_exception_list == [torch.ops.aten.prelu.default] and backends()["neutron"].id == "NeutronBackend"
    )


def test_a_model_is_one_partition_of_int8(tmp_path: Path) -> None:
    """NXP-04: only the conversions of the model's inputs and outputs stay outside."""
    model, inputs = model_of("convolutional")
    scheme = quantized(model, inputs)
    manager = lower(scheme, inputs)
    assert len(list(get_delegates(graph_of(manager)))) == 1 and len(get_non_lowered_nodes(graph_of(manager))) == 2
    (delegate,) = ReferenceProgram(written(manager, tmp_path))._methods["forward"]._delegates
    graph = delegate.graph
    assert {graph.values[each].dtype for each in (*graph.inputs, *graph.outputs)} == {torch.int8}
    assert all(rule is not None for call, rule in zip(graph.calls, delegate._rules, strict=True) if "aten" in call.name)
    torch.testing.assert_close(computed(manager, inputs, tmp_path), scheme(*inputs), atol=0.02, rtol=0.05)


def test_refusals_are_in_words() -> None:
    """NXP-10"""
    assert reasons(lambda a: torch.cumsum(a, 0)) == {"Neutron has no such operator"}
    graph = graph_of(lower(Function(lambda a: torch.relu(a) + 1), (torch.randn(IMAGE),)))
    found = {reason for node in get_non_lowered_nodes(graph) for reason in get_refusals(node).values() if reason}
    assert found == {"an operand or the result is not quantised; Neutron computes int8 only"}
    assert "its output size is rounded up (ceil_mode)" in reasons(lambda a: functional.avg_pool2d(a, 4, ceil_mode=True))
    assert "its divisor is 3; Neutron divides by the number of elements in the window" in reasons(
        lambda a: functional.avg_pool2d(a, 2, divisor_override=3)
    )
    assert "its windows have several sizes: the input is not a multiple of the output" in reasons(
        lambda a: functional.adaptive_avg_pool2d(a, 5)
    )
    assert "its window is dilated" in reasons(lambda a: functional.max_pool2d(a, 2, dilation=2))
    assert "it is a transposed convolution with the stride [3, 3]; Neutron has at most 2, within the kernel" in reasons(
        torch.nn.ConvTranspose2d(8, 4, 3, stride=3)
    )
    assert "it is a transposed convolution with groups" in reasons(torch.nn.ConvTranspose2d(8, 8, 3, groups=2))
    assert "an element sums 81920 products, with the channels rounded up to 8; Neutron has 65535" in reasons(
        torch.nn.Conv2d(8, 1, (128, 80)), (1, 8, 128, 80)
    )
    assert "it multiplies its second operand by 2 (alpha)" in reasons(
        lambda a, b: torch.add(a, b, alpha=2), IMAGE, IMAGE
    )
    assert "both operands are expanded; Neutron expands one" in reasons(torch.mul, (4, 1), (1, 5))
    assert "it is over 6 elements; Neutron has multiples of 8 below 2048" in reasons(lambda a: a.softmax(1), (3, 6))
    assert "it resizes by [3.0, 3.0]; Neutron has 1, 2, 4 and 8" in reasons(
        lambda a: functional.interpolate(a, scale_factor=3)
    )
    assert "its step is 2; Neutron has 1" in reasons(After(lambda a: a[:, ::2]))


def test_what_another_quantizer_annotates_is_refused() -> None:
    """NXP-10: even with int8 operands and results, calls whose weights are inputs, and convolutions of volumes, are
    refused."""

    def turned(x: torch.Tensor) -> torch.Tensor:
        values = (0.1, 0, -128, 127, torch.int8)
        stored = torch.ops.quantized_decomposed.quantize_per_tensor(x, *values)
        found: torch.Tensor = torch.ops.quantized_decomposed.dequantize_per_tensor(stored, *values)
        return found

    weight = torch.randn(4, 8, 1, 1, 1)
    for function, shapes, says in (
        (functional.conv2d, (IMAGE, (4, 8, 1, 1)), "its weight is not a constant"),
        (functional.linear, ((3, 8), (4, 8)), "its second matrix is not a constant"),
        (functional.conv3d, ((1, 8, 2, 4, 4), tuple(weight.shape)), "its weight is not a constant"),
        (
            lambda a, b: functional.conv3d(a, turned(weight)),
            ((1, 8, 2, 4, 4), (1,)),
            "it has more than two spatial dimensions",
        ),
    ):
        model = Function(lambda a, b, function=function: turned(function(turned(a), turned(b))))
        graph = graph_of(lower(model, tuple(torch.randn(shape) for shape in shapes)))
        found = {reason for node in get_non_lowered_nodes(graph) for reason in get_refusals(node).values() if reason}
        assert any(says in each for each in found), (function, found)


def test_methods_have_files_of_different_names(tmp_path: Path) -> None:
    """NXP-05: the parts of all methods have the tag tag_0."""
    programs, inputs = {}, (torch.randn(IMAGE),)
    for name, function in (("first", torch.abs), ("second", torch.neg)):
        programs[name] = export(quantized(Function(function), inputs), inputs)
    specs = [*generate_neutron_compile_spec("imxrt700", intermediates_dir=str(tmp_path)), REFERENCE]
    to_edge_transform_and_lower(programs, partitioner=[NeutronPartitioner(specs)])
    assert len(list(tmp_path.glob("tag_*_pure.et.tflite"))) == 2


def test_operators_stay_on_kernels_on_request() -> None:
    """NXP-05: `operators_not_to_delegate` has substrings of the operators' names."""
    found = reasons(After(lambda a: a + torch.abs(a)), operators_not_to_delegate=["aten::abs"])
    assert "operators_not_to_delegate has its name" in found


def test_partitions_that_only_move_elements() -> None:
    """NXP-06: partitions that only move elements stay on kernels, unless `allow_no_op_partitions` is set."""
    inputs = (torch.randn(2, 6),)
    scheme = export(quantized(Function(lambda a: a.reshape(3, 4)), inputs), inputs)
    for allowed in (False, True):
        specs = [*generate_neutron_compile_spec("imxrt700"), REFERENCE]
        options = CustomDelegationOptions(allow_no_op_partitions=allowed)
        manager = to_edge_transform_and_lower(scheme, partitioner=[NeutronPartitioner(specs, options)])
        assert len(list(get_delegates(graph_of(manager)))) == int(allowed)


def test_the_header_of_a_payload() -> None:
    """The header has three counts, the formats, the maps and the version; each part of the payload begins at a multiple
    of 16."""
    formats = {
        "inputs": {"b": DataFormat.FORMATLESS, "a": DataFormat.CHANNELS_LAST},
        "outputs": {"c": DataFormat.FORMATLESS},
    }
    artifacts = NeutronNodeArtifacts(["a", "b"], [1, 0], ["c"], [0], b"m" * 64, b"w" * 5, b"k" * 17, 1)
    payload = compose(formats, artifacts)
    assert payload[:16] == bytes([2, 1, 2, 1, 0, 0, 1, 0, 0, 1]) + bytes(6)
    assert payload[16:] == b"m" * 64 + b"w" * 5 + bytes(11) + b"k" * 17 + bytes(15)
    with pytest.raises(ValueError, match="the tensor 'd'; the outputs of the model are c"):
        compose(formats, NeutronNodeArtifacts([], [], ["d"], [0], b"", b"", b"", 0))
    with pytest.raises(ValueError, match="at most 255"):
        compose(formats, NeutronNodeArtifacts(["a"] * 256, [0] * 256, [], [], b"", b"", b"", 0))


def test_damaged_payloads_are_refused(tmp_path: Path) -> None:
    model, inputs = model_of("convolutional")
    program = ReferenceProgram(written(lower(quantized(model, inputs), inputs), tmp_path))
    data = (tmp_path / "model.pte").read_bytes()
    start = data.index(struct.pack("<I", 0x4E525054)) - 16
    payload = data[start:]
    assert bytes(network_of(payload))[:8] == b"NPUREF01" and program is not None
    for damaged, says in (
        (payload[:2], "its header needs at least 4"),
        (payload[:40], "its header and microcode need"),
        (payload[:16] + b"abcd" + payload[20:], "begins with 0x64636261"),
        (payload[:200], "its graph is at"),
    ):
        with pytest.raises(ValueError, match=says):
            network_of(damaged)


def test_the_converter_is_needed(tmp_path: Path) -> None:
    """NXP-02: without the converter, lowering fails, and the error says what to install."""
    model, inputs = model_of("convolutional")
    scheme = export(quantized(model, inputs), inputs)
    says = r"no module eiq_neutron_sdk.*pip install --index-url ADDRESS eiq_neutron_sdk.*NXP's documentation"
    with pytest.raises(CompilerNotInstalledError, match=says):
        to_edge_transform_and_lower(scheme, partitioner=[NeutronPartitioner()])


CONVERT = """
import sys, torch
sys.path[:0] = sys.argv[2:]
from neutron_lowering import quantized
from npu_models import model_of, written
from pathlib import Path
from sdk.backends.nxp.neutron_partitioner import NeutronPartitioner
from sdk.backends.nxp.nxp_backend import generate_neutron_compile_spec
from sdk.exir import to_edge_transform_and_lower
from torch.export import export
folder = Path(sys.argv[1])
model, inputs = model_of("convolutional")
spec = generate_neutron_compile_spec("imxrt700", intermediates_dir=str(folder), dump_kernel_selection_code=True)
scheme = quantized(model, inputs)
manager = to_edge_transform_and_lower(export(scheme, inputs), partitioner=[NeutronPartitioner(spec)])
file = written(manager, folder)
from sdk.backends.nxp.neutron.verify import ReferenceProgram
found = ReferenceProgram(file).run_method("forward", inputs)[0]
torch.testing.assert_close(found, scheme(*inputs), atol=0.02, rtol=0.05)
print("verified in the process that compiled it")
"""


def test_the_converter_gets_the_model(tmp_path: Path) -> None:
    """NXP-02, NXP-05: a package with the names of NXP's converter replaces it, in a separate process."""
    here = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[5] / "tests")]
    # A relative path, which the process of the converter, with another current folder, finds, too.
    (tmp_path / "package").symlink_to(STAND_IN)
    path = os.pathsep.join(["package", *map(os.path.abspath, filter(None, sys.path))])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", CONVERT, str(tmp_path), *here],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0 and "verified in the process that compiled it" in done.stdout, done.stderr
    pure, neutron = (next(tmp_path.glob(f"*_{kind}.et.tflite")).read_bytes() for kind in ("pure", "neutron"))
    (kernels,) = tmp_path.glob("_kernel_selection_tag_0_*.c")
    assert kernels.read_text() == "// kernels"
    artifacts = extract_artifacts_from_neutron_node(neutron)
    assert artifacts.weights == pure and artifacts.payload_version == 0
    assert list(artifacts.input_names) == ["input_0"] and list(artifacts.output_names) == ["output_0"]
    data = (tmp_path / "model.pte").read_bytes()
    formats = {"inputs": {"input_0": DataFormat.FORMATLESS}, "outputs": {"output_0": DataFormat.FORMATLESS}}
    assert compose(formats, artifacts) in data
    with pytest.raises(RuntimeError, match=r"left \d+ operators .*; expected one NeutronGraph"):
        extract_artifacts_from_neutron_node(pure)


def test_nothing_imports_the_sdk_of_the_vendor() -> None:
    """The modules with the names of both releases are imported without NXP's SDK."""
    code = (
        "import sys, sdk, sdk.backends.nxp.neutron_partitioner, sdk.backends.nxp.quantizer.neutron_quantizer; "
        "sys.exit(any('eiq' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False).returncode == 0
    assert NeutronBackend.__name__ == "NeutronBackend"


def test_a_program_of_integers(tmp_path: Path) -> None:
    """The passes of ExecuTorch's example remove all conversions, and return the scales to the caller."""
    model, inputs = model_of("convolutional")
    scheme = quantized(model, inputs)
    specs = [*generate_neutron_compile_spec("imxrt700"), REFERENCE]
    manager = to_edge_transform_and_lower(
        export(scheme, inputs), transform_passes=NeutronEdgePassManager(), partitioner=[NeutronPartitioner(specs)]
    )
    manager = manager.transform([RemoveIOQuantOpsPass(edge_program_manager=manager)])
    assert not get_non_lowered_nodes(graph_of(manager))
    names = set(manager.to_executorch().methods)
    assert names == {"forward"} and {"input0_scale", "output0_zp"} <= set(manager.config_methods)
