# SPDX-License-Identifier: BSD-3-Clause
"""Manifests of backends: CMake and scripts find the same errors in them, each with the file, the field and how to fix
it."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "backend_manifests.py"
GOOD = {
    "name": "demo",
    "title": "Demo",
    "description": "adds",
    "hardware": "any CPU",
    "status": "experimental",
    "id": "DemoBackend",
    "option": "EXECUTORCH_BUILD_DEMO",
    "target": "demo_backend",
    "platforms": ["linux", "wheel"],
    "verified": {"linux": {"by": ["device"], "text": "run"}, "wheel": {"by": [], "text": "not run"}},
}
RUN = GOOD["verified"]["linux"]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    sys.path.insert(0, str(SCRIPT.parent))
    return importlib.import_module("backend_manifests")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The options of this version in a tree without backends."""
    shutil.copytree(ROOT / "cmake", tmp_path / "cmake")
    for path in (ROOT / "kernels").glob("*/options.cmake"):
        (tmp_path / path.relative_to(ROOT)).parent.mkdir(parents=True)
        shutil.copyfile(path, tmp_path / path.relative_to(ROOT))
    return tmp_path


def add(tree: Path, folder: str = "demo", **fields: Any) -> None:
    """Writes a manifest that is `GOOD` except for `fields`; None removes a field."""
    path = tree / "backends" / folder / "backend.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({key: value for key, value in {**GOOD, **fields}.items() if value is not None}))


def options(tree: Path, *arguments: str, after: str = "", top_level: str = "ON", **environment: str) -> tuple[int, str]:
    """Evaluates the options with CMake. Returns its exit status, and its output as one line."""
    lines = (
        "cmake_minimum_required(VERSION 3.24)",
        f"set(PROJECT_IS_TOP_LEVEL {top_level})",
        f'include("{tree}/cmake/Options.cmake")',
    )
    (tree / "run.cmake").write_text("\n".join((*lines, after)))
    command = ["cmake", *arguments, "-P", str(tree / "run.cmake")]
    done = subprocess.run(
        command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **environment}, cwd=tree
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def python_problems(script: ModuleType, tree: Path) -> list[str]:
    with pytest.raises(script.ManifestError) as failure:
        script.read_all(tree)
    return str(failure.value).splitlines()[1:]


PIN = {"url": "https://host/a.tar.gz", "suite": "sid", "package": "a", "archive": "a.tar.gz", "archive_sha256": "0"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"id": None}, 'the field "id" is missing. Add it: the name that programs call it by'),
        (
            {"colour": "red"},
            'there is no field "colour". Remove it, or write one of: description, frameworks, freestanding, hardware',
        ),
        ({"needs": "EXECUTORCH_BUILD_TESTS"}, '"needs" is of type string, expected array'),
        ({"verified": ["linux"]}, '"verified" is of type array, expected object'),
        ({"title": None, "hardware": 1}, '"hardware" is of type number, expected string'),
        ({"status": "done"}, '"status" has "done". Write supported, which needs a device'),
        ({"platforms": ["linux", "amiga"], "verified": {"linux": RUN, "amiga": RUN}}, '"platforms" has "amiga"'),
        ({"option": "BUILD_DEMO"}, '"option" has "BUILD_DEMO". Write the CMake option'),
        ({"verified": {"linux": RUN}}, 'the field "verified.wheel" is missing'),
        ({"verified": {"linux": RUN, "wheel": RUN, "amiga": RUN}}, 'there is no field "verified.amiga"'),
        ({"verified": {"linux": RUN, "wheel": {"by": []}}}, 'the field "verified.wheel.text" is missing'),
        ({"verified": {"linux": RUN, "wheel": "run"}}, 'the field "verified.wheel.by" is missing'),
        (
            {"verified": {"linux": RUN, "wheel": {"by": ["phone"], "text": ""}}},
            '"verified.wheel.by" has "phone". Write for each of its platforms',
        ),
        (
            {"verified": {"linux": RUN, "wheel": {"by": "device", "text": ""}}},
            '"verified.wheel.by" is of type string, expected array',
        ),
        (
            {"status": "supported", "platforms": ["linux"], "verified": {"linux": {"by": ["emulator"], "text": "x"}}},
            '"status" is "supported", and "verified" has no "device" in "by". Run it on one and write so, or write',
        ),
        (
            {"platforms": ["embedded"], "verified": {"embedded": RUN}},
            '"platforms" has "embedded", which needs "freestanding": true. Write it, true if its library needs neither',
        ),
        (
            {"platforms": ["embedded"], "verified": {"embedded": RUN}, "freestanding": False},
            '"platforms" has "embedded", which needs "freestanding": true',
        ),
        ({"freestanding": "yes"}, '"freestanding" is of type string, expected boolean'),
        (
            {"libraries": {"android": ["lib/{abi}/libdemo.so"]}},
            '"libraries" needs the field "sdk". Add it: what must be',
        ),
        (
            {"libraries": {"amiga": []}, "sdk": {"variable": "DEMO_SDK", "text": "the SDK"}},
            'there is no field "libraries.amiga". Remove it.',
        ),
        ({"headers": ["runtime/Demo.h"]}, '"headers" has "runtime/Demo.h", and backends/demo has no such file'),
        ({"name": "other"}, '"name" is "other", but its folder is backends/demo. Write "demo".'),
        ({"sources": {"a": PIN}}, 'the field "sources.a.content_sha256" is missing'),
        (
            {"sources": {"a": {"url": "https://host/a.tar.gz", "content_sha256": "0", "package": "a"}}},
            'the field "sources.a.archive_sha256" is missing',
        ),
        ({"sources": {"a": {**PIN, "content_sha256": "0", "sha": "0"}}}, 'there is no field "sources.a.sha"'),
        ({"options": {"DEMO_FAST": {"help": ""}}}, 'the field "options.DEMO_FAST.text" is missing'),
        ({"sdk": {"variable": "DEMO_SDK"}}, 'the field "sdk.text" is missing'),
        (
            {"needs": ["EXECUTORCH_BUILD_MAGIC"]},
            '"needs" has "EXECUTORCH_BUILD_MAGIC", which is neither an option nor a backend',
        ),
        ({"needs": ["arm/tosa"]}, '"needs" has "arm/tosa", which is neither an option nor a backend'),
    ],
)
def test_cmake_and_scripts_say_the_same_of_a_wrong_manifest(
    script: ModuleType, tree: Path, fields: dict[str, Any], expected: str
) -> None:
    add(tree, **fields)
    problems = python_problems(script, tree)
    assert any(f"backends/demo/backend.json: {expected}" in problem for problem in problems)
    status, text = options(tree)
    assert status == 1
    for problem in problems:
        assert " ".join(problem.split()) in text
    assert text.count("backends/demo/backend.json: ") == len(problems)


def test_what_a_manifest_may_leave_out(script: ModuleType, tree: Path) -> None:
    """A source that Debian does not have, a supported backend that a device ran, and one for firmware."""
    add(
        tree,
        status="supported",
        platforms=["linux", "embedded"],
        verified={"linux": RUN, "embedded": {"by": ["emulator"], "text": "run"}},
        freestanding=True,
        sources={"a": {"url": "https://host/a.tar.gz", "content_sha256": "0"}},
        sdk={"variable": "DEMO_SDK", "text": "the SDK"},
        libraries={"android": ["lib/{abi}/libdemo.so"], "ios": ["Demo.xcframework"]},
    )
    (found,) = script.read_all(tree, platform="embedded")
    assert found["name"] == "demo"
    status, text = options(tree, "-DEXECUTORCH_BUILD_BACKENDS=embedded", "-DDEMO_SDK=/tmp", after=_SHOW)
    assert status == 0 and "enabled: demo." in text
    assert "enabled: ." in options(tree, "-DEXECUTORCH_BUILD_BACKENDS=windows", after=_SHOW)[1]


def test_an_option_turns_on_those_that_it_implies(script: ModuleType, tree: Path) -> None:
    """Another name of the backend's option."""
    add(tree, options={"EXECUTORCH_BUILD_OTHER_NAME": {"text": "the same", "implies": ["EXECUTORCH_BUILD_DEMO"]}})
    assert len(script.read_all(tree)) == 1
    for value, enabled in (("ON", "demo"), ("OFF", "")):
        status, text = options(tree, f"-DEXECUTORCH_BUILD_OTHER_NAME={value}", after=_SHOW)
        assert status == 0 and f"enabled: {enabled}." in text


@pytest.mark.parametrize("field", ["id", "option", "target"])
def test_two_backends_do_not_share_what_names_them(script: ModuleType, tree: Path, field: str) -> None:
    add(tree)
    own = {"name": "family/other", "id": "Other", "option": "EXECUTORCH_BUILD_OTHER", "target": "other_backend"}
    add(tree, "family/other", **{**own, field: GOOD[field]})
    (problem,) = python_problems(script, tree)
    assert f'"{field}" is "{GOOD[field]}", as in backends/demo/backend.json. Give each backend its own.' in problem
    assert "backends/family/other/backend.json" in problem
    status, text = options(tree)
    assert status == 1 and " ".join(problem.split()) in text


@pytest.mark.parametrize("text", ["{", "[]", '"demo"'])
def test_what_is_no_json_object_is_an_error(script: ModuleType, tree: Path, text: str) -> None:
    path = tree / "backends" / "demo" / "backend.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (problem,) = python_problems(script, tree)
    assert "backends/demo/backend.json: this is not a JSON object" in problem
    status, said = options(tree)
    assert status == 1 and "backends/demo/backend.json: this is not a JSON object" in said


_SHOW = 'executorch_enabled_backends(names)\nmessage(STATUS "enabled: ${names}.")'


def test_a_manifest_is_an_option_that_a_platform_turns_on(script: ModuleType, tree: Path) -> None:
    add(tree)
    add(tree, "family/gpu", name="family/gpu", id="G", option="EXECUTORCH_BUILD_GPU", target="gpu", needs=["demo"])
    assert [manifest["name"] for manifest in script.read_all(tree)] == ["demo", "family/gpu"]
    assert script.read_all(tree, platform="android") == []
    for arguments, enabled in (
        ([], ""),
        (["-DEXECUTORCH_BUILD_BACKENDS=android"], ""),
        (["-DEXECUTORCH_BUILD_BACKENDS=linux"], "demo;family/gpu"),
        (["-DEXECUTORCH_BUILD_DEMO=ON"], "demo"),
        (["-DEXECUTORCH_BUILD_BACKENDS=linux", "-DEXECUTORCH_BUILD_GPU=OFF"], "demo"),
    ):
        status, text = options(tree, *arguments, after=_SHOW)
        assert (status, text) == (0, f"{text.partition('-- enabled')[0]}-- enabled: {enabled}.")
    status, text = options(tree, "-DEXECUTORCH_BUILD_GPU=ON")
    assert (
        status == 1
        and "EXECUTORCH_BUILD_GPU needs other options: add -DEXECUTORCH_BUILD_DEMO=ON, or turn it off." in text
    )


def test_a_backend_whose_sdk_is_missing_says_what_to_set(tree: Path) -> None:
    add(tree, sdk={"variable": "DEMO_SDK_ROOT", "text": "the Demo SDK, version 2"})
    status, text = options(tree, "-DEXECUTORCH_BUILD_DEMO=ON")
    assert status == 1
    assert 'backends/demo/backend.json: "sdk" is the Demo SDK, version 2. DEMO_SDK_ROOT must name its folder' in text
    # Naming the platform builds the backend only if its SDK is found.
    assert "enabled: ." in options(tree, "-DEXECUTORCH_BUILD_BACKENDS=linux", after=_SHOW)[1]
    for arguments, environment in ((["-DDEMO_SDK_ROOT=/tmp"], {}), ([], {"DEMO_SDK_ROOT": "/tmp"})):
        text = options(tree, "-DEXECUTORCH_BUILD_BACKENDS=linux", *arguments, after=_SHOW, **environment)[1]
        assert "enabled: demo." in text


@pytest.mark.parametrize("value", ["ON", "OFF"])
def test_an_option_that_is_not_here_is_refused(tree: Path, value: str) -> None:
    add(tree)
    status, text = options(tree, f"-DEXECUTORCH_BUILD_DEMMO={value}")
    assert status == 1
    assert (
        "EXECUTORCH_BUILD_DEMMO is not in this version: remove it. The closest name is EXECUTORCH_BUILD_DEMO." in text
    )
    assert "EXECUTORCH_BUILD_TESTS" in text


def test_what_a_project_around_this_one_names_alike_is_its_own(tree: Path) -> None:
    assert options(tree, "-DEXECUTORCH_BUILD_OF_OURS:PATH=/tmp")[0] == 0
    assert options(tree, "-DEXECUTORCH_BUILD_OLD:BOOL=OFF")[0] == 0
    assert "EXECUTORCH_BUILD_OLD is not in this version" in options(tree, "-DEXECUTORCH_BUILD_OLD:BOOL=ON")[1]


def test_options_of_a_project_around_this_one(tree: Path) -> None:
    """Options of an enclosing project give a warning, and stay in the cache."""
    own = "-DEXECUTORCH_BUILD_OWN_APPLICATION:BOOL=ON"
    after = 'get_property(kept CACHE EXECUTORCH_BUILD_OWN_APPLICATION PROPERTY VALUE)\nmessage("kept=${kept}")'
    status, text = options(tree, own, after=after, top_level="OFF")
    assert status == 0 and "kept=ON" in text
    assert "which ignores them; they may be those of" in text and "EXECUTORCH_BUILD_OWN_APPLICATION" in text
    assert options(tree, own, top_level="ON")[0] != 0


def test_every_option_is_of_a_folder_that_is_here() -> None:
    text = "".join(
        path.read_text() for path in [ROOT / "cmake/Options.cmake", *(ROOT / "kernels").glob("*/options.cmake")]
    )
    folders = re.findall(r"\bIN ([a-z]\S+?)[\s)]", text)
    assert len(folders) > 2
    assert [folder for folder in folders if not (ROOT / folder / "CMakeLists.txt").exists()] == []


NAMES_THE_ORIGINALS = re.compile(
    r"sdk/android/.*/src/test/|sdk/ios/Tests/|tests/(data|corpus)/|tests/bench/engines/original\.py"
    r"|tests/documents/test_(pages|index|getting_started|faq|architecture|front_page)\.py|tests/python/runtime/test_messages\.py|tests/zoo/libraries/"
    r"|tests/interop/((test_interop|oracle|exchange|original)_\w+\.py|public_names\.yaml|optimum(-requirements\.txt|_matrix\.py))|tests/backends/(sweep/|test_at_once\.py)"
    r"|python/sdk/export/(target_recipes|utils)\.py|sdk/ios/Sources/.*Frameworks\.swift|sdk/ios/test$|tests/python/ios/test_apple_runners\.py"
    r"|python/sdk/(examples/models/llama/(config/|export_llama\.py|export_llama_lib\.py|norm\.py|source_transformation/sdpa\.py)"
    r"|extension/audio/mel_spectrogram\.py|extension/llm/(export/(partitioner|quantizer)_lib|model/static_attention)\.py)"
    r"|tests/python/llm/test_(llm_config|llm_backends|export_llama|prequantized|replaced_caches|edge_manager|export_llama_lib|checkpoint_names|static_attention)\.py"
    r"|tests/python/\w+/test_(partitions_in_branches|names_of_packages|shared_state_in_delegates|float16|known_tensors|dynamic_inputs|weight_files)\.py"
    r"|python/sdk/exir/serde/_tensor_file\.py"
    r"|(python/sdk/)?backends/(arm|nxp|qualcomm)/|backends/.*/test/|tests/(release/bare_environment|wheel_check)\.py|codegen/aten_schemas\.txt"
)
"""The files outside of a backend's folders that may name it. They contain:

- tests with files, pages and terms of ExecuTorch, and its engine in the benchmarks;
- the zoo of libraries, whose page has a column for the default backend, and the sweep, whose sizes follow the constants
  of that backend's kernels;
- functions, arguments, scripts, settings and flags of ExecuTorch that have a backend's name;
- Apple's frameworks, after which a backend is named, and PyTorch's devices and backends;
- tests of code that partitioners and delegates share, which run with several backends;
- Arm's family, in which one backend builds on another, and NXP's and Qualcomm's, whose modules have ExecuTorch's names;
- tests of a backend with another one's quantizer, or beside it in one program, and a wheel's program for the default
  backend."""

MEASURES_ENGINES = re.compile(r"scripts/bench$|tests/bench/|tests/interop/test_bench_|tests/python/scripts/test_bench_")
"""The files that compare this SDK with other engines. Some of these are a backend's own runtime."""


PAGES = re.compile(
    r".+\.md$|docs/(status\.yaml$|\w+\.(svg|png)$)"
    r"|examples/(arm|models/yolo12)/|examples/cortex_m/export_model\.py$"
)
"""Pages, the data and figures of their tables, and examples that use several backends: those of Arm, the object
detector, and the classifier for a microcontroller and its NPU."""

PUBLISHES = re.compile(r"\.github/workflows/release\.yml$|scripts/release_parts\.py$")
"""The artifacts of a release are chosen for each release."""


def test_only_its_own_folders_name_a_backend(script: ModuleType) -> None:
    for manifest in script.read_all():
        name = manifest["name"].rpartition("/")[2]
        family = manifest["name"].partition("/")[0]
        own = (f"backends/{manifest['name']}/", f"python/sdk/backends/{manifest['name']}/", f"examples/{family}/")
        # A part of a word, such as "clamps", or a board such as "mps2" is no match.
        names = "|".join((name, manifest["id"], re.escape(manifest["title"]).replace("\\ ", " ").replace("\\-", "-")))
        command = ["git", "grep", "-ilE", f"(^|[^a-z])({names})([^0-9]|$)"]
        found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.splitlines()
        assert any(file.startswith(own[0]) for file in found)
        others = [file for file in found if not file.startswith(own)]
        # The extra with the backend's packages, and notes at rows of the specification.
        known = (
            *("NOTICE", "pyproject.toml", "tests/data/rows.yaml"),
            "sdk/cpp/executorch/extension/threadpool/linux_processors.cpp",  # makers of processors
            "tests/consume/run",  # a project whose target has the name of a library that a backend brings
            "tests/costs.txt",  # of all tests, by their names
            "tests/python/scripts/test_backend_manifests.py",  # the makers whose modules have ExecuTorch's names
            "tests/python/backends/test_quantizer_configuration.py",  # compares those of all backends
            "tests/python/backends/test_quantizer_guards.py",  # the same
            "tests/python/runtime/test_paths_of_streams.py",  # opens paths by the functions of all packages
            "tests/python/scripts/test_unknown_keywords.py",  # calls the functions of all packages
        )
        allowed = (NAMES_THE_ORIGINALS, MEASURES_ENGINES, PAGES, PUBLISHES)
        unknown = [file for file in others if file not in known]
        assert [file for file in unknown if not any(files.match(file) for files in allowed)] == []


def test_the_manifests_here_are_correct_and_can_be_listed(script: ModuleType) -> None:
    ids = subprocess.run(
        [sys.executable, SCRIPT, "--list", "id"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert ids == [manifest["id"] for manifest in script.read_all()]
    assert ids
    objects = subprocess.run(
        [sys.executable, SCRIPT, "--list", "sdk"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert objects == [value for manifest in script.read_all() for value in manifest.get("sdk", {}).values()]


def test_the_page_has_every_field() -> None:
    fields = json.loads((ROOT / "cmake" / "backend_fields.json").read_text())
    page = (ROOT / "docs" / "backends.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (yes|no) \|", page, re.M)
    assert rows == [(field, "yes" if rule["required"] else "no") for field, rule in fields.items()]
