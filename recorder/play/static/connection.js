// The connection to the recorder, made again whenever it is lost.

const AGAIN = [500, 1000, 2000, 4000]; // ms between attempts
const OPEN = 1; // WebSocket.OPEN, also where a filter has taken WebSocket away
const GOING_AWAY = 1001;
const REFUSED = [1003, 1007, 1008, 1009]; // a message was of no use: another kind, damaged, forbidden, too long

export class Connection {
  // opened(): called whenever there is a connection. received(message). lost(stopped, refused): stopped if the recorder has
  // ended, refused if it has refused a message.
  constructor(opened, received, lost) {
    Object.assign(this, { opened, received, lost, attempts: 0, socket: null });
    this.connect();
  }

  get open() { return this.socket?.readyState === OPEN; }

  connect() {
    try {
      const address = new URL("play", document.baseURI);
      address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
      this.socket = new WebSocket(address);
    } catch { // forbidden, perhaps not for ever
      this.socket = null;
      setTimeout(() => this.closed());
      return;
    }
    this.socket.addEventListener("open", () => {
      this.attempts = 0;
      this.opened();
    });
    this.socket.addEventListener("message", ({ data }) => this.received(JSON.parse(data)));
    this.socket.addEventListener("close", ({ code }) => this.closed(code));
  }

  closed(code) {
    this.lost(code === GOING_AWAY, REFUSED.includes(code));
    setTimeout(() => this.connect(), AGAIN[Math.min(this.attempts, AGAIN.length - 1)]);
    this.attempts += 1;
  }

  // Returns false where there is no connection.
  send(message) {
    if (!this.open) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }
}
