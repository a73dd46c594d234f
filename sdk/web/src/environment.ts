// SPDX-License-Identifier: BSD-3-Clause
// What differs between browsers, Node.js and Deno.
import { ExecuTorchError } from "./errors.js";

interface NodeProcess {
  versions?: { node?: string };
  getBuiltinModule?: (name: string) => unknown;
}
interface NodeWorker {
  postMessage(message: unknown, transfer?: unknown[]): void;
  on(event: string, listener: (value: unknown) => void): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
}
interface WorkerThreads {
  Worker: new (url: URL, options?: object) => NodeWorker;
  parentPort: { postMessage(message: unknown, transfer?: unknown[]): void; on(event: string, listener: (value: unknown) => void): void } | null;
  isMainThread: boolean;
}

const process = (globalThis as { process?: NodeProcess }).process;
/** Node.js, or Bun; Deno has what browsers have. */
export const isNode = process?.versions?.node !== undefined && !("Deno" in globalThis);

function builtin<T>(name: string): T {
  const found = process?.getBuiltinModule?.(name);
  if (found === undefined) {
    throw new ExecuTorchError("NotSupported", `expected Node.js 20.16, 22.3 or newer, found ${process?.versions?.node}: update it`);
  }
  return found as T;
}

// (func (result v128) (i8x16.relaxed_swizzle (i8x16.splat (i32.const 1)) (i8x16.splat (i32.const 2)))), as bytes.
const RELAXED_SWIZZLE = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0],
  ...[10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11],
]);

/** Whether the engine has relaxed SIMD, as Chrome does since 114. */
export const hasRelaxedSimd = (): boolean => WebAssembly.validate(RELAXED_SWIZZLE);

/** Whether this thread may wait for another one; the main thread of a page may not. */
export const canWait = typeof (globalThis as { document?: unknown }).document === "undefined";

/** Whether memory can be shared between threads: in pages, only if they are isolated from other origins. */
export const canShareMemory =
  isNode || "Deno" in globalThis || (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated === true;

export function processorCount(): number {
  const navigator = (globalThis as { navigator?: { hardwareConcurrency?: number } }).navigator;
  if (navigator?.hardwareConcurrency) return navigator.hardwareConcurrency;
  return isNode ? builtin<{ availableParallelism(): number }>("node:os").availableParallelism() : 1;
}

/** A worker, with the functions that all systems have. */
export interface Thread {
  post(message: unknown, transfer?: Transferable[]): void;
  onMessage(listener: (message: unknown) => void): void;
  onError(listener: (error: Error) => void): void;
  /** Whether the worker keeps a process of Node.js alive, which it does at first; no effect elsewhere. */
  keepAlive(keep: boolean): void;
  stop(): void;
}

/** Starts the module at `url` as a worker. `browserWorker` makes one where there is `Worker`. */
export function startThread(url: URL, browserWorker: () => Worker): Thread {
  if (isNode) {
    const worker = new (builtin<WorkerThreads>("node:worker_threads").Worker)(url, { execArgv: [] }); // not those of the program
    return {
      post: (message, transfer) => worker.postMessage(message, transfer),
      onMessage: (listener) => worker.on("message", listener),
      onError: (listener) => worker.on("error", (error) => listener(error as Error)),
      keepAlive: (keep) => (keep ? worker.ref() : worker.unref()),
      stop: () => void worker.terminate(),
    };
  }
  const worker = browserWorker();
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    onMessage: (listener) => worker.addEventListener("message", (event) => listener(event.data)),
    onError: (listener) => {
      worker.addEventListener("error", (event) =>
        listener(new Error(event.message || `the worker ${url.href} could not be loaded: check its address and the page's policies`)),
      );
    },
    keepAlive: () => {},
    stop: () => worker.terminate(),
  };
}

/** Inside a worker: its messages. */
export function ownMessages(): { post(message: unknown, transfer?: Transferable[]): void; onMessage(listener: (message: unknown) => void): void } {
  if (isNode) {
    const port = builtin<WorkerThreads>("node:worker_threads").parentPort;
    if (port === null) throw new ExecuTorchError("InvalidState", "expected to run in a worker, found the main thread");
    return { post: (message, transfer) => port.postMessage(message, transfer), onMessage: (listener) => port.on("message", listener) };
  }
  const scope = globalThis as unknown as {
    postMessage(message: unknown, transfer: Transferable[]): void;
    addEventListener(name: "message", listener: (event: { data: unknown }) => void): void;
  };
  return {
    post: (message, transfer = []) => scope.postMessage(message, transfer),
    onMessage: (listener) => scope.addEventListener("message", (event) => listener(event.data)),
  };
}

function isWindowsPath(url: string | URL): boolean {
  return typeof url === "string" && /^[a-z]:[\\/]/i.test(url);
}

/** The response of an address; in Node.js also of a path and of a file: address. */
export async function fetchResponse(url: string | URL, signal?: AbortSignal): Promise<Response> {
  if (isNode && (isWindowsPath(url) || new URL(url, "file:///").protocol === "file:")) {
    const target = url instanceof URL || url.startsWith("file:") ? new URL(url) : url;
    try {
      const bytes = await builtin<{ readFile(path: string | URL): Promise<Uint8Array<ArrayBuffer>> }>("node:fs/promises").readFile(target);
      return new Response(bytes, { headers: { "content-length": String(bytes.length), "content-type": "application/wasm" } });
    } catch (error) {
      throw new ExecuTorchError("AccessFailed", `${String(url)} cannot be read: ${(error as Error).message}`);
    }
  }
  let response: Response;
  try {
    response = await fetch(url, signal ? { signal } : {});
  } catch (error) {
    if (signal?.aborted) throw new ExecuTorchError("Cancelled", `the download of ${String(url)} was aborted`);
    throw new ExecuTorchError("AccessFailed", `${String(url)} cannot be fetched: ${(error as Error).message}`);
  }
  if (!response.ok) {
    throw new ExecuTorchError("AccessFailed", `${String(url)} cannot be fetched: expected status 200, found ${response.status} ${response.statusText}`);
  }
  return response;
}
