// SPDX-License-Identifier: BSD-3-Clause
// A thread of the runtime that fails: in its "start", or in the first "task" that the runtime gives it.
const { Instance } = WebAssembly;
const failsInTask = process.env.SDK_WEB_FAILS_IN === "task";
const entry = (table, index) => {
  if (!failsInTask) throw new Error("planted");
  const found = table.get(index);
  for (let i = 0; i < table.length; i++) table.set(i, null); // the table of this thread only; tasks are called through it
  return found;
};
WebAssembly.Instance = function (module, imports) {
  const { exports } = new Instance(module, imports);
  const table = { get: (index) => entry(exports.__indirect_function_table, index) };
  return { exports: { ...exports, __indirect_function_table: table } };
};
await import(process.env.SDK_WEB_THREAD);
