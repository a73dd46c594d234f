# SPDX-License-Identifier: BSD-3-Clause
"""`BundledProgram`: a program with test cases, which are checked against the inputs and outputs of its methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from sdk.devtools.bundled_program._checks import check_suites, methods_by_name, values_of
from sdk.devtools.bundled_program.config import ConfigValue, MethodTestSuite
from sdk.devtools.bundled_program.schema import bundled_program_schema as bundle_schema
from sdk.devtools.bundled_program.version import BUNDLED_PROGRAM_SCHEMA_VERSION
from sdk.exir import schema
from sdk.exir._serialize._regular_file import read_file
from sdk.exir._serialize._tensor_data import TensorData
from sdk.exir.tensor import scalar_type_enum

__all__ = ["BundledProgram"]


class BundledProgram:
    """A program and test cases for some or all of its methods, for `serialize_from_bundled_program_to_flatbuffer`."""

    def __init__(
        self,
        executorch_program: Any | None,
        method_test_suites: Sequence[MethodTestSuite],
        pte_file_path: str | None = None,
    ) -> None:
        """
        Args:
            executorch_program: What `to_executorch()` returned.
            method_test_suites: Test cases, one suite for each method that has some; kept in the order of their names.
            pte_file_path: Instead of `executorch_program`, a file with the program.

        Raises:
            AssertionError: A suite names a method that the program does not have, or a case does not fit its method:
                the number of inputs or outputs, a dtype, sizes, the type of a number.
            TypeError: `executorch_program` is something else.
            RuntimeError: Neither or both of `executorch_program` and `pte_file_path` were given.
        """
        if executorch_program is None and pte_file_path is None:
            raise RuntimeError("Either executorch_program or pte_file_path must be provided")
        if executorch_program is not None and pte_file_path is not None:
            raise RuntimeError("Only one of executorch_program or pte_file_path can be used")
        if executorch_program is not None and not hasattr(executorch_program, "buffer"):
            found = type(executorch_program).__name__
            raise TypeError(
                f"executorch_program must be what to_executorch() returned, found a {found}; "
                "pass the path of a file as pte_file_path"
            )
        self.executorch_program = executorch_program
        self._pte_file_path = pte_file_path
        self.method_test_suites = sorted(method_test_suites, key=lambda suite: suite.method_name)
        check_suites(self._program()[0], self.method_test_suites)

    def _program(self) -> tuple[schema.Program, bytes | None]:
        """The program, and the contents of its file if it comes from one."""
        if self.executorch_program is None:
            from sdk.exir._serialize._flatbuffer_program import _flatbuffer_to_program

            assert self._pte_file_path is not None
            data = read_file(self._pte_file_path)
            return _flatbuffer_to_program(data), data
        # The attribute is `executorch_program` in managers, and `program` in the older `ExecutorchProgram`.
        program = getattr(self.executorch_program, "executorch_program", None) or self.executorch_program.program
        return program, None

    def serialize_to_schema(self) -> bundle_schema.BundledProgram:
        """The content of the `.bpte`, with the values that the tensors of the test cases have now.

        Raises AssertionError if the test cases were changed and no longer fit the program.
        """
        program, data = self._program()
        check_suites(program, self.method_test_suites)
        plans = methods_by_name(program)
        suites = []
        for suite in self.method_test_suites:
            plan = plans[suite.method_name]
            inputs, outputs = values_of(plan, plan.inputs), values_of(plan, plan.outputs)
            cases = [
                bundle_schema.BundledMethodTestCase(
                    [_to_value(value, like) for value, like in zip(case.inputs, inputs, strict=True)],
                    # A case has expected outputs for all outputs or for none.
                    [_to_value(value, like) for value, like in zip(case.expected_outputs, outputs, strict=False)],
                )
                for case in suite.test_cases
            ]
            suites.append(bundle_schema.BundledMethodTestSuite(suite.method_name, cases))
        content = self.executorch_program.buffer if self.executorch_program is not None else data
        assert content is not None
        return bundle_schema.BundledProgram(BUNDLED_PROGRAM_SCHEMA_VERSION, suites, content)


def _to_value(value: ConfigValue, like: Any) -> bundle_schema.Value:
    """Converts a value to its stored form. The elements of a tensor are in the dim order of the method's tensor."""
    if isinstance(value, torch.Tensor):
        dim_order = list(like.dim_order)
        data = bytes(TensorData(value.detach(), dim_order, "a tensor of a test case"))
        return bundle_schema.Value(
            bundle_schema.Tensor(scalar_type_enum(value.dtype), list(value.shape), data, dim_order)
        )
    if isinstance(value, bool):
        return bundle_schema.Value(bundle_schema.Bool(value))
    if isinstance(value, int):
        return bundle_schema.Value(bundle_schema.Int(value))
    return bundle_schema.Value(bundle_schema.Double(value))
