# SPDX-License-Identifier: BSD-3-Clause
"""The `sdk` command: `sdk SUBCOMMAND ...` is `python -m sdk.SUBCOMMAND ...`.

A subcommand is a folder of this package with a `__main__.py`, or an entry point `NAME = module` of the group
`sdk.commands` in another package. The module has `main(argv, prog)`, which returns the exit status, and a docstring
whose first line `--help` shows; it is imported only when it is called.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sdk import __version__
from sdk.discovery import PlugIn, plug_ins
from sdk.extras import install_hint

GROUP = "sdk.commands"

_USAGE = """\
usage: sdk [--version] [--cmake-prefix] [--help] COMMAND ...

Turn a PyTorch model into a .pte program and run it anywhere.

commands:
{commands}

`sdk COMMAND --help` describes a command. `--cmake-prefix` prints the folder of the C++ package for CMAKE_PREFIX_PATH.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["--version"]:
        print(f"sdk {__version__}")
        return 0
    if arguments[:1] == ["--cmake-prefix"]:
        return _cmake_prefix()
    commands = _commands()
    if not arguments or arguments[0] in ("-h", "--help"):
        width = max(map(len, commands), default=0) + 2
        listed = "\n".join(f"  {name:<{width}}{command.summary()}" for name, command in sorted(commands.items()))
        print(_USAGE.format(commands=listed), end="")
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in commands:
        print(f"sdk: there is no command `{name}`; the commands are: {', '.join(sorted(commands))}.", file=sys.stderr)
        return 2
    command = commands[name]
    try:
        run = command.load()
        run = run if command.attribute else run.main
    except (ImportError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and install_hint(error):
            return _without_extra(name, error)
        print(f"sdk: the command `{name}` cannot be loaded: {error} ({command.place}).", file=sys.stderr)
        return 1
    try:
        return int(run(rest, prog=f"sdk {name}"))
    except ModuleNotFoundError as error:
        if not install_hint(error):
            raise
        return _without_extra(name, error)


def _cmake_prefix() -> int:
    """Prints where the C++ package is, which is a separate wheel."""
    try:
        import pte_sdk_cpp
    except ModuleNotFoundError:
        print("sdk: --cmake-prefix needs the C++ package: pip install 'pte-sdk[cpp]'", file=sys.stderr)
        return 1
    if pte_sdk_cpp.__version__ != __version__:
        print(
            f"sdk: the C++ package is of version {pte_sdk_cpp.__version__}, expected {__version__}: "
            f"pip install 'pte-sdk-cpp=={__version__}'",
            file=sys.stderr,
        )
        return 1
    print(pte_sdk_cpp.cmake_prefix())
    return 0


def _without_extra(name: str, error: ModuleNotFoundError) -> int:
    print(f"sdk: the command `{name}` {install_hint(error)}", file=sys.stderr)
    return 1


def _commands() -> dict[str, PlugIn]:
    found: dict[str, PlugIn] = {}
    for plug_in in plug_ins("sdk", "__main__.py", 1, GROUP):
        first = found.setdefault(plug_in.name, plug_in)
        if first is not plug_in:
            print(
                f"sdk: the command `{plug_in.name}` of {plug_in.place} is not used: {first.place} has the name.",
                file=sys.stderr,
            )
    return found


if __name__ == "__main__":
    sys.exit(main())
