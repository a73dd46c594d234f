# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of a backend for the export of language models: `Backend.language_models` of
`sdk.backends.registry`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Quantizer:
    """A value of `quantization.pt2e_quantize`.

    Attributes:
        make: `module:name` of a callable that returns the quantizer, for torchao's `prepare_pt2e`; None for a name of
            ExecuTorch's that this version does not support.
        has_groups: Whether it takes `group_size`, the inputs of a linear layer that share a scale (-1 for all inputs of
            an output channel).
        instead: The replacement that the error message names if `make` is None.
    """

    make: str | None
    has_groups: bool = False
    instead: str = ""


@dataclass(frozen=True, kw_only=True)
class LanguageModels:
    """The backend's part in `sdk.extension.llm.export`. Values of the form `module:name` are imported when used.

    Attributes:
        settings: A dataclass with `enabled: bool = False`, which is the group `backend.<identifier>` of the settings.
            Its module imports no torch; its `__all__` has the names that `llm_config` offers. A field whose argument of
            `export_llama` is not `<name>_<field>` has it in its metadata as "argument".
        acted_on: The fields that have an effect. A changed value of another one is refused.
        arguments: A callable of the group's settings and of the `LlmConfig`. It returns the partitioner's arguments,
            and raises ValueError for settings that cannot be used. None if the partitioner has no arguments.
        check: A callable of an `LlmConfig` in which the backend is enabled. It raises ValueError for settings that
            cannot be combined. None if all can.
        quantizers: The quantizers by their names.
        static_quantizer: A callable of the number of bits of weights. It returns a quantizer with int8 activations and
            a scale for each channel of weights, with which other backends' quantizers are compared. May be None.
    """

    settings: str
    acted_on: tuple[str, ...] = ()
    arguments: str | None = None
    check: str | None = None
    quantizers: Mapping[str, Quantizer] = field(default_factory=dict)
    static_quantizer: str | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for a field with an invalid value."""
        for name in ("settings", "arguments", "check", "static_quantizer"):
            value = getattr(self, name)
            if not (is_place(value) or (value is None and name != "settings")):
                raise ValueError(f"field `language_models.{name}` is {value!r}; expected `module:name`")
        for name, quantizer in self.quantizers.items():
            if not isinstance(quantizer, Quantizer) or not (quantizer.make is None or is_place(quantizer.make)):
                raise ValueError(f"field `language_models.quantizers[{name!r}]` is {quantizer!r}; expected a Quantizer")
        object.__setattr__(self, "quantizers", MappingProxyType(dict(self.quantizers)))


def is_place(value: object) -> bool:
    """Whether it is text of the form `module:name`."""
    return isinstance(value, str) and all(part.strip() for part in value.partition(":"))
