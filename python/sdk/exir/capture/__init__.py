# SPDX-License-Identifier: BSD-3-Clause
"""Options of the lowering steps, and `capture`, the predecessor of `torch.export.export`.

`sdk.exir.capture` is this package and, as in the original, the function: `exir.capture(f, args)` calls
`sdk.exir.program._captured.capture`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from sdk.extras import lazily

_EXPORTS = {
    "CallSpec": "sdk.exir.program._captured",
    "CaptureConfig": "sdk.exir.capture._config",
    "EdgeCompileConfig": "sdk.exir.capture._config",
    "ExecutorchBackendConfig": "sdk.exir.capture._config",
    "capture": "sdk.exir.program._captured",
}

__all__ = sorted(_EXPORTS)
__getattr__ = lazily(globals(), _EXPORTS)


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return __getattr__("capture")(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
