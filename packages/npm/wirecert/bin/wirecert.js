#!/usr/bin/env node
// Runs the program with the same arguments, and ends as it ends.

import { spawn } from "node:child_process";

import { findBinary } from "../binary.js";

const program = spawn(findBinary(), process.argv.slice(2), { stdio: "inherit" });
// The terminal sends its signals to the program too: only its end counts.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT") program.kill(signal);
  });
}
program.on("error", (error) => {
  console.error(`wirecert: ${error.message}`);
  process.exit(3);
});
program.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code ?? 3);
  }
});
