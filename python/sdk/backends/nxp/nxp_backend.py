# SPDX-License-Identifier: BSD-3-Clause
"""`NeutronBackend`: compiles partitions for Neutron. A payload is a header of formats and what NXP's converter makes
(`sdk.backends.nxp.neutron.payload`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import torch
from torch.export import ExportedProgram

from sdk.backends.npu.compiler import wants_reference
from sdk.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
from sdk.backends.nxp.neutron.compile_specs import FORMAT
from sdk.backends.nxp.neutron.compiler import payload_of
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec

__all__ = [
    "NeutronBackend",
    "NeutronCompileSpecBuilder",
    "core_aten_ops_exception_list",
    "generate_neutron_compile_spec",
]

core_aten_ops_exception_list: Final = [torch.ops.aten.prelu.default]
"""Operators that edge programs for Neutron have and that are not in the core of ATen."""


class NeutronCompileSpecBuilder:
    """Makes compile specs: `NeutronCompileSpecBuilder().neutron_compile_spec("imxrt700").build()`."""

    def __init__(self) -> None:
        self.compile_spec: list[CompileSpec] = []

    def neutron_compile_spec(
        self,
        config: str,
        intermediates_dir: str | None = None,
        extra_flags: str | None = None,
        operators_not_to_delegate: Sequence[str] | None = None,
        use_neutron_for_format_conversion: bool = True,
        fetch_constants_to_sram: bool = False,
        dump_kernel_selection_code: bool = False,
        use_profiling: bool = False,
        neutron_converter_flavor: str | None = None,
    ) -> NeutronCompileSpecBuilder:
        """Sets all options, and returns the builder.

        Args:
            config: The target, "imxrt700".
            intermediates_dir: An existing folder in which models before and after NXP's converter are written.
            extra_flags: Flags for NXP's converter.
            operators_not_to_delegate: Parts of names of nodes that stay on kernels, such as "aten::relu".
            use_neutron_for_format_conversion: The NPU transposes inputs and outputs. Otherwise the runtime does.
            fetch_constants_to_sram: Weights are fetched from flash memory while the model runs.
            dump_kernel_selection_code: NXP's converter writes which kernels the model needs.
            use_profiling: The model can be profiled.
            neutron_converter_flavor: The release of NXP's converter, for releases of ExecuTorch before 1.2.

        Raises:
            RuntimeError: it was called before.
            ValueError: the target does not exist.
        """
        if self.compile_spec:
            raise RuntimeError("the compile specs of Neutron are already made: use another NeutronCompileSpecBuilder")
        kept = [each.replace("::", "_") for each in operators_not_to_delegate or ()]
        texts = {
            "output_format": FORMAT,
            "compile_flags": extra_flags or "",
            "target": NeutronTargetSpec(config).get_name(),
            "intermediates_dir": str(intermediates_dir),
            "operators_not_to_delegate": ",".join(kept),
            "use_neutron_for_format_conversion": str(bool(use_neutron_for_format_conversion)),
            "fetch_constants_to_sram": str(bool(fetch_constants_to_sram)),
            "dump_kernel_selection_code": str(bool(dump_kernel_selection_code)),
            "use_profiling": str(bool(use_profiling)),
        }
        if neutron_converter_flavor is not None:
            texts["neutron_converter_flavor"] = neutron_converter_flavor
        self.compile_spec = [CompileSpec(key, text.encode()) for key, text in texts.items()]
        return self

    def build(self) -> list[CompileSpec]:
        """The compile specs."""
        return self.compile_spec


def generate_neutron_compile_spec(
    config: str,
    system_config: str | None = None,
    extra_flags: str | None = None,
    intermediates_dir: str | None = None,
    operators_not_to_delegate: Sequence[str] | None = None,
    use_neutron_for_format_conversion: bool = True,
    fetch_constants_to_sram: bool = False,
    dump_kernel_selection_code: bool = False,
    use_profiling: bool = False,
    neutron_converter_flavor: str | None = None,
) -> list[CompileSpec]:
    """Returns the compile specs for a target. `system_config` has no effect; the other arguments are those of
    `NeutronCompileSpecBuilder.neutron_compile_spec`."""
    return (
        NeutronCompileSpecBuilder()
        .neutron_compile_spec(
            config,
            intermediates_dir=intermediates_dir,
            extra_flags=extra_flags,
            operators_not_to_delegate=operators_not_to_delegate,
            use_neutron_for_format_conversion=use_neutron_for_format_conversion,
            fetch_constants_to_sram=fetch_constants_to_sram,
            dump_kernel_selection_code=dump_kernel_selection_code,
            use_profiling=use_profiling,
            neutron_converter_flavor=neutron_converter_flavor,
        )
        .build()
    )


@final
class NeutronBackend(BackendDetails):
    """Takes the compile specs of `generate_neutron_compile_spec` (required), and `reference-payload`."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_spec: list[CompileSpec]) -> PreprocessResult:
        """Raises CompilerNotInstalledError if NXP's SDK is missing and no reference payload is requested, and
        ValueError for compile specs of another backend."""
        return PreprocessResult(payload_of(edge_program, compile_spec, wants_reference(compile_spec)))
