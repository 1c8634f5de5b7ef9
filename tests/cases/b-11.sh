#!/bin/sh
# Kind: a command accepts an environment id of the form module:Name-v0 and writes files that no command, not even itself, can read again.
# right: either the module is imported and the id is stored without it (as qwop-record source=environment does), so that evaluation and
# resume=true work, or it is refused before anything is trained. got: trains, exit 0, then "expected the id of a registered environment", exit 2.
. "$(dirname "$0")/common-env.sh"
qwop-finetune policy=scratch environment=odd_env:OddPlain-v0 algorithm=dqn-small schedule=live-only schedule.scale=0.0005 evaluation.episodes=1 evaluation.drawn=0 video=false out=run >log 2>&1 || { echo "refused at the start: $(tail -1 log)"; exit 0; }
qwop-evaluate imports=[odd_env] policy=run/policy.safetensors episodes=1 video=false || { echo "WRONG: the policy just trained cannot be evaluated"; exit 1; }
qwop-finetune policy=scratch environment=odd_env:OddPlain-v0 algorithm=dqn-small schedule=live-only schedule.scale=0.0005 evaluation.episodes=1 evaluation.drawn=0 video=false out=run resume=true || { echo "WRONG: nor resumed"; exit 1; }
