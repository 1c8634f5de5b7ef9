"""The table of commands: settings, function, sentence and examples of each, all imported when they are needed.

A light installation is told which extra a command needs before anything of it is imported.
"""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from .common.command import TRAINING, Command, run_script


def dataset() -> None:
    """The console script `qwop-dataset`, whose verbs have settings of their own (`qwop.datasets.main`)."""
    run_script("qwop-dataset", lambda: resolve_name("qwop.datasets.main:main")(), TRAINING, "train")


record: Command[Any] = Command(
    "record",
    "qwop.recorder.settings:RecordSettings",
    "qwop.recorder.main:run",
    about="Record games into a dataset: yours, a policy's, or published ones.",
    examples=[
        ("qwop-record source.player=me", "play in your browser"),
        ("qwop-record source=environment source.id=LunarLander-v3 source.player=me", "play another environment"),
        ("qwop-record source=policy source.policy=runs/pretrain/policy.safetensors dataset=data/clone", ""),
        ("qwop-record source.policy=champion dataset=data/corrections", "take over while a policy plays"),
        ("qwop-record source=browser source.url=https://… source.player=me", "play on the original game's page"),
        ("qwop-record source=import 'source.files=[demos/kuro_try*.npz]' source.player=kurodo", ""),
        ("qwop-record source=keys 'source.files=[games/*.txt]'", "games that the page of qwop-play saved"),
        ("qwop-record source=import --help", "the settings of another source"),
    ],
)

pretrain: Command[Any] = Command(
    "pretrain",
    "qwop.pretrain.settings:PretrainSettings",
    "qwop.pretrain.main:run",
    about="Clone the player of a dataset into a policy, and measure the clone: on episodes it never saw, and in games.",
    examples=[
        ("qwop-pretrain", "the amateur's games that come with the package, into runs/pretrain"),
        ("qwop-pretrain dataset=data/kurodo out=runs/clone", "recordings of your own"),
        (
            "qwop-pretrain dataset=data/kurodo out=runs/splits splits=5",
            "five clones, each with other episodes held out",
        ),
        (
            "qwop-pretrain dataset=data/kurodo out=runs/d3rlpy backend=d3rlpy",
            "by d3rlpy's DiscreteBC",
        ),
    ],
)

finetune: Command[Any] = Command(
    "finetune",
    "qwop.finetune.settings:FinetuneSettings",
    "qwop.compare.command:finetune",
    about="Continue a policy by reinforcement learning, with demonstrations in its replay memory that a schedule mixes "
    "in and removes.",
    examples=[
        ("qwop-finetune schedule=kurodo", "after qwop-pretrain; schedule.scale=0.1 makes it ten times shorter"),
        ("qwop-finetune schedule=from-clone policy=runs/clone/policy.safetensors demonstrations=data/kurodo", ""),
        ("qwop-finetune schedule=champion policy=scratch environment=QWOP-v1", "from scratch, by PPO"),
        (
            "qwop-finetune environment=LunarLander-v3 schedule.decisions=300000",
            "another environment, by an algorithm for small ones",
        ),
        ("qwop-finetune schedule=kurodo resume=true", "continue the run in runs/finetune"),
        ("qwop-finetune schedule=champion --help", "the settings of another schedule, and of its algorithm"),
    ],
)

evaluate: Command[Any] = Command(
    "evaluate",
    "qwop.evaluation.commands:EvaluateSettings",
    "qwop.evaluation.main:run",
    about="Play a policy's games and report: a table, a page, evaluation.json, the best game's keys and its film.",
    examples=[
        ("qwop-evaluate policy=runs/finetune/policy.safetensors", ""),
        ("qwop-evaluate policy=champion environment.delay=0.3", "30 % of the decisions come a frame late"),
        ("qwop-evaluate policy=champion episodes=20 greedy=false out=runs/look", "actions drawn instead of the best"),
        ("qwop-evaluate policy=champion world=original original.folder=DIR", "in a local copy of the original game"),
        ("qwop-evaluate keys=champion world=original original.folder=DIR", "its best game there, key by key"),
    ],
)

watch: Command[Any] = Command(
    "watch",
    "qwop.evaluation.commands:WatchSettings",
    "qwop.evaluation.watch:run",
    about="Watch games in the browser, or write them as a page or a film: of a dataset, a file of keys or a policy.",
    examples=[
        ("qwop-watch dataset=data/me episode=3", ""),
        ("qwop-watch keys=champion", "the shipped policy's best game"),
        ("qwop-watch policy=runs/finetune/policy.safetensors idle_frames=12", ""),
        ("qwop-watch dataset=data/me out=games.html", "a page that needs no other file"),
        ("qwop-watch dataset=data/me episode=3 out=film.mp4", ""),
    ],
)

search: Command[Any] = Command(
    "search",
    "qwop.search.settings:SearchCommandSettings",
    "qwop.search.main:run",
    about="Search for better games than a policy's own, over saved states of the game.",
    examples=[
        ("qwop-search", "a game from the first frame on, with the champion"),
        ("qwop-search width=96 lookahead=12 out=runs/wide", "a wider search"),
        ("qwop-search games=31 out=runs/found", "one for each of the published starts; repeat to continue"),
        ("qwop-finetune demonstrations=runs/found/games schedule=from-clone", "the games found are demonstrations"),
    ],
)

distil: Command[Any] = Command(
    "distil",
    "qwop.search.settings:DistilCommandSettings",
    "qwop.search.distil:run",
    about="Train a policy to play by itself the games that were searched with it, and as before elsewhere.",
    examples=[
        (
            "qwop-search policy=runs/finetune/policy.safetensors games=31 regret=3 out=runs/found",
            "games that are nearly the policy's own",
        ),
        (
            "qwop-distil policy=runs/finetune/policy.safetensors games=[runs/found/games]",
            "… which it learns, into runs/distil",
        ),
    ],
)

play: Command[Any] = Command(
    "play",
    "qwop.play.main:PlaySettings",
    "qwop.play.main:run",
    about="Run with Q, W, O and P beside the champion or any game, on a page that needs no server.",
    examples=[
        ("qwop-play", ""),
        ("qwop-play out=site serve=false", "the page as a folder, for any static host"),
    ],
    needs=("hydra", "omegaconf"),
)

population: Command[Any] = Command(
    "population",
    "qwop.population.settings:PopulationSettings",
    "qwop.population.run:run",
    about="Train a population of agents that race each other and evolve: better agents are copied, with small changes "
    "of their hyper-parameters and internal rewards.",
    examples=[
        ("qwop-population", "12 agents from scratch; the report is updated during the run"),
        ("qwop-population rivals=[champion] race.frames_per_step=1", "the champion races along, 30 decisions a second"),
        ("qwop-population resume=true rounds=2000", "continue the run in runs/population, further"),
        ("qwop-population agent=ftw evolution.enabled=false", "two-timescale agents, and no copying"),
        ("qwop-population environment=CartPole-v1 work.num_games=8", "any environment: matches compare returns"),
        ("qwop-population +distributed=ray distributed.actors=8", "the same, with eight workers"),
    ],
)

coach: Command[Any] = Command(
    "coach",
    "qwop.coach.settings:CoachSettings",
    "qwop.coach.main:run",
    about="Make a policy better by correcting it: you play with it, it learns from what you did, and you see how much "
    "better it became. The same command begins the next round.",
    examples=[
        ("qwop-coach", "correct a clone of the champion's games for ten minutes, then let it learn for about two"),
        ("qwop-coach policy=runs/me/policy.safetensors minutes=5", "a policy of your own"),
    ],
)

study: Command[Any] = Command(
    "study",
    "qwop.study.settings:StudyCommandSettings",
    "qwop.study.main:run",
    about="Search the settings of a command: each trial with several seeds, the best ones again with fresh seeds.",
    examples=[
        ("qwop-study study=cartpole-dqn", "a study that comes with the package, in runs/study"),
        ("qwop-study study=my/space.yaml out=runs/mine", "one of your own; repeat the command to continue it"),
        ("qwop-study study=cartpole-dqn study.budget.trials=200", "goes on with more trials"),
    ],
    needs=(*TRAINING, "optuna"),
    extra="study",
)

compare: Command[Any] = Command(
    "compare",
    "qwop.compare.command:CompareSettings",
    "qwop.compare.command:run",
    about="Compare rows of runs over seeds; run what is missing. A word that is no setting names a row.",
    examples=[
        ("qwop-compare 'with=runs/with-*' 'without=runs/without-*'", "finished runs"),
        ("qwop-compare rows=my/rows.yaml jobs=2", "rows of command lines; repeat the command to continue"),
        ("qwop-compare 'ppo=qwop-finetune environment=CartPole-v1 schedule.decisions=20000'", "one row, three seeds"),
    ],
)

COMMANDS: Mapping[str, Command[Any]] = {
    one.program: one
    for one in (
        record, pretrain, finetune, evaluate, watch, search, distil, play, population, coach, study, compare,
    )
}  # fmt: skip
"""The commands by program."""
