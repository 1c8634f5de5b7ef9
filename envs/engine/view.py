"""The part of the world that small pictures show; see `pictures.raster`."""

UNITS_SHOWN = 22.0
"""Width and height of the view, units (2.2 m)."""

TORSO_AT = 0.45
"""Place of the torso in the picture, as a fraction of its width."""

GROUND_AT = 0.86
"""Height of the ground in the picture, as a fraction of its height."""

LIFT_ABOVE = -5.0
"""The view rises with a torso above this, units."""

METRE = 10.0
LENGTH = 1000.0
"""Units between two marks on the track, and to the line."""

MARK = 0.35
"""Half the width of a mark on the track, units."""

BAR = 1 / 28
"""Height of the bar, as a fraction of the picture's."""
