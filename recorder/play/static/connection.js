// The connection to the recorder, made again whenever it is lost.

const AGAIN = [500, 1000, 2000, 4000]; // ms between attempts
const GOING_AWAY = 1001;

export class Connection {
  // opened(): called whenever there is a connection. received(message). lost(stopped): stopped if the recorder has ended.
  constructor(opened, received, lost) {
    Object.assign(this, { opened, received, lost, attempts: 0, socket: null });
    this.connect();
  }

  get open() { return this.socket?.readyState === WebSocket.OPEN; }

  connect() {
    const address = new URL("play", document.baseURI);
    address.protocol = "ws:";
    this.socket = new WebSocket(address);
    this.socket.addEventListener("open", () => {
      this.attempts = 0;
      this.opened();
    });
    this.socket.addEventListener("message", ({ data }) => this.received(JSON.parse(data)));
    this.socket.addEventListener("close", ({ code }) => {
      this.lost(code === GOING_AWAY);
      setTimeout(() => this.connect(), AGAIN[Math.min(this.attempts, AGAIN.length - 1)]);
      this.attempts += 1;
    });
  }

  // Returns false where there is no connection.
  send(message) {
    if (!this.open) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }
}
