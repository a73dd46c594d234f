# SPDX-License-Identifier: BSD-3-Clause
"""Reads files of arrays: `.npy` and `.npz` of NumPy, and files of torch.save(). Unpickles only tensors, numbers and
containers of them. Imports torch only to read files of torch.save()."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any

from sdk.exir._serialize._untrusted import ArchiveSizeError, read_members
from sdk.export.cli.errors import CommandError, with_type

ENDINGS = (".npy", ".npz")
"""Suffixes of NumPy's files; other files are read as torch.save()'s."""
_TORCH_HEADS = (b"PK\x03\x04", b"\x80\x02")
"""Files of torch.save() are ZIP archives, or pickles of protocol 2 from before torch 1.6."""
_OBJECTS = re.compile("Object arrays|Python objects")
"""NumPy's errors about arrays of objects: they advise to unpickle them."""
_NOT_ALLOWED = re.compile(r"(?:GLOBAL|the data has a) (?P<name>[\w.]+)")


def read_npy(path: Path) -> Any:
    """The array in a `.npy` file. Raises CommandError."""
    import numpy as np

    try:
        # Mapped, so that a header with a wrong size is an error and does not allocate memory.
        return _native(np.array(np.load(path, mmap_mode="r", allow_pickle=False)))
    except Exception as error:  # numpy's parser of headers raises various exceptions
        raise _unreadable(path, "an array of numbers that numpy.save() wrote", b"\x93NUMPY", error) from error


def read_npz(path: Path, most: int | None = None) -> dict[str, Any]:
    """The arrays in a `.npz` file by name. Raises CommandError, also for an array of more than `most` bytes."""
    import numpy as np

    try:
        members = read_members(path)
        for name, data in members.items():
            if most is not None and len(data) > most:
                raise CommandError(
                    f"`{path}`: expected arrays of at most {most} bytes, found `{name}` with {len(data)}"
                )
        return {name.removesuffix(".npy"): _native(np.array(_array(data))) for name, data in members.items()}
    except CommandError:
        raise
    except ArchiveSizeError as error:
        raise CommandError(
            f"`{path}` could not be read as inputs: {error}. Write it with numpy.savez(), which does not compress"
        ) from error
    except Exception as error:
        raise _unreadable(path, "arrays of numbers that numpy.savez() wrote", b"PK", error) from error


def _array(data: bytes) -> Any:
    """The array of a `.npy` file, without memory for it: a header that names more elements than follow is an error."""
    import numpy as np

    file = BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran_order, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("Object arrays are not read")
    return np.ndarray(shape, dtype, data, file.tell(), order="F" if fortran_order else "C")


def _native(array: Any) -> Any:
    """Converts an array to the byte order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def read_saved(path: Path) -> Any:
    """Reads a file of torch.save(): tensors, numbers, and tuples, lists or dicts of them. Raises CommandError."""
    from sdk.exir.serde._weights_file import load_values

    try:
        return load_values(path)
    except Exception as error:
        expected = "a file in which torch.save() wrote tensors, numbers, and tuples, lists or dicts of them"
        raise _unreadable(path, expected, _TORCH_HEADS, error) from error


def _unreadable(path: Path, expected: str, heads: bytes | tuple[bytes, ...], error: Exception) -> CommandError:
    return CommandError(
        f"`{path}` could not be read as inputs: expected {expected}; found {_found(path, heads, error)}"
    )


def _found(path: Path, heads: bytes | tuple[bytes, ...], error: Exception) -> str:
    with path.open("rb") as file:
        head = file.read(8)
    if not head.startswith(heads):
        begins = f"one that begins with {head!r}" if head else "an empty file"
        return f"{begins}. Write it with torch.save(), or with numpy.save() as .npy"
    if _OBJECTS.search(str(error)):
        return "Python objects, which are not unpickled. Save an array of numbers in their place: .astype(np.float32)"
    refused = _NOT_ALLOWED.search(str(error))
    if refused is None:
        return f"a damaged one ({_said(error)}). Write it again"
    return f"`{refused['name']}` in it. Save tensors in its place: torch.from_numpy() makes one of an array"


def _said(error: Exception) -> str:
    return with_type(error, 1)
