# SPDX-License-Identifier: BSD-3-Clause
"""scripts/third_party: pinned sources, the same bytes from every source, and no partial results."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import io
import os
import pathlib
import subprocess
import sys
import tarfile
from types import ModuleType

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "third_party"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))  # as when it is run
    return importlib.import_module("third_party_sources")


def write_archive(path: pathlib.Path, files: dict[str, bytes]) -> str:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def pinned(script: ModuleType, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A mirror folder with one archive, pinned as `sample`; returns the output folder."""
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    sha256 = write_archive(mirror / "sample.tar.gz", {"sample-1.0/include/a.h": b"a\n", "sample-1.0/docs/b": b"b\n"})
    reference = tmp_path / "reference" / "include"
    reference.mkdir(parents=True)
    (reference / "a.h").write_bytes(b"a\n")
    pin = script.Pin(
        url="http://127.0.0.1:9/none",
        suite="none",
        package="none",
        archive="sample.tar.gz",
        archive_sha256=sha256,
        content_sha256=script.content_hash(reference.parent),
        keep=("include/*",),
    )
    monkeypatch.setitem(script.PINS, "sample", pin)
    monkeypatch.setenv(script.MIRROR_VARIABLE, str(mirror))
    return tmp_path / "output"


def run(script: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["third_party", *arguments])
    script.main()


def test_unpacks_the_kept_part_and_is_then_quiet(
    script: ModuleType, pinned: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(script, monkeypatch, "--output", str(pinned), "sample")
    assert (pinned / "sample" / "include" / "a.h").read_text() == "a\n"
    assert not (pinned / "sample" / "docs").exists()
    assert "ready" in capsys.readouterr().err
    run(script, monkeypatch, "--output", str(pinned), "sample")
    assert capsys.readouterr().err == ""


def test_names_that_are_current(
    script: ModuleType, pinned: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for is_there in (False, True):
        run(script, monkeypatch, "--output", str(pinned), "--current")
        assert capsys.readouterr().out.split() == ["sample"] * is_there
        run(script, monkeypatch, "--output", str(pinned), "sample")
    pin = dataclasses.replace(script.PINS["sample"], content_sha256="0" * 64)
    monkeypatch.setitem(script.PINS, "sample", pin)
    run(script, monkeypatch, "--output", str(pinned), "--current")
    assert capsys.readouterr().out.split() == []


def test_a_changed_pin_replaces_what_is_there(
    script: ModuleType, pinned: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = pinned / "sample"
    old.mkdir(parents=True)
    (old / "stale.h").touch()
    (old / script.STAMP).write_text("0" * 64)
    run(script, monkeypatch, "--output", str(pinned), "sample")
    assert sorted(path.name for path in old.iterdir()) == [script.STAMP, "include"]


@pytest.mark.parametrize("field", ["archive_sha256", "content_sha256"])
def test_other_bytes_are_refused_and_leave_nothing(
    script: ModuleType, pinned: pathlib.Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    monkeypatch.setitem(script.PINS, "sample", dataclasses.replace(script.PINS["sample"], **{field: "0" * 64}))
    with pytest.raises(SystemExit) as failure:
        run(script, monkeypatch, "--output", str(pinned), "--only", "mirror", "sample")
    text = str(failure.value)
    assert "sample could not be fetched" in text
    assert "SHA-256" in text and "expected" in text
    assert script.MIRROR_VARIABLE in text
    assert [path.name for path in pinned.iterdir()] == [".lock"]


def test_a_release_that_debian_lacks_is_pinned_by_its_content(
    script: ModuleType, pinned: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has the URL's name in the mirror folder. Sources are the mirror folder and the upstream archive only."""
    sample = script.PINS["sample"]
    pin = script.Pin(url="https://127.0.0.1:9/sample.tar.gz", content_sha256=sample.content_sha256, keep=sample.keep)
    monkeypatch.setitem(script.PINS, "sample", pin)
    assert [label for label, _ in script.sources(pin)] == ["mirror folder", "upstream archive"]
    run(script, monkeypatch, "--output", str(pinned), "sample")
    assert (pinned / "sample" / "include" / "a.h").read_text() == "a\n"
    monkeypatch.setitem(script.PINS, "sample", dataclasses.replace(pin, content_sha256="0" * 64))
    with pytest.raises(SystemExit, match=r"its content has SHA-256 (?s:.*)put sample.tar.gz\n"):
        run(script, monkeypatch, "--output", str(pinned), "--only", "mirror", "sample")


def test_a_release_of_pypi_is_asked_of_pip(
    script: ModuleType, pinned: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    sample = script.PINS["sample"]
    pin = dataclasses.replace(sample, suite="", package="", archive="sample.tar.gz", pypi="sample==1.0")
    monkeypatch.setitem(script.PINS, "sample", pin)
    labels = [label for label, _ in script.sources(pin)]
    assert labels == ["mirror folder", "PyPI source distribution"]
    commands: list[list[str]] = []
    requirements: list[str] = []

    def pip(command: list[str], cwd: pathlib.Path = tmp_path, **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        if "--requirement" in command:
            requirements.append(pathlib.Path(command[-1]).read_text())
        (cwd / "sample.tar.gz").write_bytes((tmp_path / "mirror" / "sample.tar.gz").read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(script.subprocess, "run", pip)
    run(script, monkeypatch, "--output", str(pinned), "--only", "PyPI", "sample")
    assert (pinned / "sample" / "include" / "a.h").read_text() == "a\n"
    assert commands[-1][-4:-1] == ["--no-binary", "sample", "--requirement"]
    assert requirements == [f"sample==1.0 --hash=sha256:{pin.archive_sha256}\n"]


def test_an_archive_cannot_write_outside(script: ModuleType, tmp_path: pathlib.Path) -> None:
    archive = tmp_path / "bad.tar.gz"
    write_archive(archive, {"top/include/../../../escaped": b"x"})
    pin = dataclasses.replace(script.PINS["flatbuffers"], keep=("*",))
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(script.SourceError, match="leaves the folder"):
        script.unpack(archive, pin, target)
    assert not (tmp_path / "escaped").exists()


def test_unknown_names_are_an_error() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "nothing"], text=True, capture_output=True, env=os.environ)
    assert done.returncode == 2
    assert "flatbuffers" in done.stderr


def test_every_pin_is_complete(script: ModuleType) -> None:
    for name, pin in script.PINS.items():
        assert len(pin.archive_sha256) == (64 if pin.package or pin.pypi else 0), name
        assert len(pin.content_sha256) == 64, name
        assert pin.url.startswith("https://"), name


@pytest.mark.parametrize("value", ["ON", "OFF"])
def test_the_option_for_cpuinfo_adds_its_target(tmp_path: pathlib.Path, value: str) -> None:
    project = (
        "cmake_minimum_required(VERSION 3.24)",
        "project(consumer C CXX)",
        f'add_subdirectory("{SCRIPT.parents[1]}" executorch)',
    )
    found = 'if(TARGET cpuinfo)\n  message(STATUS "cpuinfo is there")\nendif()'
    (tmp_path / "CMakeLists.txt").write_text("\n".join((*project, found)))
    options = [
        f"-DEXECUTORCH_BUILD_CPUINFO={value}",
        "-DEXECUTORCH_BUILD_TESTS=OFF",
        f"-DPython3_EXECUTABLE={sys.executable}",
    ]
    command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("cpuinfo is there" in done.stdout) == (value == "ON")
