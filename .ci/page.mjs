// Looks at the live page of a running program in a headless Chromium, by the DevTools protocol over a pipe (which asks
// for no package). `.ci/page` calls it: node .ci/page.mjs CHROMIUM URL FOLDER
// It fails if the page reports an error, asks elsewhere, or shows other figures than /data and /metrics have.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [chromium, address, folder] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "page-"));
const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
  "--disable-dev-shm-usage", "--hide-scrollbars", `--user-data-dir=${profile}`, "about:blank"];
const browser = spawn(chromium, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const [, , , input, output] = browser.stdio;

// ---- the protocol ----
let next = 0, rest = "", session;
const answers = new Map(), problems = [], asked = [];
const events = {
  "Runtime.exceptionThrown": ({ exceptionDetails: { text, exception } }) => problems.push(`exception: ${exception?.description ?? text}`),
  "Runtime.consoleAPICalled": ({ type, args }) => {
    if (type === "error" || type === "warning") problems.push(`console: ${args.map((arg) => arg.value ?? arg.description).join(" ")}`);
  },
  "Log.entryAdded": ({ entry }) => { if (entry.level === "error") problems.push(`log: ${entry.text} ${entry.url ?? ""}`); },
  "Network.requestWillBeSent": ({ request }) => asked.push(request.url),
};
// A character may be split between two pieces.
output.setEncoding("utf8");
output.on("data", (data) => {
  const parts = (rest + data).split("\0");
  rest = parts.pop();
  for (const part of parts) {
    const message = JSON.parse(part);
    if (message.id) answers.get(message.id)?.(message);
    else events[message.method]?.(message.params);
  }
});
const send = (method, params = {}) => new Promise((done, failed) => {
  const id = ++next;
  answers.set(id, ({ result, error }) => (error ? failed(new Error(`${method}: ${error.message}`)) : done(result)));
  input.write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
});
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const evaluate = async (expression) => {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
  return result.value;
};
const expect = (holds, what) => {
  if (holds) console.log(`  ${what}`);
  else problems.push(`not so: ${what}`);
};
// Waits until an expression is true in the page; the time limit is only that of a failure.
const until = async (expression, what) => {
  for (let attempt = 0; attempt < 3000; attempt += 1) {
    if (await evaluate(expression)) return expect(true, what);
    await pause(100);
  }
  expect(false, what);
};
const picture = async (name, width, height, dark) => {
  await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
  await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
  await evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  const wide = await evaluate("document.documentElement.scrollWidth");
  expect(wide <= width, `nothing is wider than ${width} pixels`);
  const { data } = await send("Page.captureScreenshot", { captureBeyondViewport: true });
  writeFileSync(join(folder, `${name}.png`), Buffer.from(data, "base64"));
};
const key = async (text) => {
  for (const type of ["keyDown", "keyUp"]) await send("Input.dispatchKeyEvent", { type, text, key: text });
};

// ---- what is looked at ----
const look = async () => {
  const { targetInfos } = await send("Target.getTargets");
  const page = targetInfos.find(({ type }) => type === "page");
  ({ sessionId: session } = await send("Target.attachToTarget", { targetId: page.targetId, flatten: true }));
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`);
  await send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder, eventsEnabled: true });
  await send("Page.navigate", { url: address });
  await until("document.getElementById('status')?.textContent === 'live'", "the page is live");
  await until("last && last.totals.finished > 0 && last.history.rate.length > 3", "tasks are counted");

  // All that the page shows is in the data, and formatted as it should be.
  const shown = await evaluate(`(() => { draw(last); const text = (id) => document.getElementById(id).textContent; return {
    data: last, title: text("title"), findings: [...document.querySelectorAll("#findings li")].map((li) => li.textContent),
    workers: document.querySelectorAll("#workers tbody tr").length, strips: document.querySelectorAll("#workers svg.strip path").length,
    objects: [...document.querySelectorAll("#objects tbody tr")].map((row) => row.cells[0].textContent),
    kinds: [...document.querySelectorAll("#kinds tbody tr")].map((row) => row.cells[0].textContent),
    open: text("open"), bars: document.querySelector("#running-plot path.bars").getAttribute("d").length }; })()`);
  const { data } = shown;
  expect(shown.title === data.name && data.name === "watch", "the program is named");
  expect(JSON.stringify(shown.findings) === JSON.stringify(data.findings.map(({ text }) => text.replaceAll("`", ""))), "the sentences are those of the data");
  expect(shown.workers === data.workers.length && shown.strips === 3 * shown.workers, "each worker has a row and a strip");
  expect(shown.objects.length === data.objects.length, "each object has a row");
  expect(shown.kinds.length === data.kinds.length, "each kind of task has a row");
  expect(shown.bars > 0, "the histogram has bars");
  await until("['transfer', 'audit'].every((name) => [...document.querySelectorAll('#kinds .name')].some((cell) => cell.textContent === name))", "the tasks are named");
  await until("last.objects.some((object) => object.name === 'accounts[17]')", "the hot account is named");
  await until("last.findings.some(({ text }) => text.includes('`accounts[17]`'))", "a sentence says where tasks wait");
  await until("last.claims.length > 0", "a claim that waits is shown");

  // A name is text, whatever it contains.
  await until("[...document.querySelectorAll('#kinds .name')].some((cell) => cell.textContent === 'sum <all>')", "a name with brackets is shown");
  expect(await evaluate("document.querySelectorAll('main all').length") === 0, "names are no markup");
  expect(await evaluate("(() => { const odd = structuredClone(last); odd.objects[0].name = '<img src=x onerror=alert(1)>'; draw(odd); return document.querySelectorAll('main img').length; })()") === 0,
    "a name with markup stays text");

  // A row has the number of its worker, and says whether its task runs or blocks.
  const row = await evaluate(`(() => { const odd = structuredClone(last);
    Object.assign(odd.workers[0], { index: 7, state: "blocked", task: "restock", objects: ["shelf"] }); draw(odd);
    const { cells } = document.querySelector("#workers tbody tr"); return [cells[0].textContent, cells[1].textContent]; })()`);
  expect(row[0] === "7" && row[1] === "blocks in restock · shelf", "a row has its worker's number and what it does");

  // A fault of the page is not taken for one of the program, and is logged.
  const before = problems.length;
  await evaluate("(() => { window.answers = window.fetch; window.fetch = async () => new Response('{}'); })()");
  await until("document.getElementById('status').textContent.startsWith('this page has failed')", "a fault of the page is said to be one");
  await evaluate("(() => { window.fetch = window.answers; })()");
  await until("document.getElementById('status').textContent === 'live'", "the page goes on");
  const logged = problems.splice(before);
  expect(logged.length > 0 && logged.every((problem) => problem.startsWith("console: TypeError")), "a fault of the page is logged");

  // By keyboard: pause, go on, record; and the tables sort.
  await key("p");
  await until("document.getElementById('status').textContent.startsWith('paused')", "p pauses");
  await key("p");
  await until("document.getElementById('status').textContent === 'live'", "p goes on");
  await evaluate("document.querySelector('#objects th[data-sort=rate] button').click()");
  expect(await evaluate("(() => { draw(last); const rates = [...document.querySelectorAll('#objects tbody tr')].map((row) => row.cells[0].textContent); const of = (name) => last.objects.find((object) => object.name === name).rate; return rates.every((name, index) => index === 0 || of(rates[index - 1]) >= of(name)); })()"), "objects sort by accesses");
  await evaluate("document.querySelector('#objects th[data-sort=share] button').click()");
  const heights = [];
  for (let sample = 0; sample < 6; sample += 1) {
    heights.push(await evaluate("document.querySelector('#objects').closest('section').offsetTop"));
    await pause(300);
  }
  expect(new Set(heights).size === 1, "nothing moves while figures change");

  await picture("light", 1280, 1700, false);
  await picture("dark", 1280, 1700, true);
  await picture("phone", 390, 2600, false);

  await key("r");
  await until("document.getElementById('record').textContent.startsWith('Saved')", "r records for Perfetto");
  const file = join(folder, "watch-timeline.json");
  for (let attempt = 0; attempt < 600; attempt += 1) {
    try { readFileSync(file); break; } catch { await pause(100); }
  }
  const recorded = JSON.parse(readFileSync(file, "utf8"));
  const traced = JSON.stringify(recorded);
  expect(traced.includes("transfer"), "the file has the tasks");
  expect(asked.every((url) => url.startsWith(address) || url.startsWith("data:") || url.startsWith("blob:") || url === "about:blank"), "all is asked from the program itself");
};

let failure = null;
try { await look(); } catch (error) { failure = error; }
browser.kill();
await new Promise((done) => browser.once("exit", done));
rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
if (failure) problems.push(String(failure.stack ?? failure));
for (const problem of problems) console.error(problem);
process.exit(problems.length ? 1 : 0);
