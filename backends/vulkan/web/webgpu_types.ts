// SPDX-License-Identifier: BSD-3-Clause
// What this folder uses of WebGPU, whose types TypeScript's library does not have.

export interface GpuBuffer {
  mapAsync(mode: number, offset: number, size: number): Promise<void>;
  getMappedRange(offset: number, size: number): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}
export type GpuPipeline = object;
export type GpuBindGroup = object;
export type GpuBindGroupLayout = object;

export interface GpuPass {
  setPipeline(pipeline: GpuPipeline): void;
  setBindGroup(index: number, group: GpuBindGroup): void;
  dispatchWorkgroups(x: number, y: number, z: number): void;
  end(): void;
}

export interface GpuEncoder {
  beginComputePass(): GpuPass;
  copyBufferToBuffer(from: GpuBuffer, fromOffset: number, to: GpuBuffer, toOffset: number, size: number): void;
  finish(): object;
}

export interface GpuQueue {
  submit(commands: object[]): void;
  writeBuffer(buffer: GpuBuffer, offset: number, data: ArrayBufferLike, dataOffset: number, size: number): void;
}

export type GpuLimits = Record<string, number>;

export interface GpuDevice {
  readonly limits: GpuLimits;
  readonly features: ReadonlySet<string>;
  readonly queue: GpuQueue;
  readonly lost: Promise<{ reason: string; message: string }>;
  createBuffer(options: { size: number; usage: number }): GpuBuffer;
  createShaderModule(options: { code: string; label: string }): object;
  createBindGroupLayout(options: { entries: { binding: number; visibility: number; buffer: { type: string } }[] }): GpuBindGroupLayout;
  createPipelineLayout(options: { bindGroupLayouts: GpuBindGroupLayout[] }): object;
  createComputePipeline(options: {
    label: string;
    layout: object;
    compute: { module: object; entryPoint: string; constants: Record<string, number> };
  }): GpuPipeline;
  createBindGroup(options: {
    layout: GpuBindGroupLayout;
    entries: { binding: number; resource: { buffer: GpuBuffer; offset?: number; size?: number } }[];
  }): GpuBindGroup;
  createCommandEncoder(): GpuEncoder;
  pushErrorScope(filter: "validation" | "out-of-memory" | "internal"): void;
  popErrorScope(): Promise<{ message: string } | null>;
  destroy(): void;
}

export interface GpuAdapter {
  readonly limits: GpuLimits;
  readonly features: ReadonlySet<string>;
  readonly info: { vendor: string; architecture: string; device: string; description: string; isFallbackAdapter?: boolean };
  requestDevice(options: { requiredLimits: Record<string, number>; requiredFeatures: string[] }): Promise<GpuDevice>;
}

export interface Gpu {
  requestAdapter(options: { powerPreference: "high-performance" }): Promise<GpuAdapter | null>;
}

// The numbers of GPUBufferUsage, GPUMapMode and GPUShaderStage.
export const Usage = { MapRead: 1, CopySource: 4, CopyTarget: 8, Uniform: 64, Storage: 128 } as const;
export const MAP_READ = 1;
export const COMPUTE = 4;
