# SPDX-License-Identifier: BSD-3-Clause
"""The model of the Ethos-U computes what the TOSA reference model computes, in every bit: many operators and models for
every U55 and U65, with both releases of Vela, five random inputs and the extremes of the inputs."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib

import pytest
import torch
from ethos_u_cases import LARGE_MODELS, MODELS, ONLY_8_BITS, OPERATORS, Model
from ethos_u_model import cases_of, compiled

from sampling import share
from sdk.backends.arm.ethosu import EthosUCompileSpec
from sdk.backends.arm.ethosu.vela import PACKAGES

TARGETS = ("ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256", "ethos-u65-512")
PAIRS = [(target, release) for release in range(len(PACKAGES)) for target in TARGETS]
SEEDS = range(6)
"""The seeds of the inputs. Seed 0 gives the extremes."""


FAULTS_OF_VELA = {("split", 8, "ethos-u-vela==5.2.0")}
"""(operator, bits, release of Vela) for which Vela writes wrong commands; the export reports them."""


def _path_of(release: int) -> str:
    """Returns Python's search path for a release of Vela: the step `arm` installs the second release next to the
    first."""
    path = os.environ["PYTHONPATH"]
    return path if release == 0 else os.pathsep.join((os.environ["SDK_OTHER_VELA"], path))


def _pairs(name: str) -> list[tuple[str, int]]:
    """Returns pairs of target and release of Vela: all of them, or, in a sampled run, two, which change every day."""
    which, count = share()
    if count == 1:
        return PAIRS
    first = zlib.crc32(name.encode()) + which
    return [PAIRS[first % len(PAIRS)], PAIRS[(first + len(PAIRS) // 2 + 1) % len(PAIRS)]]


def _compare(model: Model, bits: int, name: str, monkeypatch: pytest.MonkeyPatch, seeds: range = SEEDS) -> None:
    cases = cases_of(compiled(*model, EthosUCompileSpec("ethos-u55-128"), bits), seeds)
    paths = [_path_of(release) for release in range(len(PACKAGES))]
    for target, release in _pairs(name):
        monkeypatch.setenv("PYTHONPATH", paths[release])
        for case in cases:
            if (name, bits, PACKAGES[release]) in FAULTS_OF_VELA:
                with pytest.raises(RuntimeError, match="writes two parts of its result to one address"):
                    case.run(EthosUCompileSpec(target))
                continue
            try:
                commands = case.run(EthosUCompileSpec(target))
            except (AssertionError, RuntimeError) as error:
                raise AssertionError(f"{target}, {PACKAGES[release]}: {error}") from error
            assert commands


def test_the_releases_of_vela_are_there() -> None:
    """Each search path has its release of Vela."""
    program = "from importlib.metadata import version; print(version('ethos-u-vela'))"
    for release, package in enumerate(PACKAGES):
        environment = {**os.environ, "PYTHONPATH": _path_of(release)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert f"ethos-u-vela=={done.stdout.strip()}" == package, done.stderr


def test_there_are_enough_operators() -> None:
    """The sweep has at least 60 operators with int8 and 30 with int16."""
    assert len(OPERATORS) >= 60 and len([name for name in OPERATORS if name not in ONLY_8_BITS]) >= 30


@pytest.mark.sampled
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_8_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """ETU-06"""
    torch.manual_seed(0)
    _compare(OPERATORS[name](), 8, name, monkeypatch)


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in ONLY_8_BITS])
def test_operators_of_16_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """ETU-06: activations in int16 and weights in int8."""
    torch.manual_seed(0)
    _compare(OPERATORS[name](), 16, name, monkeypatch)


@pytest.mark.sampled
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", MODELS)
def test_models_on_every_npu(name: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    _compare(MODELS[name](), bits, name, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE_MODELS)
def test_large_models_on_every_npu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    _compare(LARGE_MODELS[name](), 8, name, monkeypatch, range(2))
