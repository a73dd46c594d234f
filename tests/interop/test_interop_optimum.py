# SPDX-License-Identifier: BSD-3-Clause
"""Hugging Face's exporter, unchanged, on this SDK: all of its modules are imported, and its command exports a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.clients import environment_of, run

pytestmark = [pytest.mark.network, pytest.mark.slow]

NAMES = """
import importlib, pkgutil, sys
import sdk.compat
import optimum.executorch, optimum.exporters.executorch, optimum.commands.export.executorch
packages = [optimum.executorch, optimum.exporters.executorch]
found = [each.name for package in packages for each in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
assert len(found) > 20, found
# A recipe for a backend that this SDK does not have, in a file whose name is not one of a module.
for name in set(found) - {"optimum.exporters.executorch.recipes.cuda-windows"}:
    importlib.import_module(name)
assert not any(name == "executorch" and module is not sys.modules["sdk"] for name, module in sys.modules.items())
"""
MODEL = """
import sys, torch, transformers
from tokenizers import Tokenizer, models, pre_tokenizers
words = {"<unk>": 0, "<s>": 1, "</s>": 2, **{f"w{i}": i for i in range(3, 96)}}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
special = dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>")
transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(sys.argv[1])
torch.manual_seed(0)
config = transformers.LlamaConfig(
    vocab_size=96, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=128, bos_token_id=1, eos_token_id=2)
transformers.LlamaForCausalLM(config).save_pretrained(sys.argv[1])
"""
GREEDY = """
import sys, torch, transformers
from sdk.runtime import Runtime
model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
method = Runtime.get().load_program(sys.argv[2]).load_method("forward")
expected = [5, 17, 33, 60, 8]
found, unread = list(expected), list(expected)
for _ in range(30):
    with torch.no_grad():
        expected.append(int(model(torch.tensor([expected])).logits[0, -1].argmax()))
    places = torch.arange(len(found) - len(unread), len(found))
    logits = torch.as_tensor(method.execute([torch.tensor([unread]), places])[0])
    unread = [int(logits[0, -1].argmax())]
    found += unread
assert found == expected, (found, expected)
"""
TOKENS = """
import sys, torch, transformers
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.runtime import Runtime
program = deserialize_pte_binary(open(sys.argv[2], "rb").read()).program
(plan,) = (plan for plan in program.execution_plan if plan.name == "forward")
assert {delegate.id for delegate in plan.delegates} == {"CoreMLBackend"}
assert not {"aten::mm", "aten::bmm", "aten::_softmax"} & {operator.name for operator in plan.operators}
model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
method = Runtime.get().load_program(sys.argv[2], reference="coreml").load_method("forward")
tokens = [5, 17, 33, 60, 8]
for place in range(12):
    found = torch.as_tensor(method.execute([torch.tensor([[tokens[place]]]), torch.tensor([place])])[0])[0, -1]
    with torch.no_grad():
        expected = model(torch.tensor([tokens[: place + 1]])).logits[0, -1]
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-3)
    if place + 1 == len(tokens):
        tokens.append(int(expected.argmax()))
"""
# Optimum's own class, as its page calls it.
ANSWER = """
import sys, torch, transformers
import sdk.compat
from optimum.executorch import ExecuTorchModelForCausalLM
tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
expected = [5, 17, 33, 60, 8]
while len(expected) < 30:
    with torch.no_grad():
        expected.append(int(model(torch.tensor([expected])).logits[0, -1].argmax()))
loaded = ExecuTorchModelForCausalLM.from_pretrained(sys.argv[2])
found = loaded.text_generation(tokenizer=tokenizer, prompt="w5 w17 w33 w60 w8", max_seq_len=30)
assert found == tokenizer.decode(expected, skip_special_tokens=True), (found, tokenizer.decode(expected))
"""


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder of the packages."""
    return environment_of("optimum")


def test_all_modules_are_imported(packages: Path) -> None:
    """LO-09: no import of the exporter fails, without a stub."""
    run(packages, "-c", NAMES)


def test_its_command_exports_llama(packages: Path, tmp_path: Path) -> None:
    """LO-02, LO-03, LO-04, LO-05: the program continues a text as eager does, greedily."""
    model, output = tmp_path / "model", tmp_path / "output"
    run(packages, "-c", MODEL, model)
    command = ["optimum-cli", "export", "executorch", "--model", str(model), "--task", "text-generation"]
    command += ["--recipe", "xnnpack", "--use_custom_sdpa", "--use_custom_kv_cache"]
    command += ["--max_seq_len", "64", "--output_dir", str(output)]
    run(packages, "-m", "sdk.compat", *command)
    run(packages, "-c", GREEDY, model, output / "model.pte")


def test_its_recipe_for_core_ml(packages: Path, tmp_path: Path) -> None:
    """LO-04: the transformer is computed by Core ML's interpreter, one token per call, and continues a text as eager
    does."""
    model, output = tmp_path / "model", tmp_path / "output"
    run(packages, "-c", MODEL, model)
    command = ["optimum-cli", "export", "executorch", "--model", str(model), "--task", "text-generation"]
    command += ["--recipe", "coreml_fp32_cpu", "--max_seq_len", "64", "--output_dir", str(output)]
    run(packages, "-m", "sdk.compat", *command)
    run(packages, "-c", TOKENS, model, output / "model.pte")


def test_its_class_answers(packages: Path, tmp_path: Path) -> None:
    """LO-01, LO-04, LO-06: with the package of the index, `text_generation` of a program of the recipe portable gives
    eager's text."""
    model, output = tmp_path / "model", tmp_path / "output"
    run(packages, "-c", MODEL, model)
    command = ["optimum-cli", "export", "executorch", "--model", str(model), "--task", "text-generation"]
    run(packages, "-m", "sdk.compat", *command, "--recipe", "portable", "--max_seq_len", "64", "--output_dir", output)
    run(packages, "-c", ANSWER, model, output)


# Optimum's attention by custom_sdpa asserts that the model passes it `position_ids`; GPT-2 of transformers does not.
CELLS = {"gpt2": [f"{recipe}/{way}" for recipe in ("portable", "xnnpack") for way in ("plain", "8da4w")]}


@pytest.mark.parametrize("architecture", ["gemma3", "gpt2", "llama", "mistral", "phi3", "qwen2", "qwen3", "smollm3"])
def test_architectures_in_all_ways(packages: Path, tmp_path: Path, architecture: str) -> None:
    """LO-02, LO-03, LO-04, LO-08: two recipes, each plain, with custom SDPA and cache, and with 8da4w: the logits after
    a prompt and after each following token are eager's."""
    script = Path(__file__).with_name("optimum_matrix.py")
    run(packages, script, tmp_path, architecture, *CELLS.get(architecture, []))


@pytest.mark.parametrize("recipe", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", ["bert", "roberta", "vit", "whisper"])
def test_other_tasks(packages: Path, tmp_path: Path, name: str, recipe: str) -> None:
    """LO-05, LO-08: `fill-mask`, `image-classification` and `automatic-speech-recognition` give eager's logits."""
    run(packages, Path(__file__).with_name("optimum_tasks.py"), tmp_path, name, recipe)
