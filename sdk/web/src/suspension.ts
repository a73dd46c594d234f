// SPDX-License-Identifier: BSD-3-Clause
// Suspending the stack of WebAssembly until a promise is settled: JavaScript Promise Integration (JSPI).

type Function_ = (...args: never[]) => unknown;
interface Jspi {
  Suspending?: new (function_: Function_) => WebAssembly.ImportValue;
  promising?: (function_: Function_) => (...args: (number | bigint)[]) => Promise<number>;
}

const { Suspending, promising } = WebAssembly as unknown as Jspi;

/** Whether this system has JSPI. */
export const isSuspendable = Suspending !== undefined && promising !== undefined;

/** An import that suspends its caller. Without JSPI it must not be called. */
export function suspending(function_: (...args: number[]) => Promise<number>): WebAssembly.ImportValue {
  return isSuspendable ? new Suspending!(function_) : () => 0;
}

/** An export whose call may be suspended. */
export function resuming(function_: Function_): (...args: (number | bigint)[]) => Promise<number> {
  return promising!(function_);
}
