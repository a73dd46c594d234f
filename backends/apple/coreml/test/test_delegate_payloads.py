# SPDX-License-Identifier: BSD-3-Clause
"""The delegate in C++ on damaged and hostile programs, and its cache of compiled models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from delegate_runner import Device
from test_delegate import IN_PLACE, lowered, same

from sdk.backends.apple.coreml.container import SharedModel, pack, pack_shared, unpack
from sdk.exir.lowered_backend_module import get_lowered_submodules

X = torch.arange(8.0).reshape(2, 4)
CALLS = [("forward", [X])]


def device_with(change: Callable[[Any], bytes], folder: Path) -> Device:
    """A program whose payload is changed."""
    manager = lowered({"forward": (torch.nn.Linear(4, 3), (X,))})
    ((_, module, _),) = get_lowered_submodules(manager.exported_program().graph_module)
    module._processed_bytes = change(dict(unpack(module.processed_bytes)[1]))
    return Device(manager.to_executorch(IN_PLACE).buffer, folder)


def without(*names: str) -> Callable[[Any], bytes]:
    def change(tree: Any) -> bytes:
        inner = tree
        for name in names[:-1]:
            inner[name] = dict(inner[name])
            inner = inner[name]
        del inner[names[-1]]
        return pack(tree)

    return change


def named(name: str) -> Callable[[Any], bytes]:
    """Returns a payload with another file of this name next to the model."""

    def change(tree: Any) -> bytes:
        payload = pack({**tree, "plain_name": b"hostile"})
        return payload.replace(b'"plain_name"'[::-1], json.dumps(name).encode()[::-1])

    return change


DAMAGED = {
    "no-metadata": (without("metadata.json"), "InvalidProgram", "the payload has no metadata.json"),
    "no-package": (without("model.mlpackage"), "InvalidProgram", "neither the folder model.mlpackage"),
    "no-model": (
        without("model.mlpackage", "Data", "com.apple.CoreML", "model.mlmodel"),
        "DelegateInvalidCompatibility",
        "Core ML cannot compile the model: Failed to parse the model specification",
    ),
    "no-named-data": (
        lambda tree: pack_shared(SharedModel("key", "forward")),
        "InvalidProgram",
        "names the model key",
    ),
    "unknown-input": (
        lambda tree: pack({**tree, "metadata.json": bytes(tree["metadata.json"]).replace(b'"input"', b'"other"')}),
        "InvalidProgram",
        "no array 'other' as input",
    ),
    "parent": (named("../../escaped"), "InvalidProgram", "would lead out of its folder"),
    "absolute": (named("/tmp/escaped"), "InvalidProgram", "would lead out of its folder"),
    "dots": (named(".."), "InvalidProgram", "would lead out of its folder"),
    "cut": (lambda tree: pack(tree)[100:], "InvalidProgram", "the payload"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_payloads(tmp_path: Path, kind: str) -> None:
    """CML-18: a damaged payload is a typed error that says what is wrong, and leaves no files."""
    change, error, words = DAMAGED[kind]
    device = device_with(change, tmp_path)
    if kind == "unknown-input":
        _record_any(device)
    before = {path for path in tmp_path.rglob("*") if device.cache not in path.parents}
    (call,) = device.run_calls(CALLS)
    assert call.error == error, device.stderr
    assert words in device.stderr
    after = {path for path in tmp_path.rglob("*") if device.cache not in path.parents and path.is_file()}
    assert {path.name.rstrip("0123456789") for path in after - before} <= {"script", "calls.log", "input"}
    if kind != "unknown-input":  # the model compiles, and its inputs are found wrong when it is loaded
        assert not any(device.cache.rglob("*"))


def _record_any(device: Device) -> None:
    """Writes the recorded calls of the model. The interpreter cannot record them: it refuses this payload, too."""
    record = {"inputs": [{"name": "input", "type": 0x10020}], "outputs": [], "states": 0, "calls": []}
    device.run_calls(CALLS)
    name = device.stderr.partition("no records ")[2].split()[0]
    (device.records / name).write_text(json.dumps(record))


def plain(folder: Path) -> tuple[Device, list[torch.Tensor]]:
    device = Device(lowered({"forward": (torch.nn.Linear(4, 3), (X,))}).to_executorch(IN_PLACE).buffer, folder)
    return device, device.record(CALLS)[0]


def test_the_cache(tmp_path: Path) -> None:
    """CML-18: the second start does not compile; a damaged entry is compiled again, an incomplete one is ignored."""
    device, expected = plain(tmp_path)
    for start, compiles in enumerate((1, 0, 1, 1)):
        if start == 2:
            (file,) = device.cache.rglob("model.mlmodel")
            file.unlink()
        if start == 3:  # as a crash leaves it
            (file,) = device.cache.glob("*/size")
            file.unlink()
        (call,) = device.run_calls(CALLS)
        assert call.error == "Ok", device.stderr
        assert same(call.outputs, expected)
        assert device.logged().count("compile") == compiles
        assert not list(device.cache.glob(".work*"))


def test_the_folder_of_the_cache(tmp_path: Path) -> None:
    """CML-18: the folder of the load takes precedence over the backend's, and that over the application's caches. A
    temporary folder replaces one that cannot be written."""
    device, expected = plain(tmp_path)
    line = device.call_line(*CALLS[0])
    other, refused = tmp_path / "other", tmp_path / "refused"
    refused.write_text("a file")
    for lines, place in (
        ([f"set cache_dir {device.cache}", f"option cache_dir {other}", "load forward"], other),
        ([], device.caches / "executorch_coreml"),
        ([f"set cache_dir {refused}"], device.temporary),
    ):
        call = device.run([*lines, line])[-1]
        assert call.error == "Ok", device.stderr
        assert same(call.outputs, expected)
        assert len(list(place.rglob("model.mlmodelc"))) == 1
        assert device.logged().count("compile") == 1
        assert not device.cache.exists()


def test_the_limit_of_the_cache(tmp_path: Path) -> None:
    """CML-18: older models are removed; the last one stays."""
    first, _ = plain(tmp_path)
    assert first.run_calls(CALLS)[0].error == "Ok", first.stderr
    folder = tmp_path / "second"
    folder.mkdir()
    second = Device(lowered({"forward": (torch.nn.Linear(4, 5), (X,))}).to_executorch(IN_PLACE).buffer, folder)
    second.record(CALLS)
    lines = [f"set cache_dir {first.cache}", "set cache_limit_mib 0", second.call_line(*CALLS[0])]
    assert second.run(lines)[-1].error == "Ok", second.stderr
    assert len(list(first.cache.iterdir())) == 1
    assert first.run_calls(CALLS)[0].error == "Ok", first.stderr
    assert first.logged().count("compile") == 2
