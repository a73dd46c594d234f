# SPDX-License-Identifier: BSD-3-Clause
"""Commands in an environment that has no PyTorch, or lacks another extra. tests/wheel_check.py does the same with an
installed wheel."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import forked
from sdk.__main__ import _commands, main
from sdk.asr.__main__ import _COMMANDS as ASR_COMMANDS
from sdk.debug.__main__ import _parser as debug_parser
from sdk.extras import EXTRAS, install_hint
from sdk.llm.__main__ import _COMMANDS as LLM_COMMANDS

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"
WITHOUT = """
import sys
missing = sys.argv.pop(1)
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named '{missing}'", name=missing)
sys.meta_path.insert(0, Missing())
from sdk.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def run(*arguments: str, without: str | None = "torch") -> subprocess.CompletedProcess[str]:
    how = ["-m", "sdk"] if without is None else ["-c", WITHOUT, without]
    if without != "torch":
        return forked.run(*how, *arguments)
    return subprocess.run([sys.executable, *how, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "name", ["linear_xnn/model.pte", "ptd_portable/_default_external_constant.ptd", "bundled/model.bpte"]
)
def test_inspect_shows_the_same(name: str) -> None:
    shown = run("inspect", "--json", str(CORPUS / name))
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == run("inspect", "--json", str(CORPUS / name), without=None).stdout


def test_named_data_needs_no_torch() -> None:
    program = WITHOUT.partition("from sdk.__main__")[0] + (
        "from sdk.exir._serialize._named_data_store import NamedDataStore\n"
        "store = NamedDataStore()\n"
        "store.add_named_data('key', b'data', 16)\n"
        "assert bytes(store.get_named_data_store_output().buffers[0]) == b'data'\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program, "torch"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_inspect_compares_programs() -> None:
    done = run("inspect", "--diff", str(CORPUS / "add/model.pte"), str(CORPUS / "linear/model.pte"))
    assert done.returncode == 1 and "aten::add.out" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments", [("inspect", "--html", "x.html", str(CORPUS / "add/model.pte")), ("export", "resnet18")]
)
def test_what_needs_torch_says_so(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1 and "needs PyTorch: pip install 'pte-sdk[export]'" in done.stderr


def test_a_language_model_needs_more(tmp_path: Path) -> None:
    """The file is checked first. Then the error names the extra with all packages that the export needs."""
    missing = run("llm", "export", str(tmp_path / "none.gguf"), "-o", str(tmp_path / "x.pte"), without="torchao")
    assert missing.returncode == 2 and "there is no file or folder" in missing.stderr
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(64))
    for package, name in (("torchao", "torchao"), ("torch", "PyTorch")):
        done = run("llm", "export", str(tmp_path / "model.gguf"), "-o", str(tmp_path / "x.pte"), without=package)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert f"needs {name}: pip install 'pte-sdk[llm]'" in done.stderr


def test_export_llm_needs_more() -> None:
    program = WITHOUT.partition("from sdk.__main__")[0] + "from sdk.extension.llm.export.export_llm import main\nmain()"
    settings = ["base.params=examples/models/smollm2/config/135M_config.json"]
    done = forked.run("-c", program, "torchao", *settings)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "exporting a language model needs torchao: pip install 'pte-sdk[llm]'" in done.stderr


def test_quantising_needs_more(tmp_path: Path) -> None:
    model = tmp_path / "net.py"
    model.write_text("import torch\n\nnet = torch.nn.Linear(8, 4)\n")
    arguments = ["export", f"{model}:net", "--input", "1x8:float32", "-o", str(tmp_path / "x.pte")]
    done = run(*arguments, "--quantize", "int8", without="torchao")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "torchao" in done.stderr and "pip install" in done.stderr
    assert run(*arguments, without="torchao").returncode == 0


def test_extras_are_those_of_the_package() -> None:
    """Each hint names an extra of pyproject.toml that contains the package, directly or through another extra."""
    text = (Path(__file__).resolve().parents[3] / "pyproject.toml").read_text()
    section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = dict(re.findall(r"^(\w+) = \[(.*)\]$", section, re.MULTILINE))
    for module, (package, extra) in EXTRAS.items():
        listed = extras[extra].lower().replace("_", "-")
        assert any(name.lower().replace("_", "-") in listed for name in (module, package)), (module, extra)
        error = ModuleNotFoundError("", name=f"{module}.part")
        assert install_hint(error) == f"needs {package}: pip install 'pte-sdk[{extra}]'"
        assert install_hint(error, "llm").endswith("pip install 'pte-sdk[llm]'")
    assert install_hint(ModuleNotFoundError("", name="numpyy")) == install_hint(ModuleNotFoundError("no name")) == ""


def test_every_command_prints_json() -> None:
    """docs/commands.md promises it for all commands; `sdk llm` and `sdk asr` have their own subcommands."""
    names = sorted(name for name in _commands() if name not in ("asr", "llm", "codegen"))
    assert {"bench", "debug", "export", "inspect", "run", "test", "wrap"} <= set(names)
    calls = [[name] for name in names] + [["codegen", "size"]]
    calls += [[group, name] for group, found in (("asr", ASR_COMMANDS), ("llm", LLM_COMMANDS)) for name in found]
    for call in calls:
        help_text = io.StringIO()
        with pytest.raises(SystemExit) as ended, contextlib.redirect_stdout(help_text):
            main([*call, "--help"])
        assert ended.value.code == 0 and "--json" in help_text.getvalue(), call
    assert debug_parser("sdk debug").parse_args(["net.pte", "--json"]).json == "-"  # the standard output
