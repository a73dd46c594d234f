// SPDX-License-Identifier: BSD-3-Clause
// The threads of a runtime. Their workers are started before the runtime, because the runtime waits for
// its threads, and a worker does not start while the thread that made it waits.
import { startThread, type Thread } from "./environment.js";
import { ExecuTorchError } from "./errors.js";
import type { Shared } from "./imports.js";
import { locations } from "./locations.js";

const START_TIMEOUT_MS = 30000;

/** A message to a worker: the module that it instantiates, or a thread that it runs. */
export type ToThread =
  | { kind: "load"; shared: Shared; threadCount: number }
  | { kind: "run"; thread: number; stack: number; routine: number; argument: number };
export type FromThread = { kind: "ready" } | { kind: "failed"; message: string } | { kind: "log"; level: number; message: string };

export class ThreadTeam {
  private readonly free: Thread[];
  private readonly running = new Map<number, Thread>();
  private failure: ExecuTorchError | undefined;
  private listener: ((error: ExecuTorchError) => void) | undefined;

  private constructor(private readonly all: Thread[]) {
    this.free = [...all];
  }

  static async start(shared: Shared, count: number): Promise<ThreadTeam> {
    const all: Thread[] = [];
    for (let i = 0; i < count; i++) all.push(startThread(locations().thread(), locations().startThread));
    const team = new ThreadTeam(all);
    try {
      await Promise.all(all.map((thread) => team.load(thread, shared, count + 1)));
    } catch (error) {
      team.stop();
      throw error;
    }
    return team;
  }

  private load(thread: Thread, shared: Shared, threadCount: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new ExecuTorchError("OutOfResources", `a worker did not start within ${START_TIMEOUT_MS / 1000} s`)),
        START_TIMEOUT_MS,
      );
      const fail = (message: string) => {
        clearTimeout(timer);
        const error = new ExecuTorchError("Internal", `a thread of the runtime failed: ${message}`);
        this.failure ??= error;
        this.listener?.(error);
        reject(error);
      };
      thread.onError((error) => fail(error.message));
      thread.onMessage((message) => {
        const found = message as FromThread;
        if (found.kind === "failed") fail(found.message);
        else if (found.kind === "log") console.error(found.message);
        else {
          clearTimeout(timer);
          thread.keepAlive(false);
          resolve();
        }
      });
      thread.post({ kind: "load", shared, threadCount } satisfies ToThread);
    });
  }

  /** Calls `listener` when a thread fails, which ends the runtime. */
  onFailure(listener: (error: ExecuTorchError) => void): void {
    this.listener = listener;
    if (this.failure !== undefined) listener(this.failure);
  }

  /** Runs a thread of the C library in a free worker; false if there is none. */
  run(thread: number, stack: number, routine: number, argument: number): boolean {
    const worker = this.free.pop();
    if (worker === undefined) return false;
    this.running.set(thread, worker);
    worker.post({ kind: "run", thread, stack, routine, argument } satisfies ToThread);
    return true;
  }

  /** Frees the worker of a thread that has ended. */
  release(thread: number): void {
    const worker = this.running.get(thread);
    if (worker !== undefined) {
      this.running.delete(thread);
      this.free.push(worker);
    }
  }

  stop(): void {
    for (const thread of this.all) thread.stop();
  }
}
