"""The window that shows the game."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ...common.errors import BadInput
from .listener import ALTERNATIVE


class Window:
    """A window with a picture and a line of text. Close it, or use it as a context manager.

    closed: true once the window was closed. focused: true while it has the keyboard focus. pressed: number of key
    presses that the window system sent to it, repeats included. Raises BadInput if no window can be opened.
    """

    def __init__(self, title: str, width: int, height: int) -> None:
        try:
            import tkinter

            from PIL import ImageTk
        except ImportError as error:
            raise BadInput(
                f"the game's window needs tkinter, which this Python lacks ({error}); install it (Debian: apt install "
                f"python3-tk), {ALTERNATIVE}"
            ) from None
        try:
            root = tkinter.Tk()
        except tkinter.TclError as error:
            raise BadInput(
                f"the game's window cannot be opened ({error}); run this on a desktop, {ALTERNATIVE}"
            ) from None
        self.closed, self.focused, self.pressed = False, True, 0
        root.title(title)
        root.resizable(False, False)
        canvas = tkinter.Canvas(root, width=width, height=height, highlightthickness=0)
        canvas.pack()
        self._photo = ImageTk.PhotoImage("RGB", (width, height))
        canvas.create_image(0, 0, image=self._photo, anchor="nw")
        self._shade = canvas.create_rectangle(0, 0, 0, 0, fill="#242c3c", outline="")
        self._text = canvas.create_text(
            width / 2, height / 4, fill="#ffffff", font=("TkDefaultFont", 15), justify="center", width=width - 60
        )
        root.protocol("WM_DELETE_WINDOW", self.close)
        root.bind("<KeyPress>", self._key)
        root.bind("<FocusIn>", lambda _: self._focus(True))
        root.bind("<FocusOut>", lambda _: self._focus(False))
        self._root, self._canvas, self._shown = root, canvas, ""
        root.lift()
        root.focus_force()
        self.refresh()

    def show(self, picture: NDArray[np.uint8], text: str = "") -> None:
        """Show an RGB picture, uint8 [height, width, 3], with a text over it."""
        self._photo.paste(Image.fromarray(picture))
        if text != self._shown:
            self._canvas.itemconfigure(self._text, text=text)
            box = self._canvas.bbox(self._text) if text else None
            left, top, right, bottom = box or (0, 0, 0, 0)
            edge = 12 if text else 0
            self._canvas.coords(self._shade, left - edge, top - edge, right + edge, bottom + edge)
            self._shown = text
        self.refresh()

    def refresh(self) -> None:
        """Process the window system's pending events."""
        if not self.closed:
            self._root.update()

    def close(self) -> None:
        """Close the window, if it is still open."""
        if not self.closed:
            self.closed = True
            self._root.destroy()

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _key(self, _: Any) -> None:
        self.pressed += 1

    def _focus(self, focused: bool) -> None:
        self.focused = focused
