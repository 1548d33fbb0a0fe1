// Runs the programs of cases.json, in Node or on a page, and gives their results as base64.

const ARRAYS = {
  float32: Float32Array, int32: Int32Array, bool: Uint8Array, int8: Int8Array, uint8: Uint8Array,
  complex64: Float32Array,
};

const bytesOf = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));

function textOf(data) {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

async function outcome(model, inputs) {
  const given = {};
  for (const { name, dtype } of model.inputs) given[name] = new ARRAYS[dtype](bytesOf(inputs[name]).buffer);
  try {
    const found = await model.run(given);
    return {
      outputs: Object.fromEntries(model.outputs.map(({ name, dtype }) => [
        name, { dtype, shape: found[name].shape, data: textOf(found[name].data) },
      ])),
    };
  } catch (error) {
    return { error: error.message };
  }
}

/** Gives `{name, runs}` for each case to `done`. */
export async function runAll(base, load, options, done) {
  const cases = await (await fetch(new URL("cases.json", base))).json();
  for (const { name, runs } of cases) {
    const found = [];
    try {
      const model = await load(new URL(`${name}/`, base), options);
      for (const inputs of runs) found.push(await outcome(model, inputs));
      model.dispose();
    } catch (error) {
      found.push({ error: error.message });
    }
    done({ name, runs: found });
  }
}
