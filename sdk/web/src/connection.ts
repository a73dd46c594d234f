// SPDX-License-Identifier: BSD-3-Clause
// The connection to a runtime, which is in a worker or in this thread.
import type { Carriers } from "./carriers.js";
import { isNode, startThread, type Thread } from "./environment.js";
import { ExecuTorchError, fromPlain } from "./errors.js";
import type { Source } from "./download.js";
import { locations } from "./locations.js";
import type { RuntimeOptions } from "./runtime.js";
import { Server, type Plain, type Reply, type Request } from "./server.js";

export const CONNECTION_OPTIONS: Record<keyof Required<ConnectionOptions>, true> = {
  wasm: true,
  llm: true,
  threads: true,
  onLog: true,
  logLevel: true,
  worker: true,
};

export interface ConnectionOptions extends RuntimeOptions {
  /** Whether the runtime is in a worker, so that the page stays alive during a run: by default except in Node.js. */
  worker?: boolean;
}

interface Waiting {
  resolve(value: never): void;
  reject(error: ExecuTorchError): void;
  onPart: ((part: never) => void) | undefined;
  carriers: Carriers | undefined;
  stopListening: () => void;
}

export class Connection {
  private static readonly all = new Set<Connection>();

  private readonly waiting = new Map<number, Waiting>();
  private readonly worker: Thread | undefined;
  private readonly server: Server | undefined;
  private next = 1;
  private ended: ExecuTorchError | undefined;
  /** The number of threads, the operators and the backends of the runtime, when it has started. */
  readonly started: Promise<{ threads: number; operators: string[]; backends: string[] }>;

  private constructor(private readonly options: ConnectionOptions) {
    if (options.worker ?? !isNode) {
      this.worker = startThread(locations().worker(), locations().startWorker);
      this.worker.onMessage((reply) => this.receive(reply as Reply));
      this.worker.onError((error) => this.end(new ExecuTorchError("Internal", `the worker failed: ${error.message}`)));
    } else {
      this.server = new Server((reply) => this.receive(reply), /*sharesInputs=*/ true);
    }
    const { onLog: _, worker: __, ...settings } = options;
    this.started = this.call("start", [{ ...settings, wasm: this.wasm() }]);
    // If the runtime does not start, the calls that wait for it get the error.
    this.started.catch((error: ExecuTorchError) => this.end(error));
  }

  private wasm(): RuntimeOptions["wasm"] {
    const { wasm } = this.options;
    // Resolved here, because a worker would resolve a relative address against its own.
    return typeof wasm === "string" || wasm instanceof URL ? resolve(wasm) : wasm;
  }

  /** The connection with these options; one that ended is replaced. */
  static to(options: ConnectionOptions): Connection {
    const names = ["wasm", "llm", "threads", "onLog", "logLevel"] as const;
    const isInWorker = (of: ConnectionOptions): boolean => of.worker ?? !isNode;
    for (const known of Connection.all) {
      if (isInWorker(known.options) === isInWorker(options) && names.every((name) => known.options[name] === options[name])) return known;
    }
    const made = new Connection(options);
    if (made.ended === undefined) Connection.all.add(made);
    return made;
  }

  /** Ends all runtimes, their workers and threads. */
  static endAll(): void {
    for (const each of [...Connection.all]) each.end(new ExecuTorchError("InvalidState", "the runtime was disposed of"));
  }

  /** `onPart` receives what the call sends before its result: the progress of a download, or pieces of an answer. */
  call<T>(name: string, args: unknown[], onPart?: (part: never) => void, signal?: AbortSignal, carriers?: Carriers, buffers: ArrayBuffer[] = []): Promise<T> {
    if (this.ended !== undefined) {
      return Promise.reject(
        new ExecuTorchError("InvalidState", `the runtime ended earlier (${this.ended.message}): load the module again`),
      );
    }
    const id = this.next++;
    return new Promise<T>((resolve, reject) => {
      if (signal?.aborted) {
        reject(new ExecuTorchError("Cancelled", "the download was aborted"));
        return;
      }
      const abort = (): void => void this.call("abort", [id]).catch(() => {});
      signal?.addEventListener("abort", abort);
      this.waiting.set(id, { resolve, reject, onPart, carriers, stopListening: () => signal?.removeEventListener("abort", abort) });
      this.worker?.keepAlive(true);
      try {
        this.send({ id, call: name, args, buffers });
      } catch (error) {
        this.remove(id);
        reject(new ExecuTorchError("InvalidArgument", `the arguments cannot be sent to the worker: ${(error as Error).message}`));
      }
    });
  }

  /** Calls with `values` as the last argument. The caller may change their elements as soon as this returns. */
  callWithValues<T>(name: string, args: unknown[], values: Plain[], carriers: Carriers): Promise<T> {
    const buffers: ArrayBuffer[] = [];
    const carried = this.worker === undefined ? values : values.map((value) => carriers.load(value, buffers));
    return this.call<T>(name, [...args, carried], undefined, undefined, carriers, buffers);
  }

  private send(request: Request): void {
    if (this.worker !== undefined) this.worker.post(request, request.buffers);
    else void this.server!.answer(request);
  }

  private receive(reply: Reply): void {
    if ("log" in reply) {
      const [level, message] = reply.log;
      if (this.options.onLog) this.options.onLog(level, message);
      else if (this.options.logLevel !== undefined) console[level](message);
      return;
    }
    const waiting = this.waiting.get(reply.id);
    if (waiting === undefined) return;
    if ("part" in reply) {
      waiting.onPart?.(reply.part as never);
      return;
    }
    waiting.carriers?.put(reply.buffers);
    this.remove(reply.id);
    if (!("error" in reply)) {
      waiting.resolve(reply.value as never);
      return;
    }
    const error = fromPlain(reply.error);
    waiting.reject(error);
    if (reply.hasEnded) this.end(error);
  }

  /** A call was answered. A process of Node.js may end when no call is pending. */
  private remove(id: number): void {
    this.waiting.get(id)?.stopListening();
    this.waiting.delete(id);
    if (this.waiting.size === 0) this.worker?.keepAlive(false);
  }

  private end(error: ExecuTorchError): void {
    if (this.ended !== undefined) return;
    this.ended = error;
    Connection.all.delete(this);
    this.worker?.stop();
    this.server?.stop();
    for (const waiting of this.waiting.values()) {
      waiting.stopListening();
      waiting.reject(error);
    }
    this.waiting.clear();
  }
}

/** An absolute address for a worker, resolved against the page's. */
function resolve(url: string | URL): string {
  const base = (globalThis as { document?: { baseURI: string }; location?: { href: string } }).document?.baseURI ?? (isNode ? undefined : globalThis.location?.href);
  return base === undefined ? String(url) : new URL(url, base).href;
}

/** A source as a message carries it. */
export function resolveSource(source: Source): Source {
  if (typeof source === "string" || source instanceof URL) return resolve(source);
  if (source instanceof Blob || source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
  if (Object.prototype.toString.call(source) === "[object SharedArrayBuffer]") return source;
  throw new ExecuTorchError("InvalidArgument", `expected a program's address, bytes or File, found ${source === null ? "null" : typeof source}`);
}
