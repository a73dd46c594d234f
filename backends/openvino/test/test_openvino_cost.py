# SPDX-License-Identifier: BSD-3-Clause
"""The overhead of the delegate over OpenVINO itself on the same compiled model; both take turns in one process.

`pytest -s` prints times and ratios.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest
from openvino_lowering import lower

from bench.models import MODELS
from bench.worker import load_model
from sdk.runtime import Runtime

ROUNDS = 60


def _least(first: Callable[[], Any], second: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """For each function, the least CPU time of a call in seconds, summed over all threads. The least is taken because
    other load of the machine only adds to the time."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, times in zip((first, second), taken, strict=True):
            begin = time.process_time()
            call()
            times.append(time.process_time() - begin)
    return min(taken[0]), min(taken[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MobileNetV2", "ViT-tiny"])
def test_calls_and_loads(name: str) -> None:
    """A call takes at most 5 % more than OpenVINO's, and a load at most 10 %."""
    import openvino

    model, inputs = load_model(MODELS[name])
    lowered = lower(model, inputs)
    (delegate,) = lowered.delegates
    core, payload = openvino.Core(), delegate.processed_bytes

    def load_here() -> Any:
        return Runtime.get().load_program(lowered.buffer).load_method("forward")

    def load_there() -> Any:
        return core.import_model(payload, "CPU").create_infer_request()

    method, request = load_here(), load_there()
    for position, tensor in enumerate(inputs):
        request.set_input_tensor(position, openvino.Tensor(tensor.numpy(), shared_memory=True))
    gc.disable()
    try:
        call_here, call_there = _least(lambda: method.execute(inputs), request.infer, ROUNDS)
        loaded_here, loaded_there = _least(load_here, load_there, ROUNDS // 3)
    finally:
        gc.enable()
    for what, ours, theirs in (("call", call_here, call_there), ("load", loaded_here, loaded_there)):
        print(f"{what} {ours * 1e3:.3f} ms, OpenVINO {theirs * 1e3:.3f} ms, {ours / theirs:.3f}")
    assert call_here <= 1.05 * call_there
    assert loaded_here <= 1.10 * loaded_there
