#!/usr/bin/env python
"""A Hugging Face folder of 5 MB whose `player` column unpacks to 4 GB: the import has to refuse it within 2 GB."""
import os, resource, shutil, subprocess, sys, tempfile
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
bin_ = Path(__import__("os").environ["QWOP_BIN"]); d = Path(tempfile.mkdtemp())
env = {**os.environ, "OMP_NUM_THREADS": "1"}
for a in (["qwop-record", "source=policy", "source.policy=champion", "source.episodes=1", f"dataset={d}/k"], ["qwop-dataset", "export", f"{d}/k", "to=huggingface", "out=me/k", "licence=mit"]):
    subprocess.run([bin_ / a[0], *a[1:]], check=True, capture_output=True, env=env)
(d / "h").mkdir(); f = next((d / "k/episodes").iterdir()).rename(d / "h/train-00000.parquet"); t = pq.read_table(f); n = 4000
t = pa.concat_tables([t] * n).slice(0, n)
t = t.set_column(t.schema.get_field_index("player"), "player", pa.array(["x" * 1_000_000] * n)); pq.write_table(t, f, compression="zstd")
del t
print("folder:", sum(p.stat().st_size for p in (d / "h").rglob("*") if p.is_file()) // 1024, "kB")
p = subprocess.Popen([bin_ / "qwop-dataset", "import", d / "h", f"out={d}/o"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=env, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (9 << 30, 9 << 30)))
_, status, used = os.wait4(p.pid, 0); print((p.stderr.read().strip().splitlines() or [""])[-1][:200]); print("peak", used.ru_maxrss // 1024, "MB")
shutil.rmtree(d); sys.exit(used.ru_maxrss > 2 * 1024 * 1024)
