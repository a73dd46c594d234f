# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.compat`: code that imports ExecuTorch runs on this SDK. Each test has a process, as the hook stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NAMES = """
import importlib, importlib.metadata, pickle, sys
import sdk.compat
assert not any(name.startswith("executorch") for name in sys.modules), "nothing is imported"

import executorch
import executorch.runtime
import executorch.extension.pybindings.portable_lib as portable
import sdk, sdk.runtime, sdk.extension.pybindings.portable_lib
from executorch import version
from executorch.runtime import Runtime
from executorch.version import __version__

assert executorch is sdk
assert executorch.runtime is sdk.runtime and sys.modules["executorch.runtime"] is sys.modules["sdk.runtime"]
assert portable is sdk.extension.pybindings.portable_lib
assert Runtime is sdk.runtime.Runtime
assert __version__ == version.__version__ == sdk.__version__
assert version.git_version is None

# The modules keep their names, so that reloading and relative imports work as before.
assert sdk.runtime.__spec__.name == sdk.runtime.__name__ == "sdk.runtime"
assert importlib.reload(sdk.version) is version
assert importlib.util.find_spec("executorch.version") is not None

# Classes have one name; pickles that say the other one are read.
data = pickle.dumps(Runtime, protocol=0)
assert b"sdk" in data
theirs = data.replace(b"csdk.", b"cexecutorch.")
assert theirs != data and pickle.loads(theirs) is pickle.loads(data) is Runtime

assert importlib.metadata.version("executorch") == sdk.compat.IMPLEMENTED == "1.4.1"
assert "executorch" in importlib.metadata.packages_distributions()["executorch"]
assert "executorch" in {d.name for d in importlib.metadata.distributions()}

finders = list(sys.meta_path)
sdk.compat.install()
assert sys.meta_path == finders, "once is enough"
"""

MISSING = """
import sdk.compat
import executorch
for name, first in [("executorch.nothing", "nothing"), ("executorch.nothing.more", "nothing"),
                    ("executorch.runtime.nothing", "runtime.nothing")]:
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert error.name == "executorch." + first, error.name
        assert f"executorch.{first}" in str(error) and f"sdk.{first}" in str(error), error
    else:
        raise AssertionError(name)
try:
    from executorch.runtime import nothing
except ImportError as error:
    assert "nothing" in str(error)
else:
    raise AssertionError
try:
    import executorchs
except ModuleNotFoundError as error:
    assert "sdk" not in str(error)
"""

EXPORT = """
import sdk.compat
import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

model, x = torch.nn.Linear(3, 2).eval(), torch.ones(1, 3)
program = torch.export.export(model, (x,))
made = to_edge_transform_and_lower(program).to_executorch()
(found,) = Runtime.get().load_program(made.buffer).load_method("forward").execute([x])
torch.testing.assert_close(torch.as_tensor(found), model(x).detach())
"""


def run(script: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    paths = "".join(f"sys.path.insert(0, {str(folder)!r})\n" for folder in folders)
    command = [sys.executable, "-W", "ignore", "-c", f"import sys\n{paths}{script}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("script", [NAMES, MISSING, EXPORT], ids=["names", "missing", "export"])
def test_imports(script: str) -> None:
    done = run(script)
    assert done.returncode == 0, done.stderr


def test_refuses_beside_the_original(tmp_path: Path) -> None:
    """`import sdk.compat` fails if ExecuTorch is installed, is a folder without __init__.py on the path, or was
    imported before. Another folder with its name is ignored."""
    installed, folder, other = (tmp_path / name for name in ("installed", "folder", "other"))
    metadata = installed / "executorch-1.3.1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: executorch\nVersion: 1.3.1\n")
    (folder / "executorch" / "exir").mkdir(parents=True)
    (other / "executorch" / "docs").mkdir(parents=True)
    for path, said in ((installed, "version 1.3.1"), (folder, f"in {folder}"), (other, "it is imported as")):
        done = run("import executorch\nimport sdk.compat" if path is other else "import sdk.compat", path)
        assert done.returncode != 0
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("ImportError: ExecuTorch is installed") and said in last and "Uninstall it" in last
    assert run("import sdk.compat, executorch.version", other).returncode == 0


SCRIPT = "import sys, executorch.exir, sdk.exir\nassert executorch.exir is sdk.exir\nprint(__name__, *sys.argv[1:])\n"


def command(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, "-m", "sdk.compat", *arguments], capture_output=True, text=True, env=environment
    )


def test_commands_files_and_modules(tmp_path: Path) -> None:
    """Commands, files and modules run unchanged with their arguments. The exit status is that of the command."""
    (tmp_path / "client.py").write_text(f"{SCRIPT}\ndef main(): print('main', sys.argv); return 3\n")
    metadata = tmp_path / "client-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: client\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[console_scripts]\nclient-cli = client:main\n")
    file = command(str(tmp_path / "client.py"), "-x", path=tmp_path)
    assert (file.returncode, file.stdout) == (0, "__main__ -x\n"), file.stderr
    module = command("-m", "client", "a", "-b", path=tmp_path)
    assert (module.returncode, module.stdout) == (0, "__main__ a -b\n"), module.stderr
    installed = command("client-cli", "--flag", path=tmp_path)
    assert installed.returncode == 3 and "main ['client-cli', '--flag']" in installed.stdout, installed.stderr
    for arguments in (["no-such-command"], []):
        wrong = command(*arguments, path=tmp_path)
        assert wrong.returncode == 2 and len(wrong.stderr.splitlines()) == 1
