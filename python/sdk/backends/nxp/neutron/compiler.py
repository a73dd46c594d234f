# SPDX-License-Identifier: BSD-3-Clause
"""NXP's converter, the package `eiq_neutron_sdk`. It is in no open registry, so the calls were tested only with a
stand-in of this name, which records them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from torch.export import ExportedProgram

from sdk.backends.npu.compiler import VendorCompiler
from sdk.backends.npu.graph import Graph
from sdk.backends.npu.partitioner import graph_of
from sdk.backends.nxp.backend.data_format import DataFormat
from sdk.backends.nxp.neutron.compile_specs import Settings, settings_of
from sdk.backends.nxp.neutron.payload import compose, compose_reference
from sdk.backends.nxp.neutron.tflite.builder import Builder
from sdk.backends.nxp.neutron.tflite.schema import to_bytes
from sdk.backends.nxp.neutron.tflite.writer import write
from sdk.backends.nxp.neutron_node_extraction import extract_artifacts_from_neutron_node
from sdk.exir.backend.compile_spec_schema import CompileSpec


def payload_of(program: ExportedProgram, specs: Sequence[CompileSpec], reference: bool) -> bytes:
    """Compiles a partition to a payload.

    Raises:
        CompilerNotInstalledError: NXP's SDK is missing and no reference payload is requested.
        ValueError: the compile specs are of another backend.
    """
    settings = settings_of(specs)
    folder = settings.intermediates_dir
    if folder is not None and not Path(folder).is_dir():
        raise ValueError(f"the compile spec intermediates_dir of Neutron is {folder!r}, which is not a folder")
    tag = next((n.meta["delegation_tag"] for n in program.graph.nodes if "delegation_tag" in n.meta), "tag_0")
    options = [json.dumps({**settings.__dict__, "tag": tag})]
    made = COMPILER.answer(program, options, reference)
    if not reference:
        return made
    graph = graph_of(program)
    model = to_bytes(write(graph, settings.converts_formats))
    _dump(settings, _name(tag, model), "pure", model)
    return compose_reference(formats_of(graph, True), made)  # the interpreter's graph has PyTorch's dimension order


def formats_of(graph: Graph, converts_formats: bool) -> dict[str, dict[str, DataFormat]]:
    """The formats of the inputs and outputs of a graph's model, by their names."""
    builder = None if converts_formats else Builder(graph, converts_formats)

    def format_of(position: int) -> DataFormat:
        is_last = builder is not None and builder.resolve(position) in builder.last
        return DataFormat.CHANNELS_LAST if is_last else DataFormat.FORMATLESS

    return {
        kind: {f"{kind[:-1]}_{number}": format_of(each) for number, each in enumerate(positions)}
        for kind, positions in (("inputs", graph.inputs), ("outputs", graph.outputs))
    }


def _name(tag: str, model: bytes) -> str:
    """The name of a partition in names of files. It contains the beginning of the model's digest, because partitions of
    different methods can have the same tag."""
    return f"{tag}_{hashlib.sha256(model).hexdigest()[:12]}"


def _dump(settings: Settings, name: str, kind: str, model: bytes) -> None:
    if settings.intermediates_dir is not None:
        (Path(settings.intermediates_dir) / f"{name}_{kind}.et.tflite").write_bytes(model)


def _compile(program: ExportedProgram, options: Sequence[str]) -> bytes:
    given: dict[str, Any] = json.loads(options[0])
    tag = given.pop("tag")
    settings = Settings(**given)
    if settings.flags:
        raise ValueError(
            f"the compile spec compile_flags of Neutron is {settings.flags!r}: the Python interface of NXP's converter "
            f"takes no flags; leave extra_flags out"
        )
    graph = graph_of(program)
    model = to_bytes(write(graph, settings.converts_formats))
    name = _name(tag, model)
    _dump(settings, name, "pure", model)
    converted = _converted(model, settings, name)
    _dump(settings, name, "neutron", converted)
    formats = formats_of(graph, settings.converts_formats)
    return compose(formats, extract_artifacts_from_neutron_node(converted))


def _converted(model: bytes, settings: Settings, name: str) -> bytes:
    """Converts a model with NXP's converter, in another process, because the converter ends its process when it
    fails."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "model.tflite"), Path(folder, "neutron.tflite")
        source.write_bytes(model)
        command = [sys.executable, "-m", "sdk.backends.nxp.neutron.convert", str(source), str(target)]
        done = subprocess.run(
            [*command, json.dumps(settings.__dict__)],
            capture_output=True,
            text=True,
            cwd=folder,
            check=False,
            # The child finds the same modules, also those on relative paths of this process.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        )
        if done.returncode or not target.is_file():
            said = (done.stdout + done.stderr).strip().splitlines()[-8:]
            raise RuntimeError(
                f"NXP's converter failed with the exit status {done.returncode} for the part {name}: " + "\n".join(said)
            )
        kernels = Path(folder, "_kernel_selection.c")
        if settings.dumps_kernels and kernels.is_file():
            Path(settings.intermediates_dir or "", f"_kernel_selection_{name}.c").write_bytes(kernels.read_bytes())
        return target.read_bytes()


COMPILER: Final = VendorCompiler(
    title="NXP's converter",
    modules=("eiq_neutron_sdk",),
    remedy=(
        "Install the eIQ Neutron SDK: pip install --index-url ADDRESS eiq_neutron_sdk, with the address of NXP's "
        "package index, which is in NXP's documentation of eIQ Neutron; examples/nxp/setup.sh ADDRESS does this"
    ),
    compile=_compile,
)
