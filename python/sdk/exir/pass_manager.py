# SPDX-License-Identifier: BSD-3-Clause
"""Runs lists of passes, with checks in between and errors that name the pass."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
import torch.fx.passes.infra.pass_manager as fx
from torch._export.verifier import SpecViolationError
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir._messages import add_context, describe_node, explain_failed_pass, pass_name, source_of
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.graph.missing_values import fill_missing_values
from sdk.exir.graph.programs import assemble, copy_program, copy_signature, with_graph_module
from sdk.exir.pass_base import ExportedProgramPassBase, ExportedProgramPassResult, PassType

_log = logging.getLogger(__name__)

Passes = list[PassType] | list[list[PassType]] | None


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
                    add_context(error, f"The check {pass_name(check)} failed after the pass {after}.")
                    raise
                _log.warning("check %s failed after pass %s: %s", pass_name(check), after, error)


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
        """Checks the invariant after each pass: `module` is a graph module with a well-formed graph, which calls no
        methods of tensors. Raises otherwise."""
        if not isinstance(module, GraphModule):
            raise ExportError(
                ExportErrorType.VIOLATION_OF_SPEC, f"a pass must return a GraphModule, got {type(module).__name__}"
            )
        module.graph.lint()
        for node in module.graph.nodes:
            if node.op == "call_method":
                raise ExportError(
                    ExportErrorType.VIOLATION_OF_SPEC,
                    f"{node.name} is a call_method node, which has no form in a program; insert a "
                    "call_function node of an operator instead",
                )

    def __call__(self, module: GraphModule) -> PassResult:
        self.check(module)
        modified = False
        for _ in range(self.steps):
            changed = False
            for fn in self.passes:
                try:
                    result = _run(fn, module)
                    self.check(result.graph_module)
                except Exception as error:
                    explain_failed_pass(error, fn, self.passes)
                    raise
                module, changed = result.graph_module, changed or result.modified
                self._checks.run(module, pass_name(fn))
            module.recompile()
            modified = modified or changed
            if not changed:
                break
        return PassResult(module, modified)


class _Held:
    """The program with which a manager is called. Passes work on a copy of its graph, but some have a reference to the
    program and add or remove its weights; `move_to` applies these changes to the copy. Until `restore`, the program has
    the copy's graph."""

    def __init__(self, program: ExportedProgram) -> None:
        self._program, self._graph_module = program, program.graph_module
        self._first = self._last = self._state()

    def show(self, gm: GraphModule) -> None:
        """Makes `gm` the graph that passes find in the program."""
        self._program._graph_module = gm

    def _state(self) -> tuple[ExportGraphSignature, dict[str, Any], dict[str, Any]]:
        held = self._program
        return copy_signature(held.graph_signature), dict(held.state_dict), dict(held.constants)

    def move_to(self, program: ExportedProgram, gm: GraphModule) -> ExportedProgram:
        """`program` with the changes that the pass which returned `gm` has made to the held program."""
        (before, *weights_before), (after, *weights_after) = self._last, self._state()
        if before == after and all(map(_have_the_same, weights_before, weights_after)):
            return program
        self._last = (after, *weights_after)
        known, left = ({spec.arg.name for spec in each.input_specs} for each in (before, after))
        signature = copy_signature(program.graph_signature)
        specs = [spec for spec in signature.input_specs if spec.arg.name in left or spec.arg.name not in known]
        added = {spec.arg.name: spec for spec in after.input_specs if spec.arg.name not in known}
        for index, node in enumerate(gm.graph.find_nodes(op="placeholder")):
            if node.name in added:
                specs.insert(index, added[node.name])
        outputs = signature.output_specs if before.output_specs == after.output_specs else after.output_specs
        state_dict, constants = (
            {key: value for key, value in {**mine, **new}.items() if key in new or key not in old}
            for mine, old, new in zip(
                (program.state_dict, program.constants), weights_before, weights_after, strict=True
            )
        )
        signature = ExportGraphSignature(input_specs=specs, output_specs=outputs)
        return assemble(program, program.graph_module, signature, state_dict=state_dict, constants=constants)

    def restore(self) -> None:
        """Gives the held program its original graph, signature and weights back."""
        self.show(self._graph_module)
        if self._last is not self._first:
            held = self._program
            held._graph_signature, held._state_dict, held._constants = self._first


def _have_the_same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(first[key] is second[key] for key in first)


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
        """Adds a check, which runs after every pass if `run_checks_after_each_pass`, and raises on a failure."""
        self._checks.checks.append(check)

    def check(self, exported_program: ExportedProgram) -> None:
        """Checks the invariant after each pass: the result is an exported program with a well-formed graph."""
        if not isinstance(exported_program, ExportedProgram):
            raise ExportError(
                ExportErrorType.VIOLATION_OF_SPEC,
                f"a pass must return an ExportedProgram, got {type(exported_program).__name__}",
            )
        exported_program.graph_module.graph.lint()

    def __call__(
        self, exported_program: ExportedProgram, override_verifiers: list[type] | None = None
    ) -> ExportedProgramPassResult:
        self.check(exported_program)
        held = _Held(exported_program)
        try:
            return self._transform(copy_program(exported_program), held, override_verifiers)
        finally:
            held.restore()

    def _transform(
        self, program: ExportedProgram, held: _Held, override_verifiers: list[type] | None
    ) -> ExportedProgramPassResult:
        modified = False
        made_by: dict[Any, Any] = dict.fromkeys(_targets(program.graph_module))
        for _ in range(self.steps):
            changed = False
            for fn in self.passes:
                try:
                    if isinstance(fn, ExportedProgramPassBase):
                        outcome = fn(program)
                        program, changed = outcome.exported_program, changed or outcome.modified
                    else:
                        held.show(program.graph_module)
                        result = _run(fn, program.graph_module)
                        program = held.move_to(program, result.graph_module)
                        fill_missing_values(result.graph_module)
                        if result.graph_module is not program.graph_module:
                            program = with_graph_module(program, result.graph_module)
                        changed = changed or result.modified
                    self.check(program)
                    made_by = {**dict.fromkeys(_targets(program.graph_module), fn), **made_by}
                except Exception as error:
                    explain_failed_pass(error, fn, self.passes)
                    raise
                self._checks.run(program, pass_name(fn))
            modified = modified or changed
            if not changed:
                break
        verifiers = program.verifiers if override_verifiers is None else override_verifiers
        try:
            program = with_graph_module(program, program.graph_module, verifiers=verifiers)
        except SpecViolationError as error:
            _explain_violation(error, program.graph_module, verifiers, made_by, self.passes)
            raise
        return ExportedProgramPassResult(program, modified)


def transform(program: ExportedProgram, *passes: Any, override_verifiers: list[type] | None = None) -> ExportedProgram:
    """Runs passes, or lists of passes, on a copy of an exported program and verifies the result with
    `override_verifiers` (default: its own)."""
    return ExportedProgramPassManager(list(passes))(program, override_verifiers).exported_program


def _run(fn: Any, module: GraphModule) -> PassResult:
    result = fn(module)
    if result is None:  # The pass changed the module in place, or not at all.
        return PassResult(module, False)
    if not isinstance(result, PassResult):
        raise TypeError(f"a pass must return a PassResult(graph_module, modified) or None, got {type(result).__name__}")
    return result


def _targets(module: GraphModule) -> set[Any]:
    return {
        n.target for m in module.modules() if isinstance(m, GraphModule) for n in m.graph.nodes if callable(n.target)
    }


def _explain_violation(
    error: SpecViolationError, module: GraphModule, verifiers: list[type], made_by: dict[Any, Any], passes: list[Any]
) -> None:
    """Adds to an error which pass inserted a node that the dialect does not have."""
    node = getattr(error, "_failed_node", None)
    if node is None:
        node = next((n for n in module.graph.nodes if n.op == "call_function" and _is_rejected(n, verifiers)), None)
        if node is not None:
            add_context(error, f"The node is {describe_node(node)}{source_of(node)}")
    maker = made_by.get(node.target) if node is not None else None
    names = [pass_name(maker)] if maker is not None else [pass_name(p) for p in passes]
    which = f"the pass {names[0]}" if len(names) == 1 else f"one of the passes {', '.join(names)}"
    add_context(
        error,
        f"The rules of the dialect were kept before, so {which} must have broken them. They hold again if the pass "
        "emits edge operators only (sdk.exir.dialects._ops.ops.edge) and keeps the dtypes of results.",
    )


def _is_rejected(node: Any, verifiers: list[type]) -> bool:
    try:
        for verifier in verifiers:
            verifier().check_valid_op(node.target)
    except SpecViolationError:
        return True
    return False
