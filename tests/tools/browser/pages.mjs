// Looks at pages that kubectl-kyv wrote, as a person with a browser would.
//
//   tests/tools/browser/run pages.mjs FOLDER [SCREENSHOTS]
//
// FOLDER has the pages that tests/cli/pages.rs makes. Ends with an error at the first expectation that does not hold.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.KYV_BROWSER_PACKAGES);
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [folder, screenshots] = process.argv.slice(2);
const names = ["diff", "explain", "check", "drift", "refused", "nothing", "hostile", "large"];

// A sandbox of its own needs rights that root and containers lack; the pages are ours.
const browser = await puppeteer.launch({
  executablePath: process.env.KYV_CHROMIUM,
  args: ["--no-sandbox", "--disable-background-networking"],
});

/** Opens a page; fails if it reports an error, breaks its own policy or asks for anything but itself. */
async function open(name, { width = 1200, scheme = "light" } = {}) {
  const page = await browser.newPage();
  page.problems = [];
  page.on("console", (message) => page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("dialog", (dialog) => {
    page.problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  const url = pathToFileURL(resolve(folder, `${name}.html`)).href;
  page.on("request", (request) => {
    if (request.url() !== url) page.problems.push(`request: ${request.url()}`);
  });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url);
  return page;
}

async function close(page) {
  assert.deepEqual(page.problems, [], page.url());
  await page.close();
}

const texts = (page, selector) => page.$$eval(selector, (found) => found.map((one) => one.textContent));
const text = async (page, selector) => (await texts(page, selector)).join("");
const shown = (page) => text(page, "#shown");

/** Opens what can be opened, a level at a time, and lays out what is far below, too. */
async function openAll(page) {
  await page.$$eval("#items > li", (found) => found.forEach((one) => (one.style.contentVisibility = "visible")));
  while (await page.$$eval("details:not([open])", (found) => found.slice(0, 200).map((one) => (one.open = true)).length)) {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  }
}

async function accessible(page) {
  // The policy of the page lets no script in; this one comes from outside.
  const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
  const serious = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes[0].html}`), [], page.url());
  assert.ok(found.passes.length > 10, "axe-core looked at nothing");
}

async function everyPage() {
  for (const name of names) {
    for (const scheme of ["light", "dark"]) {
      const page = await open(name, { scheme });
      if (name !== "large") await openAll(page);
      await accessible(page);
      if (screenshots) await page.screenshot({ path: join(screenshots, `${name}-${scheme}.png`), fullPage: name !== "large" });
      await close(page);
    }
    const narrow = await open(name, { width: 360 });
    if (name !== "large") await openAll(narrow);
    const [inner, whole] = await narrow.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
    assert.ok(whole <= inner, `${name}: ${whole} of ${inner} pixels`);
    if (screenshots) await narrow.screenshot({ path: join(screenshots, `${name}-narrow.png`) });
    await close(narrow);
  }
}

async function diffPage() {
  const page = await open("diff");
  assert.equal(await shown(page), "4 objects");
  const counts = await page.$$eval("#counts div", (found) => found.map((one) => [...one.children].map((part) => part.textContent)));
  assert.deepEqual(counts, [
    ["Objects", "5"], ["Changed", "3"], ["Failed", "1"], ["Unchanged", "2"],
    ["Restart Pods", "0"], ["More privileges", "1"], ["Immutable fields", "0"]]);

  // By keyboard: to the search field, a word, on to the first object, open.
  await page.focus("#search");
  await page.keyboard.type("deployment west");
  assert.equal(await shown(page), "1 of 4 objects");
  while (!(await page.evaluate(() => document.activeElement.tagName === "SUMMARY"))) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#items .diff");
  assert.deepEqual(await texts(page, "#items .diff .hunk"), ["labels/owner", "privileged/as-root"]);
  const lines = await page.$$eval("#items .diff tbody:nth-of-type(2) tr", (rows) =>
    rows.map((row) => [...row.children].map((cell) => cell.textContent)).filter((cells) => cells.length === 4));
  assert.deepEqual(lines.find((cells) => cells[1].includes("false")), ["18", "          privileged: false", "20", "          privileged: true"]);
  assert.deepEqual(await texts(page, "#items del mark, #items ins mark"), ["fals", "tru"]);
  assert.deepEqual(await texts(page, "#items .rule > summary .name"), ["labels/owner", "privileged/as-root"]);
  const rule = await text(page, "#items .rule:last-of-type");
  assert.ok(rule.includes("replace /spec/template/spec/containers/0/securityContext/privileged true"), rule);

  // Filters: a bar of a chart, and what undoes it.
  await page.click("#clear");
  assert.equal(await shown(page), "4 objects");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  const bars = await texts(page, "figure:first-of-type .bar .name");
  assert.deepEqual(bars, ["labels", "privileged", "sizes"]);
  assert.deepEqual(await texts(page, "figure:first-of-type .bar .number"), ["3", "1", "1, 1 failed"]);
  await page.click("figure:first-of-type li:nth-child(3) .bar");
  assert.equal(await shown(page), "1 of 4 objects");
  assert.deepEqual(await texts(page, '.bar[aria-pressed="true"] .name'), ["sizes"]);
  assert.equal(await page.$eval("#filter-policies", (select) => select.value), "sizes");
  await page.click("#items summary");
  await page.waitForSelector("#items .body");
  assert.match(await text(page, "#items .body"), /KYV\d+/);
  assert.ok((await page.$eval("#items .body a", (link) => link.href)).includes("/docs/diagnostics/KYV"));
  await page.click("figure:first-of-type li:nth-child(3) .bar");
  assert.equal(await shown(page), "4 objects");
  await page.select("#filter-states", "unchanged");
  assert.equal(await shown(page), "1 of 4 objects");

  // Themes.
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.click("#theme");
  assert.notEqual(await background(), light);
  assert.equal(await page.$eval("#theme", (button) => button.getAttribute("aria-pressed")), "true");
  await close(page);
}

async function otherPages() {
  const check = await open("check");
  assert.ok((await texts(check, "#items summary .name")).includes("order"));
  // Charts by finding, policy, kind and namespace; a bar filters.
  assert.deepEqual(await texts(check, "figcaption"), ["By finding", "By policy", "By kind", "By namespace"]);
  assert.ok((await texts(check, "figure .bar .name")).includes("west"));
  await check.click("figure:last-of-type .bar");
  assert.equal(await check.$eval("#filter-namespace", (select) => select.value), "west");
  await check.click("figure:last-of-type .bar");
  await openAll(check);
  assert.match(await text(check, "#items"), /Result.*Other result.*team: b.*team: a.*Cure: write the rules in one policy/s);
  await close(check);

  const drift = await open("drift");
  assert.match(await text(drift, "#items"), /Deployment\/west\/web.*OutOfSync/s);
  assert.match(await text(drift, "#rules pre"), /"ignoreDifferences"/);
  await close(drift);

  const explain = await open("explain");
  assert.equal(await shown(explain), "5 objects");
  await close(explain);

  const refused = await open("refused");
  assert.match(await text(refused, "#messages"), /^\s*Messages\s*error.*nowhere/s);
  await close(refused);

  const nothing = await open("nothing");
  assert.equal(await shown(nothing), "0 objects");
  await close(nothing);
}

async function hostilePage() {
  const page = await open("hostile");
  await openAll(page);
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal((await page.$$("img, #items script, #items b")).length, 0);
  const name = (await texts(page, "#items summary .name"))[0];
  assert.ok(name.includes("</script><script>harmed=1</script><img src=x onerror=harmed=1>"), name);
  assert.ok(name.includes("\\u{202e}") && name.includes("\\u{1b}"), name);
  assert.ok((await text(page, "#items .body")).includes("<b>"), "a value with markup is shown as it is");
  await close(page);
}

async function largePage() {
  const start = performance.now();
  const page = await open("large");
  const opened = performance.now();
  assert.equal(await shown(page), "10000 objects");
  assert.equal((await page.$$("#items > li")).length, 100);
  await page.focus("#search");
  const typing = performance.now();
  await page.keyboard.type("config-9999");
  assert.equal(await shown(page), "1 of 10000 objects");
  const found = performance.now();
  await page.click("#clear");
  await page.click("#more");
  assert.equal((await page.$$("#items > li")).length, 200);
  assert.ok(await page.evaluate(() => document.activeElement === document.querySelector("#items > li:nth-child(101) summary")));
  const milliseconds = (from, to) => Math.round(to - from);
  console.log(`10,000 objects: opened in ${milliseconds(start, opened)} ms, 11 letters typed in ${milliseconds(typing, found)} ms`);
  await close(page);
}

try {
  for (const part of [diffPage, otherPages, hostilePage, largePage, everyPage]) {
    await part();
    console.log(`${part.name}: as expected`);
  }
} finally {
  await browser.close();
}
