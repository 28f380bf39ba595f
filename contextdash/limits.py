"""Every limit on size and time, by the name that a rejection tells."""

KIB = 1024
MIB = 1024 * KIB

BODY_BYTES = 16 * MIB
"""The largest request body; a larger one is answered 413."""

DECOMPRESSED_BYTES = 16 * MIB
"""The largest body after gzip is undone; a larger one is answered 413."""

TEXT_BYTES = 8 * MIB
"""The longest text field that a writer may send; a longer one is answered 422."""

HOOK_TEXT_BYTES = 1 * MIB
"""A longer text inside a hook or transcript is cut here, and shown as cut with its size and SHA-256."""

JSON_DEPTH = 200
"""The deepest nesting of a JSON body; a deeper one is answered 400."""

QUARANTINE_BYTES = 64 * KIB
"""How much of a refused body is kept to look at."""

NAME_CHARS = 200
"""Agent names, topics, categories, hook names and other short words."""

TITLE_CHARS = 500
"""Titles of plans, targets of findings and other one-line texts."""

PATH_CHARS = 4096
"""A path or address."""

REASON_CHARS = 2000
"""Why somebody changed something; a longer reason is answered 422."""

PLACE_CHARS = 500
"""A folder or remote that sessions are grouped by; indexed, and PostgreSQL's index entries end at 2.7 kB."""

FILE_PATH_CHARS = 500
"""Of a longer path of a file that a tool touched the end is kept; indexed."""

FILES_OF_CALL = 200
"""The most files that one tool call is counted for."""

HOST_CHARS = 120
"""A machine's name, indexed together with a folder."""

SESSION_ID_CHARS = 128
"""A longer session id is stored as ``x`` and 31 hex digits of its SHA-256."""

LABELS = 32
"""The most labels of one session; more are answered 422."""

LABEL_BYTES = 128
"""The longest label of a session, in UTF-8; a longer one is answered 422."""

FORK_CALLS = 20_000
"""The most model and tool calls that a fork copies; more are answered 422. Every hook waits for it."""

ATTACHMENT_BYTES = 10 * MIB
"""The largest file of an attachment; a larger one is answered 413."""

ATTACHMENTS_OF_MESSAGE = 64
"""The most files of one request or tool call; more are answered 422."""

AGGREGATE_BYTES = 1 * MIB
"""The largest document of an extension, as JSON; a larger one is answered 413."""

AGGREGATE_INDEX_BYTES = 64 * KIB
"""And of what it is looked for by."""

AGGREGATE_KEY_CHARS = 400
"""The longest key of a document of an extension; indexed."""

SCOPE_CHARS = 300
"""What such a document belongs to, written out; indexed."""

AGGREGATE_ROWS = 100
"""The most documents that one answer lists."""

CONTENT_BYTES = 4 * MIB
"""What a writer tells of a run as JSON: its blocks, its context, its error, each."""

CONTENT_BLOCKS = 2000
"""The most blocks of a run; more are answered 422."""

ROUTING_EVENTS = 200
"""The most routing events of one model call; more are answered 422."""

LOG_LINES = 500
"""The most lines of one post to the log; more are answered 413."""

LOG_DATA_BYTES = 128 * KIB
"""The largest data of one line of the log, as JSON; larger ones are answered 413."""

LOG_ROWS = 200_000
"""How many lines of the log are kept; the oldest go."""

ORDERED_SESSIONS = 2000
"""The most sessions that one order of a project names; more are answered 422."""

CLAIM_ID_CHARS = 200
"""The longest id of a run, turn, call, event or workspace in a claim; visible ASCII, since several together
make a key."""

DIGEST_CHARS = 80
"""A digest as clients write it: ``sha256:`` and 64 hex digits."""

SEGMENT_BYTES = 64 * KIB
"""How large a segment of a streamed text grows before the next one begins."""

SUMMARY_CHARS = 200
"""The one-line summary of a tool call."""

PAGE_ROWS = 100
"""The largest page of a list in the API; ``limit`` above it is answered 422."""

NDJSON_LINES = 5000
"""The most lines of one NDJSON body; a longer one is answered 413."""

NDJSON_WRITER_LINES = 500
"""The most lines of one NDJSON body that are no hooks; more is answered 413. They are stored one by
one in one transaction, and every hook waits for it."""

EVENT_PAYLOAD_BYTES = 256 * KIB
"""A larger payload is left out of a list of events; the event alone has it whole."""

EVENT_PAGE_BYTES = 1 * MIB
"""A page of events ends early where its payloads pass this."""

LEDGER_EVENTS = 500
"""The most events of one append to a run; a longer one is answered 413. Every hook waits for it."""

REPLAY_EVENTS = 5000
"""The most events of a run in one answer; more is answered 413, never cut."""

REPLAY_BYTES = 4 * MIB
"""And the most bytes of their payloads."""

READ_RECENT_CHARS = 10_000
"""What compact readers return of a message."""

INJECT_CHARS = 400
"""What ``messages/inject`` keeps of a message, as the hook did that it replaces."""

REQUEST_TEXT_CHARS = 2_000
"""What compact readers return of a session's request."""

WRITE_WAIT_SECONDS = 4.0
"""How long a write waits for its turn before it is answered 503 with Retry-After."""

SAME_BYTES_SECONDS = 5
"""Two deliveries without an id and with equal bytes within this time are one."""

WINDOW_DEFAULT = "2h"
WINDOW_MAX_DAYS = 30

OTLP_RECORDS = 10_000
"""The most log records, spans or metrics of one telemetry request; a larger one is answered 413."""

OTLP_WAIT_SECONDS = 1.0
"""How long a telemetry request waits while a server process reads another before it is answered 429."""

OTLP_UNKNOWN_BYTES = 64 * KIB
"""A larger telemetry record that nobody knows is counted, and not stored."""

OTLP_UNKNOWN_RECORDS = 100
"""Of the records of one telemetry request that nobody knows, the further ones are counted, and not stored."""

UPLOAD_BYTES = 512 * MIB
"""The largest upload of transcripts; a larger one is answered 413."""

UPLOAD_UNPACKED_BYTES = 2048 * MIB
"""What the zip files of one upload may hold together; more is left packed, and said."""

UPLOAD_AT_ONCE = 400
"""The most files of one form, each of which may be an open file of the server's; more are answered 413. A zip
file holds more."""

UPLOAD_FILES = 10_000
"""How many files of one upload are looked at; what its zip files hold besides is left packed, and said."""

TOKENS_OF_CALL = 2**31 - 1
"""No model call takes or makes more tokens of a class; of a larger number the sums would overflow."""

COST_OF_CALL = 2**40
"""And none costs more micro-dollars, about a million dollars."""
