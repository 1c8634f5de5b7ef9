#!/usr/bin/env python
"""An episode whose metadata say schema_version=true (true == 1 in Python): expected a refusal; it is KeyError: 'seed'."""
import os, shutil, subprocess, sys, tempfile
from pathlib import Path
import pyarrow.parquet as pq
os.environ["OMP_NUM_THREADS"] = "1"
bin_ = Path(__import__("os").environ["QWOP_BIN"]); d = Path(tempfile.mkdtemp()); k = d / "k"
subprocess.run([bin_ / "qwop-record", "source=policy", "source.policy=champion", "source.episodes=1", f"dataset={k}"], check=True, capture_output=True)
(k / "SHA256SUMS").unlink(missing_ok=True); p = next(k.glob("episodes/episode-*")); t = pq.ParquetFile(p).read()
pq.write_table(t.replace_schema_metadata({**t.schema.metadata, b"schema_version": b"true"}), p, compression="zstd", write_page_checksum=True)
bad = 0
for argv in (["verify", k], ["report", k, f"out={d}/r.html"]):
    r = subprocess.run([bin_ / "qwop-dataset", *argv], capture_output=True, text=True); print(argv[0], "exit", r.returncode, (r.stderr.strip().splitlines() or [""])[-1][:200]); bad |= "Traceback" in r.stderr
shutil.rmtree(d); sys.exit(bad)
