// A zip of small texts, stored as they are.

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? 0xedb88320 ^ (sum >>> 1) : sum >>> 1;
  return sum;
});

const crc32 = (bytes) => ~bytes.reduce((sum, byte) => TABLE[(sum ^ byte) & 255] ^ (sum >>> 8), ~0) >>> 0;

// Numbers of two or four bytes, little endian: [[value, bytes], …].
function numbers(fields) {
  const made = new DataView(new ArrayBuffer(fields.reduce((sum, [, size]) => sum + size, 0)));
  let at = 0;
  for (const [value, size] of fields) {
    if (size === 2) made.setUint16(at, value, true);
    else made.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(made.buffer);
}

// files: [[name, text], …], each name once.
export function zip(files) {
  const [parts, directory] = [[], []];
  let at = 0;
  for (const [name, text] of files) {
    const [path, content] = [name, text].map((one) => new TextEncoder().encode(one));
    // Version 2.0, names in UTF-8, stored, 1 January 1980.
    const about = [[20, 2], [0x800, 2], [0, 2], [0, 2], [0x21, 2], [crc32(content), 4], [content.length, 4], [content.length, 4], [path.length, 2], [0, 2]];
    directory.push(numbers([[0x02014b50, 4], [20, 2], ...about, [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]]), path);
    const head = numbers([[0x04034b50, 4], ...about]);
    parts.push(head, path, content);
    at += head.length + path.length + content.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = numbers([[0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [size, 4], [at, 4], [0, 2]]);
  return new Blob([...parts, ...directory, end], { type: "application/zip" });
}
