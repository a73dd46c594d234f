# SPDX-License-Identifier: BSD-3-Clause
"""`OpenvinoPartitioner` delegates parts of a model to OpenVINO, which runs them on CPUs, GPUs and NPUs. Importing this
package is fast, because each name is loaded when it is first used. Only lowering needs OpenVINO's own package."""

from __future__ import annotations

from sdk.extras import lazily

_EXPORTS = {
    "OpenVINOQuantizer": "sdk.backends.openvino.quantizer",
    "OpenvinoBackend": "sdk.backends.openvino.preprocess",
    "OpenvinoPartitioner": "sdk.backends.openvino.partitioner",
    "QuantizationMode": "sdk.backends.openvino.quantizer",
    "quantize_model": "sdk.backends.openvino.quantizer",
}

__all__ = sorted(_EXPORTS)
__getattr__ = lazily(globals(), _EXPORTS)
