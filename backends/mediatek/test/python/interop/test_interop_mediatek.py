# SPDX-License-Identifier: BSD-3-Clause
"""The original's payload has the same bytes, its compiler the same options, and quantised models are as near to float32
as the original's."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import export, save

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mediatek_lowering import computed, lower, quantized

from interop.originals import InOriginal
from npu_models import LARGE, large_model_of, model_of, snr
from sdk.backends.mediatek import Precision
from sdk.backends.mediatek.compiler import options_of
from sdk.backends.mediatek.preprocess import _payload
from sdk.exir.backend.compile_spec_schema import CompileSpec

pytestmark = [pytest.mark.oracle, pytest.mark.network]


def compare(models: dict[str, Any], in_original: InOriginal, folder: Path) -> None:
    """In each precision, a model's signal-to-noise ratio is at most 1 dB below that of the original."""
    for name, (model, inputs) in models.items():
        save(export(model, inputs), folder / f"{name}.pt2")
        torch.save(inputs, folder / f"{name}.inputs.pt")
    in_original(Path(__file__).with_name("original_mediatek.py"), folder)
    worse = []
    for name, (model, inputs) in models.items():
        expected = model(*inputs).detach()
        for precision, output in torch.load(folder / f"{name}.outputs.pt").items():
            found = snr(
                expected, computed(lower(quantized(model, inputs, Precision[precision]), inputs), inputs, folder)
            )
            if isinstance(output, str):
                assert name == "decoder", output  # the only model that the original cannot quantise
                print(f"{name} {precision}: {found:.1f} dB; the original fails: {output[:200]}")
                continue
            same = snr(expected, output)
            print(f"{name} {precision}: {found:.1f} dB, the original's scheme {same:.1f} dB")
            if found < same - 1:
                worse.append((name, precision, found, same))
    assert not worse, worse


def test_as_the_original(in_original: InOriginal, tmp_path: Path) -> None:
    """MTK-04, MTK-05: the bytes of the header and the compiler's options equal the original's; small models are
    compared in all precisions."""
    compare({name: model_of(name) for name in ("convolutional", "vision", "decoder")}, in_original, tmp_path)
    assert (tmp_path / "payload.bin").read_bytes() == _payload(1, 1, b"a network")
    specs = [CompileSpec("platform-config", b"mt6991"), CompileSpec("gno", b"LTS"), CompileSpec("gno-exp", b"")]
    specs += [CompileSpec("ImportForever", struct.pack("?", True)), CompileSpec("ExtractSharedBlobKey", b"key")]
    assert (tmp_path / "options.txt").read_text() == " ".join(options_of(specs))


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large_models_as_the_original(name: str, in_original: InOriginal, tmp_path: Path) -> None:
    """MTK-04: all precisions."""
    compare({name: large_model_of(name)}, in_original, tmp_path)
