// Drives the page in Debian's Chromium as people would: each journey is a function that is named on the command line. What it
// was told, it checks; what it shows, it takes a picture of.
//
//   node page.mjs MODULES PICTURES JOURNEY LINK...

import assert from "node:assert/strict";
import { readFile, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import readline from "node:readline";

const [modules, pictures, journey, ...links] = process.argv.slice(2);
const load = createRequire(join(modules, "package.json"));
const { chromium } = load("playwright-core");
const axe = await readFile(load.resolve("axe-core/axe.min.js"), "utf8");

/** How long anything may take to appear, in milliseconds. */
const WITHIN = 30_000;
const VIEWS = ["today", "waiting", "plans", "memory", "book", "abilities", "mnestome", "house"];
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

await mkdir(pictures, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/** Says to the test that started this what it is to do now, and waits until it is done. */
const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function please(what) {
  process.stdout.write(`please ${what}\n`);
  return (await lines.next()).value;
}

/** Everything that the page complained of, beside what a journey expects. */
const complaints = [];

async function visitor(options = {}) {
  const context = await browser.newContext({ viewport: WIDE, locale: "en-GB", timezoneId: "Europe/Rome", ...options });
  context.setDefaultTimeout(WITHIN);
  await context.addInitScript(() => {
    globalThis.violations = [];
    addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => complaints.push(`dialog: ${dialog.message()}`));
  return page;
}

async function enter(page, link) {
  await page.goto(link);
  await page.locator(".composer").waitFor();
  assert.ok(!page.url().includes("#"), `the code is taken out of the address: ${page.url()}`);
}

async function say(page, words) {
  const before = await page.locator(".item").count();
  await page.getByRole("textbox").first().fill(words);
  await page.keyboard.press("Enter");
  const item = page.locator(".item").nth(before);
  await item.waitFor();
  return item;
}

/** Until a turn is over, what it answered. */
async function answered(page, words) {
  const item = await say(page, words);
  await item.locator(".theirs > .words, .ended").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".composer button[type=button]")?.hidden);
  return (await item.locator(".theirs").innerText()).trim();
}

async function view(page, name) {
  await page.locator(`nav a[data-view=${name}]`).click();
  await page.locator(`main.view-${name}`).waitFor();
  await page.waitForFunction(() => !document.querySelector("main .loading"));
}

async function picture(page, name) {
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** No rule of accessibility is broken in what is shown now. */
async function accessible(page, where) {
  if (!(await page.evaluate(() => "axe" in globalThis))) {
    await page.evaluate(axe);
  }
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const said = violations.map((one) => `${where}: ${one.id} (${one.help}): ${one.nodes.map((node) => node.target.join(" ") + " " + node.failureSummary).join("; ")}`);
  assert.deepEqual(said, []);
}

/** Nothing is wider than the screen. */
async function fits(page, where) {
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(wide <= screen, `${where} is ${wide} wide on a screen of ${screen}`);
}

async function quiet(page) {
  assert.deepEqual(await page.evaluate(() => globalThis.violations), [], "nothing was blocked by the page's own policy");
  assert.deepEqual(complaints, []);
}

const JOURNEYS = {
  /** The owner comes in, talks, plans, looks around, and comes back. */
  async owner(link) {
    const page = await visitor();
    await enter(page, link);
    await page.getByText("Good day").waitFor();
    await picture(page, "today-first");
    assert.match(await answered(page, "add milk and two lemons to the shopping list"), /milk/i);
    // What was done last is taken back by a press, and nothing before it.
    await page.locator(".item").last().getByRole("button", { name: "Undo", exact: true }).click();
    await page.locator(".theirs > .words", { hasText: "out of it again" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Undo", exact: true }).count(), 0);
    assert.match(await answered(page, "add milk and two lemons to the shopping list"), /milk/i);
    assert.match(await answered(page, "what is on the shopping list?"), /milk/i);
    assert.equal(await page.getByRole("button", { name: "Undo", exact: true }).count(), 0);
    assert.match(await answered(page, "remind me tomorrow at 9 to call the dentist"), /dentist/i);
    assert.match(await answered(page, "remind me every Monday at 7:30 to put the bins out"), /bins/i);
    await page.locator(".due li").nth(1).waitFor();
    await picture(page, "today-talk");
    assert.match(await answered(page, "read notes/welcome.md"), /Metnos/);
    assert.match(await answered(page, "book a table for two on the moon"), /cannot buy/i);
    // What can be said instead is a press away.
    assert.match(await answered(page, "make the notes prettier"), /nearest things/i);
    const idea = page.locator(".item").last().locator(".idea").first();
    const phrase = await idea.innerText();
    await idea.click();
    assert.equal(await page.locator(".composer textarea").inputValue(), phrase);
    await page.locator(".composer textarea").fill("");
    // What was said can be forgotten, where it stands.
    const moon = page.locator(".item", { hasText: "on the moon" });
    await moon.hover();
    await moon.getByRole("button", { name: "Forget" }).click();
    await page.getByRole("button", { name: "Forget for good" }).click();
    await page.getByText("taken out of the memory").waitFor();
    assert.equal(await moon.count(), 0);
    await view(page, "plans");
    await page.locator(".row-title", { hasText: "dentist" }).first().waitFor();
    await page.getByLabel("New reminder").fill("on Friday at 18 to water the plants");
    await page.keyboard.press("Enter");
    await page.locator(".theirs > .words", { hasText: "plants" }).waitFor();
    await view(page, "plans");
    await page.locator(".row-title", { hasText: "plants" }).waitFor();
    const plants = page.locator("li.row", { hasText: "plants" });
    await plants.getByRole("button").click();
    await plants.getByRole("button", { name: "Really cancel" }).click();
    await page.locator(".plans > section .row", { hasText: "plants" }).waitFor({ state: "detached" });
    await view(page, "book");
    await page.locator(".story .row-main", { hasText: "fs_read" }).first().waitFor();
    await page.locator("summary.row", { hasText: "fs_read" }).first().click();
    await page.locator(".story[open] .story-lines li").first().waitFor();
    await page.locator(".story[open] .story-answer", { hasText: "Welcome" }).waitFor();
    // What is remembered of oneself is found by its words, and forgotten there as well.
    await view(page, "memory");
    await page.locator(".story", { hasText: "dentist" }).first().waitFor();
    assert.equal(await page.locator(".story", { hasText: "on the moon" }).count(), 0, "what was forgotten is not there");
    await page.getByRole("searchbox").fill("bins Mond");
    await page.locator(".story", { hasText: "dentist" }).first().waitFor({ state: "detached" });
    const bins = page.locator(".story", { hasText: "bins out" });
    await bins.locator("summary").click();
    await picture(page, "memory-found");
    await bins.getByRole("button", { name: "Forget" }).click();
    await bins.getByRole("button", { name: "Forget for good" }).click();
    await page.getByText("Nothing was found with these words").waitFor();
    await view(page, "today");
    assert.equal(await page.locator(".mine", { hasText: "bins out" }).count(), 0);
    await view(page, "abilities");
    await page.getByRole("searchbox").fill("fs_move");
    assert.equal(await page.locator(".ability").count(), 1);
    const example = page.locator(".ability .example").first();
    const words = await example.innerText();
    await example.click();
    assert.equal(await page.locator(".composer textarea").inputValue(), words);
    await view(page, "house");
    await page.getByText("owner").first().waitFor();
    await page.reload();
    await view(page, "today");
    // What was said is there again, and the cookie has let the page in.
    await page.locator(".mine", { hasText: "read notes/welcome.md" }).waitFor();
    assert.equal(await page.locator(".mine", { hasText: "on the moon" }).count(), 0);
    const cookies = await page.context().cookies();
    assert.deepEqual(cookies.map((one) => [one.httpOnly, one.sameSite]), [[true, "Strict"]]);
    assert.equal(await page.evaluate(() => document.cookie), "");
    await quiet(page);
    // Signed out, the browser is a stranger.
    await view(page, "house");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Code").waitFor();
    assert.deepEqual(await page.context().cookies(), []);
    assert.equal(await page.evaluate(() => fetch("/v1/turns").then((answer) => answer.status)), 401);
    await quiet(page);
  },

  /** Every view, both languages and themes, a phone and a wide screen: accessible, and no wider than the screen. */
  async looks(link) {
    const page = await visitor();
    await enter(page, link);
    await answered(page, "what can you do");
    await answered(page, "remind me tomorrow at 9 to call the dentist");
    await answered(page, "how many words are in notes/welcome.md");
    for (const [lang, name] of [["en", "English"], ["it", "Italiano"]]) {
      for (const look of ["light", "dark"]) {
        await view(page, "house");
        await page.getByRole("button", { name, exact: true }).click();
        await page.getByRole("button", { name: { en: { light: "Light", dark: "Dark" }, it: { light: "Chiaro", dark: "Scuro" } }[lang][look], exact: true }).click();
        for (const one of VIEWS) {
          await page.setViewportSize(WIDE);
          await view(page, one);
          await accessible(page, `${one} ${lang} ${look}`);
          await picture(page, `${one}-${lang}-${look}`);
          await page.setViewportSize(PHONE);
          await fits(page, `${one} ${lang} on a phone`);
          await picture(page, `${one}-${lang}-${look}-phone`);
          await page.setViewportSize({ width: 320, height: 640 });
          await fits(page, `${one} ${lang} on a narrow screen`);
        }
        await page.setViewportSize(WIDE);
      }
    }
    await quiet(page);
  },

  /** A child asks for what it may not do; the owner decides, in one of two windows. */
  async cards(owner, child) {
    const mine = await visitor();
    await enter(mine, owner);
    const other = await mine.context().newPage();
    await other.goto(new URL("/#waiting", owner).href);
    await other.locator(".empty").waitFor();
    const his = await visitor({ viewport: PHONE });
    await enter(his, child);
    // The owner's conversation is the owner's.
    assert.equal(await his.locator(".item").count(), 0);
    await view(his, "mnestome");
    await his.getByText("Only the owner").waitFor();
    await view(his, "today");
    const asked = await say(his, "delete notes/shopping.md");
    await asked.locator(".card").waitFor();
    await view(mine, "waiting");
    const card = mine.locator(".card");
    await card.waitFor();
    assert.match(await card.innerText(), /^Giulia asks[^]*notes\/shopping\.md/);
    await other.locator(".card").waitFor();
    await accessible(mine, "a card");
    await picture(mine, "waiting-card");
    await card.getByRole("button", { name: "Allow once" }).click();
    await mine.locator(".card-settled, .empty").first().waitFor();
    // Decided in one window, it is gone from the other.
    await other.locator(".empty").waitFor();
    await please("look whether it is gone");
    await quiet(mine);
    await quiet(his);
  },

  /** What others have written is shown as text, whatever it is. */
  async hostile(link) {
    const page = await visitor();
    await enter(page, link);
    const odd = [
      "<img src=x onerror=alert(1)><script>alert(2)</script>",
      "javascript:alert(3) [x](javascript:alert(4)) <svg onload=alert(5)>",
      "\u202Egpj.exe\u202C and \u001b[31mred\u001b[0m",
      "w".repeat(60_000),
    ];
    for (const words of odd) {
      await answered(page, words);
      await fits(page, words.slice(0, 40));
    }
    assert.match(await answered(page, "read notes/hostile.md"), /onerror/);
    const noted = page.locator(".item").last().locator(".theirs");
    assert.equal(await noted.locator(".heading").innerText(), "A <i>heading</i>");
    assert.equal(await noted.locator("li").count(), 2);
    assert.equal(await noted.locator("a, b, i").count(), 0);
    assert.equal(await page.locator("#main img, #main script, #main svg[onload]").count(), 0);
    assert.equal(await page.locator(".words", { hasText: "<img src=x" }).count() > 0, true);
    // An address that names nothing of the page, and a turn of somebody else.
    const there = (path) => page.evaluate((path) => fetch(path).then((answer) => answer.status), path);
    assert.equal(await there("/nothing.js"), 404);
    assert.equal(await there("/v1/turns/01ARZ3NDEKTSV4RRFFQ69G5FAV"), 404);
    await page.reload();
    await page.locator(".item").first().waitFor();
    await quiet(page);
  },

  /** The door goes away and comes back, in the middle of it; keyboard only. */
  async again(link) {
    const page = await visitor();
    await enter(page, link);
    await page.keyboard.press("Tab");
    await answered(page, "read notes/welcome.md");
    await please("kill the door");
    await page.locator(".away.is-away").waitFor();
    await page.locator(".away:not(.is-away)").waitFor({ state: "attached" });
    assert.match(await answered(page, "how many words are in notes/welcome.md"), /words/);
    assert.equal(await page.locator(".mine").count(), 2, "nothing stands there twice");
    complaints.length = 0;
    // By keyboard alone, from the address bar to another view.
    await page.evaluate(() => document.activeElement?.blur());
    for (let i = 0; i < 12; i += 1) {
      await page.keyboard.press("Tab");
      if ((await page.evaluate(() => document.activeElement?.getAttribute("data-view"))) === "plans") {
        break;
      }
    }
    await page.keyboard.press("Enter");
    await page.locator("main.view-plans").waitFor();
    // Without the door the page still opens, and says so.
    await page.waitForFunction(() => navigator.serviceWorker?.controller !== null);
    await please("stop everything");
    await page.reload();
    await page.getByText("not reachable").first().waitFor();
    await picture(page, "away");
  },

  /** A stranger sees where to show a code, and nothing else; a code is good once. */
  async stranger(link, another) {
    const page = await visitor({ locale: "it-IT" });
    await page.goto(new URL("/", link).href);
    await page.getByLabel("Codice").waitFor();
    await accessible(page, "the doorstep");
    await picture(page, "doorstep-it");
    await page.getByLabel("Codice").fill("K7-DELTA-19");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "codice" }).waitFor();
    await page.getByLabel("Codice").fill(new URL(link).hash.slice(1).toLowerCase());
    await page.keyboard.press("Enter");
    await page.locator(".composer").waitFor();
    // Led in once more, by an invitation of somebody else, it says who is here already, and changes only when told to.
    const again = await page.context().newPage();
    await again.goto(another);
    await again.getByText("Sei già qui come").waitFor();
    await accessible(again, "an offer");
    await again.getByRole("button", { name: "Usa il nuovo invito" }).click();
    await again.locator(".offer").waitFor({ state: "detached" });
    await view(again, "house");
    await again.getByText("ospite").waitFor();
    await again.close();
    const other = await visitor();
    await other.goto(link);
    await other.getByRole("alert").filter({ hasText: "No open invitation" }).waitFor();
    await quiet(page);
  },

  /** What the page costs: it is measured and told, and nothing is asserted of it. */
  async speed(link) {
    const page = await visitor();
    await enter(page, link);
    await answered(page, "read notes/welcome.md");
    const first = [];
    const scripts = [];
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    for (let i = 0; i < 7; i += 1) {
      await page.reload();
      await page.locator(".mine").first().waitFor();
      first.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0));
      const { metrics } = await session.send("Performance.getMetrics");
      scripts.push(1000 * (metrics.find((one) => one.name === "ScriptDuration")?.value ?? 0));
    }
    const bytes = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => !one.name.includes("/v1/")).reduce((sum, one) => sum + one.decodedBodySize, 0));
    const median = (all) => Math.round(all.sort((one, other) => one - other)[Math.floor(all.length / 2)]);
    // A mnestome of the largest size that the design names, in the place of the instance's own.
    await page.evaluate(() => {
      const edge = (i) => ({ src_executor: `e${i % 2000}`, dst_executor: `e${(i * 7919 + 13) % 2000}`, dst_version: "1.0.0", weight: (i % 100) / 100, uses: 1, ts_last: Date.now(), state: "active" });
      const real = globalThis.fetch;
      globalThis.fetch = (path, how) => {
        const cursor = /^\/v1\/mnests\?cursor=(\d+)/.exec(path)?.[1];
        if (cursor === undefined) {
          return real(path, how);
        }
        const from = Number(cursor);
        const mnests = Array.from({ length: 100 }, (_, i) => edge(from + i));
        return Promise.resolve(new Response(JSON.stringify({ mnests, next: from + 100 < 10_000 ? from + 100 : null })));
      };
    });
    const begun = Date.now();
    await view(page, "mnestome");
    await page.locator("canvas.picture").waitFor();
    const laid = Date.now() - begun;
    const paint = await page.evaluate(async () => {
      const canvas = document.querySelector("canvas.picture");
      const times = [];
      for (let i = 0; i < 20; i += 1) {
        canvas.style.height = `${400 + i}px`;
        const at = performance.now();
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        times.push(performance.now() - at);
      }
      return times;
    });
    const told = { files_bytes: bytes, first_view_ms: median(first), script_ms: median(scripts), mnestome_laid_out_ms: laid, mnestome_two_frames_ms: median(paint) };
    process.stdout.write(`${JSON.stringify(told)}\n`);
  },

  /** What is due is shown on an open page. */
  async reminded(link) {
    const page = await visitor();
    await enter(page, link);
    await answered(page, "remind me in 2 seconds to stretch");
    await page.locator(".note", { hasText: "Stretch" }).waitFor();
    await accessible(page, "a reminder");
    await picture(page, "reminder");
    await quiet(page);
  },
};

try {
  await JOURNEYS[journey](...links);
  process.stdout.write("done\n");
} catch (error) {
  // What stood there then says more than where it was waited for.
  for (const [at, page] of browser.contexts().flatMap((context) => context.pages()).entries()) {
    await page.screenshot({ path: join(pictures, `failed-${journey}-${at}.png`) }).catch(() => {});
    console.error(await page.locator("body").innerText().catch(() => ""), complaints);
  }
  throw error;
} finally {
  await browser.close();
}
process.exit(0);
