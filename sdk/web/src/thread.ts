// SPDX-License-Identifier: BSD-3-Clause
// A worker that runs threads of the C library: an instance of the module that shares the memory of the runtime.
import { ownMessages } from "./environment.js";
import { Imports } from "./imports.js";
import type { FromThread, ToThread } from "./threads.js";

type Routine = (...args: number[]) => number;

const messages = ownMessages();
let instance: WebAssembly.Instance | undefined;

const post = (message: FromThread): void => messages.post(message);

messages.onMessage((message) => {
  const command = message as ToThread;
  try {
    if (command.kind === "load") {
      const imports = new Imports(command.shared, undefined, command.threadCount);
      imports.log = (level, text) => post({ kind: "log", level, message: text });
      instance = new WebAssembly.Instance(command.shared.module, imports.object());
      imports.functions = instance.exports as Imports["functions"];
      post({ kind: "ready" });
    } else {
      run(command.thread, command.stack, command.routine, command.argument);
    }
  } catch (error) {
    post({ kind: "failed", message: String(error) });
  }
});

function run(thread: number, stack: number, routine: number, argument: number): void {
  const { exports } = instance!;
  (exports["__stack_pointer"] as WebAssembly.Global).value = stack;
  (exports["_emscripten_thread_init"] as Routine)(thread, 0, 0, 1, 0);
  (exports["et_web_init_thread"] as Routine)();
  const entry = (exports["__indirect_function_table"] as WebAssembly.Table).get(routine) as Routine;
  (exports["_emscripten_thread_exit"] as Routine)(entry(argument));
}
