"""The application as every WSGI server loads it, in the process that serves (after any fork)."""

import atexit
import gc
import os

from django.core.wsgi import get_wsgi_application

from contextdash import db, serving

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextdash.settings")
django = get_wsgi_application()

# These need the settings.
from contextdash.background import background  # noqa: E402
from contextdash.services.backup import hold_database  # noqa: E402
from contextdash.shortpath import short_path  # noqa: E402
from contextdash.writer import writer  # noqa: E402

application = short_path(django)

db.leave_checkpoints_to_the_writer()
hold_database()
writer.start()
background.start()
# The last to be registered is the first to be called: the background still needs the writer.
atexit.register(writer.stop)
atexit.register(background.stop)
serving.announce()
# What is loaded by now stays: it need not be looked through again by every full collection, for 50 ms each.
gc.collect()
gc.freeze()
