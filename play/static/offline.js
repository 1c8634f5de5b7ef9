// Keeps the page's files for when there is no connection; with one, newer files win.

const NAME = `qwop ${registration.scope}`;

// Where storage is full or forbidden, the page needs its connection.
async function keep(request, answer) {
  try {
    await (await caches.open(NAME)).put(request, answer);
  } catch { /* nothing is kept */ }
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(clients.claim()));
self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(registration.scope)) return;
  event.respondWith((async () => {
    try {
      const answer = await fetch(event.request);
      if (answer.ok) event.waitUntil(keep(event.request, answer.clone()));
      return answer;
    } catch (error) {
      const found = await caches.match(event.request, { cacheName: NAME }).catch(() => null);
      if (found) return found;
      throw error;
    }
  })());
});
