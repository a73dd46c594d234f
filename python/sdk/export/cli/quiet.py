# SPDX-License-Identifier: BSD-3-Clause
"""Hides logs of torch, and collects the warnings of this package, of PyTorch and of the model's code."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sdk.devtools.report import MissingKernelWarning

_PACKAGE = f"{Path(__file__).parents[2]}{os.sep}"
_ABOUT_THE_MODEL = (UserWarning, RuntimeWarning, SyntaxWarning)
"""The kinds of warnings that may be about the model. Other kinds, such as deprecations, are about code that the user of
a model did not write."""
_ITS_OWN = re.compile(
    # torch's own recurrent layers cause this warning, and are captured correctly.
    r"The tensor attributes? (self\.[\w.]*_flat_weights\[\d+\],? )+(was|were) assigned during export"
    # Side effects on buffers are captured.
    r"|While compiling, we found certain side effects [^\[]*\[(\"[^\"]*\._buffers\"(, )?)+\]$"
    r"|TF32 acceleration on top of oneDNN"
)
_LOGGERS = ("torch", "torch._dynamo", "torch.export", "torch.fx", "torchao")


@contextmanager
def quiet(verbose: bool, notes: list[str], others: list[str]) -> Iterator[None]:
    """Within the block, warnings of this package are added to `notes`. Warnings of PyTorch and of other code that may
    concern the model are added to `others`. The rest, and torch's log lines, are shown only with `verbose`."""
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
                return
            if issubclass(category, _ABOUT_THE_MODEL) and not _ITS_OWN.match(str(message)):
                text = " ".join(str(message).split())
                if text not in others:
                    others.append(text)
            if verbose:
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
