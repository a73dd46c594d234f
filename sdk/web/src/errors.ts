// SPDX-License-Identifier: BSD-3-Clause
// The error class, and the facts that it reads from messages of the runtime.

/** The names of the status numbers of the C interface. */
export type ErrorCode =
  | "Internal"
  | "InvalidState"
  | "NotSupported"
  | "NotImplemented"
  | "InvalidArgument"
  | "InvalidType"
  | "OperatorMissing"
  | "NotFound"
  | "MemoryAllocationFailed"
  | "AccessFailed"
  | "InvalidProgram"
  | "InvalidExternalData"
  | "OutOfResources"
  | "DelegateInvalidCompatibility"
  | "DelegateMemoryAllocationFailed"
  | "DelegateInvalidHandle"
  | "Cancelled";

const HINTS: Partial<Record<ErrorCode, string>> = {
  OperatorMissing: "build executorch.wasm with the operators of this program (docs/web.md), or export it for a backend that has them",
  MemoryAllocationFailed: "dispose of modules that are not in use, or export with smaller upper bounds of dynamic shapes; a module has 4 GB at most",
  AccessFailed: "check the address, the server's CORS headers, and that the download was not aborted",
  InvalidProgram: "compare the file's size with that of the exported one (a download may be incomplete), or export it again",
  InvalidExternalData: "pass the .ptd files that were exported with this program: Module.load(program, { data: [weights] })",
};

// The forms in which messages of the runtime name operators and backends: instruction_execute.cpp and instruction_init.cpp
// in sdk/cpp/executorch/runtime/executor.
const OPERATORS = [/Operator (\S+) \(instruction \d+ of method /, /operators that are not registered [^:]*: ([^\s,]+)/];
const UNAVAILABLE = /Backend (\S+) is not available on this device/;
const BACKENDS = [/Backend (\S+) \(instruction \d+ of method /, /Backend (\S+) refused its part of method /, UNAVAILABLE, /backends that are not registered[^:]*: ([^\s,]+)/];

function nameIn(message: string, forms: RegExp[]): string | undefined {
  for (const form of forms) {
    const found = form.exec(message);
    if (found) return found[1];
  }
  return undefined;
}

/** An error of the library. The message says what was expected, what was found and what to do. */
export class ExecuTorchError extends Error {
  /** The kind of failure, for example "InvalidProgram". */
  readonly code: ErrorCode;
  /** The operator that failed, `aten::add`, or the first one that is missing, `aten::add.out`. */
  readonly operator: string | undefined;
  /** The backend that failed, or the first one that is missing. */
  readonly backend: string | undefined;
  /** Advice for this kind of failure; undefined if there is none beyond the message. */
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.name = "ExecuTorchError";
    this.code = code;
    this.operator = nameIn(message, OPERATORS);
    this.backend = nameIn(message, BACKENDS);
    this.hint =
      code === "NotFound" && this.backend !== undefined && !UNAVAILABLE.test(message)
        ? `use a build of executorch.wasm that has ${this.backend}, or export the program for another backend`
        : HINTS[code];
  }
}

/**
 * Refuses options that a function does not have. `known` has their names as keys. Declare it as a record of the keys of
 * the options' interface, so that the compiler reports a missing name.
 */
export function checkOptions(options: unknown, known: Readonly<Record<string, true>>): void {
  if (typeof options !== "object" || options === null) {
    throw new ExecuTorchError("InvalidArgument", `expected an object of options, found ${options === null ? "null" : typeof options}`);
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) {
      throw new ExecuTorchError("InvalidArgument", `there is no option ${name}; there are: ${Object.keys(known).join(", ")}`);
    }
  }
}

/** An error as messages between threads carry it, and back. */
export interface PlainError {
  code: ErrorCode;
  message: string;
}

export function toPlain(error: unknown): PlainError {
  if (error instanceof ExecuTorchError) return { code: error.code, message: error.message };
  if (error instanceof Error) {
    return { code: error.name === "AbortError" ? "Cancelled" : "Internal", message: `${error.name}: ${error.message}` };
  }
  return { code: "Internal", message: String(error) };
}

export function fromPlain(error: PlainError): ExecuTorchError {
  return new ExecuTorchError(error.code, error.message);
}
