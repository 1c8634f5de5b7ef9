"""The numbers of an observation; see `names.FEATURES` and the following."""

FEATURES_ONLY, FULL, CONTACT = range(3)
FEATURES = 5 + 11 + 5 * 11  # the head, joints, limbs
FULL_FEATURES = FEATURES + 12 + 6 + 2 + 3
FOOT_FEATURES = 9
CONTACT_FEATURES = FULL_FEATURES + 2 * FOOT_FEATURES

HIDDEN = 3
"""Numbers of a game that its bodies do not show: the torque on the head, the lower limits of the left and right hip."""

LINE = 1000.0
"""The finish, units."""
