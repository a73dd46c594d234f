# SPDX-License-Identifier: BSD-3-Clause
"""The common parts of the commands `sdk run`, `sdk bench`, `sdk inspect` and `sdk test`.

A command is `main(argv, prog)` of a folder's `__main__.py`. It builds a `Parser`, and `finish` runs its work:

    parser = Parser(prog, __doc__, "the program fails")
    parser.add_argument("file", ...)
    return finish(parser, argv, run)    # run(options) returns the exit status

Bad input is a `CommandError`: one line on the standard error, and the exit status `BAD_INPUT`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

from sdk.export.cli.errors import CommandError, closest, closest_option, first_lines
from sdk.export.cli.files import check_writable, publish, temporary_beside
from sdk.extras import install_hint
from sdk.util.words import similar

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "OK",
    "CommandError",
    "OneLineParser",
    "Parser",
    "check_writable",
    "closest",
    "describe",
    "existing",
    "finish",
    "print_json",
    "write_bytes",
    "write_files",
    "write_json",
]

OK = 0
FAILED = 1
"""The command ran, and its result is negative: the program fails, a test case is wrong, two files differ."""
BAD_INPUT = 2
"""An argument is wrong, or a file cannot be used."""
_INTERRUPTED = 130

_EXIT_STATUS = """\
exit status
  0  success
  1  {failed}
  2  a wrong argument, or a file that cannot be used; the standard error says in one line
     what was expected, what was found and what to do
"""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line, and which takes no abbreviations of options."""

    def __init__(self, prog: str, description: str, epilog: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Prints one line instead of the whole usage."""
        proposed = closest_option(message, self._option_string_actions)
        self.exit(BAD_INPUT, f"{self.prog}: {message}.{proposed} See `{self.prog} --help`.\n")


class Parser(OneLineParser):
    """A parser with the options that all commands have: `--json`, and `--help` with the exit statuses."""

    def __init__(self, prog: str, description: str, failed: str, epilog: str = "", extra: str | None = None) -> None:
        """`failed` says when the exit status is 1. `epilog` is shown before the exit statuses. `extra` is the extra of
        the package that installs everything the command needs; None if each needed package has its own extra."""
        whole = (epilog.rstrip() + "\n\n" if epilog else "") + _EXIT_STATUS.format(failed=failed)
        super().__init__(prog, description, whole)
        self.extra = extra
        self.add_argument(
            "--json", action="store_true", help="print one JSON object instead of text (docs/commands.md)"
        )


def finish(parser: Parser, argv: Sequence[str] | None, run: Callable[[argparse.Namespace], int]) -> int:
    """Parses the arguments and runs the command; returns the exit status."""
    options = parser.parse_args(argv)
    try:
        return run(options)
    except CommandError as error:
        print(f"{parser.prog}: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except ModuleNotFoundError as error:
        hint = install_hint(error, parser.extra)
        if not hint:
            raise
        print(f"{parser.prog}: this {hint}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of the output has exited, for example `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:  # a full disk, for example
        print(f"{parser.prog}: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print(f"{parser.prog}: stopped", file=sys.stderr)
        return _INTERRUPTED


def existing(path: str | Path) -> Path:
    """The path of a file that can be read. Raises CommandError."""
    file = Path(path)
    if file.is_dir():
        raise CommandError(f"expected a file, found the folder `{file}`: name a file in it")
    if not file.exists():
        raise CommandError(f"there is no file `{file}`: pass the path of one.{_nearest(file)}")
    if not file.is_file():
        raise CommandError(f"expected a file, found the device or pipe `{file}`: write its content to a file first")
    if not os.access(file, os.R_OK):
        raise CommandError(f"`{file}` cannot be read: you have no permission to")
    return file


def _nearest(file: Path) -> str:
    """Proposes a file of a similar name in the same folder; files with the same ending come first."""
    beside = (
        sorted(file.parent.iterdir(), key=lambda entry: entry.suffix != file.suffix) if file.parent.is_dir() else []
    )
    stems: dict[str, Path] = {}
    for entry in beside:
        if entry.is_file():
            stems.setdefault(entry.stem, entry)
    meant = similar(file.stem, stems)
    return f" Did you mean `{stems[meant]}`?" if meant else ""


def describe(error: BaseException) -> str:
    """An exception of a library or of the runtime as one line."""
    if getattr(error, "log", None):
        first, *more = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
        return f"{first}: {'; '.join(more)}" if more else first
    said = first_lines(error, 1)
    # The text of a KeyError, and of some others, is a name or a number alone.
    return said if " " in said or said == type(error).__name__ else f"{type(error).__name__}: {said}"


def print_json(value: Mapping[str, Any]) -> None:
    """Prints one object. Numbers that JSON lacks (infinities, NaN) become strings."""
    print(_json(value, 2))


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file completely or not at all. Raises CommandError."""
    write_bytes(path, (_json(value, None) + "\n").encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file completely or not at all. Raises CommandError."""
    write_files({path: data})


def write_files(files: Mapping[Path, bytes]) -> None:
    """Writes all of the files completely, or none. Raises CommandError."""
    check_writable(files)
    with ExitStack() as stack:
        complete = {}
        for path, data in files.items():
            written = stack.enter_context(temporary_beside(path)) / path.name
            written.write_bytes(data)
            complete[written] = path
        publish(complete)


def _json(value: Any, indent: int | None) -> str:
    return json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value - value != 0:  # infinite or NaN
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
