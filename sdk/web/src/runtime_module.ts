// SPDX-License-Identifier: BSD-3-Clause
// A program in the runtime of this thread.
import { BACKENDS } from "./backend_list.js";
import { checkOptions, ExecuTorchError } from "./errors.js";
import { OwnedBytes, type Bytes } from "./memory.js";
import { readMethodMeta, type MethodMeta } from "./metadata.js";
import { Refused, type Native } from "./native.js";
import { InputSlots, readResult, type Input, type Output } from "./values.js";

export interface LoadOptions {
  /** Backend options, by the names of backend and option. */
  backendOptions?: Record<string, Record<string, number | boolean | string>>;
  /** All methods use one set of planned buffers: less memory, but each run overwrites the outputs of other methods. */
  shareMemory?: boolean;
  /** Records the events that etdump() returns. */
  etdump?: boolean;
}

export interface ExecuteOptions {
  /** false: outputs are views of the runtime's memory, valid until the method runs again. By default they are copies. */
  copy?: boolean;
}

/**
 * Calls `body` with an et_options and the release function of `owned`. All of `owned` but the first become the options'
 * data. The runtime takes over the entries that are removed from `owned`.
 */
export function withOptions<T>(native: Native, owned: OwnedBytes, options: LoadOptions, body: (settings: number, release: number) => T): T {
  const release = native.call["et_web_release"]!();
  const settings = native.make("et_options_create");
  try {
    setOptions(native, settings, options);
    while (owned.count > 1) {
      const { address, size } = owned.take();
      native.check("et_options_add_data_buffer", settings, address, size, release, 0);
    }
    return body(settings, release);
  } finally {
    native.call["et_options_free"]!(settings);
  }
}

function setOptions(native: Native, settings: number, options: LoadOptions): void {
  if (options.shareMemory) native.check("et_options_set_share_memory", settings, 1);
  if (options.etdump) native.check("et_options_set_etdump", settings, 1);
  for (const [backend, values] of Object.entries(options.backendOptions ?? {})) {
    for (const [key, value] of Object.entries(values)) {
      native.withString(backend, (b) =>
        native.withString(key, (k) => {
          if (typeof value === "string") native.withString(value, (v) => native.check("et_options_set_backend_string", settings, b, k, v));
          else if (typeof value === "boolean") native.check("et_options_set_backend_bool", settings, b, k, value ? 1 : 0);
          else if (typeof value === "number" && value === (value | 0)) native.check("et_options_set_backend_int", settings, b, k, value);
          else throw new Refused(new ExecuTorchError("InvalidArgument", `expected an integer of 32 bits, a boolean or a text for the option ${key} of ${backend}, found ${String(value)}`));
        }),
      );
    }
  }
}

const finalization = new FinalizationRegistry((free: () => void) => free());

export const LOAD_OPTIONS: Record<keyof Required<LoadOptions>, true> = { backendOptions: true, shareMemory: true, etdump: true };

/** A method that ran: the memory of its inputs, and its name. */
interface Method {
  slots: InputSlots;
  name: number;
}

/** A program. */
export class RuntimeModule {
  private handle: number;
  /** Whether a method waits for its results. */
  private isWaiting = false;
  private readonly methods = new Map<string, Method>();
  private readonly later = new Map<string, boolean>();

  /** @internal */
  constructor(
    private readonly native: Native,
    program: Bytes,
    options: LoadOptions & { data?: Bytes[] },
  ) {
    checkOptions(options, { ...LOAD_OPTIONS, data: true });
    this.handle = OwnedBytes.use(native, [program, ...(options.data ?? [])], (owned) =>
      withOptions(native, owned, options, (settings, release) => {
        const { address, size } = owned.take();
        return native.make("et_module_load_buffer", address, size, release, 0, settings);
      }),
    );
    finalization.register(this, freeModule(native, this.handle, this.methods), this);
  }

  private guard<T>(body: () => T): T {
    this.check();
    return this.native.guard(body);
  }

  private check(): void {
    if (this.handle === 0) throw new ExecuTorchError("InvalidState", "this module was disposed of");
    if (this.isWaiting) throw new ExecuTorchError("InvalidState", "a method of this module is running: await the promise of executeAsync() first");
  }

  /** Runs a function that may wait, after other such calls have ended. */
  private guardAsync<T>(body: () => Promise<T>): Promise<T> {
    return this.native.guardAsync(async () => {
      try {
        this.check();
      } catch (error) {
        throw new Refused(error as ExecuTorchError);
      }
      this.isWaiting = true;
      try {
        return await body();
      } finally {
        this.isWaiting = false;
      }
    });
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

  /** The name of getMethodMetadata() in ExecuTorch's bindings. */
  getMethodMeta(method: string): MethodMeta {
    return this.getMethodMetadata(method);
  }

  /** Loads a method; otherwise its first run does. */
  loadMethod(method: string): void {
    this.guard(() => this.native.withString(method, (name) => this.native.check("et_module_load_method", this.handle, name)));
  }

  /** loadMethod(), also for methods whose backend gives its results later, as a GPU does. */
  async loadMethodAsync(method: string): Promise<void> {
    if (!this.isLater(method)) return this.loadMethod(method);
    await this.guardAsync(async () => {
      const name = this.native.copyOf(method);
      try {
        await this.native.makeAsync("et_module_load_method", false, this.handle, name);
      } finally {
        this.native.free(name);
      }
    });
  }

  /** Frees the memory of a method, and its state. */
  unloadMethod(method: string): void {
    this.guard(() => this.native.withString(method, (name) => this.native.check("et_module_unload_method", this.handle, name)));
  }

  execute(method: string, inputs: Input | readonly Input[] = [], options: ExecuteOptions = {}): Output[] {
    const all = Array.isArray(inputs) ? (inputs as readonly Input[]) : [inputs as Input];
    checkOptions(options, { copy: true });
    return this.guard(() => {
      const known = this.known(method);
      const values = known.slots.fill(all);
      return this.outputs(this.native.make("et_module_execute", this.handle, known.name, values, all.length), options);
    });
  }

  /** execute(), also for methods whose backend gives its results later, as a GPU does. */
  async executeAsync(method: string, inputs: Input | readonly Input[] = [], options: ExecuteOptions = {}): Promise<Output[]> {
    if (!this.isLater(method)) return this.execute(method, inputs, options);
    const all = Array.isArray(inputs) ? (inputs as readonly Input[]) : [inputs as Input];
    checkOptions(options, { copy: true });
    return this.guardAsync(async () => {
      const known = this.known(method);
      const values = known.slots.fill(all);
      return this.outputs(await this.native.makeAsync("et_module_execute", true, this.handle, known.name, values, all.length), options);
    });
  }

  /** @internal Whether a backend of the method gives its results later, as a GPU does. */
  isLater(method: string): boolean {
    const known = this.later.get(method);
    if (known !== undefined) return known;
    const { backends } = this.getMethodMetadata(method);
    const found = BACKENDS.some(({ id }) => backends.includes(id));
    this.later.set(method, found);
    return found;
  }

  private outputs(result: number, options: ExecuteOptions): Output[] {
    try {
      return readResult(this.native, result, options.copy ?? true);
    } finally {
      this.native.call["et_result_free"]!(result);
    }
  }

  forward(inputs: Input | readonly Input[] = [], options: ExecuteOptions = {}): Output[] {
    return this.execute("forward", inputs, options);
  }

  forwardAsync(inputs: Input | readonly Input[] = [], options: ExecuteOptions = {}): Promise<Output[]> {
    return this.executeAsync("forward", inputs, options);
  }

  private known(method: string): Method {
    const present = this.methods.get(method);
    if (present !== undefined) return present;
    const { native } = this;
    const meta = native.withString(method, (name) => readMethodMeta(native, native.make("et_module_method", this.handle, name)));
    const made = { slots: new InputSlots(native, meta.inputTags), name: native.copyOf(method) };
    this.methods.set(method, made);
    return made;
  }

  /** The events since etdump() was last called: the bytes of an ETDump file. Needs the option `etdump`. */
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
    if (this.native.failure === undefined) this.check();
    finalization.unregister(this);
    freeModule(this.native, this.handle, this.methods)();
    this.handle = 0;
  }

  dispose(): void {
    this.delete();
  }
}

/** Returns a function that frees a module. It does not refer to the module, so it also serves after garbage collection. */
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
