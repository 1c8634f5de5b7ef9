// Policies of this project in the page: the network of a policy's file, and its decisions in a game.

import { OBSERVATIONS } from "./engine.js";
import { shown } from "./texts.js";

export const ACTION_KEYS = [3, 5, 9, 1, 6, 10, 2, 12, 4, 8, 0]; // qw qo qp q wo wp w op o p none
const LIMIT = 8; // of scaled observations, in standard deviations, before tanh layers
const LONGEST_STEP = 3600; // frames of a decision

const { fround } = Math;
const relu = (x) => (x > 0 ? x : 0);

export class Refused extends Error {}

// Refuses a file unless a fact holds.
function demand(fact, why) {
  if (!fact) throw new Refused(why);
}

const isSize = (value) => Number.isSafeInteger(value) && value > 0;

// The description in a policy's file, and its tensors { shape, values }; refuses anything else.
function readPolicy(buffer) {
  let [length, header, description] = [0, {}, null];
  try {
    length = Number(new DataView(buffer).getBigUint64(0, true));
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    description = JSON.parse(header.__metadata__.policy);
    delete header.__metadata__;
  } catch { /* no description */ }
  demand(description?.environment, "not a policy file (.safetensors) of this project");
  const tensors = new Map();
  let left = buffer.byteLength - 8 - length; // bytes: tensors that overlap would take more memory than the file
  for (const [name, entry] of Object.entries(header)) {
    try {
      const { dtype, shape, data_offsets: [from, to] } = entry;
      const values = new Float32Array(buffer.slice(8 + length + from, 8 + length + to));
      left -= values.byteLength;
      const whole = dtype === "F32" && from >= 0 && values.length === shape.reduce((a, b) => a * b, 1) && left >= 0;
      if (whole && values.every(Number.isFinite)) tensors.set(name, { shape, values });
    } catch { /* of another form */ }
    demand(tensors.has(name), `its tensor ${shown(name)} is damaged`);
  }
  return { description, tensors };
}

// --- layers, each a function of a Float32Array ---

// Sums are in double precision, so a number is off by half a unit of single precision at most.
function linear({ shape: [outputs, inputs], values: weights }, { values: bias }) {
  const out = new Float32Array(outputs);
  return (x) => {
    for (let row = 0, at = 0; row < outputs; row += 1) {
      let sum = 0;
      for (let column = 0; column < inputs; column += 1, at += 1) sum += weights[at] * x[column];
      out[row] = sum + bias[row];
    }
    return out;
  };
}

function norm({ values: gain }, { values: shift }) {
  return (x) => {
    let [mean, variance] = [0, 0];
    for (const value of x) mean += value / x.length;
    for (const value of x) variance += (value - mean) ** 2 / x.length;
    const scale = 1 / Math.sqrt(variance + 1e-5);
    x.forEach((value, index) => { x[index] = (value - mean) * scale * gain[index] + shift[index]; });
    return x;
  };
}

const each = (activation) => (x) => {
  for (let index = 0; index < x.length; index += 1) x[index] = activation(x[index]);
  return x;
};

const chain = (layers) => (x) => layers.reduce((value, layer) => layer(value), x);

class Tensors {
  constructor(tensors) { this.tensors = tensors; }

  get(name, ...shape) {
    const tensor = this.tensors.get(name);
    const fits = tensor?.shape.length === shape.length && shape.every((size, axis) => size === tensor.shape[axis]);
    demand(fits && shape.every(isSize), `its tensor ${name} does not fit its architecture`);
    return tensor;
  }

  linear(name, inputs, outputs) {
    return linear(this.get(`${name}.weight`, outputs, inputs), this.get(`${name}.bias`, outputs));
  }

  // Linear layers of these widths, each followed by its norm, if there is one, and the activation; the last one of an
  // `open` stack is linear alone.
  stack(name, [inputs, ...widths], activation, open = false) {
    const layers = [];
    let index = 0;
    widths.forEach((size, layer) => {
      layers.push(this.linear(`${name}.${index}`, widths[layer - 1] ?? inputs, size));
      if (open && layer === widths.length - 1) return;
      index += 1;
      const normed = this.tensors.has(`${name}.${index}.weight`);
      if (normed) layers.push(norm(this.get(`${name}.${index}.weight`, size), this.get(`${name}.${index}.bias`, size)));
      layers.push(each(activation));
      index += normed ? 2 : 1;
    });
    return chain(layers);
  }

  // The layers of one member of an ensemble, whose weights are [members, inputs, outputs] and the rest [members, 1, outputs].
  member(number, members, widths) {
    const own = new Map();
    for (const [name, { shape: [count, inputs, outputs], values }] of this.tensors) {
      if (!name.startsWith("layers.") || count !== members) continue;
      const part = values.slice(number * inputs * outputs, (number + 1) * inputs * outputs);
      const turned = Float32Array.from(part, (_, at) => part[(at % inputs) * outputs + Math.floor(at / inputs)]);
      const shape = name.endsWith(".weight") ? [outputs, inputs] : [outputs];
      own.set(name.replace("gain", "weight").replace("shift", "bias"), { shape, values: turned });
    }
    return new Tensors(own).stack("layers", widths, relu, true);
  }
}

// --- architectures: a function of scaled observations whose largest number is the action ---

function actor(activation) {
  return (tensors, { hidden }, inputs, actions) => chain([
    tensors.stack("trunk", [inputs, ...hidden], activation),
    tensors.linear("policy_head", hidden.at(-1) ?? inputs, actions),
  ]);
}

const clamped = (network) => (...given) => {
  const layers = network(...given);
  return (x) => layers(each((value) => Math.min(Math.max(value, -LIMIT), LIMIT))(x));
};

// Dueling adds the same to every action, V(s) less the mean advantage, which moves none of them ahead.
function q(tensors, { hidden }, inputs, actions) {
  return tensors.stack("advantage", [inputs, ...hidden, actions], relu, true);
}

function ensemble(tensors, { hidden, members }, inputs, actions) {
  const all = Array.from({ length: members }, (_, number) => tensors.member(number, members, [inputs, ...hidden, actions]));
  return (x) => {
    const values = all.map((member) => member(x));
    return Array.from({ length: actions }, (_, action) => values.reduce((sum, of) => sum + of[action], 0) / members);
  };
}

const ARCHITECTURES = {
  "actor-critic": actor(relu),
  actor: clamped(actor(Math.tanh)),
  "valued-actor": clamped(actor(relu)),
  q,
  "ensemble-q": ensemble,
};

// A policy that plays QWOP by its most probable action.
export class Policy {
  // buffer: the bytes of its file. Throws Refused, with one line, for what cannot be played here.
  constructor(buffer, name = "policy") {
    const { description, tensors } = readPolicy(buffer);
    const { architecture, environment, actions, observation_shape: shape, sharpness = 1 } = description;
    const { id, settings } = environment;
    demand(id === "QWOP-v1", `it plays ${shown(id ?? "an unknown game")}, not QWOP`);
    const { observation: kind = "features", frames_per_step: framesPerStep = 3, observation_lag: lag = 0 } = settings ?? {};
    demand(Object.hasOwn(OBSERVATIONS, kind), "it sees pictures; the page can play policies that see numbers");
    const { name: network, hidden, members = 1 } = architecture ?? {};
    const known = Object.hasOwn(ARCHITECTURES, network);
    demand(known, `its network, ${shown(network)}, has a memory or is unknown; the page can play feed-forward ones`);
    const [, size] = OBSERVATIONS[kind];
    const plays = actions === ACTION_KEYS.length && String(shape) === String(size) && Array.isArray(hidden) && sharpness > 0;
    const steps = framesPerStep <= LONGEST_STEP && [0, 1].includes(lag);
    demand(plays && steps && [...hidden, members, framesPerStep].every(isSize), "its description is not that of a policy of QWOP");
    const held = new Tensors(tensors);
    Object.assign(this, { name, kind, framesPerStep, lag, sharpness });
    this.mean = held.get("scaler.mean", size).values;
    this.std = held.get("scaler.std", size).values;
    this.network = ARCHITECTURES[network](held, architecture, size, actions);
    this.input = new Float32Array(size);
  }

  // What the network makes of an observation: a number for each action.
  values(observation) {
    this.input.forEach((_, index) => {
      this.input[index] = fround(observation[index] - this.mean[index]) / this.std[index];
    });
    return this.network(this.input);
  }

  // The action for an observation: the first of the most probable ones.
  decide(observation) {
    const values = this.values(observation);
    let best = 0;
    for (let action = 1; action < values.length; action += 1) if (values[action] > values[best]) best = action;
    return best;
  }

  // The probabilities of the actions, float32 [A], of a network whose values are their logits.
  probabilities(observation) {
    const logits = Float32Array.from(this.values(observation), (value) => value * this.sharpness);
    const most = Math.max(...logits);
    const odds = Array.from(logits, (logit) => Math.exp(logit - most));
    const sum = odds.reduce((total, one) => total + one, 0);
    return Float32Array.from(odds, (one) => one / sum);
  }
}
