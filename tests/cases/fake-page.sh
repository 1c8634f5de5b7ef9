# Sourced by the cases of the page's modules: runs the case on stdin by node, beside these modules, in a page that is none.
# `heard`, `target`, `store`, `fire` and `end(wrong, text)` are there.
site=$(mktemp -d); cp envs/pictures/static/* envs/web/static/* play/static/* "$site"; cp recorder/page/static/*.js "$site"
python -c "import pathlib, sys, qwop.envs.web as web; pathlib.Path(sys.argv[1], 'engine.wasm').write_bytes(web.engine_module())" "$site"
echo '{"type": "module"}' >"$site/package.json"
{ cat <<'S'
const heard = {};
const target = { addEventListener(kind, f) { (heard[kind] ??= []).push(f); } };
globalThis.window = target;
globalThis.document = { querySelector: () => null, getElementById: () => null, addEventListener() {}, body: { dataset: {} }, baseURI: "http://x/" };
globalThis.location ??= { href: "http://x/" };
globalThis.navigator ??= {};
const store = new Map();
globalThis.localStorage = new Proxy({ getItem: (k) => store.get(k) ?? null, setItem: (k, v) => store.set(k, v), removeItem: (k) => store.delete(k) },
  { ownKeys: () => [...store.keys()], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) });
const fire = (kind, key, code, timeStamp) => heard[kind].forEach((f) => f({ key, code, timeStamp, repeat: false, ctrlKey: false, altKey: false, metaKey: false, target: null, preventDefault() {} }));
const end = (wrong, said) => { console.log(`${wrong ? "wrong" : "right"}: ${said}`); process.exit(wrong ? 1 : 0); };
S
cat; } >"$site/case.mjs"
node "$site/case.mjs"; code=$?; rm -rf "$site"; exit $code
