// SPDX-License-Identifier: BSD-3-Clause
// The calls of WebGPU that runtime/gpu/webgpu/imports.h declares.
import type { BackendHalf, Host, WebBackend } from "../../backends.js";
import { Device, type Kernel, type Memory } from "./device.js";
import { Sequence } from "./sequence.js";

/** The size of the text of a problem, with its NUL: kProblemBytes. */
const PROBLEM_BYTES = 512;
/** The offset and the size of the name in WebGpuLimits. */
const NAME = { at: 24, bytes: 128 };

class WebGpu implements BackendHalf {
  private readonly objects = new Map<number, unknown>();
  private next = 1;

  constructor(private readonly host: Host) {}

  private add(object: unknown): number {
    this.objects.set(this.next, object);
    return this.next++;
  }

  private get<T>(number: number): T {
    return this.objects.get(number) as T;
  }

  private numbers(address: number, count: number): Int32Array {
    return new Int32Array(this.host.bytes().slice(address >>> 0, (address >>> 0) + 4 * count).buffer);
  }

  /** Writes a text and NUL to memory of the given size. */
  private write(text: string, address: number, size: number): void {
    const bytes = new TextEncoder().encode(text).subarray(0, size - 1);
    this.host.bytes().set(bytes, address >>> 0);
    this.host.bytes()[(address >>> 0) + bytes.length] = 0;
  }

  /** Whether there was no problem. */
  private settle(problem: string | undefined, address: number): number {
    if (problem !== undefined) this.write(problem, address, PROBLEM_BYTES);
    return problem === undefined ? 1 : 0;
  }

  readonly imports = {
    can_wait: (problem: number) => this.settle(this.host.cannotWait(), problem),
    is_lost: (device: number) => (this.get<Device>(device).lost === undefined ? 0 : 1),
    free: (object: number) => {
      const found = this.get<Device | Sequence | Memory | Kernel>(object);
      if (found instanceof Device || found instanceof Sequence) found.destroy();
      else if ("host" in found) {
        found.buffer?.destroy();
        found.result?.destroy();
      }
      this.objects.delete(object);
    },
    buffer: (device: number, size: number, host: number) => this.add(this.get<Device>(device).memory(size >>> 0, host >>> 0)),
    upload: (buffer: number, from: number, size: number) => {
      const { device, buffer: to } = this.get<Memory>(buffer);
      device.gpu.queue.writeBuffer(to!, 0, this.host.bytes().buffer, from >>> 0, size >>> 0);
    },
    kernel: (device: number, name: number, code: number, size: number, constants: number, count: number) => {
      const [title, text] = [this.host.string(name), this.host.string(code, size)];
      return this.add(this.get<Device>(device).kernel(title, text, this.numbers(constants, count)));
    },
    sequence: (device: number) => this.add(new Sequence(this.get<Device>(device), () => this.host.bytes())),
    begin: (sequence: number) => this.get<Sequence>(sequence).begin(),
    copy: (sequence: number, from: number, to: number, size: number, fromOffset: number, toOffset: number) =>
      this.get<Sequence>(sequence).copy(this.get<Memory>(from), this.get<Memory>(to), size >>> 0, fromOffset >>> 0, toOffset >>> 0),
    dispatch: (sequence: number, kernel: number, buffers: number, count: number, x: number, y: number, z: number, parameters: number, parameterCount: number) => {
      const all = [...this.numbers(buffers, count)].map((buffer) => (buffer === 0 ? undefined : this.get<Memory>(buffer)));
      this.get<Sequence>(sequence).dispatch(this.get<Kernel>(kernel), all, [x >>> 0, y >>> 0, z >>> 0], this.numbers(parameters, parameterCount));
    },
  };

  readonly waiting = {
    open: async (withFloat16: number, limits: number, problem: number) => {
      try {
        const device = await Device.open(withFloat16 !== 0);
        const size = Math.min(device.limit("maxBufferSize"), device.limit("maxStorageBufferBindingSize"), 0xfffffff0);
        const values = [
          size,
          device.limit("maxComputeInvocationsPerWorkgroup"),
          device.limit("maxComputeWorkgroupStorageSize"),
          device.limit("maxComputeWorkgroupsPerDimension"),
          device.hasFloat16 ? 1 : 0,
          device.isProcessor ? 1 : 0,
        ];
        this.host.bytes().set(new Uint8Array(new Uint32Array(values).buffer), limits >>> 0);
        this.write(device.name, (limits >>> 0) + NAME.at, NAME.bytes);
        return this.add(device);
      } catch (error) {
        return this.settle(error instanceof Error ? error.message : String(error), problem);
      }
    },
    end: async (sequence: number, problem: number) => this.settle(await this.get<Sequence>(sequence).end(), problem),
    run: async (sequence: number, problem: number) => this.settle(await this.get<Sequence>(sequence).run(), problem),
  };
}

export const backend: WebBackend = { id: "VulkanBackend", module: "webgpu", make: (host) => new WebGpu(host) };
