"""An island, bodies connected by touch or joint, solved in the lanes of several games at once.

The same island of up to `width` games: bodies and joints are the same in all of them and are solved side by side;
contacts differ from game to game. A game's numbers are taken from its row into its lane, and back into the row when it
is done. In `memory` the numbers `place` of all lanes lie together, at `width * place`.
"""

from .. import layout as at
from ..bodies import HALF_HEIGHT, HALF_WIDTH, INVERSE_INERTIA, RADIUS
from ..workspace import BODIES, BODY_COUNT, GAME, JOINT_COUNT, JOINTS, LANES_USED, TOUCH, TOUCHES
from .compiled import inlined, kernel
from .contact_solver import solve_contact_position, solve_contact_velocity, start_contact, warm_start_contact
from .contacts import fixed_body_of
from .joints import DT, INVERSE_DT, LINEAR_SLOP, solve_joint_position, solve_joint_velocity, start_joint
from .lanes import any_of, bits_of, load, select, square_root, store
from .tree import leaves_its_box
from .trigonometry import sine_and_cosine

GRAVITY = 10.0
VELOCITY_ITERATIONS = 5
POSITION_ITERATIONS = 5
MAX_TRANSLATION = 2.0
MAX_ROTATION = 1.5707963267948966
LINEAR_SLEEP_TOLERANCE = 0.01
ANGULAR_SLEEP_TOLERANCE = 0.03490658503988659
TIME_TO_SLEEP = 0.5


@kernel
def solve_island(lanes, reals, integers, memory, work):
    """Solve the island that `work` describes, in the games that it lists.

    reals float64 [n, REALS], integers int32 [n, INTEGERS]: the games; memory float64 [width · LANE] and more, of which
    nothing is kept; work int64 [width, WORK] and more.
    """
    width = len(lanes)
    used = work[0, LANES_USED]
    bodies = work[0, BODIES : BODIES + work[0, BODY_COUNT]]
    joints = work[0, JOINTS : JOINTS + work[0, JOINT_COUNT]]
    for lane in range(width):
        # Results of an unused lane are thrown away.
        game = work[min(lane, used - 1), GAME]
        _enter(width, memory, lane, reals[game], integers[game], bodies, joints)
    for lane in range(used):
        game = work[lane, GAME]
        _start_contacts(width, memory, lane, reals[game], integers[game], work[lane])
    _solve_velocities(lanes, reals, integers, joints, memory, work)
    for body in bodies:
        _integrate(lanes, memory, body)
    _solve_positions(lanes, reals, integers, bodies, joints, memory, work)
    for body in bodies:
        _sweep(lanes, memory, body)
    for lane in range(used):
        game = work[lane, GAME]
        _leave(width, memory, lane, reals[game], integers[game], bodies, joints)
        if not _let_sleep(reals[game], integers[game], bodies, work[lane]):
            _renew_boxes(width, memory, lane, reals[game], integers[game], bodies)


@kernel
def _solve_velocities(lanes, reals, integers, joints, memory, work):
    width = len(lanes)
    used = work[0, LANES_USED]
    for joint in joints:
        start_joint(lanes, memory, joint)
    for _ in range(VELOCITY_ITERATIONS):
        for joint in joints:
            solve_joint_velocity(lanes, memory, joint)
        for lane in range(used):
            game = work[lane, GAME]
            for touch in range(work[lane, TOUCHES]):
                mine, contact = _kept(width, lane, touch), work[lane, TOUCH + touch]
                solve_contact_velocity(width, memory, lane, reals[game], integers[game], mine, contact)


@kernel
def _solve_positions(lanes, reals, integers, bodies, joints, memory, work):
    """Iterate up to a limit in each lane; afterwards the positions are both in the lanes and in the games' rows."""
    width = len(lanes)
    used = work[0, LANES_USED]
    everyone = (1 << used) - 1
    settled = 0
    for _ in range(POSITION_ITERATIONS):
        shallow = 0
        for lane in range(used):
            if not settled >> lane & 1:
                game = work[lane, GAME]
                deepest = 0.0
                for touch in range(work[lane, TOUCHES]):
                    mine, contact = _kept(width, lane, touch), work[lane, TOUCH + touch]
                    depth = solve_contact_position(lanes, memory, lane, reals[game], integers[game], mine, contact)
                    deepest = min(deepest, depth)
                if deepest > -1.5 * LINEAR_SLOP:
                    shallow |= 1 << lane
        fit = everyone
        for joint in joints:
            fit &= bits_of(solve_joint_position(lanes, memory, joint))
        now = fit & shallow & ~settled
        if now != 0:
            # The results of these lanes are put aside, for the others go on.
            for lane in range(used):
                if now >> lane & 1:
                    _leave_positions(width, memory, lane, reals[work[lane, GAME]], bodies)
            settled |= now
            if settled == everyone:
                break
    for lane in range(used):
        if settled >> lane & 1:
            _enter_positions(width, memory, lane, reals[work[lane, GAME]], bodies)
        else:
            _leave_positions(width, memory, lane, reals[work[lane, GAME]], bodies)


@inlined
def _kept(width, lane, touch):
    """The place of a contact's numbers of this frame in `memory`."""
    return width * at.LANE_CONTACTS + at.LANE_CONTACT * (at.CONTACTS * lane + touch)


@kernel
def _enter(width, memory, lane, reals, integers, bodies, joints):
    """Lay a game's bodies and joints into its lane; gravity and the head's torque change the velocities first."""
    for body in bodies:
        _enter_body(width, memory, lane, reals, body)
        own = width * at.LANE_BODY * body + lane
        memory[own + width * at.VY] += DT * GRAVITY
        if body == at.HEAD:
            memory[own + width * at.SPIN] += DT * INVERSE_INERTIA[body] * reals[at.HEAD_TORQUE]
    for joint in joints:
        own = width * (at.LANE_JOINTS + at.LANE_JOINT * joint) + lane
        for column in range(at.JOINT_REALS):
            memory[own + width * column] = reals[at.JOINT + at.JOINT_REALS * joint + column]
        memory[own + width * at.STATE] = integers[at.LIMIT_STATE + joint]


@inlined
def _enter_body(width, memory, lane, reals, body):
    own = width * at.LANE_BODY * body + lane
    for column in range(6):
        memory[own + width * column] = reals[6 * body + column]
    memory[own + width * at.COSINE] = reals[at.COS + body]
    memory[own + width * at.SINE] = reals[at.SIN + body]


@kernel
def _start_contacts(width, memory, lane, reals, integers, work):
    for touch in range(work[TOUCHES]):
        contact = work[TOUCH + touch]
        fixed = fixed_body_of(integers, contact)
        if fixed != at.NONE:
            _enter_body(width, memory, lane, reals, fixed)
        start_contact(reals, integers, memory, _kept(width, lane, touch), contact)
    for touch in range(work[TOUCHES]):
        warm_start_contact(width, memory, lane, reals, integers, _kept(width, lane, touch), work[TOUCH + touch])


@inlined
def _integrate(lanes, memory, body):
    """Move a body by its velocity, and keep its old pose."""
    width = len(lanes)
    own = width * at.LANE_BODY * body
    vx, vy = load(memory, own + width * at.VX, lanes), load(memory, own + width * at.VY, lanes)
    dx, dy = DT * vx, DT * vy
    too_far = dx * dx + dy * dy > MAX_TRANSLATION * MAX_TRANSLATION
    if any_of(too_far):
        inverse_length = 1.0 / square_root(vx * vx + vy * vy)
        vx = select(too_far, vx * inverse_length * (MAX_TRANSLATION * INVERSE_DT), vx)
        vy = select(too_far, vy * inverse_length * (MAX_TRANSLATION * INVERSE_DT), vy)
        store(memory, own + width * at.VX, vx)
        store(memory, own + width * at.VY, vy)
    spin = load(memory, own + width * at.SPIN, lanes)
    turned = DT * spin
    too_much = turned * turned > MAX_ROTATION * MAX_ROTATION
    if any_of(too_much):
        most = MAX_ROTATION * INVERSE_DT
        spin = select(too_much, select(spin < 0.0, -most, most), spin)
        store(memory, own + width * at.SPIN, spin)
    x, y = load(memory, own + width * at.X, lanes), load(memory, own + width * at.Y, lanes)
    store(memory, own + width * at.OLD_X, x)
    store(memory, own + width * at.OLD_Y, y)
    store(memory, own + width * at.OLD_COSINE, load(memory, own + width * at.COSINE, lanes))
    store(memory, own + width * at.OLD_SINE, load(memory, own + width * at.SINE, lanes))
    store(memory, own + width * at.X, x + DT * vx)
    store(memory, own + width * at.Y, y + DT * vy)
    angle = load(memory, own + width * at.ANGLE, lanes) + DT * spin
    store(memory, own + width * at.ANGLE, angle)
    sine, cosine = sine_and_cosine(lanes, angle)
    store(memory, own + width * at.COSINE, cosine)
    store(memory, own + width * at.SINE, sine)


@inlined
def _half_box(body, cosine, sine):
    """Half the width and height of the box around a body, without its skin."""
    cosine, sine = abs(cosine), abs(sine)
    return cosine * HALF_WIDTH[body] + sine * HALF_HEIGHT[body], sine * HALF_WIDTH[body] + cosine * HALF_HEIGHT[body]


@inlined
def _sweep(lanes, memory, body):
    """The box over a body's movement, in the place of its old pose; and how far it has moved."""
    width = len(lanes)
    own = width * at.LANE_BODY * body
    x0, y0 = load(memory, own + width * at.OLD_X, lanes), load(memory, own + width * at.OLD_Y, lanes)
    cosine, sine = load(memory, own + width * at.OLD_COSINE, lanes), load(memory, own + width * at.OLD_SINE, lanes)
    ex0, ey0 = _half_box(body, cosine, sine)
    x1, y1 = load(memory, own + width * at.X, lanes), load(memory, own + width * at.Y, lanes)
    cosine, sine = load(memory, own + width * at.COSINE, lanes), load(memory, own + width * at.SINE, lanes)
    ex1, ey1 = _half_box(body, cosine, sine)
    store(memory, own + width * at.LEFT, min((x0 - ex0) - RADIUS, (x1 - ex1) - RADIUS))
    store(memory, own + width * at.TOP, min((y0 - ey0) - RADIUS, (y1 - ey1) - RADIUS))
    store(memory, own + width * at.RIGHT, -max((x0 + ex0) + RADIUS, (x1 + ex1) + RADIUS))
    store(memory, own + width * at.BOTTOM, -max((y0 + ey0) + RADIUS, (y1 + ey1) + RADIUS))
    store(memory, own + width * at.MOVED_X, x1 - x0)
    store(memory, own + width * at.MOVED_Y, y1 - y0)


@kernel
def _leave_positions(width, memory, lane, reals, bodies):
    for body in bodies:
        own = width * at.LANE_BODY * body + lane
        for column in range(3):
            reals[6 * body + column] = memory[own + width * column]
        reals[at.COS + body] = memory[own + width * at.COSINE]
        reals[at.SIN + body] = memory[own + width * at.SINE]


@kernel
def _enter_positions(width, memory, lane, reals, bodies):
    for body in bodies:
        own = width * at.LANE_BODY * body + lane
        for column in range(3):
            memory[own + width * column] = reals[6 * body + column]
        memory[own + width * at.COSINE] = reals[at.COS + body]
        memory[own + width * at.SINE] = reals[at.SIN + body]


@kernel
def _leave(width, memory, lane, reals, integers, bodies, joints):
    """Take velocities and the joints' forces back into the game's row."""
    for body in bodies:
        own = width * at.LANE_BODY * body + lane
        for column in range(3, 6):
            reals[6 * body + column] = memory[own + width * column]
    for joint in joints:
        own = width * (at.LANE_JOINTS + at.LANE_JOINT * joint) + lane
        for column in range(at.LIMIT_FORCE + 1):
            reals[at.JOINT + at.JOINT_REALS * joint + column] = memory[own + width * column]
        integers[at.LIMIT_STATE + joint] = int(memory[own + width * at.STATE])


@kernel
def _let_sleep(reals, integers, bodies, work):
    """Put the island and the track under it to sleep when all has rested for half a second; whether it sleeps."""
    least = 1.7976931348623157e308
    for body in bodies:
        vx, vy, spin = reals[6 * body + at.VX], reals[6 * body + at.VY], reals[6 * body + at.SPIN]
        if (
            spin * spin > ANGULAR_SLEEP_TOLERANCE * ANGULAR_SLEEP_TOLERANCE
            or vx * vx + vy * vy > LINEAR_SLEEP_TOLERANCE * LINEAR_SLEEP_TOLERANCE
        ):
            reals[at.SLEEP_TIME + body] = 0.0
            least = 0.0
        else:
            reals[at.SLEEP_TIME + body] += DT
            least = min(least, reals[at.SLEEP_TIME + body])
    if least < TIME_TO_SLEEP:
        return False
    for body in bodies:
        integers[at.AWAKE + body] = 0
        reals[at.SLEEP_TIME + body] = 0.0
        for column in range(3, 6):
            reals[6 * body + column] = 0.0
        if body == at.HEAD:
            reals[at.HEAD_TORQUE] = 0.0
    for touch in range(work[TOUCHES]):
        fixed = fixed_body_of(integers, work[TOUCH + touch])
        if fixed != at.NONE:
            integers[at.AWAKE + fixed] = 0
            reals[at.SLEEP_TIME + fixed] = 0.0
    return True


@kernel
def _renew_boxes(width, memory, lane, reals, integers, bodies):
    """Write the boxes over the bodies' movement, and mark the bodies that left their boxes in the tree."""
    for body in bodies:
        own = width * at.LANE_BODY * body + lane
        for side in range(4):
            reals[at.BOX + 4 * body + side] = memory[own + width * (at.LEFT + side)]
        if leaves_its_box(reals, integers, body):
            integers[at.LEAVING] |= 1 << body
            reals[at.MOVED + 2 * body] = memory[own + width * at.MOVED_X]
            reals[at.MOVED + 2 * body + 1] = memory[own + width * at.MOVED_Y]
