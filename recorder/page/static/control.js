// Control of a game that a policy and a person play by turns.

export const [POLICY, PERSON] = [0, 1]; // actors, as the dataset has them

// Decides who acts. A pressed key gives control to the person; some frames without a key give it back.
export class Control {
  // release: frames without a key after which the policy has control again.
  constructor(release) {
    Object.assign(this, { release, idle: 0, ignored: 0, holds: false, person: false });
    this.waiting = false; // true after going back, until a key is pressed or control is handed over
  }

  // Actor of the next frame, in which the person holds these keys; null while the game waits.
  actor(keys) {
    this.ignored &= keys;
    const held = keys & ~this.ignored;
    if (held) {
      Object.assign(this, { person: true, waiting: false, holds: false, idle: 0 });
    } else if (this.waiting) {
      return null;
    } else if (this.person && !this.holds) {
      this.idle += 1;
      if (this.idle > this.release) this.person = false;
    }
    return this.person ? PERSON : POLICY;
  }

  // Gives control to the other side. The policy keeps it until one of the keys `held` is pressed anew, or another one; the
  // person keeps it without a key until the first one.
  handOver(held) {
    const person = !this.person;
    Object.assign(this, { waiting: false, person, holds: person, ignored: held, idle: 0 });
  }

  // Waits until one of the keys `held` is pressed anew, or another one.
  wait(held) { Object.assign(this, { person: false, waiting: true, idle: 0, holds: false, ignored: held }); }
}
