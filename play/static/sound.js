// A few short sounds, made here; silent until they are switched on.

const SOUNDS = { tick: [660, 0.06], start: [990, 0.16], fall: [110, 0.3], split: [880, 0.08], finish: [1320, 0.5] };

export class Sound {
  constructor() { this.on = false; }

  toggle() {
    this.on = !this.on;
    if (this.on) this.play("split");
    return this.on;
  }

  play(name) {
    if (!this.on) return;
    try {
      this.context ??= new AudioContext();
    } catch {
      this.on = false; // no device for sound
      return;
    }
    const [pitch, length] = SOUNDS[name];
    const now = this.context.currentTime;
    const tone = new OscillatorNode(this.context, { type: "triangle", frequency: pitch });
    const volume = new GainNode(this.context, { gain: 0.15 });
    volume.gain.exponentialRampToValueAtTime(0.001, now + length);
    tone.connect(volume).connect(this.context.destination);
    tone.start(now);
    tone.stop(now + length);
  }
}
