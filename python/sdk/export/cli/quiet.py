# SPDX-License-Identifier: BSD-3-Clause
"""Hides warnings and logs of torch, and collects the warnings of this package."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sdk.devtools.report import MissingKernelWarning

_PACKAGE = str(Path(__file__).parents[2])
_LOGGERS = ("torch", "torch._dynamo", "torch.export", "torch.fx", "torchao")


@contextmanager
def quiet(verbose: bool, notes: list[str]) -> Iterator[None]:
    """Within the block, warnings of this package are added to `notes`. Other warnings and torch's log lines are shown
    only with `verbose`."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        shown = warnings.showwarning
        warnings.simplefilter("always")

        def keep(message: Warning | str, category: type[Warning], filename: str, *rest: Any, **named: Any) -> None:
            if issubclass(category, MissingKernelWarning):
                return  # the receipt lists them completely
            if filename.startswith(_PACKAGE):
                if str(message) not in notes:
                    notes.append(str(message))
            elif verbose:
                shown(message, category, filename, *rest, **named)

        warnings.showwarning = keep
        try:
            if not verbose:
                for logger in loggers:
                    logger.setLevel(logging.CRITICAL)
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
