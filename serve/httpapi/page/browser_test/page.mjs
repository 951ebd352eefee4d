// Drives the page in a headless Chromium: node page.mjs BASE-URL KEYED-URL URL-OF-IMAGES [FOLDER FOR PICTURES]
//
// LEXSEM_PLAYWRIGHT is a folder with node_modules/playwright-core, CHROMIUM the browser.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { chromium } = createRequire(join(process.env.LEXSEM_PLAYWRIGHT, "x.js"))("playwright-core");
const [base, keyed, images, pictures] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), "page-"));
let profiles = 0;

async function visit(name, options, steps) {
  const context = await chromium.launchPersistentContext(join(work, `profile${profiles++}`), {
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    viewport: { width: 1280, height: 860 }, ...options,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const wrong = [], elsewhere = [];
  page.on("pageerror", (e) => wrong.push(e.message));
  page.on("console", (m) => m.type() === "error" && !/status of 4\d\d|ERR_FAILED/.test(m.text()) && wrong.push(m.text()));
  page.on("request", (r) => [base, keyed, images, "blob:"].some((at) => r.url().startsWith(at)) || elsewhere.push(r.url()));
  page.setDefaultTimeout(15_000);
  try {
    await steps(page);
  } catch (e) {
    e.message = `${name}: ${e.message}`;
    if (pictures) await page.screenshot({ path: join(pictures, "failed.png") }).catch(() => {});
    throw e;
  }
  assert.deepEqual(wrong, [], `${name}: errors on the page`);
  assert.deepEqual(elsewhere, [], `${name}: something was asked elsewhere`);
  await context.close();
  console.log(`ok ${name}`);
}

const names = (page, way = 0) => page.locator(".way").nth(way).locator(".name").allTextContents();
const focused = (page) => page.evaluate(() => document.activeElement.textContent);
const picture = (page, name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`) });

async function search(page, query) {
  await page.fill("#query", query);
  const answer = page.waitForResponse((r) => r.url().includes("/v1/search"));
  await page.press("#query", "Enter");
  await answer; // the hits of the query before stay until then
  await page.waitForFunction(() => document.querySelector(".hit") && !document.querySelector("#results [aria-busy]"));
}

try {
  await visit("search, by keyboard", {}, async (page) => {
    await page.goto(base);
    await page.waitForFunction(() => document.getElementById("facts").textContent.includes("documents"));
    assert.equal(await page.evaluate(() => document.activeElement.id), "query");
    await search(page, "rotate signing keys");
    assert.equal((await names(page))[0], "Signing keys");
    assert.ok((await page.locator(".hit").first().locator(".passage mark").allTextContents()).includes("signing"));
    assert.match(page.url(), /\?q=rotate\+signing\+keys$/);
    await page.keyboard.press("Escape"); // out of the query
    await page.keyboard.press("j");
    assert.equal(await focused(page), "Signing keys");
    await page.keyboard.press("j");
    assert.equal(await focused(page), (await names(page))[1]);
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".hit.open .words");
    const words = await page.locator(".hit.open .words:not(.ties) tbody tr").count();
    assert.equal(words, 3);
    assert.ok((await page.locator(".hit.open .shares li").count()) > 0, "no tokens");
    assert.ok((await page.locator(".hit.open .ties tbody tr").count()) > 0, "no ties");
    assert.match(await page.locator(".hit.open .legend").innerText(), /tokens answered/);
    assert.ok((await page.locator(".hit.open .sum .part").first().boundingBox()).width > 10, "no bar");
    assert.equal(await page.locator(".name").first().getAttribute("aria-expanded"), "true");
    await picture(page, "explanation");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".hit.open").count(), 0);
    assert.equal(await focused(page), "Signing keys");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "query");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.waitForSelector("#help[open]");
    await page.keyboard.press("Escape");
  });

  await visit("ways side by side", {}, async (page) => {
    await page.goto(`${base}?q=rotate+signing+keys`);
    await page.waitForSelector(".hit");
    await page.click("#compare");
    await page.waitForFunction(() => document.querySelectorAll(".way")[1]?.querySelector(".hit"));
    await page.click("#compare");
    await page.waitForFunction(() => document.querySelectorAll(".way")[2]?.querySelector(".hit"));
    assert.equal(await page.locator("#compare").isDisabled(), true);
    assert.deepEqual(new URL(page.url()).searchParams.getAll("way"), ["auto:", "dense:none", "lexical:"]);
    const boxes = await Promise.all([0, 1, 2].map((i) => page.locator(".way").nth(i).boundingBox()));
    assert.ok(boxes[0].x < boxes[1].x && boxes[1].x < boxes[2].x && boxes[0].y === boxes[2].y, "not side by side");
    assert.ok((await names(page, 2)).length < (await names(page, 0)).length, "words alone find as much as meaning");
    assert.ok((await page.locator(".way").nth(1).locator(".move").count()) > 0, "nothing tells how hits moved");
    await picture(page, "ways");
    await page.keyboard.press("Escape"); // to the query
    await page.keyboard.press("Escape"); // out of it
    await page.keyboard.press("j");
    await page.keyboard.press("l");
    assert.ok(await page.evaluate(() => document.querySelectorAll(".way")[1].contains(document.activeElement)));
    await page.locator(".way").nth(1).locator(".remove").click();
    assert.equal(await page.locator(".way").count(), 2);
    await page.reload();
    await page.waitForSelector(".hit");
    assert.equal(await page.locator(".way").count(), 2);
  });

  await visit("what is not there", {}, async (page) => {
    await page.goto(base);
    await search(page, "rotate signing keys");
    assert.ok(!(await page.locator(".info").first().textContent()).includes("probably not here"));
    await search(page, "qqqqqq zzzzzz");
    assert.ok((await page.locator(".info").first().textContent()).endsWith("probably not here: no hit is likely to be relevant"));
  });

  await visit("a mistyped word", {}, async (page) => {
    await page.goto(base);
    await search(page, "rotate sigining keys");
    assert.match(await page.locator(".way .for").textContent(), /^for: rotate signing keys/);
    assert.ok((await page.locator(".hit").first().locator(".passage mark").allTextContents()).includes("signing"));
    const answer = page.waitForResponse((r) => r.url().includes("/v1/search"));
    await page.locator(".way .for button").click();
    await answer;
    await page.waitForFunction(() => document.querySelector(".way .for").hidden);
  });

  await visit("no hits, more hits, errors", {}, async (page) => {
    await page.goto(`${base}?q=zebra&way=lexical:`);
    await page.waitForSelector(".foot .quiet");
    assert.match(await page.textContent(".foot"), /no document has a word/);
    await page.fill("#filter", "year >");
    await page.press("#filter", "Enter");
    await page.waitForSelector("#filter-error:not([hidden])");
    assert.match(await page.textContent("#filter-error"), /character/);
    assert.equal(await page.getAttribute("#filter", "aria-invalid"), "true");
    await picture(page, "filter");
    await page.fill("#filter", "n >= 100");
    await search(page, "lantern");
    assert.equal(await page.isVisible("#filter-error"), false);
    assert.equal((await names(page)).length, 10);
    await page.click(".more");
    await page.waitForFunction(() => document.querySelectorAll(".hit").length === 20);
    assert.equal(new Set(await names(page)).size, 20);
    await page.route("**/v1/search", (r) => r.abort());
    await page.press("#query", "Enter");
    await page.waitForSelector(".foot .wrong");
    assert.match(await page.textContent(".foot .wrong"), /does not answer/);
  });

  await visit("nothing from the server becomes markup", {}, async (page) => {
    await page.goto(`${base}?q=hostile`);
    await page.waitForSelector(".hit");
    assert.equal((await names(page))[0], "<img src=x onerror=alert(1)>");
    await page.locator(".name").first().click();
    await page.waitForSelector(".hit.open .words");
    assert.equal(await page.locator("main img:not(#asked-image), main script, main b:not(.legend b)").count(), 0);
  });

  await visit("upload", {}, async (page) => {
    await page.goto(base);
    const file = (name, text) => {
      const path = join(work, name);
      writeFileSync(path, text);
      return path;
    };
    const many = Array.from({ length: 450 }, (_, i) => JSON.stringify({ _id: `up${i}`, text: `uploaded number${i}`, shelf: i % 3 })).join("\n");
    await page.click("#open-upload");
    await page.setInputFiles("#files", [
      file("quokka.md", "# About quokkas\n\nQuokkas smile.\n"),
      file("many.jsonl", `${many}\n{"_id":"big","text":"a big number","n":9007199254740993}\nno JSON\n{"text":"no id"}\n`),
      file("bad.txt", Buffer.from([0xff, 0xfe, 0x41])),
      file("empty.txt", " "),
      file("picture.png", "x"),
    ]);
    await page.waitForFunction(() => document.getElementById("upload-status").textContent.startsWith("Done"), null, { timeout: 60_000 });
    assert.match(await page.textContent("#upload-status"), /Done: 452 documents added, 0 replaced, 5 refused/);
    const errors = await page.locator("#upload-errors li").allTextContents();
    for (const want of [/^many\.jsonl:452: /, /^many\.jsonl:453: no id/, /^bad\.txt: no text in UTF-8/, /^empty\.txt: empty/, /^picture\.png: not text/]) {
      assert.ok(errors.some((e) => want.test(e)), `${want} is not in ${errors}`);
    }
    await picture(page, "upload");
    await page.click("#upload-close");
    await search(page, "quokkas");
    assert.equal((await names(page))[0], "About quokkas");
    await search(page, "a big number");
    assert.equal((await names(page))[0], "big");
  });

  await visit("a key", {}, async (page) => {
    await page.goto(keyed);
    await page.waitForSelector("#key[open]");
    assert.match(await page.textContent("#key-why"), /asks for a key/);
    await page.fill("#key-value", "wrong");
    await page.press("#key-value", "Enter");
    await page.waitForFunction(() => document.getElementById("key-why").textContent.includes("does not take"));
    await page.fill("#key-value", "secret");
    await page.press("#key-value", "Enter");
    await page.waitForFunction(() => document.getElementById("facts").textContent.includes("documents"));
    await search(page, "signing keys");
    assert.equal(await page.evaluate(() => sessionStorage.getItem("lexsem-key") + localStorage.length + document.cookie), "secret0");
  });

  await visit("a collection", {}, async (page) => {
    const asked = [];
    page.on("request", (r) => r.url().includes("/stats") && asked.push(new URL(r.url()).pathname));
    const settled = (n) => page.waitForFunction((n) => document.getElementById("facts").textContent.includes("documents") && performance.getEntriesByType("resource").filter((r) => r.name.includes("/stats")).length >= n, n);
    await page.goto(base);
    await page.waitForSelector("#collection:not([hidden])");
    await page.selectOption("#collection", "tales");
    await settled(2);
    for (let i = 0; i < 2; i++) { // a key is set, and the list is read again
      await page.click("#open-key");
      await page.fill("#key-value", "any");
      await page.press("#key-value", "Enter");
      await settled(3 + i);
      await page.waitForLoadState("networkidle");
      assert.equal(await page.inputValue("#collection"), "tales");
    }
    await page.selectOption("#collection", "");
    await settled(5);
    await page.waitForLoadState("networkidle");
    assert.deepEqual(asked, ["/v1/stats", ...Array(3).fill("/v1/collections/tales/stats"), "/v1/stats"]);
  });

  await visit("images", {}, async (page) => {
    const shown = (selector) => page.waitForFunction((s) => [...document.querySelectorAll(s)].some((i) => i.complete && i.naturalWidth > 0), selector);
    await page.goto(images);
    await page.waitForSelector("#pick:not([hidden])");
    await search(page, "red");
    assert.equal((await names(page))[0], "red red");
    await shown(".hit .thumbnail");
    await page.locator(".name").first().click();
    await shown(".hit.open figure img");
    assert.equal(await page.evaluate(() => document.querySelector(".hit.open figure img").naturalWidth), 448);
    const file = Buffer.from(await page.evaluate(async () => (await (await fetch("v1/documents/blue%20green?data=true")).json()).data), "base64");
    await page.setInputFiles("#image", { name: "query.bmp", mimeType: "image/bmp", buffer: file });
    await page.waitForFunction(() => document.querySelector(".name")?.textContent === "blue green");
    await shown("#asked-image");
    assert.equal(await page.inputValue("#query"), "");
    await page.locator(".name").first().click();
    await shown(".hit.open figure img");
    assert.equal(await page.evaluate(() => document.querySelector(".hit.open figure img").naturalWidth), 448 + 8 + 448);
    assert.equal(await page.locator(".hit.open .words").count(), 0, "visual words are shown");
    await picture(page, "images");
    await page.fill("#query", "green");
    await page.press("#query", "Enter");
    await page.waitForFunction(() => document.querySelector(".name")?.textContent === "green green");
    assert.ok(await page.locator("#asked-image").isHidden());
    await page.click("#open-upload");
    await page.setInputFiles("#files", { name: "a/new wall.bmp", mimeType: "image/bmp", buffer: file });
    await page.waitForFunction(() => document.getElementById("upload-status").textContent.startsWith("Done: 1 document added"));
    await page.click("#upload-close");
  });

  for (const colorScheme of ["light", "dark"]) {
    await visit(`${colorScheme}, on a phone`, { colorScheme, viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }, async (page) => {
      await page.goto(`${base}?q=rotate+signing+keys&way=auto:&way=dense:none`);
      await page.waitForSelector(".hit");
      await page.tap(".name");
      await page.waitForSelector(".hit.open .words");
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, "wider than the phone");
      const [ink, paper] = await page.evaluate(() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor].map((c) => c.match(/\d+/g).map(Number).reduce((a, b) => a + b)));
      assert.ok(colorScheme === "dark" ? ink > paper : ink < paper, "the colours are not those that were asked for");
      await picture(page, `phone-${colorScheme}`);
    });
  }
  console.log("all is well");
} finally {
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
}
