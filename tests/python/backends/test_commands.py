# SPDX-License-Identifier: BSD-3-Clause
"""The `sdk` command finds its subcommands: folders of the package, and entry points of other packages."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from sdk.__main__ import main

COMMAND = '''"""Count the arguments.

More text."""
def main(argv, prog):
    print(prog, len(argv))
    return 3
'''


def test_the_repositorys_own_commands_are_listed_without_importing_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert "  export   Turn a PyTorch model into a .pte program." in said
    assert "  codegen  Build with only the operators that models use." in said
    program = "import sys; from sdk.__main__ import main; main(['--help']); assert 'sdk.export.cli' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    assert main([]) == 2


def test_a_folder_with_a_main_is_a_command(tree: Any, capsys: pytest.CaptureFixture[str]) -> None:
    tree.write("sdk/counted/__main__.py", COMMAND)
    tree.write("sdk/empty/__main__.py", "")
    assert main(["counted", "a", "b"]) == 3
    assert capsys.readouterr().out == "sdk counted 2\n"
    assert main(["--help"]) == 0
    assert "  counted  Count the arguments.\n" in capsys.readouterr().out
    assert main(["empty"]) == 1
    said = capsys.readouterr().err
    assert "the command `empty` cannot be loaded: " in said and "empty/__main__.py" in said


@pytest.mark.parametrize("value", ["vendor.count", "vendor.count:main"])
def test_an_entry_point_is_a_command(tree: Any, capsys: pytest.CaptureFixture[str], value: str) -> None:
    """An entry point with the name of one of the package's commands does not replace it."""
    tree.write("vendor/__init__.py", "")
    tree.write("vendor/count.py", COMMAND)
    tree.entry_point("sdk.commands", f"counted = {value}", f"export = {value}", "gone = vendor.gone")
    assert main(["counted"]) == 3
    said = capsys.readouterr()
    assert said.out == "sdk counted 0\n" and f"`export = {value}` of vendor is not used" in said.err
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert "  counted  Count the arguments.\n" in listed and "  gone " in listed
    assert "  export   Turn a PyTorch model into a .pte program." in listed
    assert main(["gone"]) == 1
    assert "cannot be loaded: No module named 'vendor.gone'" in capsys.readouterr().err


def test_an_unknown_command_names_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exprot"]) == 2
    error = capsys.readouterr().err
    assert "there is no command `exprot`; the commands are: " in error
    assert {"codegen", "export"} <= set(error.rstrip(".\n").rpartition(": ")[2].split(", "))


def test_commands_have_the_name_that_they_are_called_by() -> None:
    for command, name in ((["sdk", "codegen"], "sdk codegen"), (["sdk.codegen"], "python -m sdk.codegen")):
        done = subprocess.run([sys.executable, "-m", *command, "--help"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"usage: {name} ")
