# SPDX-License-Identifier: BSD-3-Clause
"""The original's payload has the same bytes, its compiler the same options, and quantised models are as near to float32
as the original's."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
import torch
from torch.export import export, save

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mediatek_lowering import computed, lower, quantized

from interop.originals import InOriginal
from npu_models import model_of, snr
from sdk.backends.mediatek import Precision
from sdk.backends.mediatek.compiler import options_of
from sdk.backends.mediatek.preprocess import _payload
from sdk.exir.backend.compile_spec_schema import CompileSpec

pytestmark = [pytest.mark.oracle, pytest.mark.network]


def test_as_the_original(in_original: InOriginal, tmp_path: Path) -> None:
    """MTK-04, MTK-05: the bytes of the header and the compiler's options equal the original's; the signal-to-noise
    ratio is less than 1 dB below the original's."""
    model, inputs = model_of("convolutional")
    save(export(model, inputs), tmp_path / "model.pt2")
    torch.save(inputs, tmp_path / "inputs.pt")
    in_original(Path(__file__).with_name("original_mediatek.py"), tmp_path)
    assert (tmp_path / "payload.bin").read_bytes() == _payload(1, 1, b"a network")
    specs = [CompileSpec("platform-config", b"mt6991"), CompileSpec("gno", b"LTS"), CompileSpec("gno-exp", b"")]
    specs += [CompileSpec("ImportForever", struct.pack("?", True)), CompileSpec("ExtractSharedBlobKey", b"key")]
    assert (tmp_path / "options.txt").read_text() == " ".join(options_of(specs))
    expected = model(*inputs)
    for name, output in torch.load(tmp_path / "outputs.pt").items():
        found = computed(lower(quantized(model, inputs, Precision[name]), inputs), inputs, tmp_path)
        print(f"{name}: {snr(expected, found):.1f} dB, the original's scheme {snr(expected, output):.1f} dB")
        assert snr(expected, found) >= snr(expected, output) - 1
