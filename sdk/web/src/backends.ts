// SPDX-License-Identifier: BSD-3-Clause
// The JavaScript part of a backend: backends/<name>/web/index.ts exports it as `backend`, and sdk/web/build lists all
// such backends in backend_list.ts.

/** The functions that the runtime gives a backend. */
export interface Host {
  /** All bytes of the module's memory. Call it again after each wait, during which the memory may grow. */
  bytes(): Uint8Array;
  /** The text at an address: of `size` bytes, or up to the next NUL. */
  string(address: number, size?: number): string;
  /** Why the present call cannot wait for a promise; undefined if it can. */
  cannotWait(): string | undefined;
}

export interface BackendHalf {
  /** Functions that the module imports. */
  readonly imports: Readonly<Record<string, (...args: number[]) => number | void>>;
  /** Functions that suspend the module's stack until their promise is settled. */
  readonly waiting: Readonly<Record<string, (...args: number[]) => Promise<number>>>;
}

export interface WebBackend {
  /** The name of the backend in programs. */
  readonly id: string;
  /** The name of the module from which its functions are imported. */
  readonly module: string;
  make(host: Host): BackendHalf;
}
