// SPDX-License-Identifier: BSD-3-Clause
// sdk/web/build replaces this file by the list of the backends that have a part in JavaScript.
import type { WebBackend } from "./backends.js";

export const BACKENDS: readonly WebBackend[] = [];
