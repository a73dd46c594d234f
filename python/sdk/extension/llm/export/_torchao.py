# SPDX-License-Identifier: BSD-3-Clause
"""Importing torchao without the lines that it logs about itself."""

from __future__ import annotations

import logging
import re

_ABOUT_ITSELF = {
    # Its libraries for other versions of Python and for CUDA.
    "torchao": re.compile(r"Failed to load \S*\.so: "),
    # torchao registers its enumerations in a way that torch has deprecated.
    "torch.utils._pytree": re.compile(r"<enum '\w+'> is an Enum subclass "),
}


def import_torchao() -> None:
    """Imports torchao without the messages that match `_ABOUT_ITSELF`; other messages are shown."""

    def shown(record: logging.LogRecord) -> bool:
        return _ABOUT_ITSELF[record.name].match(record.getMessage()) is None

    loggers = [logging.getLogger(name) for name in _ABOUT_ITSELF]
    for logger in loggers:
        logger.addFilter(shown)
    try:
        import torchao.quantization.quant_api  # noqa: F401
    finally:
        for logger in loggers:
            logger.removeFilter(shown)
