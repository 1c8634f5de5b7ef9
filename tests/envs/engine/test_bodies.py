"""Tables of the bodies and joints."""

from itertools import combinations

from qwop.envs.engine import bodies


def test_joints_that_share_a_body_are_solved_in_the_originals_order() -> None:
    _, original = bodies._runner_walk()
    ours = bodies.RUNNER_JOINTS.tolist()
    assert sorted(ours) == sorted(original)
    joined = list(zip(bodies.JOINT_A.tolist(), bodies.JOINT_B.tolist(), strict=True))
    for earlier, later in combinations(original, 2):
        if set(joined[earlier]) & set(joined[later]):
            assert ours.index(earlier) < ours.index(later)
