# SPDX-License-Identifier: BSD-3-Clause
"""`LlmConfig` from a YAML file and `group.key=value` arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdk.exir._serialize._regular_file import regular
from sdk.extension.llm.export.config.llm_config import LlmConfig


class SettingsError(ValueError):
    """Settings that cannot be used: the text names the setting, what was expected and what to do."""


def shipped(path: str | Path) -> Path:
    """Returns the path, or that of a file of this package, such as examples/models/qwen3/config/0_6b_config.json."""
    inside = Path(__file__).parents[3] / path
    return inside if not Path(path).exists() and Path(path).parts[:1] == ("examples",) else Path(path)


def read_settings(path: str | Path | None, overrides: Sequence[str] = ()) -> LlmConfig:
    """Reads the settings of a YAML file, if there is one, and applies `[+]group.key=value` arguments in their order.

    Raises SettingsError for names, types and combinations that `LlmConfig` refuses, with the nearest name for one that
    is not known; OSError when the file cannot be read.
    """
    try:
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException
        from yaml import YAMLError
    except ImportError as error:
        raise SettingsError(f"reading settings needs the package {error.name}: pip install 'pte-sdk[llm]'") from error
    config: Any = OmegaConf.structured(LlmConfig)
    source = str(path)
    try:
        if path is not None:
            config = OmegaConf.merge(config, OmegaConf.load(regular(shipped(path))))
        for source in overrides:
            if "=" not in source:
                raise SettingsError(
                    f"{source!r} is not a setting; expected group.key=value, as in model.use_kv_cache=true"
                )
            name, _, value = source.removeprefix("+").partition("=")
            if name == "base.metadata" and value.lstrip().startswith("{"):
                OmegaConf.update(config, name, value)  # JSON text, which YAML would make a mapping
            else:
                config = OmegaConf.merge(config, OmegaConf.from_dotlist([f"{name}={value}"]))
        source = "the settings"
        config = OmegaConf.to_object(config)
    except (OmegaConfBaseException, YAMLError) as error:
        raise SettingsError(f"{source}: {_first_lines(error)}") from error
    except ValueError as error:
        raise error if isinstance(error, SettingsError) else SettingsError(str(error)) from error
    assert isinstance(config, LlmConfig)
    return config


def _first_lines(error: Exception) -> str:
    """Returns what went wrong and where, without OmegaConf's names of types."""
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line and not line.startswith(("reference_type", "object_type"))]
    return "; ".join(line.replace("full_key: ", "setting ") for line in kept)
