// Games as links and files, and what is opened from them.

import { figures } from "./elements.js";
import { openKeys, writeKeys } from "./keys_file.js";
import { today } from "./list.js";
import { pack, play, verify } from "./packed.js";
import { Policy, Refused } from "./policy.js";
import { cut, shown } from "./texts.js";
import { zip } from "./zip.js";

const LONGEST_LINK = 2000; // characters that messengers take: Discord 2,000, Telegram 4,096
const LARGEST_FILE = 64 * 2 ** 20; // bytes

export function policyEntry(buffer, name, about = null) {
  const policy = new Policy(buffer, name);
  const rate = 30 / policy.framesPerStep;
  return { name, policy, about: about ?? `policy, ${rate.toFixed(rate % 1 ? 1 : 0)} decisions a second` };
}

const fileName = ({ name, number = "game", metres, seconds }) => (
  `qwop-${name.replaceAll(/[^\p{L}\p{N}]+/gu, "-")}-${number}-${metres.toFixed(1)}m-${seconds.toFixed(2)}s.txt`
);

function save(blob, name) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
}

export class Sharing {
  // opened(entry, file): called with each game or policy from a file, and the file's name.
  constructor(module, view, opened) { Object.assign(this, { module, view, opened }); }

  packed(entry) {
    entry.packed ??= pack(this.module, { day: today(), ...entry });
    return entry.packed;
  }

  async link(entry) {
    const address = `${location.href.split("#")[0]}#game=${this.packed(entry)}`;
    const long = address.length > LONGEST_LINK;
    const size = `It has ${address.length.toLocaleString("en")} characters, which some messengers cut: rather send the game’s file.`;
    try {
      await navigator.clipboard.writeText(address);
      if (long) this.view.toast(`The link is copied. ${size}`, () => this.file(entry), "Save the file");
      else this.view.toast("The link is copied; it holds the whole game.");
    } catch {
      window.prompt(long ? `Copy this link. ${size}` : "Copy this link; it holds the whole game:", address);
    }
  }

  text(entry) {
    entry.sha256 ??= play(this.module, entry.keys).sha256;
    return writeKeys({ day: today(), ...entry });
  }

  file(entry) { save(new Blob([this.text(entry)], { type: "text/plain" }), fileName(entry)); }

  // All entries in one zip, a file of keys each; name: of the player.
  all(entries, name) {
    const files = entries.map((entry, place) => [fileName({ number: `game-${place + 1}`, ...entry }), this.text(entry)]);
    save(zip(files), `qwop-${name.replaceAll(/[^\p{L}\p{N}]+/gu, "-")}-${files.length}-games.zip`);
  }

  // The game that the page's address holds; null without one, or if it is refused.
  linked() {
    // Mail programs and messengers encode letters, and add parameters of their own.
    const hash = location.hash.replaceAll(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(`0x${code.slice(1)}`));
    const packed = /[#&]game=([\w.-]*[\w-])/.exec(hash)?.[1];
    if (!packed) return null;
    try {
      return { ...verify(this.module, packed), packed };
    } catch (error) {
      this.refuse("This link", error);
      return null;
    }
  }

  async open(files) {
    for (const given of files) {
      const name = cut(given.name.replace(/\.[^.]*$/, ""), 40);
      try {
        if (given.size > LARGEST_FILE) throw new Refused(`it has ${Math.round(given.size / 1e6)} MB; games and policies have a few`);
        const isPolicy = given.name.toLowerCase().endsWith(".safetensors");
        const entry = isPolicy
          ? policyEntry(await given.arrayBuffer(), name)
          : { name, ...openKeys(this.module, await given.text(), name) };
        this.opened(entry, given.name);
        this.view.toast(`${entry.name}: ${isPolicy ? "a policy that runs beside you now" : `${figures(entry)}, beside you now`}.`);
      } catch (error) {
        this.refuse(given.name, error);
      }
    }
  }

  // One line for whatever a file or a link may be.
  refuse(what, error) {
    if (!(error instanceof Refused)) console.error(error);
    const why = error instanceof Refused ? `is refused: ${error.message}` : `cannot be opened (${shown(error.message)})`;
    this.view.toast(`${shown(what)} ${why}.`);
  }
}
