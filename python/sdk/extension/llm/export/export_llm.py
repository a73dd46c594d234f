# SPDX-License-Identifier: BSD-3-Clause
"""Exports a language model: `python -m sdk.extension.llm.export.export_llm [--config FILE] [+]group.key=value ...`

    python -m sdk.extension.llm.export.export_llm base.checkpoint=model.gguf model.use_kv_cache=true \\
        export.max_seq_length=512 export.max_context_length=2048 backend.<name>.enabled=true
        export.output_name=model.pte

Settings are those of `LlmConfig` (`sdk/extension/llm/export/config/llm_config.py`). The program is written to
`export.output_dir`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from sdk.extension.llm.export._torchao import import_torchao
from sdk.extension.llm.export.config.llm_config import LlmConfig
from sdk.extension.llm.export.settings import SettingsError, read_settings
from sdk.extras import install_hint


def parse_config_arg() -> tuple[str, list[Any]]:
    """The value of `--config` on the command line, None without one, and the other arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", metavar="FILE", help="a YAML file with settings")
    options, settings = parser.parse_known_args()
    if unknown := [argument for argument in settings if argument.startswith("-")]:
        parser.error(f"unknown option {unknown[0]}; settings are written as group.key=value")
    return options.config, settings


def pop_config_arg() -> str:
    """Removes `--config FILE` from `sys.argv`, which must contain it, and returns FILE."""
    at = sys.argv.index("--config")
    value = sys.argv[at + 1]
    del sys.argv[at : at + 2]
    return value


def main() -> None:
    """Exits with status 2 and one line on stderr for settings or files that cannot be used."""
    path, overrides = parse_config_arg()
    try:
        written = export(path, overrides)
    except (ValueError, OSError) as error:  # of settings, checkpoints, GGUF files and backends
        sys.exit(_failed(str(error)))
    except ModuleNotFoundError as error:
        hint = install_hint(error, "llm")
        if not hint:
            raise
        sys.exit(_failed(f"exporting a language model {hint}"))
    print(f"written: {written} ({written.stat().st_size / 1e6:.1f} MB)")


def export(path: str | None, overrides: list[str]) -> Path:
    """Exports with the settings of a YAML file, if there is one, and `group.key=value` arguments.

    Returns the file that it wrote.
    """
    return export_config(read_settings(path, overrides))


def export_config(config: LlmConfig) -> Path:
    """Exports by settings. Returns the file that it wrote."""
    folder = Path(config.export.output_dir)
    if not folder.is_dir():
        raise SettingsError(f"export.output_dir: {folder} is not a folder")
    profile = config.debug.profile_path
    if profile is None:
        return _export(config, folder)
    if not Path(profile).parent.is_dir():
        raise SettingsError(f"debug.profile_path: {Path(profile).parent} is not a folder")
    from sdk.extension.llm.export.flame_graph import FlameGraph

    with FlameGraph(profile, "export_llm"):
        return _export(config, folder)


def _export(config: LlmConfig, folder: Path) -> Path:
    import_torchao()
    from sdk.extension.llm.export.exporter import export_program

    name = config.export.output_name or config.base.model_class.value
    _, exported, program = export_program(config)
    if program is None:
        import torch

        from sdk.exir._serialize._files import replaced

        target = folder / f"{name.removesuffix('.pte')}.pt2"
        with replaced(target) as complete:
            torch.export.save(exported, complete)
        return target
    if config.debug.verbose:
        from sdk.devtools.backend_debug import print_delegation_info

        print_delegation_info(program.exported_program().graph_module)
    target = folder / (name if name.endswith(".pte") else f"{name}.pte")
    program.save(target)
    if config.debug.profile_memory:
        from sdk.util.activation_memory_profiler import generate_memory_trace

        for plan in program.executorch_program.execution_plan:
            if plan.chains[0].instructions:
                suffix = "" if plan.name == "forward" else f"_{plan.name}"
                generate_memory_trace(program, folder / f"memory_profile{suffix}.json", True, plan.name)
    if config.debug.generate_etrecord:
        program.get_etrecord().save(str(target.with_suffix(".etrecord.bin")))
    return target


def _failed(why: str) -> int:
    print(f"error: {why}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
