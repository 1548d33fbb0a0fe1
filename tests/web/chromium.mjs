// node chromium.mjs URL CHROMIUM: on a headless Chromium, runs the cases, draws digits, and looks at
// pages; a JSON line for each.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { default: puppeteer } = await import(
  pathToFileURL(createRequire(`${process.cwd()}/`).resolve("puppeteer-core")).href
);
const ROW = 57, COLUMN = 29; // a cell of reaction and diffusion's 64 x 64 that nothing is near
const WAITING = { timeout: 60000 };
const [url, executablePath] = process.argv.slice(2);
const browser = await puppeteer.launch({
  executablePath,
  headless: true,
  args: ["--no-sandbox", "--enable-unsafe-webgpu", "--enable-features=Vulkan"],
});
try {
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error.message));
  await page.exposeFunction("done", (found) => console.log(JSON.stringify(found)));
  await page.goto(new URL("training/", url).href); // the page that an export has
  await page.waitForFunction(() => document.querySelector("#results h2, .error"), WAITING);
  const shown = await page.evaluate(() => document.body.innerText);
  console.log(JSON.stringify({ name: "page of an export", found: shown }));
  await page.evaluate(async (base) => {
    const { runAll } = await import(new URL("runner.mjs", base).href);
    const { load } = await import(new URL("training/wgsl-kernels.js", base).href);
    await runAll(base, load, {}, window.done);
  }, url);
  console.log(JSON.stringify({ name: "page of the digits", found: await draw(page) }));
  console.log(JSON.stringify({ name: "page of reaction and diffusion", found: await grow(page) }));
} finally {
  await browser.close();
}

/** Touches the page of the digits where drawings.json says; gives what it recognises, and its cells. */
async function draw(page) {
  const drawings = await (await fetch(new URL("drawings.json", url))).json();
  const found = [];
  await page.goto(url);
  for (const touches of drawings) {
    await page.waitForSelector("#bars[aria-busy=false]", WAITING);
    await page.click("#clear");
    const { x, y } = await (await page.$("#canvas")).boundingBox();
    for (const [column, row] of touches) await page.mouse.click(x + 10 * column + 6, y + 10 * row + 6);
    await page.waitForSelector("#bars[aria-busy=false]", WAITING);
    found.push(await page.evaluate(() => {
      const { data } = document.querySelector("#canvas").getContext("2d").getImageData(0, 0, 32, 32);
      const cells = Array.from({ length: 32 * 32 }, (_, at) => (data[4 * at + 3] ? 1 : 0));
      return { digit: Number(document.body.dataset.digit), cells };
    }));
  }
  return found;
}

/** Lets the page of reaction and diffusion go on for some frames; gives its colours before and after a drop. */
async function grow(page) {
  await page.setViewport({ width: 800, height: 900 });
  await page.goto(new URL("coral/", url).href);
  const colours = async (frames) => {
    await page.waitForFunction((least) => document.body.dataset.frames >= least || document.querySelector(".error"), WAITING, frames);
    return page.evaluate(() => {
      const { data } = document.querySelector("#canvas").getContext("2d").getImageData(0, 0, 64, 64);
      return { red: Array.from(data).filter((_, at) => at % 4 === 0), said: document.querySelector("#about").textContent };
    });
  };
  const before = await colours(2);
  const { x, y, width } = await (await page.$("#canvas")).boundingBox();
  await page.mouse.click(x + (width * COLUMN) / 64, y + (width * ROW) / 64);
  const frames = Number(await page.evaluate(() => document.body.dataset.frames));
  return { before, after: await colours(frames + 2) };
}
