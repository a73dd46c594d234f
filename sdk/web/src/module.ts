// SPDX-License-Identifier: BSD-3-Clause
import { Carriers } from "./carriers.js";
import { Connection, CONNECTION_OPTIONS, resolveSource, type ConnectionOptions } from "./connection.js";
import { DOWNLOAD_OPTIONS, type DownloadOptions, type Source } from "./download.js";
import { checkOptions, ExecuTorchError } from "./errors.js";
import { pixelsOf, type ImageOptions, type ImageSource } from "./images.js";
import type { MethodMeta } from "./metadata.js";
import { LOAD_OPTIONS, type LoadOptions } from "./runtime_module.js";
import { fromPlainMeta, fromPlainValue, toPlainValue, type Plain, type PlainMeta } from "./server.js";
import type { Tensor } from "./tensor.js";
import type { Input, Output } from "./values.js";

export interface ModuleOptions extends ConnectionOptions, LoadOptions, DownloadOptions {
  /** The `.ptd` files with weights that the program was exported with. */
  data?: Source | readonly Source[];
}

const finalization = new FinalizationRegistry(({ connection, id }: { connection: Connection; id: number }) => {
  connection.call("free", [id]).catch(() => {});
});

/** A program: loaded by address, from bytes or from a file, and run in a worker of the page or in this thread of Node.js. */
export class Module {
  private isDisposed = false;
  private readonly carriers = new Carriers();

  private constructor(
    private readonly connection: Connection,
    private readonly id: number,
  ) {
    finalization.register(this, { connection, id }, this);
  }

  /** Downloads and verifies a program. Modules share a runtime if their options `wasm`, `llm`, `threads`, `onLog`, `logLevel`
   * and `worker` are the same. */
  static async load(program: Source, options: ModuleOptions = {}): Promise<Module> {
    checkOptions(options, { ...CONNECTION_OPTIONS, ...LOAD_OPTIONS, ...DOWNLOAD_OPTIONS, data: true });
    const { data = [], onProgress, signal, backendOptions, shareMemory, etdump, cache, ...runtime } = options;
    const connection = Connection.to(runtime);
    await connection.started;
    const weights = (Array.isArray(data) ? data : [data]) as readonly Source[];
    const sources = [program, ...weights].map(resolveSource);
    const settings = { backendOptions, shareMemory, etdump, cache };
    const id = await connection.call<number>("load", [sources[0], sources.slice(1), settings, onProgress !== undefined], onProgress, signal);
    return new Module(connection, id);
  }

  private async call<T>(name: string, ...args: unknown[]): Promise<T> {
    this.check();
    return this.connection.call<T>(name, [this.id, ...args]);
  }

  private check(): void {
    if (this.isDisposed) throw new ExecuTorchError("InvalidState", "this module was disposed of");
  }

  getMethods(): Promise<string[]> {
    return this.call("methods");
  }

  async getMethodMetadata(method: string): Promise<MethodMeta> {
    return fromPlainMeta(await this.call<PlainMeta>("meta", method));
  }

  /** The name of getMethodMetadata() in ExecuTorch's bindings. */
  getMethodMeta(method: string): Promise<MethodMeta> {
    return this.getMethodMetadata(method);
  }

  /** Loads a method; otherwise its first run does. */
  loadMethod(method: string): Promise<void> {
    return this.call("loadMethod", method);
  }

  /** Frees the memory of a method, and its state. */
  unloadMethod(method: string): Promise<void> {
    return this.call("unloadMethod", method);
  }

  /** Runs a method. Outputs are copies. */
  async execute(method: string, inputs: Input | readonly Input[] = []): Promise<Output[]> {
    const all = Array.isArray(inputs) ? (inputs as readonly Input[]) : [inputs as Input];
    this.check();
    const outputs = await this.connection.callWithValues<Plain[]>("execute", [this.id, method], all.map(toPlainValue), this.carriers);
    return outputs.map(fromPlainValue) as Output[];
  }

  forward(inputs: Input | readonly Input[] = []): Promise<Output[]> {
    return this.execute("forward", inputs);
  }

  /** A picture as a float tensor of {1, 3, height, width}, resized with bilinear interpolation and normalised. */
  async imageToTensor(image: ImageSource, options: ImageOptions): Promise<Tensor> {
    const { data, width, height } = pixelsOf(image);
    return fromPlainValue(await this.call<Plain>("image", { data, width, height }, options)) as Tensor;
  }

  /** The events since etdump() was last called: the bytes of an ETDump file. Needs the option `etdump`. */
  etdump(): Promise<Uint8Array> {
    return this.call("etdump");
  }

  /** Frees the program. */
  async dispose(): Promise<void> {
    if (this.isDisposed) return;
    const done = this.call<void>("free");
    this.isDisposed = true;
    finalization.unregister(this);
    // The memory of a runtime that ended is gone.
    await done.catch(() => {});
  }

  /** The name of dispose() in ExecuTorch's bindings. */
  delete(): Promise<void> {
    return this.dispose();
  }
}

/** Ends all runtimes, their workers and threads; a module that is loaded later starts a new one. */
export function shutdown(): void {
  Connection.endAll();
}

