# SPDX-License-Identifier: BSD-3-Clause
"""Turns the settings of a backend into its partitioner, and `quantization.pt2e_quantize` into a quantiser.
Each backend declares them (`Backend.language_models`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from sdk.backends.language_models import Quantizer
from sdk.backends.registry import Backend, BackendError, backend, backends
from sdk.exir.backend.partitioner import Partitioner
from sdk.extension.llm.export.config.llm_config import LlmConfig, Pt2eQuantize
from sdk.extension.llm.export.settings import SettingsError

_ACTED_ON_KERNELS = ("use_torchao_kernels_linear", "use_torchao_kernels_tied_embedding")
"""The settings of the group of torchao's kernels, which are this SDK's kernels for weights of few bits."""


def enabled_backends(config: LlmConfig) -> list[str]:
    """The identifiers of the backends that are to get parts of the model, in the order of `BackendConfig`."""
    settings = config.backend
    return [f.name for f in dataclasses.fields(settings) if getattr(getattr(settings, f.name), "enabled", False)]


def partitioners(config: LlmConfig) -> list[Partitioner]:
    """The partitioners of the enabled backends, with the options of the settings.

    Raises SettingsError or `BackendError` for an unknown backend or one that lacks a package.
    """
    found: list[Partitioner] = []
    for name in enabled_backends(config):
        declared = _known(name)
        part = declared.language_models
        options: dict[str, Any] = {}
        if part is not None and part.arguments is not None:
            try:
                options = declared.imported(part.arguments, "language_models")(getattr(config.backend, name), config)
            except ValueError as error:
                raise SettingsError(str(error)) from error
        found.append(declared.find("partitioner")(**options))
    return found


def refuse_unknown(config: LlmConfig) -> None:
    """Raises SettingsError for an unknown backend, and for options and quantisers that this version lacks."""
    for name in enabled_backends(config):
        _known(name)
    for group in dataclasses.fields(config.backend):
        settings = getattr(config.backend, group.name)
        default, acted_on = type(settings)(), _acted_on(group.name)
        for field in dataclasses.fields(settings):
            changed = getattr(settings, field.name) != getattr(default, field.name)
            if changed and field.name not in ("enabled", *acted_on):
                raise SettingsError(f"not supported in this version: backend.{group.name}.{field.name}; leave it out")
    if config.quantization.pt2e_quantize is not None:
        quantizer(config.quantization.pt2e_quantize, config.quantization.group_size)


def _acted_on(group: str) -> tuple[str, ...]:
    """Returns the fields of a group, besides `enabled`, that have an effect."""
    declared = _by_identifier().get(group)
    if declared is None:
        return _ACTED_ON_KERNELS if group == "torchao" else ()
    return declared.language_models.acted_on if declared.language_models is not None else ()


def _by_identifier() -> dict[str, Backend]:
    return {declared.identifier: declared for declared in backends().values()}


def _known(identifier: str) -> Backend:
    declared = _by_identifier().get(identifier)
    try:
        return declared if declared is not None else backend(identifier)
    except BackendError as error:
        raise SettingsError(f"backend.{identifier}.enabled: {error}") from None


def _quantizers() -> Iterator[tuple[Backend, str, Quantizer]]:
    for declared in backends().values():
        if declared.language_models is not None:
            for name, found in declared.language_models.quantizers.items():
                yield declared, name, found


def quantizer(kind: Pt2eQuantize, group_size: int | None = None) -> Any:
    """The quantiser of a setting, for torchao's `prepare_pt2e`.

    `group_size`: the inputs of a linear layer that share a scale, or -1 for all inputs of an output channel; None for
    the default of the quantiser.

    Raises SettingsError for a quantiser that this version does not have, or whose package is not installed, and for a
    group size where scales are not for groups.
    """
    name = kind.value
    known = {each: (declared, found) for declared, each, found in _quantizers()}
    declared, found = known.get(name, (None, Quantizer(make=None)))
    if declared is None or found.make is None:
        family = name.partition("_")[0]
        why = "it is not supported in this version"
        if declared is None:
            why = f"there is no backend {family} in this version; the known ones are: {', '.join(backends())}"
        raise SettingsError(
            f"quantization.pt2e_quantize={name}: {why}. Supported are "
            f"{', '.join(sorted(each for each, (_, other) in known.items() if other.make is not None))}"
            + (f"; {found.instead}" if found.instead else "")
        )
    options = {}
    if group_size is not None:
        if not found.has_groups:
            raise SettingsError(
                f"quantization.group_size={group_size}: the quantizer {name} has one scale for each output channel; "
                "leave it out"
            )
        options["group_size"] = group_size
    try:
        return declared.imported(found.make, "language_models")(**options)
    except ValueError as error:
        raise SettingsError(f"quantization.pt2e_quantize={name}: {error}") from error
    except ImportError as error:
        raise SettingsError(
            f"quantization.pt2e_quantize={name} needs {error.name}, which cannot be imported: {error}"
        ) from error
