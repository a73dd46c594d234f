# SPDX-License-Identifier: BSD-3-Clause
"""Reads what `torch.save` wrote: tensors, numbers, texts, and lists, tuples and dicts of them.

`torch.load(weights_only=True)` runs nothing either, but takes memory for sizes that only the file claims: a tensor
beyond the end of its storage makes the storage larger. Here a storage has the bytes that the file has for it, a tensor
lies within its storage, and only the instructions that `torch.save` writes are known.
"""

from __future__ import annotations

import contextlib
import io
import math
import mmap
import pickletools
import re
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from sdk.exir._serialize._untrusted import ArchiveError, read_members

LOCATION = re.compile(r"(cpu|(?:cuda|mps|xpu)(?::\d{1,3})?)", re.ASCII)
_MOST_VALUES = 1_000_000
"""The limit for the values in lists, tuples and dicts. A value that is referred to several times counts each time."""
_MOST_ELEMENTS = 1 << 62


class TensorFileError(ValueError):
    """The data is not what `torch.save` writes for tensors and plain values."""


def read_tensors(data: bytes, *, packed: bool = False) -> Any:
    """The value that `torch.save` wrote as `data`. Raises TensorFileError.

    `packed`: members may be compressed, as other tools write them.
    """
    try:
        members = read_members(io.BytesIO(data), stored=not packed)
        (code,) = (name for name in members if name.count("/") == 1 and name.endswith("/data.pkl"))
        return Machine(members, code.removesuffix("data.pkl")).run(members[code])
    except TensorFileError:
        raise
    except ArchiveError as error:
        raise TensorFileError(f"the data is not what torch.save writes: {error}") from error
    except Exception as error:  # raised by instructions on values of wrong types, and by torch on wrong sizes
        raise TensorFileError(
            "the data is not what torch.save writes for tensors, numbers, texts and lists of them: "
            f"{type(error).__name__}: {str(error)[:200]}"
        ) from error


class _Named(NamedTuple):
    """A function or class that an instruction names. Not callable itself, so that no value that is read can be."""

    name: str
    call: Callable[..., Any]


class _Storage(NamedTuple):
    """The bytes of a storage, and the type of its elements."""

    data: torch.UntypedStorage
    dtype: torch.dtype


class Machine:
    """Runs the instructions of one pickle."""

    def __init__(self, members: dict[str, bytes], folder: str) -> None:
        self._members, self._folder = members, folder
        self._swap = members.get(f"{folder}byteorder", sys.byteorder.encode()).decode() != sys.byteorder
        self._storages: dict[str, torch.UntypedStorage] = {}
        self._memo: dict[int, Any] = {}
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []
        """The stacks below the marks."""

    def run(self, code: bytes | mmap.mmap) -> Any:
        instructions: Any = code  # genops() reads a mapped file like an open one
        for instruction, argument, _ in pickletools.genops(instructions):
            name = instruction.name
            if name == "STOP":
                (result,) = self._stack
                check_size(result)
                return result
            if name in _VALUES:
                self._stack.append(_VALUES[name](argument))
            elif name in _STEPS:
                _STEPS[name](self, argument)
            else:
                raise TensorFileError(f"the data has the instruction {name}, which torch.save does not write")
        raise TensorFileError("the data ends within a value")

    def mark(self, _: Any) -> None:
        self._below.append(self._stack)
        self._stack = []

    def _marked(self) -> list[Any]:
        items, self._stack = self._stack, self._below.pop()
        return items

    def tuple_of_marked(self, _: Any) -> None:
        items = self._marked()
        self._stack.append((*items,))

    def tuple1(self, _: Any) -> None:
        self._stack.append((self._stack.pop(),))

    def tuple2(self, _: Any) -> None:
        second, first = self._stack.pop(), self._stack.pop()
        self._stack.append((first, second))

    def tuple3(self, _: Any) -> None:
        third, second, first = self._stack.pop(), self._stack.pop(), self._stack.pop()
        self._stack.append((first, second, third))

    def append(self, _: Any) -> None:
        item = self._stack.pop()
        self._top(list).append(item)

    def appends(self, _: Any) -> None:
        items = self._marked()
        self._top(list).extend(items)

    def setitem(self, _: Any) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._top(dict)[key] = value

    def setitems(self, _: Any) -> None:
        items = self._marked()
        self._top(dict).update(zip(items[::2], items[1::2], strict=True))

    def _top(self, kind: type) -> Any:
        if not isinstance(self._stack[-1], kind):
            raise TensorFileError(f"the data adds an item to {type(self._stack[-1]).__name__}")
        return self._stack[-1]

    def put(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def get(self, index: int) -> None:
        self._stack.append(self._memo[index])

    def named(self, name: str) -> None:
        """`name` is "module name"."""
        module, _, short = name.partition(" ")
        if module == "torch" and isinstance(found := getattr(torch, short, None), torch.dtype):
            self._stack.append(found)
        elif (call := _CALLS.get(name) or _registered_by(module).get(f"{module}.{short}")) is not None:
            self._stack.append(_Named(name, call))
        else:
            raise TensorFileError(
                f"the data has a {module}.{short[:80]}; expected tensors, numbers, texts and lists of them. A class "
                "of tensors must be known to torch.serialization.add_safe_globals"
            )

    def call(self, _: Any) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        if not isinstance(function, _Named):
            raise TensorFileError("the data calls something that is not a function")
        self._stack.append(function.call(*arguments))

    def make(self, _: Any) -> None:
        arguments, kind = self._stack.pop(), self._stack.pop()
        if not isinstance(kind, _Named) or kind.call not in _registered().values():
            raise TensorFileError("the data makes an object of an unknown class")
        registered: Any = kind.call
        self._stack.append(registered.__new__(registered, *arguments))

    def build(self, _: Any) -> None:
        state, made = self._stack.pop(), self._stack[-1]
        if type(made) in _registered().values():
            _set_state(made, state)
        elif type(made) is not OrderedDict:  # the attributes of a state dict, its versions, are for other readers
            raise TensorFileError(f"the data sets attributes of {type(made).__name__}")

    def storage(self, _: Any) -> None:
        kind, named, key, location, elements, *views = self._stack.pop()
        if kind != "storage" or any(views) or not isinstance(named, _Named) or named.name not in _STORAGES:
            raise TensorFileError("the data refers to something that is not a storage")
        dtype = _STORAGES[named.name]
        if key not in self._storages:
            self._storages[key] = self._read_storage(key, dtype, location, elements)
        self._stack.append(_Storage(self._storages[key], dtype))

    def _read_storage(self, key: str, dtype: torch.dtype, location: str, elements: int) -> torch.UntypedStorage:
        if not LOCATION.fullmatch(location):
            raise TensorFileError(f"the data is for the device {location[:80]!r}")
        content = self._members.pop(f"{self._folder}data/{key}")
        if not content:
            return torch.UntypedStorage(0)
        data = torch.frombuffer(bytearray(content), dtype=torch.uint8).untyped_storage()
        if self._swap and dtype.itemsize > 1:
            data.byteswap(dtype)
        return data if location == "cpu" else data.to(device=torch.device(location))


_VALUES: dict[str, Callable[[Any], Any]] = {
    **{name: lambda value: value for name in ("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE")},
    **{name: lambda value: value for name in ("SHORT_BINUNICODE", "SHORT_BINBYTES", "BINBYTES")},
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "EMPTY_TUPLE": lambda _: (),
    "EMPTY_LIST": lambda _: [],
    "EMPTY_DICT": lambda _: {},
    "EMPTY_SET": lambda _: set(),
}
_STEPS: dict[str, Callable[[Machine, Any], None]] = {
    "PROTO": lambda machine, _: None,
    "MARK": Machine.mark,
    "TUPLE": Machine.tuple_of_marked,
    "TUPLE1": Machine.tuple1,
    "TUPLE2": Machine.tuple2,
    "TUPLE3": Machine.tuple3,
    "APPEND": Machine.append,
    "APPENDS": Machine.appends,
    "SETITEM": Machine.setitem,
    "SETITEMS": Machine.setitems,
    "BINPUT": Machine.put,
    "LONG_BINPUT": Machine.put,
    "BINGET": Machine.get,
    "LONG_BINGET": Machine.get,
    "GLOBAL": Machine.named,
    "REDUCE": Machine.call,
    "NEWOBJ": Machine.make,
    "BUILD": Machine.build,
    "BINPERSID": Machine.storage,
}


def check_size(value: Any) -> None:
    """Raises TensorFileError for nested lists that would hold too many values if shared ones were copied."""
    count, left = 0, [value]
    while left:
        item = left.pop()
        count += 1
        if count > _MOST_VALUES:
            raise TensorFileError(f"the data has more than {_MOST_VALUES} values in lists, tuples and dicts")
        if isinstance(item, dict):
            left += item.keys()
            left += item.values()
        elif isinstance(item, (_Named, _Storage)):
            raise TensorFileError("the data has a function or a storage instead of a value")
        elif isinstance(item, (list, tuple, set)):
            left += item


def check_bounds(elements: int, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> None:
    """Raises TensorFileError unless a tensor lies within a storage of `elements`."""
    if not (isinstance(size, tuple) and isinstance(stride, tuple) and len(size) == len(stride) <= 64):
        raise TensorFileError("a tensor of the data has sizes and strides that differ in number")
    if not all(type(n) is int and 0 <= n < _MOST_ELEMENTS for n in (offset, *size, *stride)):
        raise TensorFileError("a tensor of the data has an invalid size, stride or offset")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if math.prod(size) >= _MOST_ELEMENTS or (0 not in size and last >= elements):
        raise TensorFileError(f"a tensor of the data with sizes {size} lies outside of its {elements} elements")


def _tensor(
    storage: _Storage, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, metadata: Any = None
) -> torch.Tensor:
    if not isinstance(storage, _Storage) or hooks:
        raise TensorFileError("a tensor of the data has no storage, or has hooks")
    dtype = storage.dtype
    check_bounds(storage.data.nbytes() // dtype.itemsize, offset, size, stride)
    made = torch.empty(0, dtype=dtype, device=storage.data.device).set_(storage.data, offset, size, stride)
    made.requires_grad = requires_grad
    if metadata:
        if not set(metadata) <= {"conj", "neg"} or not all(type(value) is bool for value in metadata.values()):
            raise TensorFileError("a tensor of the data has properties that are not known")
        torch._utils.set_tensor_metadata(made, metadata)
    return made


def _typed_tensor(
    storage: _Storage,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    hooks: Any,
    dtype: torch.dtype,
    metadata: Any = None,
) -> torch.Tensor:
    return _tensor(_Storage(storage.data, dtype), offset, size, stride, requires_grad, hooks, metadata)


def _parameter(data: torch.Tensor, requires_grad: bool, hooks: Any, state: Any = None) -> torch.nn.Parameter:
    if not isinstance(data, torch.Tensor) or hooks:
        raise TensorFileError("a parameter of the data is not a tensor, or has hooks")
    made = torch.nn.Parameter(data, requires_grad)
    _set_attributes(made, state)
    return made


def _of_type(make: _Named, kind: _Named, arguments: Any, state: Any) -> Any:
    """A tensor with attributes, or of a class that is registered as safe."""
    made = make.call(*arguments)
    if kind.name in ("torch Tensor", "torch.nn.parameter Parameter"):
        _set_attributes(made, state)
        return made
    if type(made) is not kind.call:
        made = made.as_subclass(kind.call)
    if hasattr(made, "__setstate__") and type(made).__setstate__ is not torch.Tensor.__setstate__:
        made.__setstate__(state)
        return made
    return torch._utils._set_obj_state(made, state)


def _set_attributes(tensor: torch.Tensor, state: Any) -> None:
    """Attributes that a user, or nn.Buffer, has given a tensor. They may not hide a tensor's own attributes."""
    for key, value in (state or {}).items():
        if not key.isidentifier() or hasattr(torch.nn.Parameter, key):
            raise TensorFileError(f"the data sets the attribute {str(key)[:80]!r} of a tensor")
        tensor.__dict__[key] = value


def _set_state(made: Any, state: Any) -> None:
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    elif state:
        made.__dict__.update(state)


def _without_storage(dtype: torch.dtype, size: Any, stride: Any, requires_grad: bool) -> torch.Tensor:
    check_bounds(_MOST_ELEMENTS, 0, size, stride)
    return torch.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _wrapper(kind: _Named, *arguments: Any) -> Any:
    """A tensor of a class that is registered as safe, before its wrapped tensors are set."""
    if kind.call not in _registered().values():
        raise TensorFileError("the data makes a tensor of an unknown class")
    return torch._utils._rebuild_wrapper_subclass(kind.call, *arguments)


def _no_call(*_: Any) -> Any:
    raise TensorFileError("the data calls something that is not a function")


def _bytes(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise TensorFileError(f"the data has bytes in {encoding[:80]!r}")
    return text.encode(encoding)


_STORAGES: dict[str, torch.dtype] = {
    "torch.storage UntypedStorage": torch.uint8,
    "torch DoubleStorage": torch.float64,
    "torch FloatStorage": torch.float32,
    "torch HalfStorage": torch.float16,
    "torch BFloat16Storage": torch.bfloat16,
    "torch LongStorage": torch.int64,
    "torch IntStorage": torch.int32,
    "torch ShortStorage": torch.int16,
    "torch CharStorage": torch.int8,
    "torch ByteStorage": torch.uint8,
    "torch BoolStorage": torch.bool,
    "torch ComplexDoubleStorage": torch.complex128,
    "torch ComplexFloatStorage": torch.complex64,
}
_CALLS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys((*_STORAGES, "torch Tensor", "torch.nn.parameter Parameter"), _no_call),
    "collections OrderedDict": lambda: OrderedDict(),
    "torch._utils _rebuild_tensor_v2": _tensor,
    "torch._utils _rebuild_tensor_v3": _typed_tensor,
    "torch._utils _rebuild_parameter": _parameter,
    "torch._utils _rebuild_parameter_with_state": _parameter,
    "torch._utils _rebuild_meta_tensor_no_storage": _without_storage,
    "torch._utils _rebuild_wrapper_subclass": _wrapper,
    "torch._tensor _rebuild_from_type_v2": _of_type,
    "torch Size": torch.Size,
    "torch device": torch.device,
    "torch.serialization _get_layout": torch.serialization._get_layout,
    "_codecs encode": _bytes,
    **{f"{module} complex": lambda real, imaginary: complex(real, imaginary) for module in ("builtins", "__builtin__")},
    **{f"{module} set": lambda items: set(items) for module in ("builtins", "__builtin__")},
}


def _registered_by(module: str) -> dict[str, Any]:
    """The registered classes, with torchao's if the file contains them."""
    if module.startswith("torchao.") and "torchao" not in sys.modules:
        with contextlib.suppress(ImportError):
            import torchao.quantization  # noqa: F401
    return _registered()


def _registered() -> dict[str, Any]:
    """Classes and functions that the user, or a library, has given to `torch.serialization.add_safe_globals`."""
    found = {}
    for each in torch.serialization.get_safe_globals():
        value, name = each if isinstance(each, tuple) else (each, f"{each.__module__}.{each.__qualname__}")
        found[name] = value
    return found
