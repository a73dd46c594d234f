// SPDX-License-Identifier: BSD-3-Clause
// A device of WebGPU with its kernels and buffers.
import { COMPUTE, Usage, type Gpu, type GpuAdapter, type GpuBindGroupLayout, type GpuBuffer, type GpuDevice, type GpuPipeline } from "./webgpu_types.js";

const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
];
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|software|basic render/i;
const BINDINGS = /@binding\((\d+)\) var<(?:storage, )?(read_write|read|uniform)>/g;
const TYPES: Record<string, string> = { read_write: "storage", read: "read-only-storage", uniform: "uniform" };

/** Memory of the GPU; with `host`, the address of memory of the module that is copied from and to the GPU. */
export interface Memory {
  device: Device;
  size: number;
  host: number;
  /** The GPU's memory; for `host`, the buffer from which later copies to the GPU read. */
  buffer: GpuBuffer | undefined;
  /** For `host`: the buffer from which results are read. */
  result: GpuBuffer | undefined;
}

export interface Kernel {
  name: string;
  pipeline: GpuPipeline;
  layout: GpuBindGroupLayout;
  /** Whether it writes the binding; bindings that are not here are not declared. */
  bindings: Map<number, boolean>;
}

export class Device {
  /** Why the device was lost; undefined while it works. */
  lost: string | undefined;
  /** Pending checks: each resolves to the text of a problem, or to undefined. */
  private checks: Promise<string | undefined>[] = [];
  private readonly layouts = new Map<string, GpuBindGroupLayout>();
  private readonly unused: GpuBuffer[] = [];

  private constructor(
    readonly gpu: GpuDevice,
    readonly name: string,
    readonly isProcessor: boolean,
  ) {
    void gpu.lost.then(({ message, reason }) => (this.lost ??= message || `reason: ${reason}`));
  }

  /** Opens a device. Throws an Error with the reason if there is no device. */
  static async open(withFloat16: boolean): Promise<Device> {
    const gpu = (globalThis as { navigator?: { gpu?: Gpu } }).navigator?.gpu;
    if (gpu === undefined) {
      throw new Error("expected WebGPU, found no navigator.gpu: use a browser with WebGPU and a page of https: or localhost, or export the program for a CPU");
    }
    const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
    if (adapter === null) throw new Error("WebGPU found no adapter: check the browser's page about its GPU, or export the program for a CPU");
    const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]!]));
    const requiredFeatures = withFloat16 && adapter.features.has("shader-f16") ? ["shader-f16"] : [];
    const device = await adapter.requestDevice({ requiredLimits, requiredFeatures });
    return new Device(device, nameOf(adapter), adapter.info.isFallbackAdapter === true || SOFTWARE.test(nameOf(adapter)));
  }

  get hasFloat16(): boolean {
    return this.gpu.features.has("shader-f16");
  }

  limit(name: string): number {
    return this.gpu.limits[name]!;
  }

  /** Calls `body`, and keeps the errors that WebGPU reports of it for problem(). */
  check<T>(what: string, filter: "validation" | "out-of-memory", body: () => T): T {
    this.gpu.pushErrorScope(filter);
    try {
      return body();
    } finally {
      this.checks.push(
        this.gpu.popErrorScope().then(
          (error) => (error === null ? undefined : `${what}: ${error.message}`),
          (error: unknown) => `${what}: ${String(error)}`,
        ),
      );
    }
  }

  /** The first problem of the objects that were created since the last call. */
  async problem(): Promise<string | undefined> {
    const checks = this.checks;
    this.checks = [];
    const found = (await Promise.all(checks)).find((text) => text !== undefined);
    return this.lost ?? found;
  }

  memory(size: number, host: number): Memory {
    const usage = Usage.Storage | Usage.CopySource | Usage.CopyTarget;
    const buffer = host === 0 ? this.buffer(size, usage) : undefined;
    return { device: this, size, host, buffer, result: undefined };
  }

  buffer(size: number, usage: number): GpuBuffer {
    return this.check(`no memory of ${size} bytes`, "out-of-memory", () => this.gpu.createBuffer({ size, usage }));
  }

  /** The buffer for a binding that the kernel declares but does not use in this dispatch. */
  placeholder(binding: number): GpuBuffer {
    return (this.unused[binding] ??= this.buffer(16, Usage.Storage));
  }

  kernel(name: string, code: string, constants: Int32Array): Kernel {
    const bindings = new Map<number, boolean>();
    const entries = [...code.matchAll(BINDINGS)].map(([, number, access]) => {
      bindings.set(Number(number), access === "read_write");
      return { binding: Number(number), visibility: COMPUTE, buffer: { type: TYPES[access!]! } };
    });
    return this.check(`the kernel ${name}`, "validation", () => {
      const layout = this.layout(entries);
      const pipeline = this.gpu.createComputePipeline({
        label: name,
        layout: this.gpu.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: {
          module: this.gpu.createShaderModule({ code, label: name }),
          entryPoint: "main",
          constants: Object.fromEntries([...constants].map((value, i) => [String(i), value])),
        },
      });
      return { name, pipeline, layout, bindings };
    });
  }

  private layout(entries: Parameters<GpuDevice["createBindGroupLayout"]>[0]["entries"]): GpuBindGroupLayout {
    const key = JSON.stringify(entries);
    const found = this.layouts.get(key) ?? this.gpu.createBindGroupLayout({ entries });
    this.layouts.set(key, found);
    return found;
  }

  destroy(): void {
    this.gpu.destroy();
  }
}

function nameOf({ info }: GpuAdapter): string {
  return [info.vendor, info.architecture, info.device, info.description].filter((part) => part !== "").join(" ") || "a GPU without a name";
}
