"""Makes failures by the hundred thousand whose causes are none of those in `pairs_of_errors.txt`.

They are made of templates of ours in the usual dresses (a traceback, a line of pytest, a stack of Node), with names of
functions and things drawn by lot, so that many differ in a name only, as the failures of a long-lived memory do.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

PYTHON = """
OverflowError: math range error
BrokenPipeError: [Errno 32] Broken pipe
OSError: [Errno 28] No space left on device: '{noun}.db'
OSError: [Errno 24] Too many open files: '{noun}.log'
IsADirectoryError: [Errno 21] Is a directory: '{noun}'
OSError: [Errno 39] Directory not empty: 'build/{noun}'
FileExistsError: [Errno 17] File exists: '{noun}.lock'
socket.gaierror: [Errno -2] Name or service not known
ssl.SSLCertVerificationError: certificate verify failed: self-signed certificate in the chain of {noun}
ConnectionResetError: [Errno 104] Connection reset by peer
struct.error: unpack requires a buffer of {n} bytes
zlib.error: Error -3 while decompressing {noun}: incorrect header check
LookupError: unknown encoding: {noun}
ValueError: math domain error
ValueError: time data '{noun}' does not match format '%Y-%m-%d'
ValueError: substring not found
ValueError: list.remove(x): {noun} not in list
ValueError: empty range for randrange() (0, 0, 0)
ValueError: max() arg is an empty sequence
ValueError: Sample larger than population or is negative
ValueError: negative shift count
ValueError: I/O operation on closed file.
ValueError: day is out of range for month
ValueError: embedded null byte
ValueError: cannot convert float NaN to integer
ValueError: setting an array element with a sequence in {noun}
ValueError: unknown {noun} mode; choose one of fast, slow
TypeError: {function}() takes {n} positional arguments but more were given
TypeError: {function}() got an unexpected keyword argument '{noun}'
TypeError: {function}() got multiple values for argument '{noun}'
TypeError: 'int' object is not callable
TypeError: 'int' object is not iterable
TypeError: bad operand type for unary -: 'str'
TypeError: '<' not supported between instances of 'str' and 'int'
TypeError: string indices must be integers, not 'str'
TypeError: metaclass conflict: the metaclass of {thing} must be a subclass of those of its bases
TypeError: Cannot create a consistent method resolution order (MRO) for bases {thing}, Base
TypeError: exceptions must derive from BaseException
TypeError: sequence item 0: expected str instance, int found
TypeError: not all arguments converted during string formatting
TypeError: 'tuple' object does not support item assignment
TypeError: first argument must be callable
TypeError: cannot pickle '_thread.lock' object of {thing}
TypeError: object of type 'generator' has no len()
TypeError: slice indices must be integers or None or have an __index__ method
TypeError: 'float' object cannot be interpreted as an integer
AttributeError: 'list' object has no attribute 'push'
AttributeError: 'str' object has no attribute 'append'
AttributeError: 'dict' object has no attribute 'iteritems'
AttributeError: module 'time' has no attribute 'clock'
AttributeError: '{thing}' object has no attribute '_{noun}'
sqlite3.OperationalError: database is locked
sqlite3.IntegrityError: FOREIGN KEY constraint failed
sqlite3.IntegrityError: NOT NULL constraint failed: {noun}s.name
sqlite3.OperationalError: near "{noun}": syntax error
sqlite3.OperationalError: no such column: {noun}_id
sqlite3.DatabaseError: database disk image is malformed
sqlite3.ProgrammingError: Incorrect number of bindings supplied
numpy.linalg.LinAlgError: Singular matrix
MemoryError: Unable to allocate {n} GiB for {noun}
RuntimeError: cannot schedule new futures after shutdown
RuntimeError: This event loop is already running
RuntimeError: Event loop is closed
RuntimeError: {function} got Future attached to a different loop
RuntimeError: cannot join current thread
RuntimeError: release unlocked lock
RuntimeError: generator raised StopIteration
ValueError: generator already executing
queue.Full: the queue of {noun}s holds {n} entries
asyncio.exceptions.InvalidStateError: Result is not set.
argparse.ArgumentError: argument --{noun}: conflicting option string
subprocess.CalledProcessError: Command 'make {noun}' returned non-zero exit status {n}
decimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]
xml.etree.ElementTree.ParseError: mismatched tag in the {noun}
zipfile.BadZipFile: File is not a zip file
configparser.NoSectionError: No section: '{noun}'
csv.Error: line contains NUL in {noun}
ImportError: attempted relative import with no known parent package
SyntaxError: 'return' outside function
SyntaxError: f-string: expecting '}}' in {function}
SyntaxError: cannot assign to function call {function}()
SyntaxError: 'await' outside async function
TabError: inconsistent use of tabs and spaces in indentation
jinja2.exceptions.UndefinedError: '{noun}' is undefined
jinja2.exceptions.TemplateNotFound: {noun}.html
click.exceptions.NoSuchOption: No such option: --{noun}
werkzeug.routing.exceptions.BuildError: Could not build url for endpoint '{noun}'
requests.exceptions.HTTPError: 429 Client Error: Too Many Requests
requests.exceptions.HTTPError: 500 Server Error: Internal Server Error
AssertionError: assert 'Hello, {thing}' == 'hello, {noun}'
AssertionError: assert '{noun} ' == '{noun}'
AssertionError: expected {function} to have been called once. Called {n} times.
AssertionError: assert {n} == -{n}: the {noun} has the wrong sign
AssertionError: assert False: is_{noun}('{thing}')
AssertionError: assert None == {n}: {function}() returns nothing
AssertionError: DID NOT RAISE <class 'ValueError'> in {function}
AssertionError: the {noun} was rotated to the left instead of the right
AssertionError: leap years: 1900 was taken for one by {function}
AssertionError: the path through the {noun} is not the shortest one
AssertionError: the {noun} is upside down in {function}
AssertionError: {function} is not stable: equal {noun}s change places
""".strip().split("\n")
SCRIPT = """
TypeError: Cannot set properties of null (setting '{noun}')
RangeError: Invalid array length
RangeError: Invalid time value
TypeError: Class constructor {thing} cannot be invoked without 'new'
TypeError: Cannot mix BigInt and other types, use explicit conversions
TypeError: {noun} is not iterable
TypeError: Cannot convert undefined or null to object
TypeError: Reduce of empty array with no initial value
TypeError: Converting circular structure to JSON
SyntaxError: Unexpected identifier '{noun}'
SyntaxError: await is only valid in async functions and the top level bodies of modules
SyntaxError: The requested module './{noun}.js' does not provide an export named '{thing}'
AssertionError [ERR_ASSERTION]: Missing expected exception in {function}
AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal: {noun}
Error: Cannot find module './{noun}'
URIError: URI malformed
""".strip().split("\n")
VERBS = """
load save parse read write merge split sort find count draw send fetch move check build make update delete render encode
decode open close start stop join match scan walk
""".split()  # noqa: SIM905  names are read more easily than quotes
NOUNS = """
invoice matrix user robot recipe planet ticket circle graph token letter number folder picture message player garden
train river engine window battery parcel bridge signal pixel sensor budget lesson mirror candle harbor island journal
kernel ladder magnet needle orchard pepper quarry ribbon saddle temple valley wagon yarn zebra anchor basket cabin
desert eagle fabric glacier hammer
""".split()  # noqa: SIM905  as above


def strangers(count: int, seed: int = 1) -> list[str]:
    """So many failures; the same seed gives the same ones."""
    dice = random.Random(seed)
    return [_dressed(dice) for _ in range(count)]


def _dressed(dice: random.Random) -> str:
    noun, verb = dice.choice(NOUNS), dice.choice(VERBS)
    script = dice.random() < len(SCRIPT) / (len(PYTHON) + len(SCRIPT))
    function = f"{verb}{noun.title()}" if script else f"{verb}_{noun}"
    fields = {"noun": dice.choice(NOUNS), "thing": noun.title(), "function": function, "n": dice.randrange(2, 99)}
    head = dice.choice(SCRIPT if script else PYTHON).format(**fields)
    return "\n".join((_in_script if script else dice.choice((_traceback, _pytest)))(head, function, noun, dice))


def _traceback(head: str, function: str, noun: str, dice: random.Random) -> Iterator[str]:
    yield "Traceback (most recent call last):"
    yield f'  File "/srv/{noun}/{dice.choice(NOUNS)}.py", line {dice.randrange(1, 400)}, in {function}'
    yield f"    return {dice.choice(VERBS)}({noun})"
    yield head


def _pytest(head: str, function: str, noun: str, dice: random.Random) -> Iterator[str]:
    yield f"tests/test_{noun}.py:{dice.randrange(1, 99)}: in test_{function}"
    yield f"{noun}.py:{dice.randrange(1, 99)}: in {function}"
    yield f"E   {head}"


def _in_script(head: str, function: str, noun: str, dice: random.Random) -> Iterator[str]:
    yield head
    yield f"    at {function} (/w/{noun}.js:{dice.randrange(1, 99)}:{dice.randrange(1, 40)})"
    yield f"    at /w/{noun}.test.js:{dice.randrange(1, 99)}:5"
