"""A policy's probabilities, the actions drawn from them, and its state, of which each game has its own."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import load_policy
from qwop.policies.networks import ActorCritic, put_rows, reset_rows, select_rows
from qwop.policies.policy import PICTURES, ROWS, Policy, choose

CARTPOLE = EnvironmentSpec("CartPole-v1")


def make_policy(shape: tuple[int, ...] = (71,), actions: int = 11) -> Policy:
    network = ActorCritic(int(np.prod(shape)), actions, generator=torch.Generator().manual_seed(0))
    torch.nn.init.normal_(network.policy_head.weight, generator=torch.Generator().manual_seed(1))
    return Policy(network, EnvironmentSpec(), ObservationSpec(shape))


def test_probabilities_are_the_softmax_of_the_logits_or_powers_of_it() -> None:
    policy, rows = make_policy(), np.random.default_rng(0).normal(size=(3, 71)).astype(np.float32)
    with torch.no_grad():
        expected = policy.network(torch.from_numpy(rows))[0].softmax(dim=-1).numpy()
    np.testing.assert_allclose(policy.probabilities(rows), expected, rtol=1e-4, atol=1e-7)
    powers = expected.astype(np.float64) ** 2.5
    sharpened = replace(policy, sharpness=2.5).probabilities(rows)
    np.testing.assert_allclose(sharpened, powers / powers.sum(axis=1, keepdims=True), rtol=1e-3, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 200), shift=st.integers(0, 199), shape=st.sampled_from([(71,), (4,), (8,)]))
def test_a_rows_probabilities_do_not_depend_on_its_neighbours(count: int, shift: int, shape: tuple[int, ...]) -> None:
    policy = make_policy(shape)
    rows = np.random.default_rng(count).normal(size=(count, *shape)).astype(np.float32)
    together = policy.probabilities(rows)
    rolled = np.roll(policy.probabilities(np.roll(rows, shift, axis=0)), -shift, axis=0)
    alone = policy.probabilities(rows[-1:])
    assert np.array_equal(together, rolled)
    assert np.array_equal(together[-1:], alone)


def test_uniforms_are_inverted_through_the_distribution_function() -> None:
    probabilities = np.tile(np.array([0.25, 0.5, 0.25], dtype=np.float32), (5, 1))
    actions, given_back = choose(probabilities, np.array([0.0, 0.2499, 0.25, 0.7499, 0.75]))
    assert actions.tolist() == [0, 0, 1, 1, 2]
    assert np.array_equal(given_back, probabilities)


@given(
    weights=st.lists(st.floats(0, 1, width=32), min_size=2, max_size=11).filter(lambda w: sum(w) > 1e-3),
    uniform=st.floats(0, 1, exclude_max=True),
)
def test_an_action_of_probability_zero_is_never_drawn(weights: list[float], uniform: float) -> None:
    probabilities = np.array([weights], dtype=np.float32) / np.float32(sum(weights))
    actions, _ = choose(probabilities, np.array([uniform]))
    assert probabilities[0, actions[0]] > 0


def test_a_network_of_another_size_is_not_a_policy_for_these_observations() -> None:
    with pytest.raises(BadInput, match=r"observations float32 \[71\] cannot take float32 \[4\]"):
        Policy(ActorCritic(71, 11), EnvironmentSpec(), ObservationSpec((4,)))


def test_a_policy_of_another_shape_is_refused_in_one_line() -> None:
    with pytest.raises(BadInput, match=r"p.safetensors.*\[71\].*11 actions.*CartPole.*\[4\].*2 actions") as caught:
        make_policy().require_fit(ObservationSpec((4,)), 2, "p.safetensors", "CartPole-v1()")
    assert "\n" not in str(caught.value)
    make_policy().require_fit(ObservationSpec((71,)), 11, "p.safetensors", "QWOP-v1()")


@pytest.mark.parametrize("count", [1, PICTURES, 2 * PICTURES + 5])
def test_pictures_do_not_depend_on_their_neighbours(count: int) -> None:
    spec = ObservationSpec((36, 36), "uint8")
    policy = Policy(ActorCritic(spec, 3, (16,), torch.Generator().manual_seed(0)), CARTPOLE, spec)
    pictures = np.random.default_rng(0).integers(256, size=(count, 36, 36)).astype(np.uint8)
    probabilities = policy.probabilities(pictures)
    assert len({tuple(row) for row in probabilities.tolist()}) == count
    assert np.array_equal(policy.probabilities(pictures[-1:]), probabilities[-1:])


@pytest.mark.parametrize(
    ("observations", "said"),
    [
        (np.zeros((2, 5)), r"float64 \[2, 5\], but the policy sees float32 \[n, 4\] of CartPole-v1\(\); "),
        (np.zeros(4), r"one observation alone is given as observation\[None\]; policy.environment.make\(\) makes"),
        (np.array(["left"]), "the policy sees"),
        (np.array([[0, 0, 0, 0], [0, np.nan, 0, 0]]), "a number that is not finite in row 1"),
    ],
)
def test_observations_that_do_not_fit_say_what_the_policy_sees(observations: Any, said: str) -> None:
    seen = ObservationSpec((4,))
    policy = Policy(ActorCritic(seen, 2, (8,)), CARTPOLE, seen)
    with pytest.raises(BadInput, match=said):
        policy.act(observations)


def test_act_is_greedy_or_draws_actions_as_often_as_their_probabilities_say() -> None:
    policy, rows = make_policy((4,), 3), np.tile(np.float32([1.0, -1.0, 0.5, 0.0]), (20_000, 1))
    assert len(set(policy.act(rows)[0].tolist())) == 1
    actions, probabilities = policy.act(rows, np.random.default_rng(0), greedy=False)
    # Four standard errors of a share.
    np.testing.assert_allclose(np.bincount(actions, minlength=3) / len(rows), probabilities[0], atol=4 * 0.5 / 141)


def test_observations_that_are_tensors_are_taken_as_their_numbers() -> None:
    policy = load_policy("champion")
    rows = np.random.default_rng(0).normal(size=(3, 112)).astype(np.float32)
    given = torch.from_numpy(rows).requires_grad_() * 1.0
    assert np.array_equal(policy.act(given)[0], policy.act(rows)[0])
    assert np.array_equal(policy.probabilities(given), policy.probabilities(rows))
    for wrong in (torch.zeros(3, 112, device="meta"), [[1.0], [1.0, 2.0]]):
        with pytest.raises(BadInput, match="but the policy sees float32"):
            policy.act(wrong)  # type: ignore[arg-type]


# Policies with a state

MakePolicy = Callable[[EnvironmentSpec], Policy]


def state_of(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(count), np.arange(6.0 * count).reshape(count, 2, 3)


def test_initial_rows_go_where_an_episode_begins_and_the_state_before_stays_as_it_was() -> None:
    state, initial = state_of(4), tuple(-1 - part for part in state_of(4))
    after = reset_rows(state, initial, np.array([False, True, False, True]))
    for part, first, now in zip(state_of(4), initial, after, strict=True):
        assert np.array_equal(now, np.stack([part[0], first[1], part[2], first[3]]))
    assert all(map(np.array_equal, state, state_of(4)))


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([2, 0]), np.array([True, False, True, True])])
def test_rows_are_taken_and_put_back_into_a_copy(rows: slice | np.ndarray) -> None:
    state = state_of(4)
    taken = select_rows(state, rows)
    assert all(np.array_equal(part[rows], mine) for part, mine in zip(state, taken, strict=True))
    blank = tuple(np.zeros_like(part) for part in state)
    put = put_rows(blank, rows, taken)
    assert all(map(np.array_equal, select_rows(put, rows), taken))
    assert put[0].sum() == taken[0].sum(), "another row changed"
    assert not any(part.any() for part in blank)


def test_probabilities_are_of_policies_without_a_state_alone(alternating: MakePolicy) -> None:
    policy = Policy(ActorCritic(4, 2), CARTPOLE, ObservationSpec((4,)))
    rows = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    probabilities, after = policy.step(rows, policy.initial_state(5))
    assert policy.initial_state(5) == after == ()
    assert np.array_equal(probabilities, policy.probabilities(rows))
    with pytest.raises(ValueError, match="alternating: a policy with a state"):
        alternating(CARTPOLE).probabilities(rows)


@pytest.mark.parametrize("count", [1, ROWS, 2 * ROWS + 5])
def test_a_step_does_not_depend_on_the_neighbours(alternating: MakePolicy, count: int) -> None:
    policy, random = alternating(CARTPOLE), np.random.default_rng(0)
    rows = random.normal(size=(count, 4)).astype(np.float32)
    state = random.integers(0, 9, (count, 1)), random.normal(size=(count, 4)).astype(np.float32)
    probabilities, after = policy.step(rows, state)
    assert [part.shape for part in after] == [(count, 1), (count, 4)]
    assert np.array_equal(after[0], state[0] + 1)
    alone, after_alone = policy.step(rows[-1:], select_rows(state, slice(count - 1, count)))
    assert np.array_equal(alone, probabilities[-1:])
    assert all(np.array_equal(mine[-1:], part) for mine, part in zip(after, after_alone, strict=True))
