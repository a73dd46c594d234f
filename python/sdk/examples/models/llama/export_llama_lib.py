# SPDX-License-Identifier: BSD-3-Clause
"""ExecuTorch's functions around `export_llama`: the program of settings or of parsed arguments.

args = build_args_parser().parse_args(["-p", "params.json", "-c", "weights.pth", "-kv", "-X"])
path = export_llama(args)
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import logging
import shlex
from enum import Enum
from importlib import resources
from pathlib import Path
from typing import Any, get_type_hints

from torch import nn

from sdk.examples.models.llama.export_llama import SWITCHES, VALUES, spellings
from sdk.extension.llm.export.builder import FORMAT
from sdk.extension.llm.export.checkpoint import HUB_IDS
from sdk.extension.llm.export.config.arguments import arguments_of_settings
from sdk.extension.llm.export.config.llm_config import LlmConfig, ModelType
from sdk.extension.llm.export.export_llm import export_config
from sdk.extension.llm.export.quantizer_lib import (
    PT2EQuantOptions,
    get_pt2e_quantization_params,
    get_pt2e_quantizers,
)

__all__ = [
    "EXECUTORCH_DEFINED_MODELS",
    "FORMAT",
    "HUGGING_FACE_REPO_IDS",
    "TORCHTUNE_DEFINED_MODELS",
    "build_args_parser",
    "build_model",
    "canonical_path",
    "export_llama",
    "get_llama_model",
    "get_quantizer_and_quant_params",
    "get_resource_path",
    "parse_list_of_ints",
    "set_pkg_name",
    "set_verbosity",
    "verbose_export",
]

TORCHTUNE_DEFINED_MODELS = [ModelType.llama3_2_vision.value]
EXECUTORCH_DEFINED_MODELS = [kind.value for kind in ModelType if kind.value not in TORCHTUNE_DEFINED_MODELS]
HUGGING_FACE_REPO_IDS = HUB_IDS
"""The model of the Hugging Face hub whose weights are downloaded if no checkpoint is given, by model name."""

pkg_name = "sdk"
"""The package in which `par:` paths are."""
verbosity_setting: Any = None


def set_pkg_name(name: str) -> None:
    """Sets the package in which `par:` paths are."""
    global pkg_name
    pkg_name = name


def get_resource_path(resource_name: str) -> str:
    """The path of a file of that package."""
    return str(resources.files(pkg_name).joinpath(resource_name))


def canonical_path(path: str | Path, *, dir: bool = False) -> str:
    """Returns the path, or that of a file of the package if it begins with `par:`. `dir` is ignored."""
    return get_resource_path(str(path)[4:]) if str(path).startswith("par:") else str(path)


def set_verbosity(val: Any) -> None:
    """Sets whether exports print which operators were delegated."""
    global verbosity_setting
    verbosity_setting = val


def verbose_export() -> Any:
    """Returns the last value that `set_verbosity` got, or None before the first call."""
    return verbosity_setting


def parse_list_of_ints(s: str) -> list[int]:
    """A list of whole numbers, such as "[0, 16]". Raises `argparse.ArgumentTypeError` for other text."""
    try:
        found = ast.literal_eval(s)
    except (ValueError, SyntaxError):
        found = None
    if not isinstance(found, list) or not all(type(number) is int for number in found):
        raise argparse.ArgumentTypeError(f"expected a list of whole numbers, such as [0, 16], found {s!r}")
    return found


def build_args_parser() -> argparse.ArgumentParser:
    """A parser whose result is for `LlmConfig.from_args`. Flags may be written with `-` or `_` inside."""
    parser = argparse.ArgumentParser(prog="export_llama")
    arguments = arguments_of_settings()
    names = {setting: arguments.get(setting, setting.rpartition(".")[2]) for setting in (*VALUES, *SWITCHES)}
    for setting, flags in VALUES.items():
        kind, default = _field(setting)
        parser.add_argument(
            *spellings(flags),
            dest=names[setting],
            type=kind,
            default=default,
            help=setting,
        )
    for setting, flags in SWITCHES.items():
        parser.add_argument(*spellings(flags), dest=names[setting], action="store_true", help=setting)
    off = dict.fromkeys(("--disable_dynamic_shape", "--disable-dynamic-shape"))
    parser.add_argument(*off, dest="enable_dynamic_shape", action="store_false", help="model.enable_dynamic_shape")
    lists: dict[str, Any] = {"local_global_attention": parse_list_of_ints, "calibration_tasks": str}
    for name, read in lists.items():
        parser.add_argument(f"--{name}", type=read, nargs="+" if read is str else None)
    for name in ("adapter_checkpoint", "adapter_config"):
        parser.add_argument(f"--{name}", help=f"base.lora_config.{name}")
    parser.add_argument("--use-torchao-kernels", action="store_true", help="both settings of backend.torchao")
    return parser


def _field(setting: str) -> tuple[type, Any]:
    """The type of a value on the command line, and its default."""
    owner: Any = LlmConfig()
    *groups, name = setting.split(".")
    for group in groups:
        owner = getattr(owner, group)
    hint = get_type_hints(type(owner))[name]
    value = getattr(owner, name)
    number = hint is int or int in getattr(hint, "__args__", ())
    return int if number else str, value.value if isinstance(value, Enum) else value


def build_model(
    model: str, checkpoint: str, params: str, output_dir: str | None = ".", extra_opts: str | None = ""
) -> str:
    """Exports a model by its name and files, with further flags in one text. Returns the program's path."""
    flags = ["--model", model, "--checkpoint", checkpoint, "--params", params, "--output-dir", output_dir or "."]
    return export_llama(build_args_parser().parse_args([*flags, *shlex.split(extra_opts or "")]))


def export_llama(export_options: argparse.Namespace | LlmConfig | Any) -> str:
    """Exports by parsed arguments, settings, or OmegaConf's form of them. Returns the program's path.

    Raises `SettingsError`, `CheckpointError`, `GGUFError` or `BackendError` for what cannot be used, OSError for files,
    and TypeError for another kind of options.
    """
    config = dataclasses.replace(_settings(export_options))
    checkpoint, params = (
        None if path is None else canonical_path(path) for path in (config.base.checkpoint, config.base.params)
    )
    config.base = dataclasses.replace(config.base, checkpoint=checkpoint, params=params)
    if verbose_export():
        config.debug = dataclasses.replace(config.debug, verbose=True)
    return str(export_config(config))


def _settings(options: Any) -> LlmConfig:
    if isinstance(options, argparse.Namespace):
        return LlmConfig.from_args(options)
    if isinstance(options, LlmConfig):
        return options
    from omegaconf import DictConfig, OmegaConf

    if not isinstance(options, DictConfig):
        raise TypeError(f"expected parsed arguments or an LlmConfig, found {type(options).__name__}")
    config: Any = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(LlmConfig), options))
    assert isinstance(config, LlmConfig)
    return config


def get_quantizer_and_quant_params(llm_config: LlmConfig) -> tuple[PT2EQuantOptions | None, list[Any], Any]:
    """The options and the quantisers of `quantization.pt2e_quantize`. The third item is None; for one backend
    ExecuTorch returns a quantisation type there."""
    kind = llm_config.quantization.pt2e_quantize
    options = get_pt2e_quantization_params(kind.value if kind is not None else None, llm_config.quantization.qmode)
    if kind is None or options is not None:
        return options, get_pt2e_quantizers(options, llm_config.export.so_library), None
    from sdk.extension.llm.export.backends import quantizer

    return None, [quantizer(kind, llm_config.quantization.group_size)], None


def get_llama_model(llm_config: LlmConfig) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    """Builds the eager model of settings, and quantises it. Returns it with example inputs and the values of methods
    without inputs."""
    from sdk.extension.llm.export.exporter import example_call, make_model, metadata_of, refuse_unsupported

    refuse_unsupported(llm_config)
    model = make_model(llm_config)
    logging.getLogger("sdk.extension.llm.export").info("made %s", type(model).__name__)
    return model, example_call(model)[0], metadata_of(model, llm_config)
