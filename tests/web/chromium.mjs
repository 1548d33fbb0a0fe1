// node chromium.mjs URL CHROMIUM: runs the cases on a page of a headless Chromium; a JSON line for each.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { default: puppeteer } = await import(
  pathToFileURL(createRequire(`${process.cwd()}/`).resolve("puppeteer-core")).href
);
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
  await page.goto(new URL("network/", url).href); // the page that an export has
  await page.waitForFunction(() => document.querySelector("#results h2, .error"), { timeout: 60000 });
  const shown = await page.evaluate(() => document.body.innerText);
  console.log(JSON.stringify({ name: "page", shown }));
  await page.evaluate(async (base) => {
    const { runAll } = await import(new URL("runner.mjs", base).href);
    const { load } = await import(new URL("network/wgsl-kernels.js", base).href);
    await runAll(base, load, {}, window.done);
  }, url);
} finally {
  await browser.close();
}
