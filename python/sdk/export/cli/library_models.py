# SPDX-License-Identifier: BSD-3-Clause
"""`torchvision:NAME` and `transformers:NAME` on the command line."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from sdk.export.cli.errors import CommandError, closest, first_lines, with_type

Made = tuple[torch.nn.Module, Callable[[], Any] | None]
"""A model and, if the library knows them, its example inputs."""


def torchvision_model(name: str) -> Made:
    """`mobilenet_v2`: the model with its default pretrained weights, which torchvision downloads if necessary.
    `mobilenet_v2@none`: with random weights. Images have the size with which the pretrained weights were evaluated."""
    name, at, weights = name.partition("@")
    if at and weights != "none":
        raise CommandError(f"`torchvision:{name}@{weights}`: expected `@none`, for random weights, after the name.")
    if not name:
        raise CommandError("`torchvision:` names no model. Write one of torchvision.models.list_models() after it.")
    models = _library("torchvision.models", "torchvision")
    if name not in models.list_models():
        raise CommandError(f"torchvision has no model `{name}`.{closest(name, models.list_models())}")
    default = models.get_model_weights(name).DEFAULT
    try:
        # Otherwise, a checkpoint for a part of the model would be downloaded although random weights were requested.
        parts = {"weights_backbone": None} if at and name in models.list_models(module=models.detection) else {}
        module = models.get_model(name, weights=None if at else default, **parts)
    except Exception as error:
        raise CommandError(
            f"torchvision could not make `{name}` with its pretrained weights: {type(error).__name__}: "
            f"{first_lines(error, 1)}\nThey are downloaded from {default.url} to {torch.hub.get_dir()}. Write "
            f"torchvision:{name}@none for random weights."
        ) from error
    size = getattr(default.transforms(), "crop_size", None)
    if not size or "num_params" not in default.meta or "categories" not in default.meta:
        return module, None
    height, width = (list(size) * 2)[:2]
    return module, lambda: (torch.randn(1, 3, height, width, generator=torch.Generator().manual_seed(0)),)


def transformers_model(name: str) -> Made:
    """`distilbert-base-uncased`, or a folder: the model that the checkpoint's configuration names. A decoder is
    exported without its cache; one call processes a whole sequence."""
    transformers = _library("transformers", "transformers")
    path = Path(name)
    if not name:
        raise CommandError("`transformers:` names no checkpoint. Write its name on the Hugging Face Hub, or a folder.")
    if path.is_file() or ((path.is_absolute() or name.startswith(".")) and not path.is_dir()):
        found = f"`{name}` is a file" if path.is_file() else f"There is no folder `{name}`"
        raise CommandError(f"{found}. `transformers:FOLDER` expects a folder that save_pretrained() wrote.")
    try:
        config = transformers.AutoConfig.from_pretrained(name)
        architecture = (config.architectures or [None])[0]
        kind = getattr(transformers, architecture or "AutoModel")
        config.use_cache = False  # A cache is a Python object, which a program cannot return.
        module = kind.from_pretrained(name, config=config)
    except Exception as error:
        raise CommandError(
            f"transformers could not load `{name}`: {with_type(error, 2)}\nExpected the name "
            f"of a checkpoint on the Hugging Face Hub that can be reached or was downloaded before, or a folder that "
            f"save_pretrained() wrote."
        ) from error
    inputs = getattr(module, "dummy_inputs", None)
    return module, (lambda: dict(inputs)) if inputs else None


def _library(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except Exception as error:  # a build that does not match torch fails with various exceptions
        raise CommandError(
            f"`{package}` could not be imported: {with_type(error, 1)}\nInstall a version of "
            f"it that fits torch {torch.__version__} in this environment, or name a model in a file of yours."
        ) from error


LIBRARIES: dict[str, Callable[[str], Made]] = {"torchvision": torchvision_model, "transformers": transformers_model}
"""The library before the colon -> the function that makes the model named after the colon."""
