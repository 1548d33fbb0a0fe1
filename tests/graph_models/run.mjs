// node run.mjs CASES FOUND: runs saved models in TensorFlow.js on inputs, and writes what it gives.
// Wants, where it is started, @tensorflow/tfjs-core, tfjs-backend-cpu and tfjs-converter 4.22.
import { createRequire } from "node:module";
import fs from "node:fs";
const require = createRequire(process.cwd() + "/");
const tf = require("@tensorflow/tfjs-core");
require("@tensorflow/tfjs-backend-cpu");
const { loadGraphModel } = require("@tensorflow/tfjs-converter");
const words = console.warn;
console.warn = (...said) => /shape|dtype/.test(said[0]) || words(...said);

const [cases, file] = process.argv.slice(2);
await tf.setBackend("cpu");
const found = {};
for (const { name, folder, runs } of JSON.parse(fs.readFileSync(cases))) {
  try {
    const content = JSON.parse(fs.readFileSync(`${folder}/model.json`));
    const [group] = content.weightsManifest;
    const data = Buffer.concat(group.paths.map((path) => fs.readFileSync(`${folder}/${path}`)));
    const model = await loadGraphModel({
      load: async () => ({
        ...content,
        weightSpecs: group.weights,
        weightData: data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength),
      }),
    });
    const names = Object.keys(content.signature.outputs);
    found[name] = { runs: [] };
    for (const run of runs) {
      const inputs = {};
      for (const [key, { shape, dtype, data }] of Object.entries(run)) {
        inputs[key] = tf.tensor(data, shape, dtype);
      }
      const outputs = {};
      for (const [i, y] of [await model.executeAsync(inputs, names)].flat().entries()) {
        const values = Array.from(await y.data(), (v) => String(Number(Number(v).toPrecision(8))));
        outputs[names[i]] = { shape: y.shape, dtype: y.dtype, data: values };
      }
      found[name].runs.push(outputs);
    }
  } catch (error) {
    found[name] = { error: error.message.slice(0, 300) };
  }
}
fs.writeFileSync(file, JSON.stringify(found).replaceAll('},"', '},\n"') + "\n");
