"""Whether a cell was sent by a console: `jupyter console`, Qt console, Spyder's, `jupyter run`.

They show an output's text and pass over what would replace it, so a run that is shown as an output would end there before it began.
"""

from __future__ import annotations

import os
from typing import Any


def sent_by_console(shell: Any) -> bool:
    """Whether the request that `shell`, a kernel's, works on comes from a console.

    That is a program that is built on `jupyter_client`, with somebody at a keyboard, and without cells. Pages name the cell that
    they run, and number their messages in ways of their own; programs that run whole notebooks have nobody to ask; and where a
    Jupyter server sends a page's cells, it has started the kernel for a notebook, whose path it tells in the environment. (The
    message: https://jupyter-client.readthedocs.io/en/stable/messaging.html#general-message-format; that its id begins with the
    session's is how `jupyter_client.session` makes it.)
    """
    request = getattr(shell, "parent_header", None)
    if not isinstance(request, dict) or "JPY_SESSION_NAME" in os.environ:
        return False
    header, content = request.get("header", {}), request.get("content", {})
    by_client = str(header.get("msg_id", "")).startswith(f"{header.get('session') or '?'}_")
    return by_client and content.get("allow_stdin") is True and "cellId" not in request.get("metadata", {})
