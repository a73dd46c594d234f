# SPDX-License-Identifier: BSD-3-Clause
"""Every function that opens a path of the user refuses pipes, which would make it wait, and devices, which may have no
end."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import forked

_PYBINDINGS = "from sdk.extension.pybindings.portable_lib import"
_TOKENIZERS = "from sdk.extension.llm.tokenizers import"
_LLM = "from sdk.extension.llm.export"
_ASR = "from sdk.extension.asr.runner import"
_RUNNER = "from sdk.extension.llm.runner import"
# Code that opens a user's `path`, or a `folder` of a checkpoint in which the path is the file with a certain name.
DOORS = {
    "Runtime.load_program": "from sdk.runtime import Runtime; Runtime.get().load_program(path)",
    "Runtime.load_program, data_map": "from sdk.runtime import Runtime; Runtime.get().load_program(b'', data_map=path)",
    "ReferenceProgram": "from sdk.backends.reference import ReferenceProgram; ReferenceProgram(path)",
    "_load_for_executorch": f"{_PYBINDINGS} _load_for_executorch; _load_for_executorch(path).method_names()",
    "_load_for_executorch, data": f"{_PYBINDINGS} _load_for_executorch; _load_for_executorch(program, path)",
    "_load_program": f"{_PYBINDINGS} _load_program; _load_program(path)",
    "Inspector": "from sdk.devtools import Inspector; Inspector(etdump_path=path)",
    "Inspector, etrecord": "from sdk.devtools import Inspector; Inspector(etdump_data=b'', etrecord=path)",
    "Inspector, debug buffer": (
        "from sdk.devtools.inspector import _inspector as module\n"
        "module.read_etdump = lambda data: type('Dump', (), {'run_data': []})\n"
        "module.Inspector(etdump_data=b'', debug_buffer_path=path)"
    ),
    "parse_etrecord": "from sdk.devtools import parse_etrecord; parse_etrecord(path)",
    "BundledProgram": (
        "from sdk.devtools import BundledProgram; BundledProgram(None, method_test_suites=[], pte_file_path=path)"
    ),
    "write_page": "from sdk.devtools.page import write_page; write_page(path, 'page.html')",
    "write_page, report": "from sdk.devtools.page._sections import read_report; read_report(Path(path))",
    "exir.load": "from sdk import exir; exir.load(path)",
    "load_programs": "from sdk.export.saved_programs import load_programs; load_programs(path)",
    "debug": "from sdk.debug.program import read_program; read_program(Path(path))",
    "inspect": "from sdk.inspect._facts import facts; facts(Path(path))",
    "get_tokenizer": f"{_TOKENIZERS} get_tokenizer; get_tokenizer(path)",
    "load_tokenizer": f"{_TOKENIZERS} load_tokenizer; load_tokenizer(path)",
    "HuggingFaceTokenizer": f"{_TOKENIZERS} HuggingFaceTokenizer; HuggingFaceTokenizer(path)",
    "HuggingFaceTokenizer, configuration": f"{_TOKENIZERS} HuggingFaceTokenizer; HuggingFaceTokenizer(empty, path)",
    "TiktokenTokenizer": f"{_TOKENIZERS} TiktokenTokenizer; TiktokenTokenizer(path)",
    "Llama2cTokenizer": f"{_TOKENIZERS} Llama2cTokenizer; Llama2cTokenizer(path)",
    "CppHFTokenizer": f"{_TOKENIZERS} CppHFTokenizer; CppHFTokenizer().load(path)",
    "CppLlama2cTokenizer": f"{_TOKENIZERS} CppLlama2cTokenizer; CppLlama2cTokenizer().load(path)",
    "GGUFFile": f"{_LLM}.gguf import GGUFFile; GGUFFile(path)",
    "load_file": "from sdk.extension.gguf_util.load_gguf import load_file; load_file(path)",
    "load_model": f"{_LLM}.checkpoint import load_model; load_model(link(path, 'model.gguf'))",
    "load_model, folder": f"{_LLM}.checkpoint import load_model; load_model(link(path, 'config.json').parent)",
    "read_safetensors": (
        f"{_LLM}.checkpoint import read_safetensors; list(read_safetensors(link(path, 'a.safetensors')))"
    ),
    "read_safetensors, folder": (
        f"{_LLM}.checkpoint import read_safetensors\n"
        "list(read_safetensors(link(path, 'model.safetensors.index.json').parent))"
    ),
    "read_adapter": f"{_LLM}.checkpoint import read_adapter; read_adapter(link(path, 'adapter.safetensors'))",
    "read_adapter, PyTorch": f"{_LLM}.checkpoint import read_adapter; read_adapter(link(path, 'adapter.pt'))",
    "adapter_args": f"{_LLM}.checkpoint import adapter_args; adapter_args(path)",
    "read_settings": f"{_LLM}.settings import read_settings; read_settings(path)",
    "weights of PyTorch": f"{_LLM}.load import _read_weights; _read_weights(path)",
    "prune_map": f"{_LLM}.load import prune_map; prune_map(path)",
    "tokenizer_data": f"{_LLM}.tokenizer.data import tokenizer_data; tokenizer_data(None, path)",
    "tokenizer_data, folder": (
        f"{_LLM}.tokenizer.data import tokenizer_data; tokenizer_data(None, str(link(path, 'tokenizer.json').parent))"
    ),
    "load_checkpoint_from_pytorch_model": (
        "from sdk.examples.models.checkpoint import load_checkpoint_from_pytorch_model as load\n"
        "load(link(path, 'pytorch_model.bin').parent)"
    ),
    "load_checkpoint_from_pytorch_model, index": (
        "from sdk.examples.models.checkpoint import load_checkpoint_from_pytorch_model as load\n"
        "load(link(path, 'pytorch_model.bin.index.json').parent)"
    ),
    "load_and_convert_unsloth_to_meta": (
        "from sdk.examples.models.llama.convert_weights import load_and_convert_unsloth_to_meta as load\n"
        "load(str(link(path, 'a.safetensors')))"
    ),
    "TextLLMRunner": f"{_RUNNER} TextLLMRunner; TextLLMRunner(path, empty).load()",
    "TextLLMRunner, tokenizer": f"{_RUNNER} TextLLMRunner; TextLLMRunner(program, path).load()",
    "MultimodalRunner": f"{_RUNNER} MultimodalRunner; MultimodalRunner(path, empty).load()",
    "AsrRunner": f"{_ASR} AsrRunner; AsrRunner(path, empty).sampling_rate and fail()",
    "AsrRunner, tokenizer": f"{_ASR} AsrRunner; AsrRunner(program, path).sampling_rate and fail()",
    "read_wav": f"{_RUNNER} read_wav; read_wav(path)",
    "sound of run": "from sdk.run._sound import read_wav; read_wav(Path(path))",
    "is_whisper": (
        "from sdk.extension.asr.whisper import is_whisper; is_whisper(link(path, 'config.json').parent) or fail()"
    ),
    "read_inputs": "from sdk.export.cli.inputs import read_inputs; read_inputs(link(path, 'inputs.pt'))",
    "read_inputs, NumPy": "from sdk.export.cli.inputs import read_inputs; read_inputs(link(path, 'inputs.npy'))",
    "wrap": "from sdk.wrap.__main__ import main; main([path, '--language', 'kotlin']) and fail()",
    "run": "from sdk.run.__main__ import main; main([path]) and fail()",
    "test": "from sdk.test.__main__ import main; main([path]) and fail()",
    "TextLLMEngine": f"{_RUNNER} TextLLMEngine; TextLLMEngine(path)",
    "files_of a VGF program": "from sdk.backends.arm.vgf.extract import main; main([path, 'out']) and fail()",
    "analyze of Core ML": (
        "from sdk.backends.apple.coreml.compute_plan import analyze\nanalyze(link(path, 'model.pte'))"
    ),
    "nodes of a Neutron program": (
        "from sdk.backends.nxp.neutron_node_extraction import extract_artifacts_from_neutron_node as extract\n"
        "extract(path)"
    ),
    "selection of programs": (
        "from sdk.codegen.selection import from_programs; from_programs([link(path, 'model.pte')])"
    ),
    "selection, YAML": "from sdk.codegen.selection import from_yaml; from_yaml(Path(path))",
    "list of selections": (
        "from sdk.codegen.tools.gen_all_oplist import main\n"
        "main(['--output_dir', 'out', '--model_file_list_path', '@' + path])"
    ),
    "program_operators": "from sdk.codegen.program_operators import main; main([path]) and fail()",
    "program_operators, backends": (
        "from sdk.codegen.program_operators import main; main([path, '--backends']) and fail()"
    ),
    "embed_program": "from sdk.codegen.embed_program import main; main([path, '--output', 'program.c']) and fail()",
    "kernels in the source of prim operators": (
        "from sdk.codegen.tools.gen_max_kernel_num import _count_prim_ops; _count_prim_ops(Path(path))"
    ),
}
_RUN = """
import resource, shutil, sys
from pathlib import Path

door, empty, program, *paths = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
number = 0

def link(path, name):
    global number
    number += 1
    folder = Path(f"folder_{number}")
    folder.mkdir()
    (folder / name).symlink_to(path)
    return folder / name

def fail():
    raise ValueError("the command failed")

for path in paths:
    try:
        exec(door)
    except (ImportError, NameError, AttributeError, TypeError):
        raise
    except Exception as error:
        print(type(error).__name__, " ".join(str(error).split())[:300])
    else:
        sys.exit(f"{path} was accepted")
"""


@pytest.fixture(scope="module")
def streams() -> Iterator[list[Path]]:
    """A pipe, a device without an end, a socket and a folder."""

    with tempfile.TemporaryDirectory(prefix="s") as name, socket.socket(socket.AF_UNIX) as listening:
        folder = Path(name)
        os.mkfifo(folder / "pipe")
        listening.bind(str(folder / "socket"))
        (folder / "folder").mkdir()
        yield [folder / "pipe", Path("/dev/zero"), folder / "socket", folder / "folder"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("door", DOORS)
def test_a_stream_is_refused_at_once(door: str, streams: list[Path], tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text("{}")
    done = forked.run("-c", _RUN, DOORS[door], empty, empty, *streams, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) >= len(streams), done.stdout
