"""How a handler of the page fails: with a sentence, on the page."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from html import escape
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import gradio as gr

from app.errors import in_words
from engines.errors import StudioError

P = ParamSpec("P")
R = TypeVar("R")
logger = logging.getLogger(__name__)


def shows_errors(log_folder: Path) -> Callable[[Callable[P, R]], Callable[P, R | Any]]:
    """Make a handler's problem a message on the page; a fault of ours is kept in a file too."""

    def decorate(handler: Callable[P, R]) -> Callable[P, R | Any]:
        @wraps(handler)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R | Any:
            try:
                return handler(*args, **kwargs)
            except Exception as error:
                if not isinstance(error, StudioError):
                    logger.exception("A handler of the page failed.")
                problem = in_words(error, log_folder)
                # Not gr.Error, which covers the form and what was typed into it. The message is
                # shown as HTML, and a problem quotes what people typed.
                gr.Warning(escape(str(problem)))
                return gr.skip()

        return wrapped

    return decorate
