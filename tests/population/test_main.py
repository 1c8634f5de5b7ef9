"""`qwop-population` as a person uses it."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from qwop.finetune.checkpoint import checkpoints
from qwop.policies.files import load_policy, save_policy
from qwop.policies.policy import Policy
from qwop.policies.rollout import play
from qwop.population.population import Population

pytestmark = pytest.mark.slow

Command = Callable[..., Any]


def weights(path: Path) -> dict[str, torch.Tensor]:
    return dict(load_policy(path).network.state_dict())


def same(one: Path, other: Path) -> bool:
    mine, theirs = weights(one), weights(other)
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_a_run_leaves_policies_history_evaluation_and_a_report_and_goes_on_without_its_film(
    grown: Command, tmp_path: Path
) -> None:
    said = grown("rounds=2", "rivals=[champion]", "race.frames_per_step=1", "out=run")
    run = tmp_path / "run"
    for folder in ("agents", "first"):
        assert [path.name for path in sorted((run / folder).iterdir())] == [
            f"agent-{number:02d}.safetensors" for number in range(3)
        ]
    best = load_policy(run / "best.safetensors")
    assert best.environment.id == "QWOPRace-v1"
    assert best.training["round"] == 2
    assert len(list(play(best, episodes=2, seed=0, greedy=False, num_envs=2))) == 2
    assert same(run / "best.safetensors", run / f"agents/agent-{best.training['agent']:02d}.safetensors")
    assert not same(run / "agents/agent-00.safetensors", run / "first/agent-00.safetensors")
    rows = [json.loads(line) for line in (run / "history.jsonl").read_text().splitlines()]
    assert [row["round"] for row in rows] == [1, 2]
    assert rows[-1]["decisions"] == 2 * 3 * 4 * 10 * 2
    assert [rival["rating"] for rival in rows[-1]["rivals"]] == [1000.0]
    races = json.loads((run / "evaluation.json").read_text())["races"]
    assert [one["against"] for one in races] == ["first", "champion"]
    assert races[1]["lost"] == 1.0
    assert all(len(one["results"]) == one["races"] == 3 for one in races)
    for text in ((run / "report.html").read_text(), said):
        assert "against champion: 0.0% of 3 races won" in text
    races_run = 3 * (3 + 2)  # of three pairs of finalists, and of the best against two
    assert f"{races_run}/{races_run}" in said
    (run / "best_race.mp4").write_bytes(b"film")  # of earlier agents
    save_policy(tmp_path / "other.safetensors", load_policy("champion"))
    named = ("rivals=[champion]", "race.frames_per_step=1", "out=run", "resume=true")
    said = grown("rounds=2", *named, "evaluation.against=[other.safetensors]")
    assert "against other.safetensors: 0.0% of 3 races won" in said
    grown("rounds=3", *named)
    assert not (run / "best_race.mp4").exists()
    assert "<video" not in (run / "report.html").read_text()


def test_the_best_agent_is_the_finalist_that_wins_most_races(
    grown: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raced: list[list[int]] = []

    def tournament(policies: list[Policy], *_: object) -> np.ndarray[Any, Any]:
        raced.append([policy.training["agent"] for policy in policies])
        return np.array([0.2, 0.8])

    monkeypatch.setattr("qwop.population.run.tournament", tournament)
    said = grown("rounds=1", "evaluation.finalists=2", "out=run")
    row = json.loads((tmp_path / "run/history.jsonl").read_text())
    rated = [agent["id"] for agent in sorted(row["agents"], key=lambda agent: -agent["rating"])]
    assert raced == [rated[:2]]
    assert load_policy(tmp_path / "run/best.safetensors").training["agent"] == rated[1]
    found = json.loads((tmp_path / "run/evaluation.json").read_text())
    assert found["agent"] == rated[1]
    assert found["finalists"] == [{"agent": rated[1], "won": 0.8}, {"agent": rated[0], "won": 0.2}]
    assert f"agent {rated[1]} 80%, agent {rated[0]} 20%" in (tmp_path / "run/report.html").read_text()
    assert f"best: agent {rated[1]}" in said
    said = grown("rounds=1", "evaluation.finalists=1", "out=run", "resume=true")
    assert f"best: agent {rated[0]}" in said
    assert len(raced) == 1


def test_the_seed_decides_everything_and_a_resumed_run_equals_a_whole_one(grown: Command, tmp_path: Path) -> None:
    kind = ("agent=ftw", "agent.latent=8", "agent.memory_slots=4")
    settings = (*kind, "evaluation.games=0", "agents=2")
    for out, more in (("whole", ["rounds=3"]), ("half", ["rounds=1"]), ("half", ["rounds=3", "resume=true"])):
        grown(*settings, *more, f"out={out}")
    assert same(tmp_path / "whole/best.safetensors", tmp_path / "half/best.safetensors")

    def rounds(out: str) -> list[object]:
        lines = (tmp_path / out / "history.jsonl").read_text().splitlines()
        return [{**json.loads(line), "seconds": 0} for line in lines]

    assert rounds("whole") == rounds("half")
    grown(*settings, "rounds=1", "seed=1", "out=other")
    assert not same(tmp_path / "whole/first/agent-00.safetensors", tmp_path / "other/first/agent-00.safetensors")


def test_a_resumed_run_keeps_the_rivals_that_it_began_with(grown: Command, tmp_path: Path) -> None:
    given, champion = tmp_path / "given.safetensors", load_policy("champion")
    save_policy(given, champion)
    named = ("rivals=[champion,given.safetensors]", "race.frames_per_step=1")
    settings = (*named, "evaluation.against=[given.safetensors]", "evolution.enabled=false")
    for out, more in (("whole", ["rounds=2"]), ("half", ["rounds=1"]), ("half", ["rounds=2", "resume=true"])):
        grown(*settings, *more, f"out={out}")
        if out == "half":
            for weights in champion.network.parameters():
                weights.data.zero_()
            save_policy(given, champion)
    for number in range(3):
        name = f"agents/agent-{number:02d}.safetensors"
        assert same(tmp_path / "whole" / name, tmp_path / "half" / name)
    found = [json.loads((tmp_path / out / "evaluation.json").read_text()) for out in ("whole", "half")]
    assert found[0] == found[1]


def test_any_environment_is_played_alone_and_one_that_fails_in_the_first_round_leaves_no_folder(
    population: Command, grown: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: CartPoleEnv, action: object) -> None:
        raise RuntimeError("no such level")

    run, folder = ("environment=CartPole-v1", "work.steps=40", "rounds=3", "out=cart"), tmp_path / "cart"
    with monkeypatch.context() as failing:
        failing.setattr(CartPoleEnv, "step", fail)
        code, said, wrong = population(*run)
    assert (code, folder.exists()) == (2, False)
    assert "its step failed" in wrong
    assert "resume=true" not in said
    assert "mean return" in grown(*run)
    rows = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    agents = sorted(rows[0]["agents"], key=lambda agent: -agent["rating"])
    assert agents[0]["figures"]["return"] > agents[-1]["figures"]["return"]  # whose matches are comparisons of returns
    assert any(row["copies"] for row in rows)
    assert load_policy(folder / "best.safetensors").environment.id == "CartPole-v1"
    assert "Rewards of their own" not in (folder / "report.html").read_text()


def test_an_interrupted_run_says_how_to_continue(population: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    play_round = Population.play_round

    def interrupted(self: Population, *arguments: Any) -> Any:
        if self.round == 1:
            raise KeyboardInterrupt
        return play_round(self, *arguments)

    monkeypatch.setattr(Population, "play_round", interrupted)
    code, said, _ = population("rounds=3", "out=run")
    assert code == 130
    assert "stopped after round 1; the same command with resume=true continues" in said


def test_agents_that_diverge_need_a_lower_rate_of_the_agents(refused: Command) -> None:
    said = refused("rounds=1", "agents=2", "agent.learning_rate=[1e30,1e30]", "out=run")
    assert "training has diverged; lower the learning rate (agent.learning_rate) and start anew" in said


def test_a_run_goes_on_from_agents_that_did_not_diverge(grown: Command) -> None:
    words = ("agents=5", "agent.learning_rate=[0.001,1e36]", "evolution.enabled=true", "out=run")
    said = grown(*words, "rounds=2")
    assert re.search(r"round 1: agent \d, which diverged, copies agent \d", said)
    grown(*words, "rounds=3", "resume=true")
    assert "NaN" not in Path("run/history.jsonl").read_text()


def test_agents_begin_with_policies_of_an_earlier_run(grown: Command, tmp_path: Path) -> None:
    grown("rounds=1", "evaluation.games=0", "out=one")
    twice = "start=[one/best.safetensors, one/best.safetensors]"
    grown("rounds=1", "evaluation.games=0", "seed=5", twice, "out=two")
    for number, begins_alike in enumerate((True, True, False)):  # a policy named twice is for two agents
        first = tmp_path / f"two/first/agent-{number:02d}.safetensors"
        assert same(first, tmp_path / "one/best.safetensors") is begins_alike


def test_a_single_agent_learns_by_itself_and_races_the_champion_which_decides_more_often(
    grown: Command, tmp_path: Path
) -> None:
    run = tmp_path / "alone"
    grown("agents=1", "opponents=itself", "evaluation.against=[first,champion]", "rounds=2", "out=alone")
    assert not same(run / "best.safetensors", run / "first/agent-00.safetensors")
    races = json.loads((run / "evaluation.json").read_text())["races"]
    assert [one["against"] for one in races] == ["first", "champion"]
    assert races[1]["their_metres"] > 3.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["start=[champion]"], "champion: a policy (actor, observations float32 [112], hidden=[512, 256])"),
        (["start=[champion,champion,champion,champion]"], "start: 4 policies for 3 agents"),
        (["rivals=[champion]", "race.frames_per_step=3"], "decides 30 times a second"),
        (["rivals=[champion]", "environment=CartPole-v1"], "rivals: CartPole-v1 is played alone"),
        (["evaluation.against=[champion]", "race.frames_per_step=3", "race.observation=features"], "race.observation"),
        (["evaluation.against=[missing.safetensors]"], "missing.safetensors"),
        (["evaluation.against=[champion]", "environment=CartPole-v1"], "evaluation.against: CartPole-v1 is played"),
        (["agent.learning_rate=[0.1,0.01]"], "learning_rate=[0.1, 0.01]: expected the lowest and the highest"),
        (["agent.learning_rate=[0,0]"], "agent.learning_rate=[0, 0]: expected the lowest and the highest"),
        (["agents=0"], "agents=0: expected"),
        (["agents=1"], "agents=1: it has nobody to race against; give opponents=itself"),
        (["environment=NoSuch-v1"], "NoSuch"),
        (["resume=true"], "no checkpoint to resume from"),
    ],
)
def test_wrong_settings_are_one_line_and_leave_nothing(
    arguments: list[str], said: str, refused: Command, tmp_path: Path
) -> None:
    assert said in refused("rounds=1", *arguments, "out=run")
    assert not checkpoints(tmp_path / "run/checkpoints")


def test_a_run_is_not_overwritten_and_not_resumed_with_other_settings(
    refused: Command, grown: Command, tmp_path: Path
) -> None:
    settings = ("rounds=1", "evaluation.games=0", "out=run")
    grown(*settings)
    assert "holds a run already; resume=true continues it" in refused(*settings)
    assert "was started with evolution.better: 0.5, not 0.9" in refused(
        *settings, "resume=true", "evolution.better=0.9"
    )
    grown(*settings, "resume=true")
    folder = tmp_path / "run/checkpoints"
    shutil.copytree(folder, tmp_path / "checkpoints")
    for damaged in checkpoints(folder):
        damaged.write_bytes(b"nonsense")
    assert damaged.name in refused(*settings, "resume=true")
    shutil.rmtree(folder)
    assert "no checkpoint to resume from, only run/best.safetensors" in refused(*settings, "resume=true")
    shutil.move(tmp_path / "checkpoints", folder)
    grown(*settings, "rounds=2", "resume=true")
    before = (tmp_path / "run" / "history.jsonl").read_bytes()
    grown(*settings, "resume=true")  # rounds=1: no more are left to play
    (tmp_path / "run" / "first" / "agent-00.safetensors").unlink()
    assert "first/agent-00.safetensors: no such file; put back the policy that the run began with" in refused(
        *settings, "rounds=3", "evaluation.games=2", "resume=true"
    )
    assert (tmp_path / "run" / "history.jsonl").read_bytes() == before  # told before another round
