#!/bin/sh
# qwop-dataset import writes into its own input; split, drop, merge, … refuse that ("is inside … which stays as it is").
cd "$(mktemp -d)" && B="$QWOP_BIN" && $B/qwop-record source=policy source.policy=champion source.episodes=1 dataset=k >/dev/null 2>&1 && $B/qwop-dataset export k to=huggingface out=me/k licence=mit >/dev/null 2>&1
mkdir h && mv k/episodes/*.parquet h/ && $B/qwop-dataset import h environment_id=QWOP-v1 out=h/sub >o 2>e; rc=$?; tail -1 e; ls h; [ $rc = 2 ]
