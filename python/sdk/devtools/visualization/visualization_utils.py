# SPDX-License-Identifier: BSD-3-Clause
"""Shows programs in Model Explorer (https://github.com/google-ai-edge/model-explorer), or saves them for it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, TypeAlias

from torch._export.verifier import Verifier
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from sdk.devtools.visualization._server import is_listening, wait_for_server
from sdk.exir import EdgeProgramManager, ExecutorchProgramManager
from sdk.exir._serialize._files import write_atomically
from sdk.exir.graph.programs import with_graph_module

NAME = "Executorch"
"""The name of the model in Model Explorer."""

_DEFAULT_PORTS = range(8080, 8100)
_STOP_S = 5

Program: TypeAlias = ExportedProgram | EdgeProgramManager | ExecutorchProgramManager


def visualize(
    visualizable: Program, reuse_server: bool = True, no_open_in_browser: bool = False, **kwargs: Any
) -> None:
    """Shows a program, grouped by the modules of the model. Returns when the server exits, or at once if a server is
    reused.

    Args:
        visualizable: The program; for a manager, its method `forward`.
        reuse_server: Show it in the server that runs already, if there is one.
        no_open_in_browser: Only print the address.
        **kwargs: Arguments of `visualize_model_explorer`: `port`, `host`, or a custom `config`.

    Raises ImportError without Model Explorer.
    """
    config = kwargs.pop("config", None)
    if config is None:
        config = _explorer().config().add_model_from_pytorch(NAME, _exported_program(visualizable))
        if reuse_server:
            config.set_reuse_server()
    visualize_model_explorer(config=config, no_open_in_browser=no_open_in_browser, **kwargs)


def visualize_model_explorer(**kwargs: Any) -> None:
    """`model_explorer.visualize_from_config` with these arguments. Raises ImportError without Model Explorer, and
    RuntimeError for a port in use, for which Model Explorer would end the process."""
    explorer, port = _explorer(), kwargs.get("port")
    reused = getattr(kwargs.get("config"), "reuse_server_port", 0) > 0
    if port not in (None, _DEFAULT_PORTS[0]) and not reused:
        _check_free(port)
    explorer.visualize_from_config(**kwargs)


def visualize_graph(
    graph_module: GraphModule,
    exported_program: Program,
    reuse_server: bool = True,
    no_open_in_browser: bool = False,
    **kwargs: Any,
) -> None:
    """Shows the graph that a pass returned for a program. All operators are allowed. The arguments are those of
    `visualize`."""
    program = with_graph_module(_exported_program(exported_program), graph_module, verifiers=[_AnyOperator])
    visualize(program, reuse_server, no_open_in_browser, **kwargs)


class _AnyOperator(Verifier):
    """Accepts every operator, because the program is only displayed."""

    dialect = "ANY_OPERATOR"

    def allowed_op_types(self) -> tuple[type[Any], ...]:
        return (Callable,)  # type: ignore[return-value]


def visualize_with_clusters(
    exported_program: ExportedProgram,
    json_file_name: str | None = None,
    no_open_in_browser: bool = False,
    reuse_server: bool = False,
    get_node_partition_name: Callable[[Node], str | None] = lambda node: node.meta.get("delegation_tag"),
    get_node_qdq_cluster_name: Callable[[Node], str | None] = lambda node: node.meta.get("cluster"),
    **kwargs: Any,
) -> None:
    """Shows a program with its partitions and quantisation clusters as groups, or saves it for later.

    Args:
        exported_program: The program.
        json_file_name: Write this file and return; `model-explorer FILE` opens it. By default a server starts, and the
            call returns when it ends.
        no_open_in_browser: Only print the address.
        reuse_server: Show it in the server that runs already, if there is one. By default each call starts one.
        get_node_partition_name: The name of the partition that a node is in, or None.
        get_node_qdq_cluster_name: The name of the cluster that a node is in, or None.
        **kwargs: Arguments of `visualize_model_explorer`.

    Raises ImportError without Model Explorer.
    """
    config = _explorer().config().add_model_from_pytorch(NAME, exported_program)
    _group(config, exported_program, get_node_partition_name, get_node_qdq_cluster_name)
    if json_file_name is not None:
        write_atomically(Path(json_file_name), json.dumps(_collection(config)))
        return
    if reuse_server:
        config.set_reuse_server()
    visualize_model_explorer(config=config, no_open_in_browser=no_open_in_browser, **kwargs)


def _group(
    config: Any,
    program: ExportedProgram,
    partition_of: Callable[[Node], str | None],
    cluster_of: Callable[[Node], str | None],
) -> None:
    """Replaces the groups of a graph by partitions, which are numbered, and clusters in them."""
    numbers: dict[str, int] = {}
    shown = {node.id: node for node in config.graphs_list[0]["graphs"][0].nodes}
    for node in program.graph.nodes:
        groups = []
        partition, cluster = partition_of(node), cluster_of(node)
        if partition is not None:
            number = numbers.setdefault(partition, len(numbers))
            groups.append(f"partition {number} ({_one_level(partition)})")
        if cluster is not None:
            groups.append(f"cluster ({_one_level(cluster)})")
        shown[node.name].namespace = "/".join(groups)


def _one_level(name: str) -> str:
    """A name without `/`, because Model Explorer would make a group of each part."""
    return name.replace("/", ":")


def _collection(config: Any) -> dict[str, Any]:
    """The graphs as Model Explorer reads them from a file."""
    (content,) = json.loads(config.get_transferrable_data()["graphs_list"])
    graphs = [{**graph, "collectionLabel": NAME} for graph in json.loads(content)["graphs"]]
    levels = [{"graph": graph, "level": level} for level, graph in enumerate(graphs)]
    return {"label": NAME, "graphs": graphs, "graphsWithLevel": levels}


def _exported_program(program: Program) -> ExportedProgram:
    if isinstance(program, (EdgeProgramManager, ExecutorchProgramManager)):
        return program.exported_program()
    if isinstance(program, ExportedProgram):
        return program
    raise RuntimeError(
        "expected an ExportedProgram, an EdgeProgramManager or an ExecutorchProgramManager, found "
        f"a {type(program).__name__}: export the model first"
    )


def _explorer() -> Any:
    try:
        import model_explorer
    except ImportError as error:
        raise ImportError(
            "Model Explorer is not installed: pip install 'pte-sdk[visualization]'. Without it, `sdk inspect model.pte "
            "--html model.html` shows a program"
        ) from error
    return model_explorer


class ModelExplorerServer:
    """A server of Model Explorer that runs during a `with` block; `visualize(..., reuse_server=True)` uses it.

    Args:
        open_in_browser: Open its page.
        port: By default the first free one from 8080.
    """

    def __init__(self, open_in_browser: bool = True, port: int | None = None) -> None:
        self.server, self._port = _start(open_in_browser, port)

    def __enter__(self) -> ModelExplorerServer:
        wait_for_server(self.server, self._port)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _stop(self.server)


class SingletonModelExplorerServer:
    """A Model Explorer server that nested `with` blocks share. It exits with the outermost block."""

    server: ClassVar[subprocess.Popen[bytes] | None] = None
    num_open: ClassVar[int] = 0
    _port: ClassVar[int] = _DEFAULT_PORTS[0]

    def __init__(self, open_in_browser: bool = True, port: int | None = None) -> None:
        cls = SingletonModelExplorerServer
        if cls.server is None:
            cls.server, cls._port = _start(open_in_browser, port)

    def __enter__(self) -> SingletonModelExplorerServer:
        cls = SingletonModelExplorerServer
        assert cls.server is not None
        wait_for_server(cls.server, cls._port)
        cls.num_open += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        cls = SingletonModelExplorerServer
        cls.num_open -= 1
        if cls.num_open == 0 and cls.server is not None:
            _stop(cls.server)
            cls.server = None


def _start(open_in_browser: bool, port: int | None) -> tuple[subprocess.Popen[bytes], int]:
    """Starts a server. Returns it with its port. Raises RuntimeError if the port, or all of the default ones, are in
    use."""
    _explorer()
    if port is None:
        port = next((free for free in _DEFAULT_PORTS if not is_listening(free)), None)
        if port is None:
            first, last = _DEFAULT_PORTS[0], _DEFAULT_PORTS[-1]
            raise RuntimeError(f"the ports {first} to {last} are all in use: pass another one as port")
    else:
        _check_free(port)
    beside = Path(sys.executable).with_name("model-explorer")
    command = [str(beside) if beside.exists() else shutil.which("model-explorer") or "model-explorer"]
    command += [*([] if open_in_browser else ["--no_open_in_browser"]), "--port", str(port)]
    return subprocess.Popen(command), port


def _check_free(port: int) -> None:
    if is_listening(port):
        raise RuntimeError(f"port {port} is in use: pass another one, or none for the first that is free")


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
