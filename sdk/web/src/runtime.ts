// SPDX-License-Identifier: BSD-3-Clause
// The runtime in this thread: calls return when they are done. Module (module.ts) has the same calls as promises, and runs
// them in a worker of a page.
import { canShareMemory, processorCount } from "./environment.js";
import { ExecuTorchError } from "./errors.js";
import { locations } from "./locations.js";
import { readMethodMeta, type MethodMeta } from "./metadata.js";
import { compile, Native } from "./native.js";
import { ScalarType } from "./scalar_type.js";
import { elementCount, Tensor } from "./tensor.js";
import { InputSlots, readResult, type Input, type Output } from "./values.js";

export type LogLevel = "debug" | "info" | "error";
const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "error"];
const MOST_THREADS = 64;

export interface RuntimeOptions {
  /** Where executorch.wasm is, or its bytes; by default beside the package. */
  wasm?: string | URL | BufferSource | WebAssembly.Module;
  /** Threads of kernels and backends: by default one for each processor, at most 8, and 1 where memory cannot be shared. */
  threads?: number;
  /** Receives the log; by default errors go to the console. */
  onLog?: (level: LogLevel, message: string) => void;
  /** The least severe lines that are logged: by default "error". */
  logLevel?: LogLevel;
}

export interface LoadOptions {
  /** Backend options, by the names of backend and option. */
  backendOptions?: Record<string, Record<string, number | boolean | string>>;
  /** All methods use one set of planned buffers: less memory, but each run overwrites the outputs of other methods. */
  shareMemory?: boolean;
  /** Records what etdump() returns. */
  etdump?: boolean;
}

export interface ExecuteOptions {
  /** false: outputs are views of the runtime's memory, valid until the method runs again. By default they are copies. */
  copy?: boolean;
}

/** Bytes, or memory of the runtime that Runtime.allocate() returned. */
export type Bytes = ArrayBuffer | SharedArrayBuffer | ArrayBufferView | RuntimeMemory;

/** The number of threads that a runtime is started with. */
export function threadCount(wanted: number | undefined): number {
  if (wanted !== undefined && (!Number.isInteger(wanted) || wanted < 1 || wanted > MOST_THREADS)) {
    throw new ExecuTorchError("InvalidArgument", `expected a number of threads from 1 to ${MOST_THREADS}, found ${wanted}`);
  }
  const usable = canShareMemory ? (wanted ?? Math.min(processorCount(), 8)) : 1;
  if (usable < (wanted ?? 1)) noteIsolation(wanted!);
  return usable;
}

let isIsolationNoted = false;
function noteIsolation(wanted: number): void {
  if (isIsolationNoted) return;
  isIsolationNoted = true;
  console.warn(
    `executorch: ${wanted} threads were asked for, and one is used, because this page is not isolated from other origins: serve it ` +
      "with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp",
  );
}

/** Memory of a runtime, into which a download can be written. */
export class RuntimeMemory {
  private address: number;

  /** @internal */
  constructor(
    readonly native: Native,
    private size: number,
  ) {
    this.address = native.guard(() => native.allocate(size));
  }

  /** The bytes; asked for again after each call of the runtime, which may grow its memory. */
  get bytes(): Uint8Array {
    return this.native.heap.subarray(this.address, this.address + this.size);
  }

  /** Makes it larger or smaller; bytes that it keeps do not change. */
  resize(size: number): void {
    const kept = Math.min(size, this.size);
    const address = this.native.guard(() => this.native.allocate(size));
    this.native.heap.copyWithin(address, this.address, this.address + kept);
    this.delete();
    this.address = address;
    this.size = size;
  }

  /** @internal Its address and size; whoever takes them frees the memory. */
  take(): Owned {
    if (this.address === 0) throw new ExecuTorchError("InvalidState", "this memory was used or freed already");
    const { address, size } = this;
    this.address = 0;
    return { address, size };
  }

  delete(): void {
    if (this.address !== 0 && this.native.failure === undefined) this.native.free(this.address);
    this.address = 0;
  }
}

/** A tensor in the memory of the runtime, which runs use without a copy. */
class NativeTensor extends Tensor {
  private readonly memory: RuntimeMemory;

  constructor(memory: RuntimeMemory, sizes: readonly number[], type: ScalarType) {
    super(new type.array(memory.native.memory.buffer, memory.bytes.byteOffset, elementCount(sizes)), sizes, type);
    this.memory = memory;
    finalization.register(this, () => memory.delete(), this);
  }

  override delete(): void {
    finalization.unregister(this);
    this.memory.delete();
  }
}

const finalization = new FinalizationRegistry((free: () => void) => free());

export class Runtime {
  /** Programs: `runtime.Module.load(bytes)`. */
  readonly Module: { load(program: Bytes, options?: LoadOptions & { data?: Bytes[] }): RuntimeModule };

  private constructor(
    /** @internal */
    readonly native: Native,
    readonly threads: number,
  ) {
    this.Module = { load: (program, options) => new RuntimeModule(this, program, options ?? {}) };
  }

  static async create(options: RuntimeOptions = {}): Promise<Runtime> {
    const threads = threadCount(options.threads);
    const level = LOG_LEVELS.indexOf(options.logLevel ?? "error");
    if (level < 0) throw new ExecuTorchError("InvalidArgument", `expected a log level of ${LOG_LEVELS.join(", ")}, found ${options.logLevel}`);
    const native = await Native.start(await compile(options.wasm ?? locations().wasm()), threads);
    native.log = (found, message) => {
      if (options.onLog) options.onLog(LOG_LEVELS[Math.min(found, 2)]!, message);
      else if (found >= 3) console.error(message); // errors are thrown
    };
    native.guard(() => native.check("et_web_set_log_level", level));
    return new Runtime(native, threads);
  }

  /** The operators and backends of this build. */
  get operators(): string[] {
    return this.names("operator");
  }

  get backends(): string[] {
    return this.names("backend");
  }

  private names(what: string): string[] {
    const { native } = this;
    const { call } = native;
    return native.guard(() =>
      Array.from({ length: call[`et_${what}_count`]!() }, (_, i) => native.string(call[`et_${what}_name`]!(i))),
    );
  }

  /** Bytes of memory that the runtime has; it never becomes less. */
  get memoryBytes(): number {
    return this.native.memory.buffer.byteLength;
  }

  /** Why the runtime ended; undefined while it runs. */
  get failure(): ExecuTorchError | undefined {
    return this.native.failure;
  }

  /** Memory for a program or its data, which Module.load() takes over. */
  allocate(size: number): RuntimeMemory {
    return new RuntimeMemory(this.native, size);
  }

  /** A tensor in the memory of the runtime: what is written to its `data` needs no copy in a run. */
  empty(sizes: readonly number[], scalarType: ScalarType = ScalarType.Float): Tensor {
    const size = elementCount(sizes) * scalarType.array.BYTES_PER_ELEMENT;
    return new NativeTensor(this.allocate(Math.max(size, 1)), sizes, scalarType);
  }

  /** Ends its threads. Its modules can no longer be used. */
  dispose(): void {
    this.native.stop();
  }

  /** @internal The address and size of bytes in its memory, which it frees. */
  own(bytes: Bytes): Owned {
    if (bytes instanceof RuntimeMemory) {
      if (bytes.native !== this.native) throw new ExecuTorchError("InvalidArgument", "this memory is of another runtime");
      return bytes.take();
    }
    const isView = ArrayBuffer.isView(bytes);
    if (!isView && !(bytes instanceof ArrayBuffer) && !isShared(bytes)) {
      throw new ExecuTorchError("InvalidArgument", `expected an ArrayBuffer or a typed array of a program's bytes, found ${typeof bytes}`);
    }
    const view = isView ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    const address = this.native.guard(() => this.native.allocate(view.length));
    this.native.heap.set(view, address);
    return { address, size: view.length };
  }
}

function isShared(bytes: unknown): bytes is SharedArrayBuffer {
  return Object.prototype.toString.call(bytes) === "[object SharedArrayBuffer]";
}

/** Bytes in the memory of a runtime. */
interface Owned {
  address: number;
  size: number;
}

/** A method that ran: the memory of its inputs, and its name. */
interface Method {
  slots: InputSlots;
  name: number;
}

/** A program. */
export class RuntimeModule {
  private readonly native: Native;
  private handle = 0;
  private readonly methods = new Map<string, Method>();

  /** @internal */
  constructor(runtime: Runtime, program: Bytes, options: LoadOptions & { data?: Bytes[] }) {
    const native = (this.native = runtime.native);
    const owned: Owned[] = [];
    try {
      for (const bytes of [program, ...(options.data ?? [])]) owned.push(runtime.own(bytes));
      this.handle = native.guard(() => this.load(owned, options));
    } catch (error) {
      if (native.failure === undefined) for (const { address } of owned) native.free(address);
      for (const bytes of [program, ...(options.data ?? [])]) if (bytes instanceof RuntimeMemory) bytes.delete();
      throw error;
    }
    finalization.register(this, freeModule(native, this.handle, this.methods), this);
  }

  /** Loads the first one of `owned`, with the others as its data; those that the runtime has taken over are removed. */
  private load(owned: Owned[], options: LoadOptions): number {
    const { native } = this;
    const release = native.call["et_web_release"]!();
    const settings = native.make("et_options_create");
    try {
      this.set(settings, options);
      while (owned.length > 1) {
        const { address, size } = owned.pop()!;
        native.check("et_options_add_data_buffer", settings, address, size, release, 0);
      }
      const { address, size } = owned.pop()!;
      return native.make("et_module_load_buffer", address, size, release, 0, settings);
    } finally {
      native.call["et_options_free"]!(settings);
    }
  }

  private set(settings: number, options: LoadOptions): void {
    const { native } = this;
    if (options.shareMemory) native.check("et_options_set_share_memory", settings, 1);
    if (options.etdump) native.check("et_options_set_etdump", settings, 1);
    for (const [backend, values] of Object.entries(options.backendOptions ?? {})) {
      for (const [key, value] of Object.entries(values)) {
        native.withString(backend, (b) =>
          native.withString(key, (k) => {
            if (typeof value === "string") native.withString(value, (v) => native.check("et_options_set_backend_string", settings, b, k, v));
            else if (typeof value === "boolean") native.check("et_options_set_backend_bool", settings, b, k, value ? 1 : 0);
            else native.check("et_options_set_backend_int", settings, b, k, value);
          }),
        );
      }
    }
  }

  private guard<T>(body: () => T): T {
    if (this.handle === 0) throw new ExecuTorchError("InvalidState", "this module was disposed of");
    return this.native.guard(body);
  }

  getMethods(): string[] {
    const { call } = this.native;
    return this.guard(() =>
      Array.from({ length: call["et_module_method_count"]!(this.handle) }, (_, i) =>
        this.native.string(call["et_method_meta_name"]!(call["et_module_method_at"]!(this.handle, i))),
      ),
    );
  }

  getMethodMetadata(method: string): MethodMeta {
    return this.guard(() => this.native.withString(method, (name) => readMethodMeta(this.native, this.native.make("et_module_method", this.handle, name))));
  }

  /** The name of getMethodMetadata() in the original's bindings. */
  getMethodMeta(method: string): MethodMeta {
    return this.getMethodMetadata(method);
  }

  /** Loads a method; otherwise its first run does. */
  loadMethod(method: string): void {
    this.guard(() => this.native.withString(method, (name) => this.native.check("et_module_load_method", this.handle, name)));
  }

  /** Frees the memory of a method, and its state. */
  unloadMethod(method: string): void {
    this.guard(() => this.native.withString(method, (name) => this.native.check("et_module_unload_method", this.handle, name)));
  }

  execute(method: string, inputs: Input | readonly Input[] = [], options: ExecuteOptions = {}): Output[] {
    const all = Array.isArray(inputs) ? (inputs as readonly Input[]) : [inputs as Input];
    return this.guard(() => {
      const { native } = this;
      const known = this.known(method);
      const values = known.slots.fill(all);
      const result = native.make("et_module_execute", this.handle, known.name, values, all.length);
      try {
        return readResult(native, result, options.copy ?? true);
      } finally {
        native.call["et_result_free"]!(result);
      }
    });
  }

  forward(inputs: Input | readonly Input[] = [], options: ExecuteOptions = {}): Output[] {
    return this.execute("forward", inputs, options);
  }

  private known(method: string): Method {
    const present = this.methods.get(method);
    if (present !== undefined) return present;
    const { native } = this;
    const meta = native.withString(method, (name) => readMethodMeta(native, native.make("et_module_method", this.handle, name)));
    const bytes = new TextEncoder().encode(method);
    const name = native.allocate(bytes.length + 1);
    native.heap.set(bytes, name);
    native.heap[name + bytes.length] = 0;
    const made = { slots: new InputSlots(native, meta.inputTags), name };
    this.methods.set(method, made);
    return made;
  }

  /** What was recorded since the last call: the bytes of an ETDump file. Needs the option `etdump`. */
  etdump(): Uint8Array {
    return this.guard(() => {
      const { native } = this;
      const bytes = native.make("et_module_take_etdump", this.handle);
      const start = native.call["et_bytes_data"]!(bytes) >>> 0;
      const found = native.heap.slice(start, start + native.call["et_bytes_size"]!(bytes));
      native.call["et_bytes_free"]!(bytes);
      return found;
    });
  }

  delete(): void {
    if (this.handle === 0) return;
    finalization.unregister(this);
    freeModule(this.native, this.handle, this.methods)();
    this.handle = 0;
  }

  dispose(): void {
    this.delete();
  }
}

/** What frees a module, also one that the garbage collector found: it does not refer to the module itself. */
function freeModule(native: Native, handle: number, methods: Map<string, Method>): () => void {
  return () => {
    if (native.failure !== undefined) return;
    native.guard(() => {
      native.call["et_module_free"]!(handle);
      for (const { slots, name } of methods.values()) {
        slots.free();
        native.free(name);
      }
      methods.clear();
    });
  };
}
