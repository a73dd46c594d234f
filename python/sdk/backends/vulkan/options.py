# SPDX-License-Identifier: BSD-3-Clause
"""The compile options of `VulkanPartitioner`, and the compile specs that pass them to the backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sdk.backends.vulkan.representations import (
    BUFFER,
    DEFAULT_BUFFER_LIMIT,
    DEFAULT_TEXTURE_LIMITS,
    SMALL_TEXTURE_LIMITS,
    TEXTURE,
    WIDTH,
    Extents,
    TensorRepr,
)
from sdk.backends.vulkan.serialization.vulkan_graph_schema import VkMemoryLayout, VkStorageType
from sdk.exir.backend.compile_spec_schema import CompileSpec

COMPATIBLE = "1.4"  # the version of ExecuTorch

_BOOLS = (
    "require_dynamic_shapes",
    "force_fp16",
    "small_texture_limits",
    "skip_bool_tensors",
    "downcast_64_bit",
    "skip_memory_planning",
    "skip_tag_memory_metadata",
)
_ENUMS: dict[str, type[VkStorageType] | type[VkMemoryLayout]] = {
    "storage_type_override": VkStorageType,
    "memory_layout_override": VkMemoryLayout,
}
_LIMITS = ("texture_limits_x", "texture_limits_y", "texture_limits_z")
_NUMBERS = (*_LIMITS, "buffer_limit")

OPTION_NAMES = (*_BOOLS, *_ENUMS, "buffer_limit", "compat", "texture_limits")
"""The options of `VulkanPartitioner`."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a payload; docs/backends-vulkan.md explains them.

    `unknown` are the options that no version has. They have no effect, and the receipt of the export says so.
    """

    require_dynamic_shapes: bool = False
    force_fp16: bool = False
    texture_limits: Extents = DEFAULT_TEXTURE_LIMITS
    buffer_limit: int = DEFAULT_BUFFER_LIMIT
    skip_bool_tensors: bool = False
    storage_type_override: VkStorageType | None = None
    memory_layout_override: VkMemoryLayout | None = None
    downcast_64_bit: bool = True
    skip_memory_planning: bool = False
    skip_tag_memory_metadata: bool = False
    compat: str | None = None
    unknown: tuple[str, ...] = ()

    @property
    def preferred(self) -> TensorRepr:
        """The representation of tensors for which all representations cost the same."""
        storage = TEXTURE if self.compat else BUFFER
        return TensorRepr(
            storage if self.storage_type_override is None else self.storage_type_override,
            WIDTH if self.memory_layout_override is None else self.memory_layout_override,
        )


def parse_compile_options(compile_options: Mapping[str, Any]) -> list[CompileSpec]:
    """The compile specs of options. Unknown options become specs too, so that the backend can report them. Raises
    ValueError for an option with a value of the wrong kind."""
    specs: dict[str, bytes] = {}
    for key, value in compile_options.items():
        if key in _ENUMS:
            specs[key] = int(_checked(key, value, value in list(_ENUMS[key]), f"a {_ENUMS[key].__name__}")).to_bytes(
                4, "little"
            )
        elif key == "texture_limits":
            fits = isinstance(value, list | tuple) and len(value) == 3 and all(_is_size(v) for v in value)
            _checked(key, value, fits, "three sizes: width, height and depth")
            specs.update((name, int(size).to_bytes(4, "little")) for name, size in zip(_LIMITS, value, strict=True))
        elif key == "compat":
            specs[key] = _checked(key, value, value in (None, COMPATIBLE), repr(COMPATIBLE)).encode() if value else b""
        elif key in _BOOLS:
            specs[key] = bytes([_checked(key, value, isinstance(value, bool), "True or False")])
        elif key in _NUMBERS:
            specs[key] = int(_checked(key, value, _is_size(value), "a number above 0")).to_bytes(8, "little")
        else:
            specs[key] = str(value).encode()
    return [CompileSpec(key, value) for key, value in specs.items()]


def parse_compile_spec(compile_specs: list[CompileSpec]) -> dict[str, Any]:
    """The options in compile specs, by name. Options of other backends and unknown ones are strings."""
    found: dict[str, Any] = {}
    for spec in compile_specs:
        if spec.key in _ENUMS:
            found[spec.key] = _ENUMS[spec.key](int.from_bytes(spec.value, "little"))
        elif spec.key in _NUMBERS:
            found[spec.key] = int.from_bytes(spec.value, "little")
        elif spec.key in _BOOLS:
            found[spec.key] = bool.from_bytes(spec.value, "little")
        else:
            found[spec.key] = spec.value.decode(errors="replace")
    return found


def options_of(compile_specs: list[CompileSpec]) -> Options:
    """The options in compile specs."""
    found = parse_compile_spec(compile_specs)
    default = SMALL_TEXTURE_LIMITS if found.pop("small_texture_limits", False) else DEFAULT_TEXTURE_LIMITS
    x, y, z = (found.pop(name, size) for name, size in zip(_LIMITS, default, strict=True))
    found["compat"] = found.get("compat") or None
    known = {field.name for field in fields(Options)} - {"unknown"}
    unknown = tuple(sorted(set(found) - known))
    return Options(texture_limits=(x, y, z), unknown=unknown, **{k: v for k, v in found.items() if k in known})


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 32


def _checked(key: str, value: Any, good: bool, expected: str) -> Any:
    if not good:
        raise ValueError(f"the compile option {key!r} is {value!r}; expected {expected}")
    return value
