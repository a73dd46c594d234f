// SPDX-License-Identifier: BSD-3-Clause
// Where the other files of the package are. The entry points set these addresses, because bundlers only recognise addresses
// that are written as in index.ts.
import { ExecuTorchError } from "./errors.js";

export interface Locations {
  wasm(): URL;
  /** The module with language models. */
  llmWasm(): URL;
  /** The same with relaxed SIMD. */
  relaxedWasm(): URL;
  relaxedLlmWasm(): URL;
  thread(): URL;
  startThread(): Worker;
  worker(): URL;
  startWorker(): Worker;
}

let known: Locations | undefined;

export function setLocations(locations: Locations): void {
  known = locations;
}

export function locations(): Locations {
  if (known === undefined) throw new ExecuTorchError("Internal", "the package's entry point was not loaded");
  return known;
}
