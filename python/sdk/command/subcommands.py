# SPDX-License-Identifier: BSD-3-Clause
"""Commands that have commands: `sdk llm run`, `sdk asr transcribe`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence

_USAGE = """\
usage: {prog} COMMAND ...

{doc}

commands:
{commands}

`{prog} COMMAND --help` describes a command.
"""


def run_subcommand(package: str, doc: str, commands: Mapping[str, str], argv: Sequence[str] | None, prog: str) -> int:
    """Runs `main(argv, prog)` of the module `_NAME` of `package`, whose name is the first argument; returns the exit
    status. `--help` shows `doc` and `commands`, which maps names to descriptions."""
    name, *rest = [*(sys.argv[1:] if argv is None else argv), ""]
    if name in commands:
        run = importlib.import_module(f"{package}._{name}").main
        return int(run(rest[:-1], f"{prog} {name}"))
    if name in ("", "-h", "--help"):
        width = max(8, *(len(command) + 2 for command in commands))
        listed = "\n".join(f"  {command:<{width}}{text}" for command, text in commands.items())
        print(_USAGE.format(prog=prog, doc=doc, commands=listed), end="")
        return 0 if name else 2
    print(f"{prog}: there is no command `{name}`; the commands are: {', '.join(commands)}.", file=sys.stderr)
    return 2
