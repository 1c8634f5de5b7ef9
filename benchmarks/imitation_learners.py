"""Learners of the library `imitation` on the demonstrations that ours fine-tune with: BC, SQIL and GAIL.

    pip install '.[train,sb3]' matplotlib rich tqdm
    pip install --no-deps imitation==1.0.1 stable-baselines3==2.6.0
    python benchmarks/imitation_learners.py --demonstrations data/kurodo-15 --seeds 3 --out runs/imitation_learners

imitation 1.0.1 asks for Gymnasium 0.29 and Stable-Baselines3 2.2, but works with newer Gymnasiums and with 2.6; 2.7 and
newer have samples that its SQIL cannot join. Give it a virtual environment of its own. All learners have the clone's
layers, and observations standardised as the clone's are.

- BC: `--updates` batches of 256 decisions.
- SQIL: DQN for `--decisions` live decisions, an update for every fourth; demonstrations are worth 1, its own play 0.
- GAIL: PPO for as many live decisions, for the reward of a discriminator that learns along. From scratch, and from BC.

No learner sees the environment's reward. Each plays every start greedily and 100 games with drawn actions (SQIL, which
has no probabilities, takes 2 % of them at random). Every result is kept in `results.jsonl`, and a result that is there
is not computed again.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from imitation.algorithms.adversarial.gail import GAIL
from imitation.algorithms.bc import BC
from imitation.algorithms.sqil import SQIL
from imitation.data.types import Trajectory
from imitation.rewards.reward_nets import BasicRewardNet
from imitation.util.logger import configure
from imitation.util.networks import RunningNorm
from numpy.typing import NDArray
from other_libraries import BATCH, HIDDEN, EpsilonGreedy, compare
from qwop.datasets import Dataset
from qwop.envs.sb3 import BatchVecEnv
from qwop.policies.networks import Network
from qwop.policies.scaling import ObservationScaler
from stable_baselines3 import PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

GAMES = 8
"""Live games at once."""


class Scaled(BaseFeaturesExtractor):
    """Observations as the scaler that was fitted to the demonstrations scales them."""

    def __init__(self, space: Any, shown: NDArray[np.float32]) -> None:
        super().__init__(space, space.shape[0])
        self.scaler = ObservationScaler(space.shape[0])
        self.scaler.fit(shown)

    def forward(self, observations: Tensor) -> Tensor:
        return self.scaler(observations)


class Actor(Network):
    """π of Stable-Baselines3's actor and critic."""

    architecture = "stable-baselines3"

    def __init__(self, policy: ActorCriticPolicy, observations: int, actions: int) -> None:
        super().__init__(observations, actions)
        self.policy = policy

    def logits(self, observations: Tensor) -> Tensor:
        return self.policy.get_distribution(observations).distribution.logits


def main() -> None:
    learners = {"BC": bc, "SQIL": sqil, "GAIL": gail, "GAIL from BC": partial(gail, cloned=True)}
    compare(__doc__, learners, "runs/imitation_learners", updates=20_000, decisions=149_600)


def bc(dataset: Dataset, updates: int, decisions: int, seed: int) -> Actor:
    generator = new_ppo(dataset, seed)
    clone(generator.policy, dataset, updates, seed)
    return Actor(generator.policy, dataset.info.observation.size, dataset.info.actions)


def sqil(dataset: Dataset, updates: int, decisions: int, seed: int) -> EpsilonGreedy:
    algorithm = SQIL(
        venv=live_games(dataset, seed),
        demonstrations=trajectories(dataset),
        policy="MlpPolicy",
        custom_logger=configure(format_strs=[]),
        rl_kwargs={
            "policy_kwargs": layers(dataset),
            "batch_size": BATCH,
            "buffer_size": decisions,
            "train_freq": 1,
            "gradient_steps": GAMES // 4,
            "target_update_interval": 2_000,
            "exploration_final_eps": 0.02,
            "seed": seed,
        },
    )
    algorithm.train(total_timesteps=decisions)
    q = algorithm.rl_algo.q_net
    return EpsilonGreedy(lambda shown: q(shown).argmax(-1), dataset.info.observation.size, dataset.info.actions)


def gail(dataset: Dataset, updates: int, decisions: int, seed: int, cloned: bool = False) -> Actor:
    """cloned: the generator starts from BC's policy."""
    generator = new_ppo(dataset, seed)
    if cloned:
        clone(generator.policy, dataset, updates, seed)
    venv = generator.env
    algorithm = GAIL(
        demonstrations=trajectories(dataset),
        demo_batch_size=1024,
        venv=venv,
        gen_algo=generator,
        reward_net=BasicRewardNet(venv.observation_space, venv.action_space, normalize_input_layer=RunningNorm),
        n_disc_updates_per_round=8,
        allow_variable_horizon=True,
        custom_logger=configure(format_strs=[]),
    )
    algorithm.train(decisions)
    return Actor(generator.policy, dataset.info.observation.size, dataset.info.actions)


def new_ppo(dataset: Dataset, seed: int) -> PPO:
    """PPO that learns after every 1,024 decisions, so that GAIL has 146 rounds; else as Stable-Baselines3 sets it."""
    return PPO(
        ActorCriticPolicy,
        live_games(dataset, seed),
        n_steps=128,
        batch_size=BATCH,
        policy_kwargs=layers(dataset),
        seed=seed,
        device="cpu",
    )


def clone(policy: ActorCriticPolicy, dataset: Dataset, updates: int, seed: int) -> None:
    set_random_seed(seed)
    BC(
        observation_space=policy.observation_space,
        action_space=policy.action_space,
        rng=np.random.default_rng(seed),
        policy=policy,
        demonstrations=trajectories(dataset),
        batch_size=BATCH,
        custom_logger=configure(format_strs=[]),
    ).train(n_batches=updates, progress_bar=False)


def live_games(dataset: Dataset, seed: int) -> VecEnv:
    games = BatchVecEnv(GAMES, max_idle_frames=30, **dataset.info.environment.settings)
    games.seed(seed)
    return games


def layers(dataset: Dataset) -> dict[str, Any]:
    shown = np.concatenate([episode.observations for episode in dataset])
    return {
        "net_arch": list(HIDDEN),
        "activation_fn": torch.nn.ReLU,
        "features_extractor_class": Scaled,
        "features_extractor_kwargs": {"shown": shown},
    }


def trajectories(dataset: Dataset) -> list[Trajectory]:
    return [
        Trajectory(episode.observations, episode.actions.astype(np.int64), infos=None, terminal=episode.terminated)
        for episode in dataset
    ]


if __name__ == "__main__":
    main()
