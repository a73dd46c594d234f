// SPDX-License-Identifier: BSD-3-Clause
// An instance of executorch.wasm, and the conversions that its callers need.
import { fetchResponse } from "./environment.js";
import { ExecuTorchError, type ErrorCode } from "./errors.js";
import { Imports, PAGE, makeMemory, type Functions, type LogSink, type Shared, type TextSink } from "./imports.js";
import { resuming } from "./suspension.js";
import { ThreadTeam } from "./threads.js";

/** Compiles the module at an address while it is downloaded, or from its bytes. */
export async function compile(source: string | URL | BufferSource | WebAssembly.Module): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  try {
    if (typeof source !== "string" && !(source instanceof URL)) return await WebAssembly.compile(source);
    const response = await fetchResponse(source);
    // Servers that do not know the type of .wasm files prevent compilation from a stream.
    if (response.headers.get("content-type")?.startsWith("application/wasm")) return await WebAssembly.compileStreaming(response);
    return await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) {
      throw new ExecuTorchError(
        "NotSupported",
        `executorch.wasm cannot be compiled (${error.message}): it needs WebAssembly with SIMD and threads, which browsers ` +
          "have since 2023, and in pages with a Content-Security-Policy the source 'wasm-unsafe-eval'",
      );
    }
    throw error;
  }
}

/** The module with its memory and threads. */
export class Native {
  readonly memory: WebAssembly.Memory;
  readonly call: Functions;
  /** Why no function can be called any more. */
  failure: ExecuTorchError | undefined;
  private bytes: Uint8Array;

  private constructor(
    private readonly imports: Imports,
    shared: Shared,
    private readonly team: ThreadTeam | undefined,
    instance: WebAssembly.Instance,
  ) {
    this.memory = shared.memory;
    this.bytes = new Uint8Array(shared.memory.buffer);
    this.call = imports.functions = instance.exports as Functions;
  }

  /** Starts the runtime with `threadCount` threads, this one included. */
  static async start(module: WebAssembly.Module, threadCount: number): Promise<Native> {
    const shared = { module, memory: makeMemory() };
    const team = threadCount > 1 ? await ThreadTeam.start(shared, threadCount - 1) : undefined;
    const imports = new Imports(shared, team, threadCount);
    const instance = await WebAssembly.instantiate(module, imports.object());
    const native = new Native(imports, shared, team, instance);
    native.call["_initialize"]!();
    team?.onFailure((error) => (native.failure ??= error));
    return native;
  }

  set log(sink: LogSink) {
    this.imports.log = sink;
  }

  /** Sets the sink that receives the text of the next answer. */
  onText(sink: TextSink): void {
    this.imports.text = sink;
  }

  stop(): void {
    this.failure ??= new ExecuTorchError("InvalidState", "the runtime was disposed of");
    this.team?.stop();
  }

  /** All bytes of the memory, which may have grown since the last call. */
  get heap(): Uint8Array {
    if (this.bytes.buffer !== this.memory.buffer) this.bytes = new Uint8Array(this.memory.buffer);
    return this.bytes;
  }

  get view(): DataView {
    return this.imports.view();
  }

  string(address: number): string {
    return address === 0 ? "" : this.imports.string(address);
  }

  /** Calls functions of the module. An exception ends the runtime, because its state is unknown then. */
  guard<T>(body: () => T): T {
    this.checkRunning();
    const { mayWait } = this.imports;
    this.imports.mayWait = false; // also where another call waits meanwhile
    try {
      return body();
    } catch (error) {
      throw this.reasonOf(error);
    } finally {
      this.imports.mayWait = mayWait;
    }
  }

  private turn: Promise<unknown> = Promise.resolve();
  /** The same for functions that may wait for promises. They run one at a time, because all use the module's stack. */
  guardAsync<T>(body: () => Promise<T>): Promise<T> {
    const result = this.turn.then(async () => {
      this.checkRunning();
      this.imports.mayWait = true;
      try {
        return await body();
      } catch (error) {
        throw this.reasonOf(error);
      } finally {
        this.imports.mayWait = false;
      }
    });
    this.turn = result.catch(() => {});
    return result;
  }

  private checkRunning(): void {
    if (this.failure !== undefined) {
      throw new ExecuTorchError("InvalidState", `the runtime ended earlier (${this.failure.message}): load the module again`);
    }
  }

  /** Returns the error that a call throws. An error that the runtime did not report stops the runtime. */
  private reasonOf(error: unknown): ExecuTorchError {
    if (error instanceof Refused) return error.reason;
    const reason =
      error instanceof ExecuTorchError
        ? error
        : new ExecuTorchError(
            this.imports.outOfMemory ? "MemoryAllocationFailed" : "Internal",
            `the runtime ended with ${String(error)}${this.imports.outOfMemory ? ", after its memory could not grow" : ""}`,
          );
    this.failure = reason;
    this.team?.stop();
    return reason;
  }

  /** Memory that the function from et_web_release() frees. */
  allocate(size: number): number {
    const address = size <= 0xffffffff - PAGE ? this.call["et_web_allocate"]!(Math.max(size, 1)) >>> 0 : 0;
    if (address === 0) {
      throw new Refused(new ExecuTorchError("MemoryAllocationFailed", `there is no memory for ${size} bytes: the runtime has up to 4 GB`));
    }
    return address;
  }

  free(address: number): void {
    this.call["et_web_free"]!(address);
  }

  /** A NUL-terminated copy of a text, which free() frees. */
  copyOf(text: string): number {
    if (typeof text !== "string") throw new Refused(new ExecuTorchError("InvalidArgument", `expected a text, found ${typeof text}`));
    const bytes = new TextEncoder().encode(text);
    if (bytes.includes(0)) throw new Refused(new ExecuTorchError("InvalidArgument", `expected a text without NUL, found ${JSON.stringify(text)}`));
    const address = this.allocate(bytes.length + 1);
    this.heap.set(bytes, address);
    this.heap[address + bytes.length] = 0;
    return address;
  }

  /** The same during `body`. */
  withString<T>(text: string, body: (address: number) => T): T {
    const address = this.copyOf(text);
    try {
      return body(address);
    } finally {
      this.free(address);
    }
  }

  /** Calls function(args..., &error) and throws its error. */
  check(name: string, ...args: (number | bigint)[]): void {
    const place = this.place();
    const status = this.call[name]!(...args, place);
    if (status !== 0) this.throwError(status, place);
  }

  /** Calls function(args..., &out, &error) and returns the object. */
  make(name: string, ...args: (number | bigint)[]): number {
    const place = this.place();
    const status = this.call[name]!(...args, place + 4, place);
    if (status !== 0) this.throwError(status, place);
    return this.view.getUint32(place + 4, true);
  }

  /** check() and make() for a function that may wait, inside guardAsync(). Returns 0 if the function makes no object. */
  async makeAsync(name: string, makes: boolean, ...args: (number | bigint)[]): Promise<number> {
    const place = this.allocate(8); // not place(), which other calls use while this one waits
    const status = await resuming(this.call[name]!)(...args, ...(makes ? [place + 4] : []), place);
    const object = makes ? this.view.getUint32(place + 4, true) : 0;
    try {
      if (status !== 0) this.throwError(status, place);
      return object;
    } finally {
      this.free(place);
    }
  }

  private places = 0;
  /** Eight bytes for an error and an object. */
  private place(): number {
    if (this.places === 0) this.places = this.allocate(8);
    return this.places;
  }

  private throwError(status: number, place: number): never {
    const error = this.view.getUint32(place, true);
    const code = this.string(this.call["et_status_name"]!(status)) as ErrorCode;
    const message = error === 0 ? code : this.string(this.call["et_error_message"]!(error));
    this.call["et_error_free"]!(error);
    throw new Refused(new ExecuTorchError(code, message));
  }
}

/** A failure that the runtime reported. The runtime stays usable. */
export class Refused {
  constructor(readonly reason: ExecuTorchError) {}
}
