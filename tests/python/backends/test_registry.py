# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of backends: where they are found, and what happens if one is broken."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sdk.backends import registry
from sdk.backends.registry import Backend, BackendError

Declare = Callable[..., Path]
ROOT = Path(__file__).parents[3]


def test_declarations_are_found_by_folder(declare: Declare) -> None:
    """Declarations are found in a folder and in a folder of a family, in addition to those of this repository."""
    declare("demo", more="memory_padding=8,")
    file = declare("chip", folder="acme/chip")
    found = registry.backends()
    assert set(found) > {"demo", "chip"} and list(found) == sorted(found)
    assert found["demo"].memory_padding == 8 and found["chip"].place == str(file)
    assert registry.backend("chip") is found["chip"] and registry.backend_of_id("ChipBackend") is found["chip"]
    assert registry.backend_of_id("NoBackend") is None


def test_declarations_of_other_packages_are_entry_points(tree: Any, declare: Declare) -> None:
    text = declare("npu").read_text()
    Path(tree.root / "sdk/backends/npu/declaration.py").unlink()
    tree.write("vendor/npu.py", text)
    tree.entry_point("sdk.backends", "npu = vendor.npu:BACKEND")
    assert registry.backend("npu").id == "NpuBackend"
    assert registry.backend("npu").place == "the entry point `npu = vendor.npu:BACKEND` of vendor"


BROKEN = {
    "missing": (
        "",
        "",
        r"missing 1 required keyword-only argument: 'id'; the fields are: name, id, about",
    ),
    "unknown": (", id='X'", "padding=3,", r"unexpected keyword argument 'padding'; the fields are: name, id, about"),
    "number": (
        ", id='X'",
        "memory_padding=-1,",
        r"field `memory_padding` is -1; expected a number of bytes, 0 or",
    ),
    "place": (", id='X'", "recipes='sdk.recipes',", r"field `recipes` is 'sdk\.recipes'; expected `module:name`"),
    "mapping": (", id='X'", "targets={'t': 1},", r"field `targets` is \{'t': 1\}; expected a mapping from names to"),
    "other": (", id='X'", "default_on_cpu='yes',", r"field `default_on_cpu` is 'yes'; expected True or False"),
    "half": (", id='X'", "float16='yes',", r"field `float16` is 'yes'; expected True or False"),
    "code": (", id='X'", "memory_padding=1 / 0,", r"division by zero"),
    "settings": (
        ", id='X'",
        "language_models=LanguageModels(settings='llm'),",
        r"field `language_models.settings` is 'llm'; expected `module:name`",
    ),
    "quantizer": (
        ", id='X'",
        "language_models=LanguageModels(settings='m:S', quantizers={'x_8w': 'm:q'}),",
        r"field `language_models.quantizers\['x_8w'\]` is 'm:q'; expected a Quantizer",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_declaration_names_file_and_field(tree: Any, declare: Declare, case: str) -> None:
    id, more, says = BROKEN[case]
    text = f"""
from sdk.backends.language_models import LanguageModels
from sdk.backends.registry import Backend
BACKEND = Backend(name="bad"{id}, about="tests", partitioner="m:P", {more})
"""
    file = tree.write("sdk/backends/bad/declaration.py", text)
    declare("good")
    assert "good" in registry.backends() and "bad" not in registry.backends()
    with pytest.raises(BackendError, match=f"{re.escape(str(file))}: .*{says}"):
        registry.backend("bad")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no attribute 'BACKEND'; expected `BACKEND = Backend"),
        ("BACKEND = 3", "expected a Backend, found int"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("x = (", "was never closed"),
    ],
)
def test_files_that_declare_nothing(tree: Any, text: str, says: str) -> None:
    tree.write("sdk/backends/bad/declaration.py", text)
    assert registry.backends() and says in str(registry.broken()["bad"])


@pytest.mark.parametrize("name", ["", "portable"])
def test_names_that_no_backend_can_have(tree: Any, name: str) -> None:
    with pytest.raises(ValueError, match="field `name` is"):
        Backend(name=name, id="X", about="tests", partitioner="m:P")


def test_a_folder_lacks_the_hyphens_of_its_backend(declare: Declare) -> None:
    declare("npu-2", folder="acme/npu2")
    declare("npu-3", folder="acme/npu_3")
    declare("npu-4", folder="acme/npu_four")
    assert registry.backend("npu-2").name == "npu-2" and registry.backend("npu-3").name == "npu-3"
    assert "npu-4" not in registry.backends() and "expected `npu_four`" in str(registry.broken()["npu_four"])


def test_names_and_ids_are_unique(declare: Declare) -> None:
    """The name must be that of the folder. If two backends have the same name or id, the second one is unusable."""
    first = declare("alpha", id="Same")
    declare("beta", id="Same")
    declare("other", folder="gamma")
    twin = declare("alpha", id="Twin", folder="family/alpha")
    assert registry.backend_of_id("Same") is registry.backend("alpha") and registry.backend("alpha").place == str(first)
    with pytest.raises(BackendError, match=f"field `id` is `Same`, which the backend of {re.escape(str(first))} has"):
        registry.backend("beta")
    with pytest.raises(BackendError, match="field `name` is `other`; expected `gamma`"):
        registry.backend("gamma")
    assert any(str(twin) in str(error) and "field `name`" in str(error) for error in registry.broken().values())


def test_a_quantization_scheme_means_the_same_for_every_backend(declare: Declare) -> None:
    """The second backend that gives a name another meaning cannot be used; the same meaning, and other names, can."""
    scheme = "quantization={{'{}': QuantizationScheme(recipe='r', weights='{}', activations='{}', about='')}},"
    for backend, name, weights, activations in (
        ("alpha", "int3", "int3", "float"),
        ("beta", "int3", "int3", "float"),
        ("gamma", "int3", "int3", "int8 dynamic"),
        ("omega", "int3-dynamic", "int3", "int8 dynamic"),
    ):
        declare(backend, more=f"recipes='m:r', {scheme.format(name, weights, activations)}")
    assert {"alpha", "beta", "omega"} <= registry.backends().keys()
    with pytest.raises(BackendError, match="`int3` is int3 weights, int8 dynamic activations, but int3"):
        registry.backend("gamma")


def test_schemes_with_known_names() -> None:
    """Known names define weights and activations; another name needs a whole `QuantizationScheme`."""
    found = registry.schemes(int8=("a", "both"), int4_weights=("b", "weights alone"))
    assert list(found) == ["int8", "int4-weights"] and found["int8"].calibrated and not found["int4-weights"].calibrated
    assert (found["int4-weights"].weights, found["int4-weights"].activations) == ("int4", "float")
    with pytest.raises(ValueError, match=r"'int3' is not a known scheme; expected one of int8, .* as a Quantization"):
        registry.schemes(int3=("a", "few bits"))


def test_one_backend_is_the_default_on_cpus(declare: Declare) -> None:
    """One backend of this repository declares itself the default. Two are an error only if the default is requested."""
    default = registry.default_backend()
    assert default is not None and default.default_on_cpu
    declare("eager", more="default_on_cpu=True,")
    assert registry.backend("eager").default_on_cpu
    with pytest.raises(BackendError, match=rf"default_on_cpu`\): eager \(.*, {default.name} .*Name one with"):
        registry.default_backend()


def test_what_a_declaration_names_is_imported_when_it_is_used(declare: Declare) -> None:
    declare("gone", partitioner="sdk.no_such:Partitioner", more="packages=('acme-compiler==1.2',),")
    declare("typo", partitioner="sdk.exir.backend.partitioner:Partitionr")
    with pytest.raises(BackendError, match=r"gone cannot be .*No module named 'sdk.no_such'.*pip install 'acme-c"):
        registry.backend("gone").make("partitioner")
    with pytest.raises(BackendError, match=r"no attribute 'Partitionr' .*typo.declaration\.py: field `partitioner`"):
        registry.backend("typo").make("partitioner")
    with pytest.raises(BackendError, match=r"The backend typo has no runner .*field `runner`"):
        registry.backend("typo").make("runner")
    assert type(registry.backends()[_default()].make("partitioner")).__name__


def test_an_unknown_backend_names_the_known(declare: Declare) -> None:
    declare("demo")
    with pytest.raises(BackendError, match=r"no backend `dem`; the known ones are: .*demo, .*Did you mean `demo`\?"):
        registry.backend("dem")


def test_declarations_import_no_torch() -> None:
    """Checks each declaration of this repository, and that everything that it names exists."""
    program = (
        "import sys\nfrom sdk.backends import registry\n"
        "assert registry.backends() and not registry.broken(), registry.broken()\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    for declared in registry.backends().values():
        for part in ("partitioner", "recipes", "runner"):
            assert getattr(declared, part) is None or callable(declared.find(part))
        models = declared.language_models
        if models is not None:
            places = [models.settings, models.arguments, models.check, models.static_quantizer]
            places += [quantizer.make for quantizer in models.quantizers.values()]
            assert all(callable(declared.imported(place, "language_models")) for place in places if place is not None)
            settings = declared.imported(models.settings, "language_models")()
            assert not settings.enabled and all(hasattr(settings, name) for name in models.acted_on)
        if declared.recipes is not None:
            made = {kind.value for kind in declared.make("recipes").get_supported_recipes()}
            schemes = {scheme.recipe for scheme in declared.quantization.values()}
            targets = {target.recipe for target in declared.targets.values()}
            assert schemes | targets | {declared.float_recipe or min(made)} <= made


@pytest.mark.parametrize("manifest", sorted(ROOT.glob("backends/**/backend.json")), ids=lambda path: path.parent.name)
def test_the_declaration_and_the_manifest_agree(manifest: Path) -> None:
    """Both parts of a backend have the same name except for hyphens, one folder and one id. A manifest's name includes
    the family's folder."""
    native = json.loads(manifest.read_text())
    name = native["name"].rpartition("/")[2]
    declared = registry.backend_of_id(native["id"])
    assert declared is not None and declared.identifier == name
    assert (
        Path(declared.place).parent.parts[-2:] == (ROOT / "python/sdk" / manifest.parent.relative_to(ROOT)).parts[-2:]
    )


def test_nothing_of_the_package_knows_a_backend_by_name() -> None:
    """Neither the id of a backend nor a module of its folder is named outside of that folder or its family's folder.
    The exceptions are Llama's examples, which have the names of backends that ExecuTorch has there, and Cadence's
    examples, which are for one backend."""
    package = ROOT / "python/sdk"
    forwards = (package / "examples/models/llama", package / "examples/cadence")
    for declared in registry.backends().values():
        folder = Path(declared.place).parent
        module = ".".join(("sdk", *folder.relative_to(package).parts))
        for file in sorted(package.rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            family = folder if folder.parent == package / "backends" else folder.parent
            exempt = any(file.is_relative_to(place) for place in (family, *forwards))
            assert exempt or not (declared.id in text or f"{module}." in text), file


def _default() -> str:
    default = registry.default_backend()
    assert default is not None
    return default.name
