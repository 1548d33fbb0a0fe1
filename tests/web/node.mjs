// node node.mjs URL MODULE: runs the cases with Dawn, npm's webgpu; a JSON line for each.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { runAll } from "./runner.mjs";

const { create, globals } = await import(
  pathToFileURL(createRequire(`${process.cwd()}/`).resolve("webgpu")).href
);
Object.assign(globalThis, globals);
const [url, module] = process.argv.slice(2);
const { load } = await import(pathToFileURL(module).href);
await runAll(url, load, { gpu: create([]) }, (found) => console.log(JSON.stringify(found)));
process.exit(0);
