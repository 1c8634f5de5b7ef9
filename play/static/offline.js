// Keeps the page's files for when there is no connection; with one, newer files win.

const NAME = `qwop ${registration.scope}`;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(clients.claim()));
self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(registration.scope)) return;
  event.respondWith((async () => {
    const kept = await caches.open(NAME);
    try {
      const answer = await fetch(event.request);
      if (answer.ok) await kept.put(event.request, answer.clone());
      return answer;
    } catch (error) {
      const found = await kept.match(event.request);
      if (found) return found;
      throw error;
    }
  })());
});
