// SPDX-License-Identifier: BSD-3-Clause
export { ExecuTorchError, type ErrorCode } from "./errors.js";
export type { DownloadOptions, Progress, Source } from "./download.js";
export type { MethodMeta, TensorInfo } from "./metadata.js";
export { Module, shutdown, type ModuleOptions } from "./module.js";
export {
  Runtime,
  type Bytes,
  type ExecuteOptions,
  type LoadOptions,
  type LogLevel,
  type RuntimeMemory,
  type RuntimeModule,
  type RuntimeOptions,
} from "./runtime.js";
export { ScalarType, Tag, type TypedArray } from "./scalar_type.js";
export { Tensor } from "./tensor.js";
export type { Input, Output } from "./values.js";
