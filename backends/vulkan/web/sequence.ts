// SPDX-License-Identifier: BSD-3-Clause
// Copies and dispatches that are recorded once and encoded for each run, because commands of WebGPU run once.
import type { Device, Kernel, Memory } from "./device.js";
import { MAP_READ, Usage, type GpuBindGroup, type GpuBuffer } from "./webgpu_types.js";

/** Bytes of a uniform block, and the distance of two: a multiple of each device's alignment. */
const PARAMETER_BYTES = 512;

interface Dispatch {
  kernel: Kernel;
  buffers: (Memory | undefined)[];
  groups: [number, number, number];
  parameters: Int32Array;
  /** Made by end(). */
  group: GpuBindGroup | undefined;
}
interface Copy {
  from: GpuBuffer;
  fromOffset: number;
  to: GpuBuffer;
  toOffset: number;
  size: number;
}
/** From memory of the module to the GPU, before the commands. */
interface Upload {
  host: number;
  to: GpuBuffer;
  offset: number;
  size: number;
}
/** From the GPU to memory of the module, after the commands. */
interface Download {
  host: number;
  from: GpuBuffer;
  offset: number;
  size: number;
}

export class Sequence {
  private commands: (Dispatch | Copy)[] = [];
  private uploads: Upload[] = [];
  private downloads: Download[] = [];
  /** Uniform blocks, and copies of arguments that are results too. */
  private own: GpuBuffer[] = [];

  constructor(
    readonly device: Device,
    private readonly bytes: () => Uint8Array,
  ) {}

  begin(): void {
    this.commands = [];
    this.uploads = [];
    this.downloads = [];
    this.destroy();
  }

  destroy(): void {
    for (const buffer of this.own) buffer.destroy();
    this.own = [];
  }

  copy(from: Memory, to: Memory, size: number, fromOffset: number, toOffset: number): void {
    let source = from.buffer;
    let target = to.buffer;
    if (from.host !== 0) {
      if (this.commands.length === 0 && target !== undefined) {
        this.uploads.push({ host: from.host + fromOffset, to: target, offset: toOffset, size });
        return;
      }
      source = from.buffer ??= this.device.buffer(from.size, Usage.CopySource | Usage.CopyTarget);
      this.uploads.push({ host: from.host + fromOffset, to: source, offset: fromOffset, size });
    }
    if (to.host !== 0) {
      target = to.result ??= this.device.buffer(to.size, Usage.MapRead | Usage.CopyTarget);
      this.downloads.push({ host: to.host + toOffset, from: target, offset: toOffset, size });
    }
    this.commands.push({ from: source!, fromOffset, to: target!, toOffset, size });
  }

  dispatch(kernel: Kernel, buffers: (Memory | undefined)[], groups: [number, number, number], parameters: Int32Array): void {
    this.commands.push({ kernel, buffers: this.apart(kernel, buffers), groups, parameters, group: undefined });
  }

  /** WebGPU does not bind a buffer twice if one of the bindings is written: the reading binding then gets a copy. */
  private apart(kernel: Kernel, buffers: (Memory | undefined)[]): (Memory | undefined)[] {
    const written = new Set([...kernel.bindings].filter(([, writes]) => writes).map(([binding]) => buffers[binding]));
    return buffers.map((memory, binding) => {
      if (memory === undefined || kernel.bindings.get(binding) !== false || !written.has(memory)) return memory;
      const copy = this.device.buffer(memory.size, Usage.Storage | Usage.CopyTarget);
      this.own.push(copy);
      this.commands.push({ from: memory.buffer!, fromOffset: 0, to: copy, toOffset: 0, size: memory.size });
      return { ...memory, buffer: copy };
    });
  }

  /** The first problem of the recording. */
  async end(): Promise<string | undefined> {
    const dispatches = this.commands.filter((command): command is Dispatch => "kernel" in command);
    if (dispatches.length > 0) this.bind(dispatches);
    return this.device.problem();
  }

  private bind(dispatches: Dispatch[]): void {
    const { device } = this;
    const all = new Int32Array((dispatches.length * PARAMETER_BYTES) / 4);
    dispatches.forEach(({ parameters }, i) => all.set(parameters, (i * PARAMETER_BYTES) / 4));
    const uniforms = device.buffer(all.byteLength, Usage.Uniform | Usage.CopyTarget);
    this.own.push(uniforms);
    device.gpu.queue.writeBuffer(uniforms, 0, all.buffer, 0, all.byteLength);
    device.check("the arguments of a kernel", "validation", () =>
      dispatches.forEach((dispatch, i) => {
        const { kernel, buffers } = dispatch;
        const entries = [...kernel.bindings.keys()].map((binding) => ({
          binding,
          resource:
            binding === buffers.length
              ? { buffer: uniforms, offset: i * PARAMETER_BYTES, size: PARAMETER_BYTES }
              : { buffer: buffers[binding]?.buffer ?? device.placeholder(binding) },
        }));
        dispatch.group = device.gpu.createBindGroup({ layout: kernel.layout, entries });
      }),
    );
  }

  /** Runs it; the problem, if there was one. */
  async run(): Promise<string | undefined> {
    const { gpu, lost } = this.device;
    if (lost !== undefined) return lost;
    const memory = this.bytes().buffer;
    this.device.check("a run", "validation", () => {
      for (const { host, to, offset, size } of this.uploads) gpu.queue.writeBuffer(to, offset, memory, host, size);
      gpu.queue.submit([this.encode()]);
    });
    // Validation and results are waited for together.
    const problems = await Promise.all([this.device.problem(), ...this.downloads.map((download) => this.read(download))]);
    const problem = problems.find((text) => text !== undefined);
    // If the device was lost, these fail before WebGPU reports the loss.
    if (problem !== undefined) await new Promise((resolve) => setTimeout(resolve));
    return this.device.lost ?? problem;
  }

  private encode(): object {
    const encoder = this.device.gpu.createCommandEncoder();
    let pass: ReturnType<typeof encoder.beginComputePass> | undefined;
    for (const command of this.commands) {
      if ("kernel" in command) {
        pass ??= encoder.beginComputePass();
        pass.setPipeline(command.kernel.pipeline);
        pass.setBindGroup(0, command.group!);
        pass.dispatchWorkgroups(...command.groups);
        continue;
      }
      pass?.end();
      pass = undefined;
      encoder.copyBufferToBuffer(command.from, command.fromOffset, command.to, command.toOffset, command.size);
    }
    pass?.end();
    return encoder.finish();
  }

  private async read({ host, from, offset, size }: Download): Promise<string | undefined> {
    try {
      await from.mapAsync(MAP_READ, offset, size);
    } catch (error) {
      return `results cannot be read: ${String(error)}`;
    }
    // The module's memory may have grown meanwhile.
    this.bytes().set(new Uint8Array(from.getMappedRange(offset, size)), host);
    from.unmap();
    return undefined;
  }
}
