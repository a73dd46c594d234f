# SPDX-License-Identifier: BSD-3-Clause
"""The pages of examples/web, with Vite and without a bundler, over the package that `npm pack` makes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from web_pages import DATA, PACKAGE, ROOT, Browser, needs_package, serve, served

pytestmark = [needs_package, pytest.mark.network]


def _run(*command: str, cwd: Path) -> str:
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example with its packages."""
    folder = tmp_path_factory.mktemp("app") / "web"
    shutil.copytree(ROOT / "examples" / "web", folder, ignore=shutil.ignore_patterns("node_modules", "dist", "public"))
    packed = json.loads(_run("npm", "pack", "--json", "--pack-destination", str(folder), cwd=PACKAGE))[0]["filename"]
    manifest = json.loads((folder / "package.json").read_text())
    manifest["dependencies"]["executorch-web"] = f"file:{packed}"
    (folder / "package.json").write_text(json.dumps(manifest))
    _run("npm", "install", "--no-audit", "--no-fund", cwd=folder)
    (folder / "public").mkdir()
    for place in (folder / "public", folder):
        shutil.copy(DATA / "corpus" / "add" / "model.pte", place)
    return folder


def _check(chromium: Browser, folder: Path, page: str) -> None:
    for headers in (serve.ISOLATION, {}):
        with served(folder, headers) as address:
            chromium.open(address + page)
            text = chromium.evaluate("document.getElementById('output').textContent")
            assert text.startswith("Float [2,3]: 2, 2, 2, 2, 2, 2\n"), text


def test_the_page_without_a_bundler(chromium: Browser, app: Path) -> None:
    _check(chromium, app, "plain.html")


def test_the_page_that_vite_builds(chromium: Browser, app: Path) -> None:
    _run("npm", "run", "build", cwd=app)
    assert list((app / "dist").glob("assets/*.wasm"))
    _check(chromium, app / "dist", "index.html")
