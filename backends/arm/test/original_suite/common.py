# SPDX-License-Identifier: BSD-3-Clause
"""The names that the original's tests import from `backends.arm.test.common`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sdk.backends.arm.ethosu import EthosUCompileSpec


class Absent:
    """Stands for a name that this SDK lacks: tests that use it are skipped."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self()

    def __getitem__(self, _: Any) -> Any:
        return self()

    def __call__(self, *_: Any, **__: Any) -> Any:
        pytest.skip(self._reason, allow_module_level=True)


def parametrize(
    arg_name: str,
    test_data: Mapping[str, Any],
    xfails: Mapping[str, Any] | None = None,
    skips: Mapping[str, str] | None = None,
    strict: bool = True,
    flakies: Mapping[str, int] | None = None,
) -> Callable[[Any], Any]:
    """`pytest.mark.parametrize` with the names of the values. Cases that the original expects to fail may pass here."""
    made = []
    for name, value in test_data.items():
        marks: list[Any] = []
        if name in (skips or {}):
            marks.append(pytest.mark.skip(reason=(skips or {})[name]))
        elif name in (xfails or {}):
            marks.append(pytest.mark.xfail(reason=str((xfails or {})[name]), strict=False))
        made.append(pytest.param(value, id=name, marks=marks))
    return pytest.mark.parametrize(arg_name, made)


def _as_it_is(test: Any) -> Any:
    return test


# The model of the NPU replaces Arm's simulators.
XfailIfNoCorstone300 = XfailIfNoCorstone300_u65 = XfailIfNoCorstone320 = _as_it_is
XfailfNoVKMLEmulationLayer = _as_it_is
SkipIfNoModelConverter = pytest.mark.skip(reason="VGF has suites of this SDK")


def get_u55_compile_spec(macs: int = 128) -> EthosUCompileSpec:
    return EthosUCompileSpec(f"ethos-u55-{macs}", extra_flags=["--arena-cache-size=2097152"])


def get_u65_compile_spec(macs: int = 256) -> EthosUCompileSpec:
    return EthosUCompileSpec(f"ethos-u65-{macs}", extra_flags=["--arena-cache-size=393216"])


def get_u85_compile_spec(macs: int = 128) -> EthosUCompileSpec:
    return EthosUCompileSpec(f"ethos-u85-{macs}", memory_mode="Shared_Sram", extra_flags=["--arena-cache-size=2097152"])


class StageType:
    """Names of stages. The tests read only this one."""

    RUN_PASSES = "run_passes"


xfail_type = Any
