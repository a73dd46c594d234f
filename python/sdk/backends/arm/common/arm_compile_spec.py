# SPDX-License-Identifier: BSD-3-Clause
"""`ArmCompileSpec`: the options that the backends of Arm share, and their form in a program."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import ClassVar, TypeVar

from sdk.backends.arm.tosa.specification import TosaSpecification
from sdk.exir.backend.compile_spec_schema import CompileSpec

_TOSA_SPEC = "tosa_spec"
_FLAGS = "compile_flags"
_FORMAT = "output_format"
_INTERMEDIATES = "debug_artifact_path"
_DEBUG = "dump_debug_info"
_CUSTOM = "custom_operators"

Spec = TypeVar("Spec", bound="ArmCompileSpec")


class ArmCompileSpec:
    """The base of compile specs. A subclass names its `output_format`.

    Attributes:
        tosa_spec: The version, profiles and extensions of TOSA that the backend may use.
        compiler_flags: Options of the compiler that gets the TOSA graph.
        custom_operators: Names like `mylib.scale.default` of operators that become TOSA's CUSTOM.
    """

    class DebugMode(Enum):
        """The debugging information that `dump_debug_info` writes: the operators as JSON, or the names of the model's
        nodes in the TOSA file."""

        JSON = 1
        TOSA = 2

    output_format: ClassVar[str]

    def __init__(self, tosa_spec: TosaSpecification | str, compiler_flags: Iterable[str] | None = None) -> None:
        """Raises ValueError for a specification that is not valid."""
        self.tosa_spec = (
            tosa_spec if isinstance(tosa_spec, TosaSpecification) else TosaSpecification.create_from_string(tosa_spec)
        )
        if isinstance(compiler_flags, str):
            raise ValueError(f"compiler_flags is the text {compiler_flags!r}; pass a list with one flag an element")
        self.compiler_flags = list(compiler_flags or ())
        self.custom_operators: set[str] = set()
        self._intermediates: str | None = None
        self._debug: ArmCompileSpec.DebugMode | None = None

    def dump_intermediate_artifacts_to(self: Spec, output_path: str | Path | None) -> Spec:
        """Writes the TOSA file of each partition, and the compiled file, to this folder. None writes no files."""
        self._intermediates = None if output_path is None else str(output_path)
        return self

    def get_intermediate_path(self) -> str | None:
        """The folder of the intermediate files."""
        return self._intermediates

    def dump_debug_info(self: Spec, debug_mode: ArmCompileSpec.DebugMode | None) -> Spec:
        """Writes debugging information to the folder of the intermediate files, which must be set."""
        self._debug = debug_mode
        return self

    def get_debug_mode(self) -> ArmCompileSpec.DebugMode | None:
        """Returns the mode that `dump_debug_info` has set."""
        return self._debug

    @classmethod
    def get_output_format(cls) -> str:
        """The format of the payload."""
        return cls.output_format

    def to_compile_specs(self) -> list[CompileSpec]:
        """Returns the options in the form in which a program stores them. Raises ValueError if debugging information is
        requested without a folder."""
        if self._debug is not None and self._intermediates is None:
            raise ValueError("dump_debug_info() needs a folder: call dump_intermediate_artifacts_to(path) too")
        texts = {
            _TOSA_SPEC: str(self.tosa_spec),
            _FORMAT: self.get_output_format(),
            _FLAGS: "\n".join(self.compiler_flags),
            _INTERMEDIATES: self._intermediates or "",
            _DEBUG: self._debug.name if self._debug else "",
            _CUSTOM: "\n".join(sorted(self.custom_operators)),
        }
        return [CompileSpec(key, text.encode()) for key, text in texts.items() if text]

    @classmethod
    def from_compile_specs(cls: type[Spec], specs: Iterable[CompileSpec]) -> Spec:
        """The inverse of `to_compile_specs`. Raises ValueError for options of another backend."""
        texts = {spec.key: bytes(spec.value).decode() for spec in specs}
        unknown = sorted(set(texts) - {_TOSA_SPEC, _FORMAT, _FLAGS, _INTERMEDIATES, _DEBUG, _CUSTOM})
        if unknown:
            raise ValueError(f"{cls.__name__} has no option {unknown[0]!r}")
        if texts.get(_FORMAT) != cls.output_format:
            raise ValueError(
                f"expected the output format {cls.output_format!r} of {cls.__name__}, found {texts.get(_FORMAT)!r}"
            )
        if _TOSA_SPEC not in texts:
            raise ValueError(f"the options have no {_TOSA_SPEC!r}; use {cls.__name__}.to_compile_specs()")
        made = cls.__new__(cls)
        ArmCompileSpec.__init__(made, texts[_TOSA_SPEC], texts[_FLAGS].split("\n") if texts.get(_FLAGS) else None)
        made.custom_operators.update(filter(None, texts.get(_CUSTOM, "").split("\n")))
        made.dump_intermediate_artifacts_to(texts.get(_INTERMEDIATES))
        made.dump_debug_info(cls.DebugMode[texts[_DEBUG]] if texts.get(_DEBUG) else None)
        return made
