# SPDX-License-Identifier: BSD-3-Clause
"""Programs of this SDK run on the original and the reverse, over the whole zoo.

Our exporter's programs run on the original's runtime and on ours; the original's programs run on ours; each with the
result of eager PyTorch. And no program of ours needs a larger arena than the original's.
"""

from __future__ import annotations

import copy
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch.utils._pytree import tree_leaves

import zoo
from interop.originals import in_both_releases
from sampling import values_in_tests
from sdk.exir import ExecutorchProgramManager, to_edge
from sdk.exir._serialize import _deserialize_pte_binary
from sdk.runtime import Runtime

pytestmark = [pytest.mark.oracle, pytest.mark.network, pytest.mark.sampled]

# The original's runtime fails for these with the given words. Ours must succeed.
ORIGINAL_CANNOT_RUN = {
    "convs_1d_2d_3d": "error: 0x12",  # its portable convolution has no third spatial dimension
    "open_integer": "error: 0x12",  # it accepts no number for an input whose value the program does not fix
    "selected": "error: 0x12",  # its select refuses the order of dimensions that nonzero has
    "literals": "Unsupported python type <class 'str'>",  # its Python module accepts no text
}
# The original's result differs from that of eager PyTorch for these.
ORIGINAL_MISCOMPUTES = {"integer_math"}  # its integer remainder takes the sign of the dividend
ORIGINAL_MISEXPORTS = {"cache", "counter"}  # its exporter drops buffers' initial values

# The original's exporter refuses these with the given words.
ORIGINAL_CANNOT_EXPORT = {
    "map_over_rows": "InternalError",
    "loop": "Unsupported control flow operator: while_loop",
    "counted_loop": "did not preserve symbolic metadata",
    "literals": "Returning text is not yet supported",
    "named_tuples": "Can't serialize TreeSpec of namedtuple",
}
# The original's exporter makes programs of these whose results are wrong on its own runtime.
ORIGINAL_MISPLANS = {"branched_state", "recurrence"}


@dataclass
class Exported:
    """The programs, and eager PyTorch's results for each call."""

    directory: Path
    expected: dict[str, list[list[torch.Tensor | float]]]
    calls: dict[str, list[tuple[str, list[object]]]]

    def error(self, name: str) -> str:
        """Returns the original's error for ``name``; empty if it did not fail."""
        path = self.directory / f"{name}.error.txt"
        return path.read_text() if path.exists() else ""

    def ours(self, name: str) -> Path:
        """Our program, or a failed test that says why our exporter made none."""
        path = self.directory / f"{name}.pte"
        assert path.exists(), (self.directory / f"{name}.failure.txt").read_text()
        return path


def eager(case: zoo.Case) -> Iterator[tuple[str, list[object], list[torch.Tensor | float]]]:
    """Every call of a case in order: method, flattened inputs, flattened outputs."""
    with torch.no_grad():
        for name, method in case.methods.items():
            module = copy.deepcopy(method.module)
            for inputs in method.calls:
                yield name, tree_leaves(inputs), [copy.deepcopy(v) for v in tree_leaves(module(*inputs))]
    for name, value in case.constant_methods.items():
        yield name, [], [value]


def export(case: zoo.Case) -> ExecutorchProgramManager:
    programs = {
        method: torch.export.export(m.module, m.calls[0], dynamic_shapes=m.dynamic_shapes, strict=False)
        for method, m in case.methods.items()
    }
    return to_edge(programs, constant_methods=case.constant_methods or None).to_executorch()


@pytest.fixture(scope="module")
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """The models of the zoo whose tests run, exported by us."""
    directory = tmp_path_factory.mktemp("interop")
    result = Exported(directory, {}, {})
    for name in sorted(values_in_tests(request, "name")):
        case = zoo.build(name)
        calls = list(eager(case))
        result.calls[name] = [(method, inputs) for method, inputs, _ in calls]
        result.expected[name] = [outputs for _, _, outputs in calls]
        torch.save(result.calls[name], directory / f"{name}.calls.pt")
        try:
            export(case).save(str(directory / f"{name}.pte"))
        except Exception:  # other models must not fail because of this one; `ours` reports it
            (directory / f"{name}.failure.txt").write_text(traceback.format_exc())
    return result


@pytest.fixture(scope="module")
def original(exported: Exported, oracle, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Exports the same models with the original."""
    directory = tmp_path_factory.mktemp("original")
    oracle("export", directory, *exported.calls)
    return Exported(directory, exported.expected, exported.calls)


@pytest.fixture(scope="module")
def run_by_original(exported: Exported, oracle, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Our programs, run by the original."""
    directory = tmp_path_factory.mktemp("run_by_original")
    for program in exported.directory.glob("*.pte"):
        for path in (program, program.with_suffix(".calls.pt")):
            (directory / path.name).symlink_to(path)
    oracle("run", directory)
    return Exported(directory, exported.expected, exported.calls)


def check(outputs: list[list[object]], expected: list[list[object]]) -> None:
    for got, want in zip(outputs, expected, strict=True):
        for g, w in zip(got, want, strict=True):
            if isinstance(w, torch.Tensor):
                tolerance = {"rtol": 2e-3, "atol": 2e-3} if w.dtype == torch.half else {"rtol": 1e-4, "atol": 1e-5}
                torch.testing.assert_close(g, w, **tolerance)
            else:
                assert g == w


def known_difference(known: bool) -> AbstractContextManager[object]:
    """A comparison that must fail where the original is known to be wrong, so that a fix in the original is noticed."""
    return pytest.raises(AssertionError, match="not close") if known else nullcontext()


def run_here(path: Path, calls: list[tuple[str, list[object]]]) -> list[list[object]]:
    program = Runtime.get().load_program(path)
    methods = {name: program.load_method(name) for name in program.method_names}
    return [list(methods[method].execute(inputs)) for method, inputs in calls]


@pytest.mark.parametrize("name", zoo.CASES)
def test_ours_on_ours(name: str, exported: Exported) -> None:
    check(run_here(exported.ours(name), exported.calls[name]), exported.expected[name])


@in_both_releases
@pytest.mark.parametrize("name", zoo.CASES)
def test_ours_on_the_original(name: str, exported: Exported, run_by_original: Exported) -> None:
    if name in ORIGINAL_CANNOT_RUN:
        assert ORIGINAL_CANNOT_RUN[name] in run_by_original.error(name)
        return
    exported.ours(name)
    assert not run_by_original.error(name), run_by_original.error(name)
    outputs = torch.load(run_by_original.directory / f"{name}.outputs.pt")
    with known_difference(name in ORIGINAL_MISCOMPUTES):
        check(outputs, run_by_original.expected[name])


@in_both_releases
@pytest.mark.parametrize("name", zoo.CASES)
def test_the_originals_on_ours(name: str, original: Exported) -> None:
    if name in ORIGINAL_CANNOT_EXPORT:
        assert ORIGINAL_CANNOT_EXPORT[name] in original.error(name)
        return
    if name in ORIGINAL_MISPLANS:
        with pytest.raises(AssertionError, match="not close"):
            check(run_here(original.directory / f"{name}.pte", original.calls[name]), original.expected[name])
        return
    assert not original.error(name), original.error(name)
    outputs = run_here(original.directory / f"{name}.pte", original.calls[name])
    with known_difference(name in ORIGINAL_MISEXPORTS):
        check(outputs, original.expected[name])


def arena(path: Path) -> dict[str, int]:
    """Planned bytes of each method, all memory ids together."""
    program = _deserialize_pte_binary(path.read_bytes()).program
    return {plan.name: sum(plan.non_const_buffer_sizes) for plan in program.execution_plan}


@in_both_releases
@pytest.mark.parametrize("name", [name for name in zoo.CASES if name not in ORIGINAL_CANNOT_EXPORT])
def test_the_arena_is_never_larger_than_the_originals(name: str, exported: Exported, original: Exported) -> None:
    theirs = arena(original.directory / f"{name}.pte")
    ours = arena(exported.ours(name))
    assert ours.keys() == theirs.keys()
    for method, size in ours.items():
        assert size <= theirs[method], f"{method}: {size} bytes planned, the original needs {theirs[method]}"
