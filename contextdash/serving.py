"""How the server runs: address, gunicorn's configuration (this module is it), what is said at the start.

One process with eight threads: on SQLite all writes pass one thread anyway, and more threads or processes
were measured to gain nothing. The application is loaded after the fork, because the writer's thread would
not survive it.
"""

import os
import sys

HOST_DEFAULT = "127.0.0.1"
PORT_DEFAULT = "8765"
THREADS = 8
KEEP_ALIVE_SECONDS = 30
STOP_SECONDS = 10
"""How long requests in work may go on after a TERM."""

ANNOUNCE = "CONTEXTDASH_ANNOUNCE"
"""Set by ``contextdash serve`` for the process that it becomes: say where the server is."""


def host() -> str:
    return os.environ.get("HOST") or HOST_DEFAULT


def port() -> str:
    return os.environ.get("PORT") or PORT_DEFAULT


def address_url() -> str:
    name = f"[{host()}]" if ":" in host() else host()
    return f"http://{HOST_DEFAULT if name in ('0.0.0.0', '[::]') else name}:{port()}"  # noqa: S104


def announce() -> None:
    """Leave the address for commands and print it, and a sign-in link until a first owner has signed in."""
    url = os.environ.get(ANNOUNCE)
    if not url:
        return
    print(f"contextdash is at {url}", file=sys.stderr)
    from contextdash.address import leave

    leave(url)
    from contextdash.actor import SYSTEM
    from contextdash.services.signin import make_link
    from contextdash.services.users import first_owner

    user = first_owner()
    if user is not None:
        _, secret = make_link(user=user, actor=SYSTEM)
        print(f"Sign in (once, within 15 minutes): {url}/signin/{secret}/", file=sys.stderr)
    sys.stderr.flush()


# What follows are gunicorn's own setting names.
bind = f"[{host()}]:{port()}" if ":" in host() else f"{host()}:{port()}"
wsgi_app = "contextdash.wsgi:application"
worker_class = "gthread"
workers = 1
threads = THREADS
preload_app = False
keepalive = KEEP_ALIVE_SECONDS
graceful_timeout = STOP_SECONDS
timeout = 60
control_socket_disable = True
proc_name = "contextdash"
loglevel = "warning"
# Forwarded headers are Django's business, and only where CONTEXTDASH_BEHIND_PROXY says so.
forwarded_allow_ips = ""
