"""`qwop-record`: its help, for which nothing is recorded."""

from ..common.command import Command, run_of
from .settings import RecordSettings

main = Command(
    "record",
    RecordSettings,
    run_of("qwop.recorder.main"),
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
