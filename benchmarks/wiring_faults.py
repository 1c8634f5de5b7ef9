"""Faults in what connects the learners: restored values, what a phase passes on, restarts, weights that go stale.

`mutants.py` puts them into a copy of the source, together with its own.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file`, `before` (which occurs exactly once) becomes `after`."""

    name: str
    file: str
    before: str
    after: str

    def applied(self, source: str) -> str:
        """The source with the fault; ValueError unless its place is found exactly once."""
        if source.count(self.before) != 1:
            raise ValueError(f"{self.name}: {self.before!r} occurs {source.count(self.before)} times in {self.file}")
        return source.replace(self.before, self.after)


ACER = "finetune/agents/acer/agent.py"
ACER_RETURNS = "finetune/agents/acer/returns.py"
ACER_LEARNER = "finetune/agents/acer/learner.py"
AGENT = "finetune/agents/agent.py"
ALL_LEARNERS = "finetune/agents/learner.py"
SETTINGS = "finetune/agents/settings.py"
Q = "finetune/agents/q_learning.py"
DQN = "finetune/agents/dqn/agent.py"
DQN_LEARNER = "finetune/agents/dqn/learner.py"
PPO = "finetune/agents/ppo/agent.py"
PPO_LEARNER = "finetune/agents/ppo/learner.py"
PPO_DENSE = "finetune/agents/ppo/dense_gradients.py"
RLPD = "finetune/agents/rlpd/agent.py"
RLPD_LEARNER = "finetune/agents/rlpd/learner.py"
VTRACE = "finetune/agents/vtrace/learner.py"
VTRACE_UNROLL = "finetune/agents/vtrace/unroll.py"
FTW = "finetune/agents/ftw/learner.py"
FTW_UNROLL = "finetune/agents/ftw/unroll.py"
STORES = "finetune/agents/ftw/reward_stores.py"
SCALE = "finetune/agents/running_scale.py"
LOOP = "finetune/loop.py"
RUN = "finetune/run.py"
SCHEDULE = "finetune/schedules/schedule.py"
PHASE = "finetune/schedules/phase.py"
MONITOR = "finetune/schedules/stability.py"
ENVIRONMENTS = "finetune/schedules/environments.py"
RESTARTS = "finetune/schedules/restarts.py"
SAVED = "finetune/schedules/saved_states.py"
SHOWN = "finetune/schedules/demonstrated_states.py"
COLLECTOR = "finetune/experience/collector.py"
TRANSITIONS = "finetune/experience/transitions.py"
ACTORS = "finetune/distributed/collector.py"
DEMONSTRATIONS = "finetune/replay/demonstrations.py"
SEQUENCES = "finetune/replay/sequence_memory.py"
PRIORITISED = "finetune/replay/prioritised_memory.py"
UNIFORM = "finetune/replay/transition_memory.py"
AVERAGE = "finetune/weight_average.py"
POPULATION = "population/population.py"
TRAINER = "population/training.py"
RACES = "population/rival_races.py"
RECORD = "population/record.py"
EVOLUTION = "population/evolution.py"

WIRING = (
    # ACER
    Mutant("acer: a part of demonstrations owed is forgotten on resuming", ACER,
           '            "demonstrations_due": self._demonstrations_due,\n', ""),
    Mutant("acer: returns are forgotten on resuming", ACER, '            "returns": self._returns,\n', ""),
    Mutant("acer: the place in the demonstrations is forgotten on resuming", ACER,
           '            "demonstrations": self._demonstrations,\n', ""),
    Mutant("acer: the draws start again on resuming", ACER, '            "generator": self._generator,\n', ""),
    Mutant("acer: memory is lost on resuming", ACER, '            "memory": self.memory,\n', ""),
    Mutant("acer: episodes under way are forgotten on resuming", ACER_RETURNS,
           '        self._open = [list(one) for one in state["open"]]\n', ""),
    Mutant("acer: the least return is forgotten on resuming", ACER_RETURNS,
           'self._low, self._high = float(state["low"]), float(state["high"])', 'self._high = float(state["high"])'),
    Mutant("acer: returns go on after games that were dropped", ACER,
           "    def drop_partial_episodes(self) -> None:\n        self._returns.drop_partial_episodes()", "    def drop_partial_episodes(self) -> None:\n        pass"),
    Mutant("acer: returns go on after a phase without live play", ACER,
           "            self.memory.remove(LIVE)\n            self._returns.drop_partial_episodes()", "            self.memory.remove(LIVE)"),
    Mutant("acer: returns of the play before the schedule do not count", ACER,
           "self._returns.add_live(sequences, now.gamma)", "pass"),
    Mutant("acer: what was played before the schedule is not stored", ACER,
           "                self.memory.push(sequences)\n", ""),
    Mutant("acer: live returns are not discounted", ACER, "self._returns.add_live(live, now.gamma)",
           "self._returns.add_live(live, 1.0)"),
    Mutant("acer: values are fitted without a discount", ACER, "self.learner.fit_values(together, now.gamma)",
           "self.learner.fit_values(together, 1.0)"),
    Mutant("acer: values are fitted to unscaled rewards", ACER_LEARNER,
           "rewards = self._tensor(played.rewards) * self.settings.reward_scale", "rewards = self._tensor(played.rewards)"),
    Mutant("acer: fitted values only in the network that learns", ACER_LEARNER,
           "for network in (self.network, self.average):", "for network in (self.network,):"),
    Mutant("acer: targets have no discount", ACER_LEARNER, "            rho,\n            gamma,\n",
           "            rho,\n            1.0,\n"),
    Mutant("acer: the learning rate does not follow the phase", ACER_LEARNER,
           "self.settings.learning_rate * now.learning_rate", "self.settings.learning_rate"),
    Mutant("acer: the entropy does not follow the phase", ACER_LEARNER, "targets, now.entropy)", "targets, 1.0)"),
    Mutant("acer: the average network is forgotten on resuming", ACER_LEARNER, ' "average": self.average,', ""),
    Mutant("acer: as many demonstrations in every phase", ACER,
           "self._demonstrations_due.take(now.demonstrations * self._settings.num_envs)",
           "self._demonstrations_due.take(1.0 * self._settings.num_envs)"),
    Mutant("acer: every update is diagnosed", ACER, "diagnose=number == 0", "diagnose=True"),
    Mutant("acer: no diagnosis", ACER, "diagnose=number == 0", "diagnose=False"),
    # DQN and RLPD
    Mutant("q: a part of an update owed is forgotten on resuming", Q,
           '            "updates_due": self._updates_due,\n', ""),
    Mutant("q: a part of demonstrations owed is forgotten on resuming", Q,
           '            "demonstrations_due": self._demonstrations_due,\n', ""),
    Mutant("q: steps that wait are forgotten on resuming", Q, '            "n_step": self._n_step,\n', ""),
    Mutant("q: the draws start again on resuming", Q, '            "generator": self._generator,\n', ""),
    Mutant("q: memory is lost on resuming", Q, '            "memory": self.memory,\n', ""),
    Mutant("q: steps wait across games that were dropped", Q,
           "    def drop_partial_episodes(self) -> None:\n        self._n_step.restart()", "    def drop_partial_episodes(self) -> None:\n        pass"),
    Mutant("q: steps wait across environments", Q, "        self._n_step.restart()\n        self.memory.clear()",
           "        self.memory.clear()"),
    Mutant("q: memory is kept in another environment", Q, "        self._n_step.restart()\n        self.memory.clear()",
           "        self._n_step.restart()"),
    Mutant("q: ε stays", Q, "decisions / (a.epsilon_share * planned)", "0.0"),
    Mutant("q: ε falls over the whole schedule", Q, "decisions / (a.epsilon_share * planned)", "decisions / planned"),
    Mutant("q: γ of the first phase, not of the first with demonstrations", Q, "run.gammas[first]", "run.gammas[0]"),
    Mutant("q: rewards of demonstrations are not clipped", Q,
           "        whole = settings.with_clipped_rewards(whole)\n", "        pass\n"),
    Mutant("q: transitions of one step from demonstrations", Q, "NStep(1, settings.n_steps)", "NStep(1, 1)"),
    Mutant("dqn: updates since the copy are forgotten on resuming", DQN,
           '        self._since_copy = float(state["since_copy"])\n', ""),
    Mutant("dqn: the place in the demonstrations is forgotten on resuming", DQN,
           '{**super().parts, "demonstrations": self._demonstrations}', "super().parts"),
    Mutant("dqn: live rewards are not clipped", DQN, "self.learner.settings.with_clipped_rewards(live)", "live"),
    Mutant("dqn: live transitions without a discount", DQN, "with_clipped_rewards(live), now.gamma)",
           "with_clipped_rewards(live), 1.0)"),
    Mutant("dqn: β stays", DQN, "linear(self.learner.settings.beta_start, 1.0, decisions / planned)",
           "self.learner.settings.beta_start"),
    Mutant("dqn: ε does not follow the schedule", DQN, "        super().advance(decisions, planned)\n", ""),
    Mutant("dqn: demonstrations are never removed", DQN, "            self.memory.remove(DEMONSTRATIONS)",
           "            pass"),
    Mutant("dqn: steps wait across a phase without live play", DQN, "        super().begin_phase(phase)\n", ""),
    Mutant("dqn: as many demonstrations in every phase", DQN,
           "self._demonstrations_due.take(now.demonstrations * self._settings.decisions)",
           "self._demonstrations_due.take(1.0 * self._settings.decisions)"),
    Mutant("dqn: a copy forgets what is over", DQN, "self._since_copy -= self._settings.target_every",
           "self._since_copy = 0.0"),
    Mutant("dqn: the target is forgotten on resuming", DQN_LEARNER, ' "target": self.target,', ""),
    Mutant("dqn: the learning rate does not follow the phase", DQN_LEARNER,
           "self.settings.learning_rate * now.learning_rate", "self.settings.learning_rate"),
    Mutant("rlpd: live transitions without a discount", RLPD, "self._n_step.push(live, now.gamma)",
           "self._n_step.push(live, 1.0)"),
    Mutant("rlpd: memory is sampled at once", RLPD, "len(self.memory) < self._settings.start", "not len(self.memory)"),
    Mutant("rlpd: as many updates whatever is asked", RLPD, "self._settings.updates_per_decision)", "1.0)"),
    Mutant("rlpd: the target is forgotten on resuming", RLPD_LEARNER, ' "target": self.target,', ""),
    Mutant("rlpd: the learning rate does not follow the phase", RLPD_LEARNER,
           "self.settings.learning_rate * now.learning_rate", "self.settings.learning_rate"),
    # PPO, V-trace, FTW
    Mutant("ppo: no discount", PPO_LEARNER, "                    now.gamma,\n", "                    1.0,\n"),
    Mutant("ppo: live rewards are not clipped", PPO_LEARNER,
           "        played = self.settings.with_clipped_rewards(played)\n", ""),
    Mutant("ppo: the entropy does not follow the phase", PPO_LEARNER,
           "now.entropy * self.settings.entropy_coefficient", "self.settings.entropy_coefficient"),
    Mutant("ppo, by hand: the entropy does not follow the phase", PPO_DENSE,
           "now.entropy * settings.entropy_coefficient", "settings.entropy_coefficient"),
    Mutant("ppo: the teacher has a weight of 1", PPO_LEARNER, 'now.kickstarting * named["kickstarting"]', 'named["kickstarting"]'),
    Mutant("ppo: the order of steps starts again on resuming", PPO_LEARNER, '            "shuffle": self._shuffle,\n', ""),
    Mutant("ppo: values are forgotten on resuming", PPO_LEARNER, "            **values,\n", ""),
    Mutant("ppo: statistics are forgotten on resuming", PPO_LEARNER, '            "seen": self._scale,\n', ""),
    Mutant("ppo: a policy's values are learned in place", PPO, "copy.deepcopy(run.policy.values)", "run.policy.values"),
    Mutant("ppo: the agent has no values to save", PPO, "return self.learner.values", "return None"),
    Mutant("ppo: nothing is imitated", PPO, "run.for_agent, demonstrated)", "run.for_agent, None)"),
    Mutant("vtrace: critic_only is not passed on", VTRACE, "critic_only=now.critic_only)", "critic_only=False)"),
    Mutant("vtrace: no discount", VTRACE, "rho, now.gamma,", "rho, 1.0,"),
    Mutant("vtrace: the entropy does not follow the phase", VTRACE, "- now.entropy *", "-"),
    Mutant("vtrace: the learning rate does not follow the phase", VTRACE, "settings.learning_rate * now.learning_rate",
           "settings.learning_rate"),
    Mutant("vtrace: statistics are forgotten on resuming", VTRACE, ', "seen": self._scale}', "}"),
    Mutant("vtrace: one pass", VTRACE, "range(self.settings.passes)", "range(1)"),
    Mutant("vtrace: nothing follows a time limit", VTRACE_UNROLL, "network.value_head(ends).squeeze(-1)", "0.0"),
    Mutant("ftw: critic_only is not passed on", FTW, "critic_only=now.critic_only\n", "critic_only=False\n"),
    Mutant("ftw: the stores are forgotten on resuming", FTW, '            "stores": self._stores,\n', ""),
    Mutant("ftw: the draws start again on resuming", FTW, '            "generator": self._generator,\n', ""),
    Mutant("ftw: the auxiliary networks are forgotten on resuming", FTW,
           '            "auxiliary": self.auxiliary,\n', ""),
    Mutant("ftw: signals are not predicted", FTW, "played.rewards if played.signals is None else played.signals",
           "played.rewards"),
    Mutant("ftw: windows are moved on resuming", STORES, 'self._ring.refill(0, int(state.get("start", 0)))', "pass"),
    Mutant("ftw: gradients into the slow core are whole", FTW, "slow_gradient=settings.slow_gradient", "slow_gradient=1.0"),
    Mutant("scale: statistics start again on resuming", SCALE, "            self._seen.set_state(state)\n", ""),
    Mutant("live: nothing is logged", AGENT, "        self._metrics.add_update(stats)\n", ""),
    Mutant("due: the rest is lost", AGENT, "self._owed -= whole", "self._owed = 0.0"),
    Mutant("settings: γ of any rate", SETTINGS, "self.gamma_rate / decisions_per_second", "1.0"),
    # The loop and the run
    Mutant("loop: actors keep the first weights", LOOP,
           "                self._actor.take(self.agent.network)\n                played, ends",
           "                played, ends"),
    Mutant("loop: actors keep older weights where play overlaps", LOOP,
           "            self._actor.take(self.agent.network)\n            self._pending", "            self._pending"),
    Mutant("loop: games do not follow the phase", LOOP,
           "played, ends = self._play.collect(self._actor, self._schedule.progress)",
           "played, ends = self._play.collect(self._actor)"),
    Mutant("loop: games played ahead do not follow the phase", LOOP,
           "self._pool.submit(self._play.collect, self._actor, self._schedule.progress)",
           "self._pool.submit(self._play.collect, self._actor, 0.0)"),
    Mutant("loop: the environment is not changed on resuming", LOOP,
           '        self._go_to_environment(int(state["phase"]))\n', ""),
    Mutant("loop: the mean of weights is forgotten on resuming", LOOP,
           '        self._average.set_state(state["average"])\n', ""),
    Mutant("loop: games are not restored", LOOP, '        self._play.set_state(state["collector"])\n', ""),
    Mutant("loop: the schedule begins again on resuming", LOOP,
           '        self._schedule.set_state(state["schedule"])\n', ""),
    Mutant("loop: what depends on progress waits for an iteration on resuming", LOOP,
           "bool(due[1]))\n        self.agent.advance(self.decisions - self._begun_at, self._schedule.planned)\n",
           "bool(due[1]))\n"),
    Mutant("loop: the log begins again on resuming", LOOP, "self.decisions = self._logged = int(state",
           "self.decisions = int(state"),
    Mutant("loop: agents do not hear of another environment", LOOP, "        self.agent.change_environment()\n", ""),
    Mutant("loop: games of the old environment go on", LOOP, "        self._play.enter_phase(self._place)\n", ""),
    Mutant("loop: agents do not hear that games were dropped", LOOP, "                self.agent.drop_partial_episodes()\n", ""),
    Mutant("loop: games that cannot be saved go on after a checkpoint", LOOP,
           "                self._play.restart()\n", ""),
    Mutant("loop: live play of the old phase is learned from", LOOP,
           "self._pending is not None and (self._schedule.finished or not self._schedule.phase.live)", "False"),
    Mutant("loop: returns do not end a phase", LOOP, "self._schedule.advance(self._settings.decisions, returns)",
           "self._schedule.advance(self._settings.decisions)"),
    Mutant("loop: a phase leaves its last weights", LOOP, "        self._average.settle()\n", ""),
    Mutant("loop: a phase that is added does not begin", LOOP,
           "if self._place != self._schedule.place:", "if False:"),
    Mutant("run: every phase has the discount of the first", RUN, "            self.gammas,\n",
           "            [self.gammas[0]] * len(self.gammas),\n"),
    Mutant("run: play and learning draw the same numbers", RUN, "return self._generators[1]",
           "return self._generators[0]"),
    Mutant("run: the limit of idle frames is not passed on", RUN, "            self.settings.max_idle_frames,\n",
           "            0,\n"),
    Mutant("run: phases are not scaled", RUN, "            lengths.scale,\n", "            1.0,\n"),
    # Phases
    Mutant("schedule: ramps stand still within a phase", SCHEDULE, "self.phase.at(self.progress,", "self.phase.at(0.0,"),
    Mutant("schedule: every phase has the discount of the first", SCHEDULE, "self._gammas[self._index])",
           "self._gammas[0])"),
    Mutant("schedule: hours of any decision rate", SCHEDULE, "(rate or PUBLISHED_RATE)", "PUBLISHED_RATE"),
    Mutant("schedule: returns are forgotten on resuming", SCHEDULE,
           '        self._monitor.set_state(state["monitor"])\n', ""),
    Mutant("schedule: a phase begins again on resuming", SCHEDULE, 'self._played = int(state["played"])',
           "self._played = 0"),
    Mutant("schedule: returns of an earlier phase count", SCHEDULE, "            self._monitor.restart()\n", ""),
    Mutant("stability: the best mean is forgotten on resuming", MONITOR,
           '        self._best = float(state["best"])\n', ""),
    Mutant("phase: critic_only is not passed on", PHASE, "            critic_only=self.critic_only,\n", ""),
    Mutant("phase: a phase without live play is live", PHASE, "            live=self.live,\n", ""),
    Mutant("phase: one ramp is left out", PHASE, '"imitation", "kickstarting", "entropy")', '"imitation", "kickstarting")'),
    Mutant("phase: demonstrations are used where their number is 0 now", PHASE,
           "            uses_demonstrations=self.uses_demonstrations,\n", ""),
    Mutant("environments: changes hold for one phase", ENVIRONMENTS,
           "        first = EnvironmentSpec(first.id, {**first.settings, **phase.environment})\n        specs.append(first)",
           "        specs.append(EnvironmentSpec(first.id, {**first.settings, **phase.environment}))"),
    Mutant("environments: restarts make no difference", ENVIRONMENTS,
           "(self.specs, self._restarts, [", "(self.specs, ["),
    Mutant("environments: a teacher makes no difference", ENVIRONMENTS,
           ", [teacher is None for teacher in self._teachers])", ")"),
    Mutant("environments: every phase has the teacher", ENVIRONMENTS, "if teacher is not None and phase.kickstarts",
           "if teacher is not None"),
    Mutant("restarts: which games were begun from states is forgotten on resuming", RESTARTS,
           '        self._restarted[:] = state["restarted"]\n', ""),
    Mutant("restarts: the steps of games are forgotten on resuming", RESTARTS,
           '        self._steps[:] = state["steps"]\n', ""),
    Mutant("restarts: the draws start again on resuming", RESTARTS,
           '        self._generator.bit_generator.state = state["generator"]\n', ""),
    Mutant("restarts: the states are forgotten on resuming", RESTARTS,
           '        self._source.set_state(state["source"])\n', ""),
    Mutant("restarts: the stretch does not grow", RESTARTS, "        self._progress = progress\n", ""),
    Mutant("restarts: games that started from a state give states", RESTARTS, "done, ~self._restarted)",
           "done, ~done | done)"),
    Mutant("restarts: states of old games after a reset", RESTARTS, "        self._source.clear()\n", ""),
    Mutant("saved states: a finish counts as a fall", SAVED, 'if whole[row] and outcome_name(infos["outcome"][row]) == "fell":',
           "if whole[row]:"),
    Mutant("saved states: the last second counts", SAVED, "list(self._recent[row])[:-NOT_AFTER]",
           "list(self._recent[row])"),
    Mutant("saved states: recent ones are forgotten on resuming", SAVED,
           '        self._recent = [deque(from_plain(one), maxlen=NOT_BEFORE) for one in state["recent"]]\n', ""),
    Mutant("demonstrated states: a frame late", SHOWN, "states_along(episode, frames - 1)", "states_along(episode, frames)"),
    Mutant("demonstrated states: another key in the last frame", SHOWN, "env.advance(int(keys[frame - 1]))",
           "env.advance(int(keys[frame - 2]))"),
    Mutant("demonstrated states: keys of a frame less", SHOWN, "keys[: frame - 1]", "keys[: frame - 2]"),
    # Live play
    Mutant("collector: the policy's memory outlives an episode", COLLECTOR,
           "            self._policy_state = reset_rows(self._policy_state, policy.initial_state(n), done)\n", ""),
    Mutant("collector: sequences have the state after them", COLLECTOR, "state=state_before,", "state=self._policy_state,"),
    Mutant("collector: the policy's memory is forgotten on resuming", COLLECTOR,
           'None if state["policy"] is None else tuple(state["policy"])', "None"),
    Mutant("collector: returns are forgotten on resuming", COLLECTOR,
           'np.array(state["returns"], dtype=np.float64)', "np.zeros(self._n)"),
    Mutant("collector: lengths are forgotten on resuming", COLLECTOR,
           'np.array(state["lengths"], dtype=np.int64)', "np.zeros(self._n, dtype=np.int64)"),
    Mutant("collector: the draws start again on resuming", COLLECTOR,
           '        self._generator.bit_generator.state = state["generator"]\n', ""),
    Mutant("collector: the policy's memory outlives new games", COLLECTOR,
           "        self._policy_state = None\n        self._returns", "        self._returns"),
    Mutant("collector: games from saved states count as episodes", COLLECTOR, "if not restarted[i]:", "if True:"),
    Mutant("collector: a lost life is an episode", COLLECTOR, "np.flatnonzero(done & ~goes_on)", "np.flatnonzero(done)"),
    Mutant("collector: the policy does not hear what it did", COLLECTOR,
           "            self._policy_state = policy.feed(self._policy_state, chosen, rewards[:, t])\n", ""),
    Mutant("collector: actors keep buffers", COLLECTOR, "([*one.parameters(), *one.buffers()] for", "([*one.parameters()] for"),
    Mutant("transitions: steps that wait are forgotten on resuming", TRANSITIONS,
           "self._waiting = {name: np.array(array) for name, array in state.items()} or None", "self._waiting = None"),
    Mutant("transitions: the place of a stream is forgotten on resuming", TRANSITIONS,
           'self._cursor = int(state["cursor"])', "self._cursor = 0"),
    Mutant("actors: play under way goes on in another environment", ACTORS,
           "        self._phase = phase\n        self._drop()\n", "        self._phase = phase\n"),
    Mutant("actors: a replacement plays the first phase", ACTORS, "        self._phase = phase\n        self._drop()\n",
           "        self._drop()\n"),
    Mutant("actors: games do not follow the phase", ACTORS, "self._actors.share(policy), progress)",
           "self._actors.share(policy), 0.0)"),
    # Memories
    Mutant("demonstrations: the turn is forgotten on resuming", DEMONSTRATIONS, 'self._turn = int(state["turn"])',
           "self._turn = 0"),
    Mutant("demonstrations: cursors are forgotten on resuming", DEMONSTRATIONS,
           '        self._cursors = np.array(state["cursors"], dtype=np.int64)\n', ""),
    Mutant("sequences: slots are moved on resuming", SEQUENCES, ', int(state["start"]))', ")"),
    Mutant("sequences: final observations are forgotten on resuming", SEQUENCES,
           '        self._hold(slots, TruncatedObservations(**state["finals"]))\n', ""),
    Mutant("transitions: slots are moved on resuming", UNIFORM, 'self._refill(state, int(state["start"]))',
           "self._refill(state)"),
    Mutant("priorities: the largest is forgotten on resuming", PRIORITISED,
           '        self._largest = float(state["largest"])\n', ""),
    Mutant("priorities: the largest outlives the memory", PRIORITISED,
           "        super().clear()\n        self._largest = 1.0", "        super().clear()"),
    Mutant("average: the count is forgotten on resuming", AVERAGE, 'self._count = int(state["count"])', "self._count = 0"),
    Mutant("average: it goes on into the next phase", AVERAGE, "self._sums, self._count = [], 0", "pass"),
    Mutant("average: decisions are forgotten on resuming", AVERAGE, 'self._decisions = int(state["decisions"])',
           "self._decisions = 0"),
    # Populations
    Mutant("population: games are forgotten on resuming", POPULATION,
           'self._learners, self._play = list(state["learners"]), list(state["play"])',
           'self._learners, self._play = list(state["learners"]), [None] * len(self.members)'),
    Mutant("population: the record is forgotten on resuming", POPULATION,
           '        self.record.set_state(state["record"])\n', ""),
    Mutant("population: the draws start again on resuming", POPULATION,
           '        self._generator.bit_generator.state = state["generator"]\n', ""),
    Mutant("population: decisions are forgotten on resuming", POPULATION,
           'int(state["round"]), int(state["decisions"])', 'int(state["round"]), 0'),
    Mutant("population: a copy keeps its weights", POPULATION, "            self._learners[number] = self._learners[other]\n", ""),
    Mutant("population: a copy keeps its record", POPULATION, "            self.record.inherit(number, other)\n", ""),
    Mutant("population: a copy goes on with games of another rate", POPULATION,
           " and before.genes.get(FRAMES) == now.genes.get(FRAMES)", ""),
    Mutant("population: a copy with a memory goes on with its games", POPULATION,
           'play is not None and not play.get("policy") and', "play is not None and"),
    Mutant("population: rivals under way are not sent", POPULATION, "{*schedule, *_under_way(self._play[member.id])}",
           "{*schedule}"),
    Mutant("population: a teacher teaches for ever", POPULATION, "self._settings.kickstarting.at(self._decisions_of_each)",
           "self._settings.kickstarting.at(0)"),
    Mutant("population: matches never fade", POPULATION, "        self.record.fade(self._settings.evolution.fade)\n", ""),
    Mutant("population: fixed rewards evolve", POPULATION, 'rewards=self._settings.rewards != "fixed",', "rewards=True,"),
    Mutant("population: an ancestor's play begins anew", POPULATION,
           "[one.learner] * len(self.members), one.play", "[one.learner] * len(self.members), None"),
    Mutant("trainer: actors keep the first weights of a round", TRAINER, "            actor.take(network)\n", ""),
    Mutant("trainer: γ of any rate", TRAINER, "self._agents.gamma_at(rate)", "self._agents.gamma"),
    Mutant("trainer: the teacher's weight is not passed on", TRAINER, "kickstarting=task.imitation", "kickstarting=1.0"),
    Mutant("trainer: signals are not passed on", TRAINER,
           "                played = replace(played, signals=races.take_signals())\n",
           "                races.take_signals()\n"),
    Mutant("trainer: the average begins again each round", TRAINER,
           '        average.set_state(task.learner["average"])\n', ""),
    Mutant("trainer: the policy has the last weights", TRAINER,
           'learner["network"] | learner["average"]["weights"]', 'learner["network"]'),
    Mutant("trainer: games begin anew each round", TRAINER, "np.random.default_rng(task.seed), task.play)",
           "np.random.default_rng(task.seed), None)"),
    Mutant("trainer: a task is changed", TRAINER, "learner.set_state(copy.deepcopy(task.learner))",
           "learner.set_state(task.learner)"),
    Mutant("races: which rivals are met is forgotten on resuming", RACES,
           '        self._rival = np.array(state["rival"], dtype=np.int64)\n', ""),
    Mutant("races: rivals' memories are forgotten on resuming", RACES,
           '        self._states = {int(number): tuple(parts) for number, parts in state["rivals"].items()}\n',
           '        self._states = {n: self._rivals[n].player.initial_state(self.num_envs) for n in set(self._rival.tolist())}\n'),
    Mutant("races: progress is forgotten on resuming", RACES, '        self._standing.set_state(state["standing"])\n', ""),
    Mutant("races: the draws start again on resuming", RACES,
           '        self._generator.bit_generator.state = state["generator"]\n', ""),
    Mutant("races: a rival remembers the last race", RACES, "begins & (self._rival == number))", "begins & ~begins)"),
    Mutant("record: a copy keeps what others won against it", RECORD,
           "            values[:, child] = values[:, parent]\n", ""),
    Mutant("evolution: a copy has learned as long as before", EVOLUTION, "        decisions=0,\n", ""),
    Mutant("evolution: a copy keeps its founder", EVOLUTION, "        founder=parent.founder,\n", ""),
)  # fmt: skip
"""Faults by name."""
