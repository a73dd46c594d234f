# SPDX-License-Identifier: BSD-3-Clause
"""Loads the programs that a command runs, and describes the inputs of their methods. Imports neither torch nor the
compiler."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sdk.command import CommandError, closest, describe, existing
from sdk.devtools.element_types import type_name
from sdk.exir.scalar_type import ScalarType


@dataclass(frozen=True)
class Slot:
    """An input of a method.

    Attributes:
        index: Its number.
        tag: `Tensor`, `Int`, `Double`, ...
        dtype: The dtype of a tensor, by NumPy's name.
        shape: The shape of a tensor; the largest one if it is dynamic.
        dim_order: The dim order of a tensor, outermost dimension first.
        nbytes: The size of a tensor of that shape in bytes.
    """

    index: int
    tag: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    dim_order: tuple[int, ...] = ()
    nbytes: int = 0

    def __str__(self) -> str:
        what = f"{self.dtype}[{', '.join(map(str, self.shape))}]" if self.tag == "Tensor" else self.tag.lower()
        return f"input {self.index} ({what})"


def runtime() -> ModuleType:
    """The runtime's extension module. Raises CommandError if the package was installed without it."""
    try:
        from sdk.extension.pybindings import portable_lib
    except ImportError as error:
        raise CommandError(f"expected the runtime in this package, found none: {describe(error)}") from error
    return portable_lib


def set_threads(count: int | None) -> int:
    """Sets the number of threads for kernels unless `count` is None, at most one for each processor of this machine.
    Returns the number in use. Raises CommandError."""
    library = runtime()
    if count is not None:
        try:
            library._unsafe_reset_threadpool(capped_threads(count))
        except (ValueError, NotImplementedError, RuntimeError) as error:
            raise CommandError(f"--threads: {describe(error)}") from error
    return int(library._threadpool_get_thread_count())


def capped_threads(count: int) -> int:
    """`count`, or the number of this machine's processors if that is less, because more threads would only wait for
    each other. In the second case, a line on stderr says so."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if count <= processors:
        return count
    print(f"--threads {count}: this machine has {processors}, so {processors} are used", file=sys.stderr)
    return processors


def is_bundle(path: Path) -> bool:
    """Whether a file is a bundled program. Raises CommandError if it is neither that nor a program."""
    return _identifier(path, "a program (.pte) or a bundled program (.bpte)", b"ET12", b"BP08") == b"BP08"


def program_file(path: Path) -> Path:
    """The path of a program. Raises CommandError for any other file."""
    _identifier(path, "a program (.pte)", b"ET12")
    return path


def data_file(path: Path) -> Path:
    """The path of external data. Raises CommandError for any other file."""
    _identifier(path, "external data (.ptd)", b"FT01")
    return path


def _identifier(path: Path, expected: str, *known: bytes) -> bytes:
    """The format identifier that a file has. Raises CommandError for any other file."""
    with existing(path).open("rb") as file:
        head = file.read(8)
    if head[4:8] in known:
        return head[4:8]
    found = f"{len(head)} bytes" if len(head) < 8 else f"the identifier {head[4:8]!r} at byte 4"
    if head[:4] == b"GGUF":
        found = "a GGUF file, which is a checkpoint: `sdk llm export` makes a program from it"
    raise CommandError(f"`{path}`: expected {expected}, found {found}")


def read_bundle(path: Path) -> Any:
    """The content of a bundled program. Raises CommandError if it is damaged."""
    from sdk.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program

    try:
        return deserialize_from_flatbuffer_to_bundled_program(path.read_bytes())
    except ValueError as error:
        raise CommandError(f"`{path}` cannot be read as a bundled program: {describe(error)}") from error


def load(
    program: Path | bytes, name: str, data: Sequence[Path] = (), enable_etdump: bool = False, debug_buffer_size: int = 0
) -> Any:
    """Loads a `sdk.runtime.Program`. `name` is used in messages. Raises CommandError if the runtime refuses the
    program."""
    library = runtime()
    from sdk.runtime import Runtime

    try:
        return Runtime.get().load_program(
            program,
            data_map=[data_file(path) for path in data] or None,
            enable_etdump=enable_etdump,
            debug_buffer_size=debug_buffer_size,
        )
    except (library.ExecuTorchError, NotImplementedError, OSError) as error:
        # The runtime names a file in the same words.
        said = describe(error).removeprefix(f"{name!r} cannot be loaded: ")
        raise CommandError(f"`{name}` cannot be loaded: {said}") from error


def load_method(program: Any, name: str, method: str | None) -> Any:
    """Loads a method of a program: the requested one, the only one, or `forward`. Raises CommandError."""
    known = sorted(program.method_names)
    if method is None:
        method = known[0] if len(known) == 1 else "forward"
    if method not in known:
        raise CommandError(
            f"`{name}`: expected a method of the program, found `{method}`: pass --method with one of "
            f"{', '.join(known)}.{closest(method, known)}"
        )
    try:
        return program.load_method(method)
    except runtime().ExecuTorchError as error:
        advice = " Pass its data with --data file.ptd." if "external" in str(error) or "data map" in str(error) else ""
        raise CommandError(f"the method `{method}` of `{name}` cannot be loaded: {describe(error)}.{advice}") from error


@dataclass(frozen=True)
class Prepared:
    """A method that is ready to be called, with its program and inputs, and the bundled program if it comes from
    one."""

    program: Any
    method: Any
    inputs: list[Any]
    bundle: Any | None


def prepare(
    model: Path,
    method: str | None,
    data: Sequence[Path],
    given: Sequence[str] | None,
    case: int | None,
    fill: str | None = None,
    options: Any = None,
    etdump: bool = False,
    debug_buffer_size: int = 0,
) -> Prepared:
    """Loads a program or a bundled program, and reads its inputs. Raises CommandError.

    Args:
        model: The file.
        method: Its name; None for the only one, or `forward`.
        data: Files of external data.
        given: The argument of `--input`; None for inputs of a test case, or from `fill`.
        case: The test case of a bundled program; None for the first one.
        fill: How to fill inputs that are not given; None if all must be given.
        options: The options for converting files to inputs: `sdk.run._inputs.InputOptions`.
        etdump: Record events.
        debug_buffer_size: The size of the buffer for recorded tensors, in bytes.
    """
    from sdk.run._inputs import InputOptions, read_inputs

    name = str(model)
    bundle = read_bundle(model) if is_bundle(model) else None
    program = load(model if bundle is None else bytes(bundle.program), name, data, etdump, debug_buffer_size)
    loaded = load_method(program, name, method)
    if case is not None and bundle is None:
        raise CommandError(f"--case: expected a bundled program (.bpte), found the program `{name}`: it has no cases")
    if case is not None and given is not None:
        raise CommandError("--case: chooses the inputs of a test case, and --input gives inputs: leave one out")
    if given is None and bundle is not None:
        return Prepared(program, loaded, _inputs_of_case(bundle, loaded.metadata.name(), case or 0, name), bundle)
    if given is None and fill is not None:
        given = [fill] * len(slots(loaded))
    return Prepared(program, loaded, read_inputs(given or (), slots(loaded), options or InputOptions()), bundle)


def _inputs_of_case(bundle: Any, method: str, case: int, name: str) -> list[Any]:
    cases = [case for suite in bundle.method_test_suites if suite.method_name == method for case in suite.test_cases]
    if case >= len(cases):
        raise CommandError(f"--case {case}: `{name}` has {len(cases)} cases of the method `{method}`, numbered from 0")
    return [bundled_value(value) for value in cases[case].inputs]


def slots(method: Any) -> list[Slot]:
    """The inputs of a loaded method."""
    meta = method.metadata
    found = []
    for index in range(meta.num_inputs()):
        tag = meta.input_tag(index)
        if tag != "Tensor":
            found.append(Slot(index, tag))
            continue
        info = meta.input_tensor_meta(index)
        found.append(
            Slot(index, tag, dtype_name(info), tuple(info.sizes()), tuple(info.dim_order()), int(info.nbytes()))
        )
    return found


def dtype_name(info: Any) -> str:
    """NumPy's name of the dtype of a `TensorInfo`; torch's name if NumPy lacks the dtype."""
    return type_name(ScalarType(info.dtype()))


def bundled_value(value: Any) -> Any:
    """Converts a value of a test case for the runtime: an array, a number, or a torch tensor if NumPy lacks the dtype.

    Raises CommandError if a tensor's bytes do not match its shape.
    """
    held = value.val
    if not hasattr(held, "scalar_type"):
        return next(getattr(held, name) for name in ("int_val", "bool_val", "double_val") if hasattr(held, name))
    shape, order = list(held.sizes), list(held.dim_order) or list(range(len(held.sizes)))
    if sorted(order) != list(range(len(shape))):
        raise CommandError(f"a tensor of a test case has the dim order {order} for the shape {shape}: it is damaged")
    return from_raw(held.data, type_name(held.scalar_type), shape, order, "a tensor of a test case")


def from_raw(data: bytes, dtype: str, shape: Sequence[int], dim_order: Sequence[int], what: str) -> Any:
    """An array over raw bytes with the given dim order; a torch tensor if NumPy lacks the dtype. Raises
    CommandError."""
    import numpy as np

    numpy_lacks = not hasattr(np, dtype) and dtype != "bool"
    if numpy_lacks:
        import torch

        kind = getattr(torch, dtype, None)
        if not isinstance(kind, torch.dtype):
            raise CommandError(f"{what} has the dtype {dtype}, which cannot be passed")
        size = kind.itemsize
    else:
        size = np.dtype(dtype).itemsize
    count = 1
    for extent in shape:
        count *= extent
    if any(extent < 0 for extent in shape) or count * size != len(data):
        raise CommandError(
            f"{what}: expected {count * size} bytes for {dtype}{list(shape)}, found {len(data)}: pass all of them"
        )
    stored = [shape[dim] for dim in dim_order]
    inverse = [list(dim_order).index(dim) for dim in range(len(shape))]
    if numpy_lacks:
        flat = torch.frombuffer(bytearray(data), dtype=kind) if data else torch.empty(0, dtype=kind)
        return flat.reshape(stored).permute(inverse)
    return np.frombuffer(data, dtype).reshape(stored).transpose(inverse).copy(order="K")
