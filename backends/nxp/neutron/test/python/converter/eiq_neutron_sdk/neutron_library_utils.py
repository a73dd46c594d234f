# SPDX-License-Identifier: BSD-3-Clause
"""The targets that the stand-in for NXP's SDK knows."""

from __future__ import annotations

from types import SimpleNamespace


def isNeutronTarget(name: str) -> bool:
    return name == "imxrt700"


def getNeutronTargets() -> list[SimpleNamespace]:
    return [SimpleNamespace(name="imxrt700")]
