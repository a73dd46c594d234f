// SPDX-License-Identifier: BSD-3-Clause
export { ExecuTorchError, type ErrorCode } from "./errors.js";
export type { DownloadOptions, Progress, Source } from "./download.js";
export type { ImageOptions, ImageSource, Pixels } from "./images.js";
export { LlmModule, type AnswerOptions, type ChatMessage, type LlmModuleOptions } from "./llm.js";
export type { Bytes, RuntimeMemory } from "./memory.js";
export type { MethodMeta, TensorInfo } from "./metadata.js";
export { Module, shutdown, type ModuleOptions } from "./module.js";
export { Runtime, type LogLevel, type RuntimeOptions } from "./runtime.js";
export type { GenerationOptions, LlmLoadOptions, LlmStats, RuntimeLlm } from "./runtime_llm.js";
export type { ExecuteOptions, LoadOptions, RuntimeModule } from "./runtime_module.js";
export { ScalarType, Tag, type TypedArray } from "./scalar_type.js";
export { soundToTensor, type Sound, type SoundOptions } from "./sound.js";
export { Tensor } from "./tensor.js";
export type { Input, Output } from "./values.js";
