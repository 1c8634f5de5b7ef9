"""`qwop-coach`: its help, for which nothing is run."""

from ..common.command import Command, run_of
from .settings import CoachSettings

main = Command(
    "coach",
    CoachSettings,
    run_of("qwop.coach.main"),
    about="Make a policy better by correcting it: you play with it, it learns from what you did, and you see how much "
    "better it became. The same command begins the next round.",
    examples=[
        ("qwop-coach", "correct a clone of the included games for ten minutes, then let it learn for about two"),
        ("qwop-coach policy=runs/me/policy.safetensors minutes=5", "a policy of your own"),
        ("qwop-coach who=scripted rounds=3 out=runs/figures", "a scripted person, for figures"),
    ],
)
