// Keeps the page's files for when there is no connection; with one, newer files win.

const NAME = `qwop ${registration.scope}`;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(clients.claim()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(registration.scope)) return;
  event.respondWith((async () => {
    try {
      const answer = await fetch(request);
      const copy = answer.clone();
      const keep = async () => (await caches.open(NAME)).put(request, copy);
      if (answer.ok) event.waitUntil(keep().catch(() => {})); // full or forbidden: the page needs its connection
      return answer;
    } catch (error) {
      const kept = await caches.match(request, { cacheName: NAME }).catch(() => null);
      if (kept) return kept;
      throw error;
    }
  })());
});
