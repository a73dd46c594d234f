# SPDX-License-Identifier: BSD-3-Clause
"""Exports a language model by flags; `sdk.extension.llm.export.export_llm` is the same with settings in groups.

    python -m sdk.examples.models.llama.export_llama --model llama3_2 -c consolidated.00.pth -p params.json \\
        -kv --use_sdpa_with_kv_cache -d fp32 -qmode 8da4w -G 64 --max_seq_length 2048 --max_context_length 2048 \\
        --vulkan -n out.pte
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

VALUES: dict[str, tuple[str, ...]] = {
    "base.model_class": ("--model",),
    "base.checkpoint": ("-c", "--checkpoint"),
    "base.params": ("-p", "--params"),
    "base.tokenizer_path": ("-t", "--tokenizer_path"),
    "base.metadata": ("-m", "--metadata"),
    "base.preq_mode": ("--preq_mode",),
    "base.preq_group_size": ("--preq_group_size",),
    "base.preq_embedding_quantize": ("--preq_embedding_quantize",),
    "base.use_lora": ("-lora", "--use_lora"),
    "model.dtype_override": ("-d", "--dtype-override"),
    "model.use_attention_sink": ("--use_attention_sink",),
    "model.input_prune_map": ("--input_prune_map",),
    "model.output_prune_map": ("--output_prune_map",),
    "export.max_seq_length": ("--max_seq_length",),
    "export.max_context_length": ("--max_context_length",),
    "export.output_dir": ("--output-dir",),
    "export.output_name": ("-n", "--output_name"),
    "export.so_library": ("-s", "--so_library"),
    "debug.profile_path": ("--profile_path",),
    "quantization.qmode": ("-qmode", "--quantization_mode"),
    "quantization.embedding_quantize": ("-E", "--embedding-quantize"),
    "quantization.group_size": ("-G", "--group_size"),
    "quantization.pt2e_quantize": ("--pt2e_quantize",),
    "quantization.use_spin_quant": ("-sq", "--use_spin_quant"),
    "quantization.calibration_data": ("--calibration_data",),
    "quantization.calibration_limit": ("--calibration_limit",),
    "quantization.calibration_seq_length": ("--calibration_seq_length",),
    "backend.coreml.quantize": ("--coreml-quantize",),
    "backend.coreml.ios": ("--coreml-ios",),
    "backend.coreml.compute_units": ("--coreml-compute-units",),
    "backend.qnn.soc_model": ("--soc_model",),
    "backend.qnn.num_sharding": ("--num_sharding",),
    "backend.qnn.optimized_rotation_path": ("--optimized_rotation_path",),
}
"""Flags with a value, by the setting that they change."""

SWITCHES: dict[str, tuple[str, ...]] = {
    "model.use_kv_cache": ("-kv", "--use_kv_cache"),
    "model.use_sdpa_with_kv_cache": ("--use_sdpa_with_kv_cache",),
    "model.quantize_kv_cache": ("--quantize_kv_cache",),
    "model.use_shared_embedding": ("--use_shared_embedding",),
    "model.expand_rope_table": ("--expand_rope_table",),
    "export.export_only": ("--export_only",),
    "debug.profile_memory": ("--profile_memory",),
    "debug.generate_etrecord": ("--generate_etrecord",),
    "debug.generate_full_logits": ("--generate_full_logits",),
    "debug.verbose": ("-v", "--verbose"),
    "quantization.use_qat": ("-qat", "--use_qat"),
    "backend.xnnpack.enabled": ("-X", "--xnnpack"),
    "backend.xnnpack.extended_ops": ("--xnnpack-extended-ops",),
    "backend.vulkan.enabled": ("-V", "--vulkan"),
    "backend.vulkan.force_fp16": ("--vulkan-force-fp16",),
    "backend.coreml.enabled": ("--coreml",),
    "backend.coreml.enable_state": ("--coreml-enable-state",),
    "backend.coreml.preserve_sdpa": ("--coreml-preserve-sdpa",),
    "backend.mps.enabled": ("--mps",),
    "backend.qnn.enabled": ("--qnn",),
    "backend.qnn.use_qnn_sha": ("--use_qnn_sha",),
    "backend.torchao.use_torchao_kernels_linear": ("--torchao-kernels-linear",),
    "backend.torchao.use_torchao_kernels_tied_embedding": ("--torchao-kernels-tied-embedding",),
}
"""Flags without a value."""


def build_args_parser() -> argparse.ArgumentParser:
    """The parser of the command line. Flags may be written with `-` or `_` inside."""
    parser = argparse.ArgumentParser(
        prog="export_llama", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for setting, flags in VALUES.items():
        parser.add_argument(*spellings(flags), dest=setting, metavar="VALUE", help=setting)
    for setting, flags in SWITCHES.items():
        parser.add_argument(*spellings(flags), dest=setting, action="store_const", const="true", help=setting)
    parser.add_argument(
        "--disable_dynamic_shape",
        "--disable-dynamic-shape",
        dest="model.enable_dynamic_shape",
        action="store_const",
        const="false",
        help="a call takes one token, or max_seq_length without a cache",
    )
    parser.add_argument("--local_global_attention", dest="model.local_global_attention", help="[128,0], for example")
    parser.add_argument("--adapter_checkpoint", help="LoRA adapters of base.lora_config")
    parser.add_argument("--adapter_config", help="their JSON file")
    return parser


def spellings(flags: Sequence[str]) -> list[str]:
    """Flags, and long flags also with `-` instead of `_` between words, and the reverse."""
    long = [flag[2:] for flag in flags if flag.startswith("--")]
    others = [f"--{word.replace(old, new)}" for word in long for old, new in ("-_", "_-")]
    return list(dict.fromkeys([*flags, *others]))


def settings_of(arguments: argparse.Namespace) -> list[str]:
    """Returns the arguments as `group.key=value`, for `export_llm`."""
    given: dict[str, Any] = {name: value for name, value in vars(arguments).items() if value is not None}
    adapter = {name: given.pop(name) for name in ("adapter_checkpoint", "adapter_config") if name in given}
    settings = [f"{name}={_quoted(value) if name in VALUES else value}" for name, value in given.items()]
    return [*settings, *(f"base.lora_config.{name}={_quoted(value)}" for name, value in adapter.items())]


def _quoted(text: str) -> str:
    """Quotes a value as a YAML string, so that "8,0" and JSON are not parsed; integers stay integers."""
    return text if text.lstrip("-").isdigit() else json.dumps(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Exports, and returns the exit status: 2, after one line on stderr, if an argument or a file cannot be used."""
    arguments = build_args_parser().parse_args(argv)
    from sdk.extension.llm.export.export_llm import export

    try:
        written = export(None, settings_of(arguments))
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"written: {written} ({written.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
