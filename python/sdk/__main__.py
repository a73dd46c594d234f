# SPDX-License-Identifier: BSD-3-Clause
"""The `sdk` command: `sdk SUBCOMMAND ...` is `python -m sdk.SUBCOMMAND ...`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from sdk import __version__

# name -> (module with a `main(argv, prog)` function, one line for --help). A module is imported only when it is called.
_COMMANDS = {
    "export": ("sdk.export.cli", "turn a PyTorch model into a .pte program"),
}

_USAGE = """\
usage: sdk [--version] [--help] COMMAND ...

Turn a PyTorch model into a .pte program and run it anywhere.

commands:
{commands}

`sdk COMMAND --help` describes a command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    usage = _USAGE.format(commands="\n".join(f"  {name:<10} {about}" for name, (_, about) in _COMMANDS.items()))
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage, end="")
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"sdk {__version__}")
        return 0
    name, *rest = arguments
    if name not in _COMMANDS:
        print(f"sdk: there is no command `{name}`; the commands are: {', '.join(_COMMANDS)}.", file=sys.stderr)
        return 2
    module = importlib.import_module(_COMMANDS[name][0])
    return int(module.main(rest, prog=f"sdk {name}"))


if __name__ == "__main__":
    sys.exit(main())
