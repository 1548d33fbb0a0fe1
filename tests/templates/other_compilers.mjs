// Links modules with npm `wesl` and compiles texts with Tint, through Dawn's binding without a driver.
// Standard input: {packages, modules, links: [{root, conditions, compiles}], texts: [{name, text}]}.
// Standard output: a line of JSON for each, {name, seconds, problems: [...]}.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const given = JSON.parse(readFileSync(0, 'utf8'));
const fromPackage = (file) => import(pathToFileURL(path.join(given.packages, 'node_modules', file)));
const { link } = await fromPackage('wesl/dist/core.js');
const { create } = await fromPackage('webgpu/index.js');
const gpu = create(['backend=null']); // held: its adapters die with it
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice({ requiredFeatures: ['subgroups', 'shader-f16'] });

async function compile(text) {
  const enables = text.includes('subgroup') ? 'enable subgroups;\n' : '';
  device.pushErrorScope('validation');
  const { messages } = await device.createShaderModule({ code: enables + text }).getCompilationInfo();
  await device.popErrorScope();
  const lines = (enables + text).split('\n');
  const wrong = messages.filter((one) => one.type === 'error');
  return wrong.map((one) => `${one.message}: ${lines[one.lineNum - 1]?.trim()}`);
}

async function check(name, run) {
  const start = performance.now();
  let problems;
  try {
    problems = await run();
  } catch (error) {
    problems = [String(error.message ?? error)];
  }
  const seconds = (performance.now() - start) / 1e3;
  console.log(JSON.stringify({ name, seconds, problems }));
}

for (const { root, conditions, compiles } of given.links) {
  const rootModuleName = `package::${root.replace(/\.\w+$/, '').replaceAll('/', '::')}`;
  const on = Object.keys(conditions).filter((name) => conditions[name]);
  await check(`wesl: ${root} ${on.join(' ')}`.trim(), async () => {
    const linked = await link({ weslSrc: given.modules, rootModuleName, conditions });
    return compiles ? compile(linked.dest) : [];
  });
}
for (const { name, text } of given.texts) {
  await check(`Tint: ${name}`, () => compile(text));
}
process.exit(0);
