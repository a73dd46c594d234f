# SPDX-License-Identifier: BSD-3-Clause
"""The compile specs of Neutron."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdk.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
from sdk.exir.backend.compile_spec_schema import CompileSpec

FORMAT = "tflite"


@dataclass(frozen=True)
class Settings:
    """The options in compile specs.

    Attributes:
        target: The name of the target.
        flags: The flags for NXP's converter.
        intermediates_dir: The folder for intermediate models; None writes none.
        converts_formats: Whether inputs and outputs of delegates are as in PyTorch, by transpositions on the NPU.
            Otherwise the runtime transposes those that have channels last.
        fetches_constants: Whether weights are fetched from flash memory while a model runs.
        dumps_kernels: Whether NXP's converter writes which kernels a model has.
        profiles: Whether models can be profiled.
    """

    target: str
    flags: str = ""
    intermediates_dir: str | None = None
    converts_formats: bool = True
    fetches_constants: bool = False
    dumps_kernels: bool = False
    profiles: bool = False


def settings_of(specs: Sequence[CompileSpec]) -> Settings:
    """Parses compile specs. Raises ValueError for an unknown format or target."""
    given = text_of(specs, "output_format")
    if given != FORMAT:
        raise ValueError(
            f"the compile spec output_format of Neutron is {given!r}; expected {FORMAT!r}: make the compile specs with "
            f"generate_neutron_compile_spec"
        )
    folder = text_of(specs, "intermediates_dir")
    return Settings(
        target=target_of(specs),
        flags=" ".join(each for spec in specs if spec.key == "compile_flags" for each in [_text(spec)] if each),
        intermediates_dir=None if folder in (None, "None") else folder,
        converts_formats=_is_true(specs, "use_neutron_for_format_conversion", default=True),
        fetches_constants=_is_true(specs, "fetch_constants_to_sram"),
        dumps_kernels=_is_true(specs, "dump_kernel_selection_code"),
        profiles=_is_true(specs, "use_profiling"),
    )


def target_of(specs: Sequence[CompileSpec]) -> str:
    """The target that compile specs name. Raises ValueError if they name none, or one that does not exist."""
    target = text_of(specs, "target")
    if target is None:
        raise ValueError("the compile specs of Neutron lack target: make them with generate_neutron_compile_spec")
    return NeutronTargetSpec(target).get_name()


def kept_operators(specs: Sequence[CompileSpec]) -> list[str]:
    """The operators that stay on kernels."""
    return [each for each in (text_of(specs, "operators_not_to_delegate") or "").split(",") if each]


def text_of(specs: Sequence[CompileSpec], key: str) -> str | None:
    """Returns the text of the last compile spec with a key, or None if there is no such spec."""
    found = [spec for spec in specs if spec.key == key]
    return _text(found[-1]) if found else None


def _text(spec: CompileSpec) -> str:
    try:
        return bytes(spec.value).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"the compile spec {spec.key} of Neutron is {spec.value!r}; expected text") from error


def _is_true(specs: Sequence[CompileSpec], key: str, default: bool = False) -> bool:
    given = text_of(specs, key)
    if given not in (None, "True", "False"):
        raise ValueError(f"the compile spec {key} of Neutron is {given!r}; expected 'True' or 'False'")
    return default if given is None else given == "True"
