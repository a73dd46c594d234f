# SPDX-License-Identifier: BSD-3-Clause
"""Runs lists of passes, with checks in between and errors that name the pass."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
import torch.fx.passes.infra.pass_manager as fx
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.pass_base import ExportedProgramPassBase, ExportedProgramPassResult, PassType

_log = logging.getLogger(__name__)

Passes = list[PassType] | list[list[PassType]] | None


def pass_name(fn: Any) -> str:
    """How a pass is called in messages."""
    return getattr(fn, "__name__", None) or type(fn).__name__


def _flatten(passes: Passes) -> list[PassType]:
    flat: list[PassType] = []
    for item in passes or []:
        flat.extend(item) if isinstance(item, (list, tuple)) else flat.append(item)
    return flat


class _Checks:
    """Checks that hold after every pass."""

    def __init__(self, enabled: bool, suppress: bool) -> None:
        self.checks: list[Callable[[Any], None]] = []
        self._enabled, self._suppress = enabled, suppress

    def run(self, target: Any, after: str) -> None:
        if not self._enabled:
            return
        for check in self.checks:
            try:
                check(target)
            except Exception as error:
                if not self._suppress:
                    raise
                _log.warning("check %s failed after pass %s: %s", pass_name(check), after, error)


def _annotate(error: Exception, fn: Any) -> None:
    note = f"while running pass {pass_name(fn)}"
    if hasattr(error, "add_note"):
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{note}", *error.args[1:])


class PassManager(fx.PassManager):
    """Runs passes over a graph module, `steps` times or until none of them changes it."""

    def __init__(
        self,
        passes: Passes = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
        steps: int = 1,
    ) -> None:
        super().__init__(
            passes=_flatten(passes),
            run_checks_after_each_pass=run_checks_after_each_pass,
            suppress_check_failures=suppress_check_failures,
            steps=steps,
        )
        self._checks = _Checks(run_checks_after_each_pass, suppress_check_failures)

    def add_checks(self, check: Callable[[GraphModule], None]) -> None:
        """Adds a check for `run_checks_after_each_pass`; it raises if something is wrong."""
        self._checks.checks.append(check)

    set_checks = add_checks

    def check(self, module: torch.nn.Module) -> None:
        """What must always hold: `module` is a graph module with a well-formed graph. Returns nothing, raises
        otherwise."""
        if not isinstance(module, GraphModule):
            raise ExportError(
                ExportErrorType.VIOLATION_OF_SPEC, f"a pass must return a GraphModule, got {type(module).__name__}"
            )
        module.graph.lint()

    def __call__(self, module: GraphModule) -> PassResult:
        self.check(module)
        modified = False
        for _ in range(self.steps):
            changed = False
            for fn in self.passes:
                try:
                    result = fn(module)
                except Exception as error:
                    _annotate(error, fn)
                    raise
                if result is None:
                    continue
                if not isinstance(result, PassResult):
                    raise TypeError(
                        f"pass {pass_name(fn)} must return a PassResult or None, got {type(result).__name__}"
                    )
                module, changed = result.graph_module, changed or result.modified
                self.check(module)
                if self._checks.checks:
                    self._checks.run(module, pass_name(fn))
            module.recompile()
            modified = modified or changed
            if not changed:
                break
        return PassResult(module, modified)


class ExportedProgramPassManager(fx.PassManager):
    """Runs passes over exported programs. Passes over graph modules are applied to the program's graph module."""

    def __init__(
        self,
        passes: Passes = None,
        constraints: list[Callable[[Callable, Callable], bool]] | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
        steps: int = 1,
    ) -> None:
        super().__init__(
            passes=_flatten(passes),
            constraints=constraints,
            run_checks_after_each_pass=run_checks_after_each_pass,
            suppress_check_failures=suppress_check_failures,
            steps=steps,
        )
        self._checks = _Checks(run_checks_after_each_pass, suppress_check_failures)

    def add_checks(self, check: Callable[[ExportedProgram], None]) -> None:
        """Runs `check` after every pass."""
        self._checks.checks.append(check)

    def check(self, exported_program: ExportedProgram) -> None:
        """What must always hold: an exported program with a well-formed graph."""
        if not isinstance(exported_program, ExportedProgram):
            raise ExportError(
                ExportErrorType.VIOLATION_OF_SPEC,
                f"a pass must return an ExportedProgram, got {type(exported_program).__name__}",
            )
        exported_program.graph_module.graph.lint()

    def __call__(
        self, exported_program: ExportedProgram, override_verifiers: list[type] | None = None
    ) -> ExportedProgramPassResult:
        from sdk.exir.program._missing_values import fill_missing_values
        from sdk.exir.program._rebuild import copy_program, with_graph_module

        self.check(exported_program)
        program, modified = copy_program(exported_program), False
        for _ in range(self.steps):
            changed = False
            for fn in self.passes:
                try:
                    if isinstance(fn, ExportedProgramPassBase):
                        outcome = fn(program)
                        program, changed = outcome.exported_program, changed or outcome.modified
                    else:
                        result = fn(program.graph_module)
                        if result is not None:
                            fill_missing_values(result.graph_module)
                            if result.graph_module is not program.graph_module:
                                program = with_graph_module(program, result.graph_module)
                            changed = changed or result.modified
                except Exception as error:
                    _annotate(error, fn)
                    raise
                self._checks.run(program, pass_name(fn))
            modified = modified or changed
            if not changed:
                break
        if modified:
            program = with_graph_module(
                program, program.graph_module, verifiers=override_verifiers or program.verifiers
            )
        return ExportedProgramPassResult(program, modified)
