#!/usr/bin/env python
"""The metadata of an episode's file is there twice: as Parquet's key-values, and inside ARROW:schema (base64). The reader takes
the values from the second and checks content_sha256 over the first, so a change of the second is read silently."""
import base64, os, re, shutil, subprocess, sys, tempfile
from pathlib import Path
os.environ["OMP_NUM_THREADS"] = "1"
bin_ = Path(__import__("os").environ["QWOP_BIN"]); d = Path(tempfile.mkdtemp()); k = d / "k"
subprocess.run([bin_ / "qwop-record", "source=policy", "source.policy=champion", "source.episodes=1", "source.player=champion", f"dataset={k}"], check=True, capture_output=True)
(k / "SHA256SUMS").unlink(missing_ok=True)  # an unlisted file "is still checked by the hash of its own content" (datasets/checksums.py)
p = next(k.glob("episodes/episode-*")); data = p.read_bytes()
found = re.search(rb"ARROW:schema.{1,12}?(/////[A-Za-z0-9+/]+=*)", data, re.S); old = found[1]
schema = base64.b64decode(old + b"=" * (-len(old) % 4))
new = base64.b64encode(schema.replace(b'"champion"', b'"Kurodo  "').replace(b'"recorded"', b'"smoothed"'))[: len(old)]
p.write_bytes(data[: found.start(1)] + new + data[found.end(1):])
code = f"from qwop.datasets import open_dataset\nfor e in open_dataset({str(k)!r}): print(repr(e.player), repr(e.probabilities_from))"
r = subprocess.run([bin_ / "python", "-c", code], capture_output=True, text=True); print("read:", r.stdout.strip() or r.stderr.strip().splitlines()[-1])
v = subprocess.run([bin_ / "qwop-dataset", "verify", k, "replay=true"], capture_output=True, text=True); print("verify replay=true: exit", v.returncode, (v.stdout + v.stderr).strip().splitlines()[-1][:200])
shutil.rmtree(d); sys.exit(r.returncode == 0 and "Kurodo" in r.stdout)
