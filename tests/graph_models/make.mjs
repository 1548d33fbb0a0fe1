// node make.mjs FOLDER EXPECTED: runs the model of FOLDER in TensorFlow.js, writes what it computes.
// Wants, where it is started, @tensorflow/tfjs-core, tfjs-backend-cpu and tfjs-converter 4.22.
import { createRequire } from "node:module";
import fs from "node:fs";
const require = createRequire(process.cwd() + "/");
const tf = require("@tensorflow/tfjs-core");
require("@tensorflow/tfjs-backend-cpu");
const { loadGraphModel } = require("@tensorflow/tfjs-converter");

const [folder, expected] = process.argv.slice(2);
const content = JSON.parse(fs.readFileSync(`${folder}/model.json`));
const [group] = content.weightsManifest;
const data = Buffer.concat(group.paths.map((path) => fs.readFileSync(`${folder}/${path}`)));
await tf.setBackend("cpu");
const model = await loadGraphModel({
  load: async () => ({
    ...content,
    weightSpecs: group.weights,
    weightData: data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength),
  }),
});
const found = {};
for (const [name, { name: output }] of Object.entries(content.signature.outputs)) {
  try {
    const [y] = [await model.executeAsync({}, [output])].flat();
    const values = Array.from(await y.data(), (v) => Number(Number(v).toFixed(7)));
    found[name] = { shape: y.shape, dtype: y.dtype, data: values };
  } catch (error) {
    console.log(name, error.message.slice(0, 300));
  }
}
fs.writeFileSync(expected, JSON.stringify(found).replaceAll('},"', '},\n"') + "\n");
