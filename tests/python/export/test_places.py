# SPDX-License-Identifier: BSD-3-Clause
"""Whose code a file is: packages beside PyTorch and beside this one, such as torchvision, are not theirs."""

from __future__ import annotations

import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import sdk
from sdk.exir._messages import user_frame
from sdk.exir.verification.verifier import EXIREdgeDialectVerifier, SpecViolationError
from sdk.export.cli.clock import ClockReads
from sdk.export.cli.quiet import quiet

TORCH, PACKAGE = Path(torch.__file__).parent, Path(sdk.__file__).parent


def function_of(file: Path, code: str) -> Callable[[], Any]:
    """A function with code of a file, which need not exist."""
    names: dict[str, Any] = {"time": time, "warnings": warnings}
    exec(compile(f"def function():\n    {code}", str(file), "exec"), names)
    found: Callable[[], Any] = names["function"]
    return found


@pytest.mark.parametrize(("folder", "is_users"), [(TORCH, False), (Path(f"{TORCH}vision"), True)])
def test_reads_of_the_clock(folder: Path, is_users: bool) -> None:
    function = function_of(folder / "net.py", "time.time()")
    with ClockReads() as reads:
        function()
    assert reads.places == ([f"time.time() ({folder / 'net.py'}:2)"] if is_users else [])


@pytest.mark.parametrize(("folder", "is_users"), [(TORCH, False), (Path(f"{TORCH}vision"), True)])
def test_the_line_of_an_operator(folder: Path, is_users: bool) -> None:
    node = torch.fx.Graph().placeholder("x")
    files = ("/home/user/net.py", folder / "ops.py")
    node.meta["stack_trace"] = "".join(f'File "{file}", line 7, in forward\n    return x\n' for file in files)
    frame = user_frame(node)
    assert frame is not None and frame["file"] == str(files[is_users])


@pytest.mark.parametrize(("folder", "is_own"), [(PACKAGE, True), (Path(f"{PACKAGE}_models"), False)])
def test_warnings_of_this_package(folder: Path, is_own: bool) -> None:
    notes: list[str] = []
    others: list[str] = []
    with quiet(False, notes, others):
        function_of(folder / "net.py", "warnings.warn('text')")()
    assert (notes, others) == ((["text"], []) if is_own else ([], ["text"]))


@pytest.mark.parametrize(("module", "is_allowed"), [("torch", True), ("torch.fx", True), ("torchvision.ops", False)])
def test_functions_of_edge_programs(module: str, is_allowed: bool) -> None:
    function = types.FunctionType((lambda: None).__code__, {})
    function.__module__ = module
    verifier = EXIREdgeDialectVerifier()
    if is_allowed:
        verifier.check_valid_edge_op(function)
        return
    with pytest.raises(SpecViolationError, match="is not an edge operator"):
        verifier.check_valid_edge_op(function)
