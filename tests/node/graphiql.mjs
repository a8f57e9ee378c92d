// Drives GraphiQL in Chromium: node graphiql.mjs ORIGIN CHROMIUM TOKEN [SCREENSHOT]
// Prints what was seen as JSON. Every request that isn't for ORIGIN is refused, and told.
import { chromium } from "playwright-core";

const [origin, executablePath, token, screenshot] = process.argv.slice(2);
const local = (url) => url.startsWith(origin) || url.startsWith(origin.replace("http", "ws")) || url.startsWith("data:");

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
const seen = { foreign: [], errors: [] };
const note = (url) => local(url) || seen.foreign.push(url);
page.on("request", (request) => note(request.url()));
page.on("websocket", (socket) => note(socket.url()));
page.on("requestfailed", (request) => seen.errors.push(`${request.url()} failed`));
page.on("pageerror", (error) => seen.errors.push(`${error}`));
page.on("console", (message) => ["error", "warning"].includes(message.type()) && seen.errors.push(message.text()));
await page.route("**/*", (route) => (local(route.request().url()) ? route.continue() : route.abort()));

const response = page.locator(".result-window");
const press = (name) => page.getByRole("button", { name: new RegExp(name) }).first().click();
// The editor takes note of another text a moment later; that moment is made to pass.
const open = async (tab) => {
  await tab.locator("button").first().click();
  await page.clock.runFor(1000);
};
const tell = async (query) => {
  const answer = await fetch(`${origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ query }),
  });
  return answer.json();
};

try {
  await page.clock.install();
  const landed = await page.goto(`${origin}/#token=${token}`);
  seen.status = landed.status();
  seen.address = page.url();
  const tabs = page.locator(".graphiql-tab");
  await tabs.first().waitFor();
  seen.tabs = await tabs.allInnerTexts();

  seen.answers = {};
  for (const [index, name] of seen.tabs.slice(0, -1).entries()) {
    await open(tabs.nth(index));
    await press("^Execute query");
    await response.getByText('"data"').waitFor();
    seen.answers[name] = await response.innerText();
  }

  await open(tabs.last());
  const subscribed = page
    .waitForEvent("websocket")
    .then((socket) => socket.waitForEvent("framesent", ({ payload }) => payload.includes('"subscribe"')));
  await press("^Execute query");
  await subscribed;
  seen.told = await tell(
    'mutation { invalidate(input: {fleetId: 1, root: {key: "witness"}, reason: "Seen live"}) { __typename } }',
  );
  await response.getByText("Seen live").first().waitFor();
  seen.event = await response.innerText();
  if (screenshot) await page.screenshot({ path: screenshot });
  await press("^Stop query");

  // The parts that open: each has styles and scripts of its own.
  await press("^Show Documentation Explorer");
  await page.getByText("Root Types").waitFor();
  await press("^Open short keys dialog");
  await page.keyboard.press("Escape");
  await press("^Open settings dialog");
  await page.getByText("Adjust how the interface appears").waitFor();
  await page.keyboard.press("Escape");
} catch (error) {
  seen.errors.push(`${error}`);
  if (screenshot) await page.screenshot({ path: screenshot });
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
