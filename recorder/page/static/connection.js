// The connection to the recorder, made again whenever it is lost.

const AGAIN = [500, 1000, 2000, 4000]; // ms between attempts
const OPEN = 1; // WebSocket.OPEN, also where a filter has taken WebSocket away
const [GOING_AWAY, TRY_LATER] = [1001, 1013];

export class Connection {
  // opened(): called whenever there is a connection. received(message): an object, or an ArrayBuffer. lost({ stopped, full }):
  // stopped if the recorder has ended, full if other pages play.
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
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("open", () => this.opened());
    this.socket.addEventListener("message", ({ data }) => {
      this.attempts = 0;
      this.received(typeof data === "string" ? JSON.parse(data) : data);
    });
    this.socket.addEventListener("close", ({ code }) => this.closed(code));
  }

  closed(code) {
    this.lost({ stopped: code === GOING_AWAY, full: code === TRY_LATER });
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
