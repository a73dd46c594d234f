# SPDX-License-Identifier: BSD-3-Clause
"""Models of other packages, which are not dependencies of this one."""

from __future__ import annotations

import logging
from typing import Any
from urllib.error import URLError

from torch import nn

_logger = logging.getLogger(__name__)


def torchvision_model(name: str) -> nn.Module:
    """A classifier of torchvision. Raises ModuleNotFoundError, with what to install, without the package."""
    try:
        from torchvision import models  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("this example needs torchvision: pip install torchvision") from error
    builder: Any = getattr(models, name)
    try:
        model: nn.Module = builder(weights="DEFAULT")
    except URLError as error:
        _logger.warning("No weights (%s): the weights are random", error)
        model = builder(weights=None)
    return model
