# SPDX-License-Identifier: BSD-3-Clause
"""`--wrapper`: writes classes for the exported model next to the program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sdk.exir import schema
from sdk.export.cli.arguments import Options
from sdk.export.cli.dynamic import DynamicShapes
from sdk.export.cli.errors import CommandError
from sdk.export.wrappers import LANGUAGES, describe_program, render, wrapper_name


def wrapper_files(options: Options, output: Path) -> list[Path]:
    """The file that will be written for each language, in the order of the options."""
    return [output.with_name(wrapper_name(output.name) + LANGUAGES[language]) for language in options.wrappers]


def wrappers(
    options: Options,
    output: Path,
    dynamic: Mapping[str, DynamicShapes],
    program: schema.Program,
    file: Path,
    weights: Path | None,
) -> Mapping[Path, str]:
    """Returns the text of each file that is written next to `output`. `file` and `weights` are the current paths of the
    program."""
    files = wrapper_files(options, output)
    if not files:
        return {}
    description = describe_program(
        program,
        file,
        weights,
        input_names={method: shapes.names for method, shapes in dynamic.items()},
        ranges={
            method: {place: (dim.low, dim.high) for place, dim in shapes.ranges.items()}
            for method, shapes in dynamic.items()
        },
    )
    try:
        return {path: render(description, language) for path, language in zip(files, options.wrappers, strict=True)}
    except ValueError as error:  # a dtype that a language does not have
        raise CommandError(str(error)) from error
