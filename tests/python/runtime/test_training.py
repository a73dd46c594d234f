# SPDX-License-Identifier: BSD-3-Clause
"""Training with the runtime takes the same steps as PyTorch eager: programs of the original and of this compiler."""

from __future__ import annotations

import gc
import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram, export
from torch.export.experimental import _export_forward_backward
from torch.export.graph_signature import OutputKind

from declared import default
from sdk.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from sdk.exir.error import ExportError
from sdk.exir.serde.serialize import save
from sdk.extension.training import (
    TrainingModule,
    _load_for_executorch_for_training,
    _load_for_executorch_for_training_from_buffer,
    get_sgd_optimizer,
)

FOLDER = Path(__file__).parents[2] / "data" / "training"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
OPTIONS: list[dict[str, Any]] = [
    {"lr": 0.1},
    {"lr": 0.05, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.01},
    {"lr": 0.02, "momentum": 0.8, "nesterov": True},
]
pytestmark = pytest.mark.filterwarnings("ignore::sdk.exir._warnings.ExperimentalWarning")


class Classifier(nn.Module):
    """A convolutional net with a loss, and a weight that is not trained."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        # The gradient of the first convolution's input is not computed.
        self.features = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3))
        self.frozen = nn.Parameter(torch.randn(4), requires_grad=False)
        self.scores = nn.Linear(4, 3)

    def forward(self, images: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
        features = torch.sigmoid(self.features(images)).mean(dim=(2, 3)) * self.frozen
        scores = self.scores(features)
        return nn.functional.cross_entropy(scores, classes), scores.detach()


def _sample(step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    return torch.randn(2, 2, 8, 8, generator=generator), torch.randint(0, 3, (2,), generator=generator)


def _joint(model: nn.Module) -> ExportedProgram:
    return _export_forward_backward(export(model, _sample(0), strict=True))


@cache
def _program(external: str) -> tuple[bytes, list[bytes]]:
    """The net of this module as a program, and its files of data."""
    config = ExecutorchBackendConfig(**({external: True} if external else {}))
    made = to_edge(_joint(Classifier())).to_executorch(config)
    return made.buffer, [bytes(contents) for contents in made._tensor_data.values()]


def _load(name: str) -> TrainingModule:
    data = FOLDER / f"{name}.ptd" if name == "xor_external" else None
    return _load_for_executorch_for_training(FOLDER / f"{name}.pte", data)


def _near(found: Tensor, expected: Tensor) -> None:
    # Both compute in float32 but add in another order; the differences grow with the steps.
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["xor", "xor_external"])
@pytest.mark.parametrize("run", EXPECTED["runs"], ids=lambda run: str(run["options"]))
def test_programs_of_the_original_take_the_steps_of_eager(name: str, run: dict[str, Any]) -> None:
    """RT-17: 40 steps with each set of options. The losses and the parameters equal those of torch.optim.SGD."""
    module = _load(name)
    parameters = module.named_parameters()
    optimizer = get_sgd_optimizer(parameters, **run["options"])
    points = [(torch.tensor([point["x"]]), torch.tensor([point["target"]])) for point in EXPECTED["points"]]
    for step, expected in enumerate(run["losses"]):
        loss, prediction = module.forward_backward("forward", points[step % len(points)])
        _near(loss, torch.tensor(expected))
        assert prediction.dtype == torch.int64
        optimizer.step(module.named_gradients())
    assert parameters.keys() == run["parameters"].keys()
    for key, values in run["parameters"].items():
        _near(parameters[key].flatten(), torch.tensor(values))


@pytest.mark.sampled
@pytest.mark.parametrize("external", ["", "external_mutable_weights", "external_constants"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_programs_of_this_compiler_take_the_steps_of_eager(external: str, options: dict[str, Any]) -> None:
    """RT-17: a convolutional net, whose weights are in the program or in a separate file."""
    model = Classifier()
    buffer, data = _program(external)
    assert len(data) == bool(external)
    module = _load_for_executorch_for_training_from_buffer(buffer, *data)
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    assert module.named_parameters().keys() == trained.keys()
    for name, value in module.named_parameters().items():
        assert torch.equal(value, trained[name])
    optimizer, eager = (
        get_sgd_optimizer(module.named_parameters(), **options),
        torch.optim.SGD(trained.values(), **options),
    )
    for step in range(12):
        loss, scores = module.forward_backward("forward", _sample(step))
        eager.zero_grad()
        expected, expected_scores = model(*_sample(step))
        expected.backward()
        _near(loss, expected.detach())
        _near(scores, expected_scores)
        for name, gradient in module.named_gradients().items():
            _near(gradient, trained[name].grad)
        optimizer.step(module.named_gradients())
        eager.step()
    for name, value in module.named_parameters().items():
        _near(value, trained[name].detach())


def test_returned_parameters_are_marked_as_in_executorch() -> None:
    """Their outputs, after the others, have the kind TOKEN. The program can be saved."""
    model = Classifier()
    made = to_edge(_joint(model)).to_executorch().exported_program()
    trained = [name for name, value in model.named_parameters() if value.requires_grad]
    parameters = made.graph_signature.inputs_to_buffers
    returned = [s for s in made.graph_signature.output_specs if s.kind == OutputKind.TOKEN]
    assert [parameters[each.arg.name] for each in returned] == trained
    assert [node.name for node in made.graph.output_node().args[0][-len(trained) :]] == [s.arg.name for s in returned]
    file = io.BytesIO()
    save(made, file)
    assert zipfile.is_zipfile(file)


def test_each_method_trains_the_parameters_that_it_has() -> None:
    model = Classifier()
    made = to_edge({"forward": _joint(model), "infer": export(model, _sample(0))}).to_executorch()
    assert made.config_methods == {
        f"__et_training_{part}_forward" for part in ("gradients_index", "parameters_index", "fqn")
    }
    module = _load_for_executorch_for_training_from_buffer(made.buffer)
    with pytest.raises(ValueError, match=r"'infer' gives no gradients: export it with torch.export.experimental"):
        module.forward_backward("infer", _sample(0))
    with pytest.raises(ValueError, match=r"there is no method 'backward'; the program has: forward, infer"):
        module.named_parameters("backward")
    with pytest.raises(RuntimeError, match=r"'forward' has not run: call forward_backward\('forward', ...\) first"):
        module.named_gradients()


def test_parameters_keep_the_program_alive() -> None:
    module = _load("xor")
    parameters = module.named_parameters()
    before = {name: value.clone() for name, value in parameters.items()}
    del module
    gc.collect()
    assert all(torch.equal(value, before[name]) for name, value in parameters.items())


def test_wrong_gradients_change_nothing() -> None:
    module = _load("xor")
    parameters = module.named_parameters()
    before = {name: value.clone() for name, value in parameters.items()}
    optimizer = get_sgd_optimizer(parameters, lr=1.0)
    good = torch.ones(2)
    with pytest.raises(ValueError, match=r"there is no parameter 'third'; there are: first.weight"):
        optimizer.step({"second.bias": good, "third": good})
    with pytest.raises(ValueError, match=r"'second.bias' with the shape \[2\] and torch.float32, found \[3\]"):
        optimizer.step({"second.bias": torch.ones(3)})
    with pytest.raises(ValueError, match=r"found \[2\] and torch.float64"):
        optimizer.step({"second.bias": good.double()})
    with pytest.raises(ValueError, match="momentum"):
        get_sgd_optimizer(parameters, nesterov=True)
    assert all(torch.equal(value, before[name]) for name, value in parameters.items())
    optimizer.step({"second.bias": good})
    assert torch.equal(parameters["second.bias"], before["second.bias"] - 1)
    assert torch.equal(parameters["first.bias"], before["first.bias"])


@pytest.mark.parametrize("layers", [1, 2])
def test_a_trained_weight_inside_of_a_delegate_is_refused(layers: int) -> None:
    """A backend that owns the weight would always compute with the initial values. With two layers, kernels read the
    weight too."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(layers)))

        def forward(self, x: Tensor) -> Tensor:
            return self.layers(x).sum()

    joint = _export_forward_backward(export(Net(), (torch.ones(2, 4),), strict=True))
    lowered = to_edge_transform_and_lower(joint, partitioner=[default().find("partitioner")()])
    with pytest.raises(ExportError, match=r"gradient of 'layers.0.weight', but a backend has a copy"):
        lowered.to_executorch()
