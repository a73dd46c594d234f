# SPDX-License-Identifier: BSD-3-Clause
"""Quantises a captured program with the quantiser of a backend (`quantization.pt2e_quantize`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.extension.llm.export.backends import quantizer
from sdk.extension.llm.export.config.llm_config import LlmConfig
from sdk.extension.llm.export.settings import SettingsError

logger = logging.getLogger("sdk.extension.llm.export")


def quantize_captured(
    captured: ExportedProgram, config: LlmConfig, inputs: tuple[Any, ...], texts: list[tuple[Any, ...]]
) -> GraphModule:
    """The module of a captured program with quantise and dequantise operators, to be captured again.

    `config`: settings with `quantization.pt2e_quantize`. `inputs`: the example inputs. `texts`: the inputs of the
    calibration calls; if empty, the example inputs. Caches are restored afterwards.
    """
    kind = config.quantization.pt2e_quantize
    assert kind is not None

    def calibrate(prepared: GraphModule) -> None:
        for call in texts or [inputs]:
            prepared(*call)
        logger.info("calibrated with %d calls", len(texts or [inputs]))

    return quantize_graph(captured.module(), quantizer(kind, config.quantization.group_size), calibrate)


def quantize_graph(module: Any, quantizer: Any, calibrate: Callable[[GraphModule], None]) -> GraphModule:
    """Returns the module of a captured program with quantise and dequantise operators.

    `calibrate` calls the module that it is given, which notes the ranges of values. Caches are restored afterwards.
    """
    before = {name: value.clone() for name, value in module.named_buffers()}
    logger.info("prepare_pt2e with %s", type(quantizer).__name__)
    prepared = prepare_pt2e(module, quantizer)
    with torch.no_grad():
        calibrate(prepared)
    logger.info("convert_pt2e")
    converted = convert_pt2e(prepared)
    for name, value in converted.named_buffers():
        if name in before:
            value.copy_(before[name])
    return converted


def calibration_calls(config: LlmConfig, most: int, with_position: bool) -> list[tuple[Any, ...]]:
    """The calls for `quantization.calibration_data`, in the tokens of `base.tokenizer_path`; none without it.

    `most`: the largest number of tokens of a call. `with_position`: whether calls have the position of their first
    token.
    """
    path = config.base.tokenizer_path
    if path is None:
        return []
    from sdk.extension.llm.tokenizers import get_tokenizer

    try:
        ids = get_tokenizer(path).encode(config.quantization.calibration_data, bos=True, eos=False)
    except (ValueError, RuntimeError) as error:
        raise SettingsError(f"base.tokenizer_path: {error}") from None
    ids = ids[: config.export.max_context_length]
    calls: list[tuple[Any, ...]] = []
    for at in range(0, len(ids), most):
        tokens = torch.tensor([ids[at : at + most]])
        calls.append((tokens, {"input_pos": torch.tensor([at])}) if with_position else (tokens,))
    return calls
