"""A window that shows pictures as they come (`render_mode="human"`)."""

from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray


def require_pygame() -> None:
    """Raise Gymnasium's DependencyNotInstalled without pygame."""
    if find_spec("pygame") is None:
        raise gymnasium.error.DependencyNotInstalled(
            "render_mode='human' needs pygame, which is not installed: pip install 'qwop[window]'"
        )


class Window:
    """A window of `width` by `height` pixels. DependencyNotInstalled without pygame; an Error without a display."""

    def __init__(self, width: int, height: int, title: str) -> None:
        require_pygame()
        import pygame

        self._pygame: Any = pygame
        try:
            pygame.display.init()
            self._screen = pygame.display.set_mode((width, height))
        except pygame.error as error:
            raise gymnasium.error.Error(
                f"render_mode='human': no window can be opened ({error}); use render_mode='rgb_array' without a display"
            ) from None
        pygame.display.set_caption(title)
        self._clock = pygame.time.Clock()

    def show(self, picture: NDArray[np.uint8], fps: float) -> bool:
        """Show a picture, uint8 [height, width, 3], for 1/fps of a second; False if somebody has closed the window."""
        self._screen.blit(self._pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (0, 0))
        self._pygame.display.flip()
        self._clock.tick(fps)
        return not self._pygame.event.get(self._pygame.QUIT)  # without events the system takes the program for hung

    def close(self) -> None:
        self._pygame.display.quit()
