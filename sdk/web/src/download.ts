// SPDX-License-Identifier: BSD-3-Clause
// Programs and weights from addresses, files and buffers, into the memory of a runtime while they arrive.
import { fetchResponse } from "./environment.js";
import { ExecuTorchError } from "./errors.js";
import type { Bytes, RuntimeMemory } from "./memory.js";
import type { Runtime } from "./runtime.js";

/** Where a program or its weights are: an address, bytes, or a file that the user chose. */
export type Source = string | URL | ArrayBuffer | SharedArrayBuffer | ArrayBufferView | Blob;

export interface Progress {
  /** Bytes that have arrived, of all files of this module. */
  loaded: number;
  /** Bytes of the files whose size is known. */
  total: number;
}

export interface DownloadOptions {
  /** Keeps downloads in the Cache API, under this name or "executorch"; a later load needs no network. */
  cache?: boolean | string;
  onProgress?: (progress: Progress) => void;
  signal?: AbortSignal;
}

export const DOWNLOAD_OPTIONS: Record<keyof Required<DownloadOptions>, true> = { cache: true, onProgress: true, signal: true };

interface Caches {
  open(name: string): Promise<{ match(url: string): Promise<Response | undefined>; put(url: string, response: Response): Promise<void> }>;
}

async function open(url: string | URL, options: DownloadOptions): Promise<Response> {
  if (!options.cache) return fetchResponse(url, options.signal);
  const caches = (globalThis as { caches?: Caches }).caches;
  if (caches === undefined) return fetchResponse(url, options.signal);
  const cache = await caches.open(typeof options.cache === "string" ? options.cache : "executorch");
  const found = await cache.match(String(url));
  if (found !== undefined) return found;
  const response = await fetchResponse(url, options.signal);
  // The disk may be full: the program is then used without the cache.
  cache.put(String(url), response.clone()).catch((error: unknown) => console.warn(`executorch: ${String(url)} was not cached: ${String(error)}`));
  return response;
}

/** The bytes of a stream in the memory of the runtime. `expected` is their number if the server says it. */
async function receive(
  runtime: Runtime,
  stream: ReadableStream<Uint8Array>,
  expected: number,
  options: DownloadOptions,
  note: (bytes: number) => void,
): Promise<RuntimeMemory> {
  let capacity = expected || 1 << 20;
  const memory = runtime.allocate(capacity);
  const reader = stream.getReader();
  const abort = (): void => void reader.cancel().catch(() => {});
  options.signal?.addEventListener("abort", abort);
  try {
    let size = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (options.signal?.aborted) throw new ExecuTorchError("Cancelled", "the download was aborted");
      if (done) break;
      if (size + value.length > capacity) {
        capacity = Math.max(size + value.length, Math.ceil(capacity * 1.5));
        memory.resize(capacity);
      }
      memory.bytes.set(value, size);
      size += value.length;
      note(value.length);
    }
    if (size < expected) {
      throw new ExecuTorchError("AccessFailed", `the download ended after ${size} of ${expected} bytes`);
    }
    if (size !== capacity) memory.resize(size);
    return memory;
  } catch (error) {
    memory.delete();
    abort();
    if (options.signal?.aborted) throw new ExecuTorchError("Cancelled", "the download was aborted");
    if (error instanceof ExecuTorchError) throw error;
    throw new ExecuTorchError("AccessFailed", `the download failed: ${(error as Error).message}`);
  } finally {
    options.signal?.removeEventListener("abort", abort);
  }
}

/** The bytes of all sources, for Module.load() of the runtime. */
export async function download(runtime: Runtime, sources: readonly Source[], options: DownloadOptions): Promise<Bytes[]> {
  const progress = { loaded: 0, total: 0 };
  const note = (bytes: number): void => {
    progress.loaded += bytes;
    progress.total = Math.max(progress.total, progress.loaded);
    options.onProgress?.({ ...progress });
  };
  const one = async (source: Source): Promise<Bytes> => {
    if (source instanceof Blob) {
      progress.total += source.size;
      return receive(runtime, source.stream() as ReadableStream<Uint8Array>, source.size, options, note);
    }
    if (typeof source !== "string" && !(source instanceof URL)) return source;
    const response = await open(source, options);
    // The length of compressed bytes does not give the length of the file.
    const length = response.headers.has("content-encoding") ? 0 : Number(response.headers.get("content-length") ?? 0);
    progress.total += length;
    if (response.body === null) return response.arrayBuffer();
    return receive(runtime, response.body as ReadableStream<Uint8Array>, length, options, note);
  };
  const results = await Promise.allSettled(sources.map(one));
  const failed = results.find((result) => result.status === "rejected");
  const bytes = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  if (failed === undefined) return bytes;
  for (const each of bytes) if ("delete" in each) each.delete();
  throw failed.reason;
}
