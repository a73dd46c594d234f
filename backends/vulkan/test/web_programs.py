# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs in headless Chromium, whose WebGPU is SwiftShader's: it computes on the CPU."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "web"))

from web_pages import ROOT, Browser, browser, needs_package, serve, served

__all__ = ["OPTIONS", "WebPage", "WebProgram", "needs_package", "web_page"]

OPTIONS = ("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader")
"""Command-line options of Chromium."""
_TYPES = {
    torch.bool: "Bool",
    torch.uint8: "Byte",
    torch.int8: "Char",
    torch.int32: "Int",
    torch.int64: "Long",
    torch.float16: "Half",
    torch.float32: "Float",
    torch.float64: "Double",
}
_DTYPES = {name: dtype for dtype, name in _TYPES.items()}

SCRIPT = """
globalThis.programs = [];
globalThis.bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
globalThis.textOf = (data) => {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(text);
};
globalThis.valueOf = ({ type, sizes, data, value }) => {
  if (type === undefined) return value;
  const { buffer } = bytesOf(data);
  return new et.Tensor(new et.ScalarType[type].array(buffer), sizes, et.ScalarType[type]);
};
globalThis.plainOf = (value) => {
  if (!(value instanceof et.Tensor)) return { value };
  return { type: value.scalarType.name, sizes: value.sizes, data: textOf(value.data) };
};
globalThis.runProgram = async (number, method, inputs) =>
  (await programs[number].execute(method, inputs.map(valueOf))).map(plainOf);
"""


def _plain(value: Any) -> dict[str, Any]:
    if not isinstance(value, torch.Tensor):
        return {"value": value}
    data = value.detach().contiguous().numpy().tobytes()
    return {
        "type": _TYPES[value.dtype],
        "sizes": list(value.shape),
        "data": base64.b64encode(data).decode(),
    }


def _value(plain: dict[str, Any]) -> Any:
    if "type" not in plain:
        return plain["value"]
    data = bytearray(base64.b64decode(plain["data"]))
    dtype = _DTYPES[plain["type"]]
    found = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
    return found.reshape(plain["sizes"])


class WebProgram:
    """A program in the browser, with the methods of the Python bindings that the tests of the device call."""

    def __init__(self, page: WebPage, number: int) -> None:
        self.page = page
        self.number = number

    def run_method(self, method: str, inputs: Sequence[Any]) -> list[Any]:
        values = json.dumps([_plain(value) for value in inputs])
        found = self.page.browser.evaluate(f"runProgram({self.number}, {json.dumps(method)}, {values})")
        return [_value(plain) for plain in found]

    def forward(self, inputs: Sequence[Any]) -> list[Any]:
        return self.run_method("forward", inputs)

    def backends(self, method: str = "forward") -> list[str]:
        expression = f"programs[{self.number}].getMethodMetadata({json.dumps(method)}).then(meta => meta.backends)"
        return list(self.page.browser.evaluate(expression))


class WebPage:
    def __init__(self, found: Browser, folder: Path) -> None:
        self.browser = found
        self.folder = folder
        self.options: dict[str, object] = {}
        """The Vulkan backend's options, which load() passes. They can change only while the GPU is not open."""

    def load(self, data: bytes) -> WebProgram:
        (self.folder / "program.pte").write_bytes(data)
        options = json.dumps({"threads": 1, "backendOptions": {"VulkanBackend": self.options}})
        number = self.browser.evaluate(
            f"et.Module.load('programs/program.pte', {options}).then(program => programs.push(program) - 1)"
        )
        return WebProgram(self, number)

    def free(self) -> None:
        """Frees all programs."""
        self.browser.evaluate("Promise.all(programs.splice(0).map((program) => program.dispose()))")


@contextlib.contextmanager
def web_page(folder: Path) -> Iterator[WebPage]:
    """A page with the npm package, in a browser with WebGPU. `folder` is for the programs."""
    with browser(*OPTIONS) as found, served(ROOT / "sdk/web/test", serve.ISOLATION, {"programs": folder}) as address:
        found.open(address + "chromium.html")
        found.evaluate(SCRIPT)
        yield WebPage(found, folder)
