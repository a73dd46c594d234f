// SPDX-License-Identifier: BSD-3-Clause
// A worker that runs threads of the C library: an instance of the module that shares the memory of the runtime.
import { ownMessages } from "./environment.js";
import { Imports } from "./imports.js";
import type { FromThread, ToThread } from "./threads.js";

type Routine = (...args: number[]) => number;

const messages = ownMessages();
let instance: WebAssembly.Instance | undefined;
let memory: WebAssembly.Memory | undefined;

const post = (message: FromThread): void => messages.post(message);

messages.onMessage((message) => {
  const command = message as ToThread;
  try {
    if (command.kind === "load") {
      const imports = new Imports(command.shared, undefined, command.threadCount);
      imports.log = (level, text) => post({ kind: "log", level, message: text });
      memory = command.shared.memory;
      instance = new WebAssembly.Instance(command.shared.module, imports.object());
      imports.functions = instance.exports as Imports["functions"];
      post({ kind: "ready" });
    } else {
      run(command.thread, command.stack, command.routine, command.argument);
    }
  } catch (error) {
    endWaits(String(error));
    post({ kind: "failed", message: String(error) });
  }
});

/** Threads that wait for this one get the error. */
function endWaits(message: string): void {
  if (instance === undefined) return;
  const { et_web_failure: failure, _emscripten_thread_crashed: crashed } = instance.exports as Record<string, Routine>;
  const most = 255; // and NUL, as sdk/web/native/web.cpp declares it
  new Uint8Array(memory!.buffer).set(new TextEncoder().encode(`${message}\0`).subarray(0, most), failure!() >>> 0);
  crashed!();
}

function run(thread: number, stack: number, routine: number, argument: number): void {
  const { exports } = instance!;
  (exports["__stack_pointer"] as WebAssembly.Global).value = stack;
  (exports["_emscripten_thread_init"] as Routine)(thread, 0, 0, 1, 0);
  (exports["et_web_init_thread"] as Routine)();
  const entry = (exports["__indirect_function_table"] as WebAssembly.Table).get(routine) as Routine;
  (exports["_emscripten_thread_exit"] as Routine)(entry(argument));
}
