#!/usr/bin/env node
// Makes the npm packages: `wirecert`, and one for each platform that has the program in it.
//
//   node packages/npm/build.mjs --out DIR linux-x64=target/dist/wirecert darwin-arm64=…
//
// Each folder of DIR is ready for `npm publish` or `npm pack`. The version is that of Cargo.toml. The manual pages are those
// of the program that runs on this machine; without one there are none.

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const { values, positionals } = parseArgs({ options: { out: { type: "string" } }, allowPositionals: true });
if (!values.out || positionals.length === 0) {
  console.error("usage: build.mjs --out DIR PLATFORM=PROGRAM…, such as linux-x64=target/dist/wirecert");
  process.exit(2);
}
const [, version] = readFileSync(join(root, "Cargo.toml"), "utf8").match(/^version = "(.+)"$/m);
const write = (folder, manifest) => writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
const licences = (folder) => {
  for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(join(root, name), join(folder, name));
};

const main = join(values.out, "wirecert");
cpSync(join(here, "wirecert"), main, { recursive: true, filter: (path) => !/[/\\](test|node_modules)$/.test(path) });
const manifest = JSON.parse(readFileSync(join(here, "wirecert/package.json"), "utf8"));
const platforms = positionals.map((given) => given.split("=", 2));
for (const [platform, program] of platforms) {
  const [os, cpu] = platform.split("-");
  const folder = join(values.out, platform);
  mkdirSync(folder, { recursive: true });
  copyFileSync(program, join(folder, "wirecert"));
  chmodSync(join(folder, "wirecert"), 0o755);
  licences(folder);
  write(folder, {
    name: `@wirecert/${platform}`,
    version,
    description: `The program of wirecert for ${os} on ${cpu}`,
    license: manifest.license,
    os: [os],
    cpu: [cpu],
    files: ["wirecert"],
    preferUnplugged: true,
  });
}
licences(main);
const own = platforms.find(([platform]) => platform === `${process.platform}-${process.arch}`);
const pages = join(main, "man");
if (own) execFileSync(own[1], ["man", "--out", pages]);
write(main, {
  ...manifest,
  version,
  ...(own && { files: [...manifest.files, "man"], man: readdirSync(pages).map((page) => `./man/${page}`) }),
  optionalDependencies: Object.fromEntries(platforms.map(([platform]) => [`@wirecert/${platform}`, version])),
});
