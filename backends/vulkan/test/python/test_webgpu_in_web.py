# SPDX-License-Identifier: BSD-3-Clause
"""The backend in headless Chromium, through WebGPU: tests of the device with the programs that run there."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "codegen"))

import build_shaders
import build_wgsl
import device_program
import test_device_convolution
import test_device_divisions
import test_device_models
import test_device_operators
import test_device_quantized
import test_device_quantized_models
import test_device_state
import test_device_sums
from hand_built import numbers
from web_programs import WebPage, needs_package, web_page

from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.exir import to_edge_transform_and_lower

LEFT_OUT = {
    "test_a_loop_that_the_driver_would_end_is_refused": "its limit is lavapipe's",
    "test_numbers_of_more_than_32_bits_are_refused": "methods are loaded by their first call",
}
"""Tests of the device that do not run here, and why."""

_MODULES = (
    *(test_device_convolution, test_device_divisions, test_device_models, test_device_operators),
    *(test_device_quantized, test_device_quantized_models, test_device_state, test_device_sums),
)
for _module in _MODULES:
    globals().update(
        {name: x for name, x in vars(_module).items() if name.startswith("test_") and name not in LEFT_OUT}
    )

pytestmark = needs_package


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebPage]:
    with web_page(tmp_path_factory.mktemp("programs")) as found:
        yield found


@pytest.fixture(autouse=True)
def device(page: WebPage, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tests' programs run in the browser."""
    monkeypatch.setattr(device_program, "load", page.load)
    yield
    page.free()


def linear() -> tuple[bytes, nn.Module]:
    torch.manual_seed(0)
    model = nn.Linear(8, 6)
    exported = torch.export.export(model, (numbers(7, 8),))
    return to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner()]).to_executorch().buffer, model


def test_every_kernel_of_float32_compiles(page: WebPage) -> None:
    """All kernels, also those that the models above do not use. SwiftShader lacks the feature that float16 needs."""
    modules = build_shaders.modules_of(build_shaders.HERE / "shaders", build_wgsl.text_of)
    texts = {name: text for name, (text, _, _) in modules.items() if "enable f16;" not in text}
    assert len(texts) > 40
    found = page.browser.evaluate(f"""(async () => {{
      const device = await (await navigator.gpu.requestAdapter()).requestDevice();
      const problems = [];
      for (const [name, code] of Object.entries({json.dumps(texts)})) {{
        device.pushErrorScope("validation");
        const module = device.createShaderModule({{ code }});
        const {{ messages }} = await module.getCompilationInfo();
        device.createComputePipeline({{ layout: "auto", compute: {{ module, entryPoint: "main" }} }});
        const error = await device.popErrorScope();
        problems.push(...messages.map((message) => `${{name}}: ${{message.message}}`));
        if (error !== null) problems.push(`${{name}}: ${{error.message}}`);
      }}
      return problems;
    }})()""")
    assert found == []


def test_threads_share_the_sum_of_a_result(page: WebPage) -> None:
    """Several threads share a sum, as on a GPU, and the kernels have barriers. On SwiftShader, which is a CPU, each
    result has one thread by default."""
    page.browser.evaluate("et.shutdown()")
    page.options = {"least_threads": 4096}
    try:
        test_device_operators.test_reductions()
        test_device_operators.test_matrix_products()
    finally:
        page.options = {}
        page.free()
        page.browser.evaluate("et.shutdown()")


def test_runs_wait_for_each_other(page: WebPage) -> None:
    """Overlapping calls of one module, and of two modules, give the results of single calls."""
    data, model = linear()
    programs = [page.load(data), page.load(data)]
    assert programs[0].backends() == ["VulkanBackend"]
    x = numbers(7, 8)
    expected = [model(x * scale).flatten().tolist() for scale in (1, 2, 3)]
    found = page.browser.evaluate(f"""(async () => {{
      const x = {x.flatten().tolist()};
      const run = async (program, scale) => {{
        const [output] = await program.forward(new et.Tensor(new Float32Array(x.map((v) => v * scale)), [7, 8]));
        return [...output.data];
      }};
      return Promise.all([run(programs[0], 1), run(programs[1], 2), run(programs[0], 3), programs[0].getMethods()]);
    }})()""")
    for result, wanted in zip(found[:3], expected, strict=True):
        torch.testing.assert_close(torch.tensor(result), torch.tensor(wanted), rtol=1e-4, atol=1e-4)
    assert found[3] == ["forward"]


def test_the_calls_of_this_thread_that_do_not_wait_are_refused(page: WebPage) -> None:
    """Runtime.Module has both kinds of calls; the error names the other one, and the module can still be used."""
    data, model = linear()
    (page.folder / "program.pte").write_bytes(data)
    found = page.browser.evaluate("""(async () => {
      const runtime = await et.Runtime.create({ threads: 1 });
      const bytes = await (await fetch("programs/program.pte")).arrayBuffer();
      const module = runtime.Module.load(bytes);
      const input = et.Tensor.ones([7, 8]);
      const errorOf = (body) => { try { body(); return null; } catch (error) { return error.message; } };
      const refused = errorOf(() => module.forward(input));
      const running = module.forwardAsync(input);
      await null;
      await null;
      const busy = errorOf(() => module.getMethods());
      const [output] = await running;
      const data = [...output.data];
      await module.loadMethodAsync("forward");
      module.delete();
      runtime.dispose();
      return [refused, busy, data];
    })()""")
    refused, busy, data = found
    assert "executeAsync()" in refused and "VulkanBackend" in refused
    assert busy is None or "await the promise" in busy
    torch.testing.assert_close(torch.tensor(data), model(torch.ones(7, 8)).flatten(), rtol=1e-4, atol=1e-4)


def test_a_lost_device_is_an_error_and_the_next_program_opens_another(page: WebPage) -> None:
    data, model = linear()
    (page.folder / "program.pte").write_bytes(data)
    found = page.browser.evaluate("""(async () => {
      const devices = [];
      const request = GPUAdapter.prototype.requestDevice;
      GPUAdapter.prototype.requestDevice = async function (...options) {
        devices.push(await request.apply(this, options));
        return devices.at(-1);
      };
      const options = { threads: 1, worker: false };
      const input = et.Tensor.ones([7, 8]);
      const program = await et.Module.load("programs/program.pte", options);
      const before = [...(await program.forward(input))[0].data];
      devices[0].destroy();
      const caught = (error) => [error instanceof et.ExecuTorchError, error.code, error.message];
      const error = await program.forward(input).catch(caught);
      await program.dispose();
      const next = await et.Module.load("programs/program.pte", options);
      const after = [...(await next.forward(input))[0].data];
      await next.dispose();
      GPUAdapter.prototype.requestDevice = request;
      return [before, error, after, devices.length];
    })()""")
    before, (is_typed, code, message), after, opened = found
    expected = model(torch.ones(7, 8)).flatten()
    for data_of_run in (before, after):
        torch.testing.assert_close(torch.tensor(data_of_run), expected, rtol=1e-4, atol=1e-4)
    assert is_typed and code == "Internal" and opened == 2
    assert "lost" in message and "load the program again" in message


def test_without_webgpu_a_program_is_refused(page: WebPage) -> None:
    data, _ = linear()
    (page.folder / "program.pte").write_bytes(data)
    found = page.browser.evaluate("""(async () => {
      Object.defineProperty(navigator, "gpu", { value: undefined, configurable: true });
      const program = await et.Module.load("programs/program.pte", { threads: 1, worker: false, logLevel: "info" });
      const error = await program.forward(et.Tensor.ones([7, 8])).catch((error) => error);
      await program.dispose();
      delete navigator.gpu;
      return [error.code, error.backend, error.message];
    })()""")
    code, backend, message = found
    assert backend == "VulkanBackend" and code == "NotFound", message
    assert "WebGPU" in message
