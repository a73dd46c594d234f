# SPDX-License-Identifier: BSD-3-Clause
"""The tutorial "Building and Running with the XNNPACK Backend": its snippets, its script and its CMake lines.

Its MobileNetV2 is torchvision's, with weights to download; here it is the example's. The tutorial's program has two
delegates with a view and a copy between them; this SDK's has one, with nothing outside.
"""

from __future__ import annotations

import operator
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.export import export
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.utils import compute_error

import forked
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import GRAPH
from sdk.backends.xnnpack.serialization.xnnpack_graph_serialize import XNNHeader
from sdk.devtools.backend_debug import get_delegation_info
from sdk.exir import EdgeCompileConfig, EdgeProgramManager, to_edge, to_edge_transform_and_lower
from sdk.exir._serialize._flatbuffer import read_root
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.lowered_backend_module import LoweredBackendModule
from sdk.extension.pybindings import portable_lib
from sdk.runtime import Runtime

ROOT = Path(__file__).resolve().parents[4]
SMALL = (torch.linspace(-2, 2, 3 * 64 * 64).sin().reshape(1, 3, 64, 64),)


@pytest.fixture(scope="module")
def mobilenet_v2() -> torch.nn.Module:
    sys.path.insert(0, str(ROOT))
    try:
        from examples.mobilenet_v2.model import mobilenet_v2
    finally:
        sys.path.remove(str(ROOT))
    return mobilenet_v2()


def quantize(model: GraphModule, example_inputs: tuple[Tensor, ...], is_per_channel: bool) -> GraphModule:
    quantizer = XNNPACKQuantizer()
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=is_per_channel))
    m = prepare_pt2e(model, quantizer)
    m(*example_inputs)
    return convert_pt2e(m)


def run(path: Path, inputs: tuple[Tensor, ...]) -> Tensor:
    return Runtime.get().load_program(path).load_method("forward").execute(list(inputs))[0]


def lowered_modules(edge: EdgeProgramManager) -> list[LoweredBackendModule]:
    children = edge.exported_program().graph_module.children()
    return [child for child in children if isinstance(child, LoweredBackendModule)]


def test_lowering_a_model(mobilenet_v2: torch.nn.Module, tmp_path: Path) -> None:
    """XNN2-01, XNN2-02, XNN2-03, XNN2-04"""
    edge: EdgeProgramManager = to_edge_transform_and_lower(
        export(mobilenet_v2, SMALL), partitioner=[XnnpackPartitioner()]
    )
    (lowered,) = lowered_modules(edge)
    printed = str(edge.exported_program().graph_module)
    assert "(lowered_module_0): LoweredBackendModule()" in printed
    assert "torch.ops.higher_order.executorch_call_delegate(lowered_module_0" in printed
    assert "aten_view_copy_default" not in printed and "aten_clone_default" not in printed
    payload = lowered.processed_bytes
    graph = read_root(GRAPH, payload[XNNHeader.from_bytes(payload).flatbuffer_offset :], b"XN01")
    assert len(graph.xnodes) > 60  # 52 convolutions, 10 sums, a mean, a linear layer

    with (tmp_path / "xnnpack_mobilenetv2.pte").open("wb") as file:
        edge.to_executorch().write_to_file(file)
    torch.testing.assert_close(
        run(tmp_path / "xnnpack_mobilenetv2.pte", SMALL), mobilenet_v2(*SMALL), atol=1e-3, rtol=1e-3
    )


def test_the_summary_of_what_is_delegated(mobilenet_v2: torch.nn.Module) -> None:
    """DD-02: the summary has three lines, with the numbers of calls in the graph and in the delegates."""
    program = to_edge_transform_and_lower(export(mobilenet_v2, SMALL), partitioner=[XnnpackPartitioner()])
    graph_module = program.exported_program().graph_module
    delegates = [module.original_module.graph for module in lowered_modules(program)]
    inside = sum(node.op == "call_function" for graph in delegates for node in graph.nodes)
    calls = [node.target for node in graph_module.graph.nodes if node.op == "call_function"]
    outside = [target for target in calls if target is not executorch_call_delegate]
    assert get_delegation_info(graph_module).get_summary().splitlines() == [
        "Total delegated subgraphs: 1",
        f"Number of delegated nodes: {inside}",
        f"Number of non-delegated nodes: {len(outside)}",
    ]
    assert len(delegates) == 1 and inside > 150 and set(outside) <= {operator.getitem}


@pytest.mark.parametrize("is_per_channel", [False, True])
def test_lowering_a_quantized_model(mobilenet_v2: torch.nn.Module, is_per_channel: bool, tmp_path: Path) -> None:
    """XNN2-05, XNN2-07; QNT2-01, QNT2-02, QNT2-04, QNT2-05, QNT2-06, QNT2-07"""
    quantized = quantize(export(mobilenet_v2, SMALL).module(), SMALL, is_per_channel)
    edge = to_edge_transform_and_lower(
        export(quantized, SMALL),
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
        partitioner=[XnnpackPartitioner()],
    )
    assert len(lowered_modules(edge)) == 1
    with (tmp_path / "qs8_xnnpack_mobilenetv2.pte").open("wb") as file:
        edge.to_executorch().write_to_file(file)
    assert (tmp_path / "qs8_xnnpack_mobilenetv2.pte").stat().st_size < 4_000_000  # of 3.5 million weights
    result = run(tmp_path / "qs8_xnnpack_mobilenetv2.pte", SMALL)
    # The signal-to-noise ratio in dB to quantised eager, which may itself differ from the float model.
    assert compute_error(quantized(*SMALL), result) > 30


def test_a_model_with_scales_for_each_channel_runs_without_the_backend() -> None:
    """XNN2-06: the kernels that quantise and dequantise by channels are there."""
    layer = torch.nn.Conv2d(3, 4, 3).eval()
    quantized = quantize(export(layer, SMALL).module(), SMALL, is_per_channel=True)
    config = EdgeCompileConfig(_check_ir_validity=False)
    program = to_edge(export(quantized, SMALL), compile_config=config).to_executorch()
    operators = {operator.name for operator in program.executorch_program.execution_plan[0].operators}
    assert any(name.startswith("quantized_decomposed::dequantize_per_channel") for name in operators)
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    torch.testing.assert_close(method.execute(list(SMALL))[0], quantized(*SMALL), atol=1e-4, rtol=1e-4)


@pytest.mark.sampled
@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("is_per_channel", [False, True])
def test_the_options_of_quantising(is_per_channel: bool, is_dynamic: bool) -> None:
    """QNT2-03: 8 bits, per tensor or channel, static or dynamic; test_quantized.py has 4 bits."""
    config = get_symmetric_quantization_config(is_per_channel=is_per_channel, is_dynamic=is_dynamic)
    assert config.weight is not None and config.input_activation is not None
    assert config.weight.qscheme == (torch.per_channel_symmetric if is_per_channel else torch.per_tensor_symmetric)
    assert config.input_activation.is_dynamic == is_dynamic


def compiled(*arguments: str, folder: Path, package: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the script from the root of the repository, or as a part of `sdk.examples` with the files in `package`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    program = ["-m", "examples.xnnpack.aot_compiler"]
    if package is not None:
        code = f"import runpy, sdk.examples; sdk.examples.__path__.insert(0, {str(package)!r});"
        code += "runpy.run_module('sdk.examples.xnnpack.aot_compiler', run_name='__main__', alter_sys=True)"
        program = ["-c", code]
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    return forked.run(*program, *arguments, cwd=folder, env=environment)


def examples_in_the_package(folder: Path) -> Path:
    """Makes the folders of sdk/examples in `folder`, as the build of the wheel does."""
    text = (ROOT / "pyproject.toml").read_text()
    for target, source in re.findall(r'^"sdk/examples/(.*)" = "(.*)"$', text, re.M):
        shutil.copytree(ROOT / source, folder / target)
    return folder


@pytest.mark.sampled
@pytest.mark.parametrize(("flags", "file"), [([], "mv2_xnnpack_fp32.pte"), (["--quantize"], "mv2_xnnpack_q8.pte")])
def test_the_script(
    flags: list[str], file: str, mobilenet_v2: torch.nn.Module, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """XNN2-08, XNN2-11; BLD2-08: also from the installed package, with the files that pyproject.toml puts there."""
    package = None if flags else examples_in_the_package(tmp_path_factory.mktemp("sdk"))
    done = compiled("--model_name=mv2", "--delegate", *flags, folder=tmp_path, package=package)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "Total delegated subgraphs: 1"
    assert done.stdout.splitlines()[-1] == f"Wrote {file}"
    assert [path.name for path in tmp_path.iterdir()] == [file]
    image = (torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(0)),)
    # The same class, and for 8 bits noise of at most a tenth of the power.
    result, expected = run(tmp_path / file, image), mobilenet_v2(*image)
    assert result.argmax() == expected.argmax()
    assert compute_error(expected, result) > 10


def test_the_script_bundles(tmp_path: Path) -> None:
    """BUN-15: the script writes a bundled program, which has the inputs and PyTorch's outputs for them."""
    done = compiled("--model_name=linear", "--delegate", "-b", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "Wrote linear_xnnpack_fp32_bundled.pte"
    (file,) = tmp_path.iterdir()
    bundle = portable_lib._load_bundled_program_from_buffer(file.read_bytes())
    module = portable_lib._load_for_executorch_from_bundled_program(bundle)
    (output,) = module.verify_result_with_bundled_expected_output(bundle, "forward", 0, rtol=1e-4, atol=1e-4)
    assert output.shape == (3, 3)


def test_the_script_names_what_it_has(tmp_path: Path) -> None:
    """XNN2-08: for a wrong name, the error lists the right ones."""
    done = compiled("--model_name=mv9", folder=tmp_path)
    assert done.returncode == 2
    assert "invalid choice: 'mv9' (choose from" in done.stderr and "mv2" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_cmake_lines(tmp_path: Path) -> None:
    """XNN2-09: the build is configured by the page's lines, and knows all options in them."""
    switches = ["EXECUTOR_RUNNER", "EXTENSION_DATA_LOADER", "EXTENSION_MODULE", "EXTENSION_TENSOR", "XNNPACK"]
    options = [f"-DEXECUTORCH_BUILD_{switch}=ON" for switch in switches]
    command = ["cmake", f"-DCMAKE_INSTALL_PREFIX={tmp_path}/cmake-out", "-DCMAKE_BUILD_TYPE=Release", *options]
    command += ["-DEXECUTORCH_ENABLE_LOGGING=ON", f"-DPYTHON_EXECUTABLE={sys.executable}", f"-B{tmp_path}/cmake-out"]
    done = subprocess.run([*command, "-DEXECUTORCH_BUILD_TESTS=OFF", "."], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    _, _, unused = done.stderr.partition("not used by the project")
    assert "EXECUTORCH" not in unused
    cache = (tmp_path / "cmake-out" / "CMakeCache.txt").read_text(encoding="utf-8")
    for option in (*options, "-DEXECUTORCH_BUILD_EXTENSION_FLAT_TENSOR=ON"):
        assert option.removeprefix("-D").replace("=ON", ":BOOL=ON") in cache
