# SPDX-License-Identifier: BSD-3-Clause
"""Models by their name: their hyperparameters, and checkpoints of the hub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from language_models import both
from test_checkpoints import saved

from sdk.__main__ import main
from sdk.extension.llm.export.checkpoint import HUB_IDS, CheckpointError, downloaded, is_hub_id
from sdk.extension.llm.export.config.llm_config import ModelType
from sdk.extension.llm.export.exporter import make_model
from sdk.extension.llm.export.settings import SettingsError, read_settings, shipped
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import construct_transformer

FOLDER = "examples/models"
# The numbers of parameters that the models' pages give; embeddings that are also the output count once.
PARAMETERS = {
    "qwen2_5/config/0_5b_config.json": (494_032_768, True),
    "qwen2_5/config/1_5b_config.json": (1_543_714_304, True),
    "qwen2_5_coder/config/32b_config.json": (32_763_876_352, False),
    "qwen3/config/0_6b_config.json": (596_049_920, True),
    "qwen3/config/1_7b_config.json": (1_720_574_976, True),
    "qwen3/config/4b_config.json": (4_022_468_096, True),
    "phi_4_mini/config/config.json": (3_836_021_760, True),
    "smollm2/config/135M_config.json": (134_515_008, True),
    "lfm2/config/lfm2_350m_config.json": (354_483_968, True),
    "lfm2/config/lfm2_700m_config.json": (742_489_344, True),
    "lfm2/config/lfm2_1_2b_config.json": (1_170_340_608, True),
}


@pytest.mark.parametrize("file", PARAMETERS)
def test_hyperparameters_of_models(file: str) -> None:
    """LE-07: the models of these files have as many parameters as the published ones."""
    expected, tied = PARAMETERS[file]
    args = ModelArgs(**json.loads(shipped(f"{FOLDER}/{file}").read_text()), max_seq_len=16, max_context_len=16)
    with torch.device("meta"):
        model = construct_transformer(args)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count - (args.vocab_size * args.dim if tied else 0) == expected


def test_all_hyperparameters_are_tested() -> None:
    folder = shipped(FOLDER + "/none").parent
    assert {path.relative_to(folder).as_posix() for path in folder.glob("*/config/*.json")} == PARAMETERS.keys()
    assert HUB_IDS.keys() <= {kind.value for kind in ModelType}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache with a small model as Qwen/Qwen3-0.6B; nothing is downloaded."""
    import huggingface_hub.constants

    folder = tmp_path / "hub"
    model = folder / "models--Qwen--Qwen3-0.6B"
    (model / "refs").mkdir(parents=True)
    (model / "snapshots").mkdir()
    (model / "refs" / "main").write_text("0" * 40)
    saved(both("qwen3")[0], model / "snapshots" / ("0" * 40))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return folder


def test_models_come_from_the_hub(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """LE-07: `base.model_class`, the hub's id as a checkpoint, and `sdk llm export` with an id load the same model."""
    by_class = make_model(read_settings(None, ["base.model_class=qwen3_0_6b"]))
    by_id = make_model(read_settings(None, ["base.checkpoint=Qwen/Qwen3-0.6B"]))
    for model in (by_class, by_id):
        assert (model.params.vocab_size, model.params.n_layers) == (96, 3)
    assert torch.equal(by_class.layers[0].attention.wq.weight, by_id.layers[0].attention.wq.weight)
    output = tmp_path / "qwen3.pte"
    plain = ["--set", "export.embed_tokenizer=false", "--backend", "portable", "--chunk", "8"]
    assert main(["llm", "export", "Qwen/Qwen3-0.6B", "-o", str(output), *plain]) == 0, capsys.readouterr().err
    assert output.exists()
    params = f"{FOLDER}/qwen3/config/0_6b_config.json"
    with pytest.raises(SettingsError, match=r"base.params: .* the model of base.model_class"):
        make_model(read_settings(None, ["base.model_class=qwen3_0_6b", f"base.params={params}"]))


def test_what_to_download_is_said(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """LE-07: if the hub cannot be reached, the error names the files to download."""
    with pytest.raises(
        CheckpointError, match=r"`Qwen/Qwen3-4B` cannot be downloaded from the hub: .*; download config"
    ):
        make_model(read_settings(None, ["base.model_class=qwen3_4b"]))
    with pytest.raises(CheckpointError, match=r"tokenizer.json of `no/such` into a folder and pass its path"):
        downloaded("no/such")
    assert main(["llm", "export", "no/such", "-o", str(tmp_path / "a.pte")]) == 2
    assert "`no/such` cannot be downloaded from the hub" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Qwen/Qwen3-0.6B", True), ("a.gguf", False), ("folder/a.gguf", False), ("./folder", False), ("a/b/c", False)],
)
def test_ids(text: str, expected: bool) -> None:
    assert is_hub_id(text) is expected
