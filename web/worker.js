// Keeps the page's own files, so that it opens while the door is away. Nothing that a person sees is kept here: every answer of
// the door is asked for anew.

const SHELL = "metnos-shell";
const FILES = [
  "/",
  "/style.css",
  "/app.js",
  "/api.js",
  "/dom.js",
  "/sentences.js",
  "/cards.js",
  "/talk.js",
  "/text.js",
  "/views/today.js",
  "/views/waiting.js",
  "/views/plans.js",
  "/views/book.js",
  "/views/abilities.js",
  "/views/memory.js",
  "/views/mnestome.js",
  "/views/house.js",
  "/manifest.webmanifest",
  "/icon.svg",
];

/** The worker itself: a page's script knows another `self`. @type {any} */
const worker = self;

worker.addEventListener("install", (/** @type {any} */ event) => {
  event.waitUntil(caches.open(SHELL).then((shell) => shell.addAll(FILES)).then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (/** @type {any} */ event) => {
  event.waitUntil(worker.clients.claim());
});

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const address = new URL(event.request.url);
  if (event.request.method !== "GET" || address.origin !== worker.location.origin || !FILES.includes(address.pathname)) {
    return;
  }
  event.respondWith(fresh(event.request));
});

/**
 * The file as the door has it now, else as it was when the door was last there.
 * @param {Request} request
 */
async function fresh(request) {
  const shell = await caches.open(SHELL);
  try {
    const answer = await fetch(request, { cache: "no-cache" });
    if (answer.ok) {
      await shell.put(request, answer.clone());
    }
    return answer;
  } catch (error) {
    const kept = await shell.match(request);
    if (kept) {
      return kept;
    }
    throw error;
  }
}
