// Where the `wirecert` program is.

import { createRequire } from "node:module";

/**
 * The path of the program: the value of the environment variable `WIRECERT`, or the program in the package of this
 * platform, which npm installs as an optional dependency.
 *
 * @returns {string}
 */
export function findBinary() {
  if (process.env.WIRECERT) return process.env.WIRECERT;
  const platform = `@wirecert/${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(`${platform}/wirecert`);
  } catch {
    throw new Error(
      `there is no package ${platform}: install wirecert with its optional dependencies, or set WIRECERT to the path of ` +
        "a program that you built",
    );
  }
}
