"""The runner and the track as a Box2D scene through its Python binding, for comparison with the engine.

Bodies, joints, motors, time step and iterations are the same, and the same 71 features are read after each decision. It
is not the original game: this is another version of Box2D, in single precision, with other contacts.
"""

import Box2D
import numpy as np
from numpy.typing import NDArray
from qwop.envs.engine import bodies
from qwop.envs.engine import layout as at
from qwop.envs.names import BODIES, KEY_O, KEY_P, KEY_Q, KEY_W, OBSERVED_JOINTS, OBSERVED_LIMBS

GRAVITY = (0, 10)
TIME_STEP, ITERATIONS = 0.04, 5

JOINT_NAMES = (
    "hurdleJoint", "neck", "rightShoulder", "leftShoulder", "leftHip", "rightHip",
    "leftElbow", "rightElbow", "leftKnee", "rightKnee", "leftAnkle", "rightAnkle",
)  # fmt: skip


class Box2DScene:
    """One runner on a long track."""

    def __init__(self) -> None:
        self.world = Box2D.b2World(gravity=GRAVITY, doSleep=True)
        self.world.continuousPhysics = False
        self.world.CreateStaticBody(position=(500, bodies.TRACK_Y), fixtures=self._fixture(at.TRACK, half_width=1000.0))
        self.bodies = {name: self._body(number) for number, name in enumerate(BODIES)}
        self.joints = {name: self._joint(number) for number, name in enumerate(JOINT_NAMES)}

    def step(self, keys: int, frames: int) -> NDArray[np.float32]:
        """Play a decision of `frames` frames; return the 71 observed numbers, float32 [71]."""
        thighs = 1.0 if keys & KEY_Q else (-1.0 if keys & KEY_W else 0.0)
        calves = 1.0 if keys & KEY_O else (-1.0 if keys & KEY_P else 0.0)
        joints, head = self.joints, self.bodies["head"]
        for _ in range(frames):
            head.ApplyTorque(-4 * (head.angle + 0.2), True)
            joints["rightHip"].motorSpeed = 2.5 * thighs
            joints["leftHip"].motorSpeed = -2.5 * thighs
            joints["rightShoulder"].motorSpeed = -2.0 * thighs
            joints["leftShoulder"].motorSpeed = 2.0 * thighs
            joints["rightKnee"].motorSpeed = 2.5 * calves
            joints["leftKnee"].motorSpeed = -2.5 * calves
            if calves:
                joints["leftHip"].limits = (-1.0, 1.0) if calves > 0 else (-1.5, 0.5)
                joints["rightHip"].limits = (-1.3, 0.7) if calves > 0 else (-0.8, 1.2)
            self.world.Step(TIME_STEP, ITERATIONS, ITERATIONS)
        return self._observe()

    def _observe(self) -> NDArray[np.float32]:
        torso_x = self.bodies["torso"].position.x
        numbers: list[float] = []
        for name in ("head", *OBSERVED_LIMBS):
            body = self.bodies[name]
            position, velocity = body.position, body.linearVelocity
            numbers += (body.angle, velocity.x, velocity.y, position.x - torso_x, position.y)
            if name == "head":
                numbers += [self.joints[joint].angle for joint in OBSERVED_JOINTS]
        return np.array(numbers, dtype=np.float32)

    def _body(self, number: int) -> Box2D.b2Body:
        x, y, angle = bodies.START[number].tolist()
        return self.world.CreateDynamicBody(position=(x, y), angle=angle, fixtures=self._fixture(number))

    def _fixture(self, number: int, half_width: float | None = None) -> Box2D.b2FixtureDef:
        width = half_width or float(bodies.HALF_WIDTH[number])
        height = float(bodies.HALF_HEIGHT[number])
        return Box2D.b2FixtureDef(
            shape=Box2D.b2PolygonShape(box=(width, height)),
            density=float(bodies.MASS[number]) / (4 * width * height),
            friction=float(bodies.FRICTION[number]),
            categoryBits=int(bodies.CATEGORY[number]),
            maskBits=int(bodies.MASK[number]),
        )

    def _joint(self, number: int) -> Box2D.b2RevoluteJoint:
        return self.world.CreateRevoluteJoint(
            bodyA=self.bodies[BODIES[bodies.JOINT_A[number]]],
            bodyB=self.bodies[BODIES[bodies.JOINT_B[number]]],
            localAnchorA=bodies.ANCHOR_A[number].tolist(),
            localAnchorB=bodies.ANCHOR_B[number].tolist(),
            referenceAngle=float(bodies.REFERENCE_ANGLE[number]),
            lowerAngle=float(bodies.LOWER_ANGLE[number]),
            upperAngle=float(bodies.UPPER_ANGLE[number]),
            maxMotorTorque=float(bodies.MAX_MOTOR_TORQUE[number]),
            enableMotor=bool(bodies.MOTOR_ON[number]),
            enableLimit=True,
        )
