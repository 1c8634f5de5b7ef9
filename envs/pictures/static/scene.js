// Draws a frame of a game, with the same tiles and shapes as the pictures and films of qwop.envs.

const RUNNER_AT = 0.42; // fraction of the width
const LIFT_ABOVE = -5; // units; the view follows a torso above this
const BODIES = { torso: 0, hurdle: 13 };

export const image = (source) => new Promise((resolve, reject) => {
  const loaded = new Image();
  loaded.onload = () => resolve(loaded);
  loaded.onerror = () => reject(new Error(`cannot load ${source}`));
  loaded.src = source;
});

export class Scene {
  static async load(canvas) {
    const data = await (await fetch("scene.json")).json();
    const names = [...data.strips.map((strip) => strip.tile), "lane.png", "sand.png", "finish.png"];
    const images = await Promise.all(names.map((name) => image(`tiles/${name}`)));
    return new Scene(canvas, data, Object.fromEntries(names.map((name, index) => [name, images[index]])));
  }

  constructor(canvas, data, tiles) {
    Object.assign(this, { canvas, data, tiles });
    this.context = canvas.getContext("2d", { alpha: false });
    this.runner = data.runner.map(shapeOf);
    this.hurdle = data.hurdle.map(shapeOf);
    this.layer = document.createElement("canvas");
    this.resize();
    window.addEventListener("resize", () => this.resize());
  }

  resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
    this.scale = this.canvas.height / this.data.units_high;
    this.sky = this.context.createLinearGradient(0, 0, 0, this.canvas.height);
    this.sky.addColorStop(0, this.data.sky[0]);
    this.sky.addColorStop(1, this.data.sky[1]);
    this.paintSky(); // a new canvas without transparency is black until the first frame comes
  }

  paintSky() {
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.fillStyle = this.sky;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  // row, ghost: frames as the server sends them; ghost may be null.
  draw(row, ghost) {
    const { context, canvas, data, scale } = this;
    const [x, y] = [row[3 * BODIES.torso], row[3 * BODIES.torso + 1]];
    const left = Math.round(x * scale - RUNNER_AT * canvas.width);
    const lift = Math.round(Math.max(LIFT_ABOVE - y, 0) * scale);
    const ground = Math.round(data.ground_at * canvas.height);
    const grass = ground - Math.round(data.grass_above * scale);
    const track = ground - Math.round(data.track_above * scale) + lift;

    this.paintSky();
    for (const strip of data.strips) {
      const tile = this.tiles[strip.tile];
      const top = grass - Math.round(tile.height * this.zoom) + Math.round(lift * strip.share) + 1;
      this.repeat(tile, left * strip.share, top, 0);
    }
    this.repeat(this.tiles["lane.png"], left, grass + lift, 0);
    const finish = data.finish_x * scale - left;
    if (finish < canvas.width + this.tiles["finish.png"].width) {
      this.repeat(this.tiles["sand.png"], left, track, Math.max(Math.round(finish), 0));
      const tile = this.tiles["finish.png"];
      const [wide, high] = [tile.width * this.zoom, tile.height * this.zoom];
      context.drawImage(tile, finish - data.slant * high, track, wide, high);
    }
    this.numbers(left, track);

    const origin = [left / scale, data.ground_y - (ground + lift) / scale];
    this.shadow(x, origin);
    if (Math.abs(row[3 * BODIES.hurdle] - x) < 60) this.shapes(this.hurdle, row, origin);
    if (ghost) this.ghost(ghost, origin);
    this.shapes(this.runner, row, origin);
  }

  get zoom() {
    return this.scale / this.data.pixels_per_unit;
  }

  // Repeats a tile from pixel `start` to the right edge.
  repeat(tile, left, top, start) {
    const { context, canvas } = this;
    const wide = tile.width * this.zoom;
    const high = Math.ceil(tile.height * this.zoom) + 1; // rather one pixel too many than a gap
    context.save();
    context.beginPath();
    context.rect(start, 0, canvas.width - start, canvas.height);
    context.clip();
    const first = Math.floor((left + start) / wide);
    for (let index = first; index * wide - left < canvas.width; index += 1) {
      const from = Math.round(index * wide - left);
      const to = Math.round((index + 1) * wide - left); // whole pixels, to avoid visible seams
      context.drawImage(tile, from, top, to - from, high);
    }
    context.restore();
  }

  numbers(left, track) {
    const { context, canvas, data, scale } = this;
    const step = data.metre * scale;
    context.font = `${1.15 * scale}px system-ui, sans-serif`;
    context.fillStyle = data.line;
    context.textBaseline = "top";
    const last = Math.min(Math.floor((left + canvas.width) / step) + 1, 100);
    for (let metre = Math.max(Math.floor(left / step), 0); metre <= last; metre += 1) {
      context.textAlign = metre === 100 ? "right" : "center"; // the finish line covers half of the last label's space
      context.fillText(`${metre} m`, metre * step - data.slant * 3.2 * scale - left, track + 2.35 * scale);
    }
  }

  shadow(x, origin) {
    const { context, data, scale } = this;
    const [cx, cy] = [(x - origin[0]) * scale, (data.ground_y + 0.1 - origin[1]) * scale];
    context.save();
    context.translate(cx, cy);
    context.scale(1, 0.1);
    const fade = context.createRadialGradient(0, 0, 0, 0, 0, 4.25 * scale);
    fade.addColorStop(0, "#242c3c70");
    fade.addColorStop(1, "#242c3c00");
    context.fillStyle = fade;
    context.fillRect(-5 * scale, -5 * scale, 10 * scale, 10 * scale);
    context.restore();
  }

  // Translucent as a whole: drawn on a layer of its own, so that overlapping limbs do not show through each other.
  ghost(row, origin) {
    const { canvas, context, layer } = this;
    if (layer.width !== canvas.width || layer.height !== canvas.height) {
      [layer.width, layer.height] = [canvas.width, canvas.height];
    }
    const layerContext = layer.getContext("2d");
    layerContext.setTransform(1, 0, 0, 1, 0, 0);
    layerContext.clearRect(0, 0, layer.width, layer.height);
    this.shapes(this.runner, row, origin, layerContext);
    context.globalAlpha = 0.45;
    context.drawImage(layer, 0, 0);
    context.globalAlpha = 1;
  }

  shapes(shapes, row, origin, context = this.context) {
    const { scale } = this;
    context.lineJoin = "round";
    context.lineWidth = 2 * this.data.edge;
    for (const shape of shapes) {
      const [x, y, angle] = row.subarray(3 * shape.body, 3 * shape.body + 3);
      const [cosine, sine] = [Math.cos(angle) * scale, Math.sin(angle) * scale];
      context.setTransform(cosine, sine, -sine, cosine, (x - origin[0]) * scale, (y - origin[1]) * scale);
      if (shape.edge) {
        context.strokeStyle = shape.edge;
        context.stroke(shape.path);
      }
      context.fillStyle = shape.fill;
      context.fill(shape.path);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
  }
}

function shapeOf({ body, points, fill, edge }) {
  const path = new Path2D();
  points.forEach(([x, y], index) => (index ? path.lineTo(x, y) : path.moveTo(x, y)));
  path.closePath();
  return { body, fill, edge, path };
}
