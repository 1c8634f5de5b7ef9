# sourced by the cases: the product, odd_env.py, and a folder of its own
export PATH="$QWOP_BIN":$PATH PYTHONPATH="$(cd "$(dirname "$0")" && pwd)" OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
cd "$(mktemp -d)" || exit 3
# a command of the product with odd_env imported first: odd COMMAND settings…
odd() { command=$1; shift; python -c "import ${module:-odd_env}, sys; sys.argv[0] = 'qwop-$command'; import qwop.commands as c; sys.exit(c.$command())" "$@"; }
train() { odd finetune policy=scratch environment=$1 algorithm=dqn-small schedule=live-only schedule.scale=0.0005 evaluation.episodes=2 evaluation.drawn=0 video=false out=run; }
