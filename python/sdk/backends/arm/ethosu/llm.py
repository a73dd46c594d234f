# SPDX-License-Identifier: BSD-3-Clause
"""Language models for an Ethos-U: its settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List

# OmegaConf reads these annotations, and it takes `List[X]` only.
# ruff: noqa: UP006, UP035

__all__ = ["EthosUConfig"]


@dataclass
class EthosUConfig:
    """Arm Ethos-U."""

    enabled: bool = False
    target: str = "ethos-u85-128"
    memory_mode: str = "default"
    system_config: str = "default"
    extra_flags: List[str] = field(default_factory=list)


def partitioner_arguments(settings: EthosUConfig, config: Any) -> dict[str, Any]:
    """The arguments of `sdk.backends.arm.ethosu.partitioner.make_partitioner`."""
    chosen = {"memory_mode": settings.memory_mode, "system_config": settings.system_config}
    options = {name: value for name, value in chosen.items() if value != "default"}
    return {"target": settings.target, "extra_flags": list(settings.extra_flags), **options}
