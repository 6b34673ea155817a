"""Modules of well-known distributions, with the name of the distribution where it differs from the module's name."""

from __future__ import annotations

from collections.abc import Mapping

# Maps a module to its distributions; the first distribution is used unless the owner's files name another of them.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "yaml": ("PyYAML",), "cv2": ("opencv-python-headless", "opencv-python", "opencv-contrib-python"),
    "PIL": ("Pillow",), "sklearn": ("scikit-learn",), "skimage": ("scikit-image",), "bs4": ("beautifulsoup4",),
    "dateutil": ("python-dateutil",), "dotenv": ("python-dotenv",), "jwt": ("PyJWT",), "jose": ("python-jose",),
    "Crypto": ("pycryptodome",), "OpenSSL": ("pyOpenSSL",), "nacl": ("PyNaCl",), "git": ("GitPython",),
    "serial": ("pyserial",), "usb": ("pyusb",), "zmq": ("pyzmq",), "docx": ("python-docx",), "pptx": ("python-pptx",),
    "fitz": ("PyMuPDF",), "pymupdf": ("PyMuPDF",), "magic": ("python-magic",), "slugify": ("python-slugify",),
    "multipart": ("python-multipart",), "telegram": ("python-telegram-bot",), "discord": ("discord.py",),
    "github": ("PyGithub",), "gitlab": ("python-gitlab",), "jenkins": ("python-jenkins",), "ldap": ("python-ldap",),
    "MySQLdb": ("mysqlclient",), "psycopg2": ("psycopg2-binary", "psycopg2"), "mysql": ("mysql-connector-python",),
    "flask_sqlalchemy": ("Flask-SQLAlchemy",), "flask_login": ("Flask-Login",), "flask_cors": ("flask-cors",),
    "rest_framework": ("djangorestframework",), "django_filters": ("django-filter",), "environ": ("django-environ",),
    "corsheaders": ("django-cors-headers",), "socketio": ("python-socketio",), "engineio": ("python-engineio",),
    "pkg_resources": ("setuptools",), "attr": ("attrs",), "markdown": ("Markdown",), "jinja2": ("Jinja2",),
    "markupsafe": ("MarkupSafe",), "werkzeug": ("Werkzeug",), "sqlalchemy": ("SQLAlchemy",), "babel": ("Babel",),
    "editor": ("python-editor",), "Levenshtein": ("Levenshtein",), "pyaudio": ("PyAudio",), "wx": ("wxPython",),
    "gi": ("PyGObject",), "cairo": ("pycairo",), "Xlib": ("python-xlib",), "lxml_html_clean": ("lxml-html-clean",),
    "faiss": ("faiss-cpu", "faiss-gpu"), "umap": ("umap-learn",), "community": ("python-louvain",),
    "sentence_transformers": ("sentence-transformers",), "langchain_core": ("langchain-core",),
    "huggingface_hub": ("huggingface-hub",), "google.protobuf": ("protobuf",), "google.auth": ("google-auth",),
    "google.generativeai": ("google-generativeai",), "google.genai": ("google-genai",),
    "google.oauth2": ("google-auth",), "googleapiclient": ("google-api-python-client",), "grpc": ("grpcio",),
    "pydantic_settings": ("pydantic-settings",), "prometheus_client": ("prometheus-client",),
    "factory": ("factory-boy",), "faker": ("Faker",), "freezegun": ("freezegun",), "mock": ("mock",),
    "responses": ("responses",), "requests_mock": ("requests-mock",), "requests_oauthlib": ("requests-oauthlib",),
    "pytest_mock": ("pytest-mock",), "pytest_asyncio": ("pytest-asyncio",), "pytest_django": ("pytest-django",),
    "IPython": ("ipython",), "nbformat": ("nbformat",), "mpl_toolkits": ("matplotlib",), "pylab": ("matplotlib",),
    "stdnum": ("python-stdnum",), "snappy": ("python-snappy",), "lz4": ("lz4",), "zstd": ("zstd",), "pwiz": ("peewee",),
    "playhouse": ("peewee",), "pyasn1_modules": ("pyasn1-modules",), "ruamel.yaml": ("ruamel.yaml",),
    "typing_extensions": ("typing-extensions",), "importlib_metadata": ("importlib-metadata",),
    "more_itertools": ("more-itertools",), "win32api": ("pywin32",), "win32com": ("pywin32",), "memcache": (
        "python-memcached",), "consul": ("python-consul",), "etcd": ("python-etcd",), "nmap": ("python-nmap",),
    "barcode": ("python-barcode",), "qrcode": ("qrcode",), "Bio": ("biopython",), "rdkit": ("rdkit",),
    "OpenGL": ("PyOpenGL",), "chess": ("chess",), "steam": ("steam",), "dns": ("dnspython",), "whois": (
        "python-whois",), "bson": ("pymongo",), "gridfs": ("pymongo",), "azure.identity": ("azure-identity",),
    "kafka": ("kafka-python",), "pywt": ("PyWavelets",), "vcr": ("vcrpy",), "paho": ("paho-mqtt",),
    "pika": ("pika",), "speech_recognition": ("SpeechRecognition",),
    "charset_normalizer": ("charset-normalizer",), "text_unidecode": ("text-unidecode",), "vobject": ("vobject",),
}  # fmt: skip

# Modules whose well-known distribution has the same name.
SAME_NAMES = frozenset({
    "aiofiles", "aiohttp", "aiosqlite", "alembic", "altair", "anthropic", "anyio", "apscheduler", "argon2", "arrow",
    "asgiref", "asyncpg", "attrs", "bcrypt", "black", "bleach", "blinker", "bokeh", "boltons", "boto3", "botocore",
    "bottle", "cachetools", "cattrs", "celery", "certifi", "cffi", "chardet", "cherrypy", "click", "cloudpickle",
    "colorama", "coloredlogs", "coverage", "croniter", "cryptography", "cssselect", "cython", "cytoolz", "dacite",
    "dask", "deepdiff", "defusedxml", "deprecated", "dill", "diskcache", "distributed", "django", "docker", "docopt",
    "docutils", "duckdb", "ecdsa", "elasticsearch", "email_validator", "emoji", "eventlet", "falcon", "fastapi",
    "fastjsonschema", "feedparser", "filelock", "fire", "flask", "folium", "fsspec", "funcy", "fuzzywuzzy", "gensim",
    "geopandas", "geopy", "gevent", "greenlet", "gspread", "gunicorn", "h11", "h5py", "holidays", "html5lib",
    "httpcore", "httptools", "httpx", "humanize", "hypercorn", "hypothesis", "icalendar", "idna", "inflect",
    "inflection", "iniconfig", "invoke", "isodate", "isort", "itsdangerous", "jax", "jedi", "jellyfish", "jmespath",
    "joblib", "json5", "jsonpatch", "jsonpath_ng", "jsonschema", "keras", "keyring", "kombu", "langchain", "lark",
    "libcst", "lightgbm", "litellm", "llvmlite", "loguru", "lxml", "mako", "marshmallow", "matplotlib", "mistune",
    "mongoengine", "msgpack", "multidict", "mypy", "natsort", "networkx", "nltk", "numba", "numexpr", "numpy",
    "oauthlib", "ollama", "openai", "openpyxl", "orjson", "packaging", "pandas", "paramiko", "parse", "parsel",
    "passlib", "pathspec", "patsy", "peewee", "pendulum", "pexpect", "phonenumbers", "pint", "platformdirs", "plotly",
    "pluggy", "ply", "polars", "portalocker", "praw", "prettytable", "prompt_toolkit", "psutil", "psycopg",
    "ptyprocess", "pyarrow", "pycountry", "pydantic", "pydot", "pyfiglet", "pygame", "pygments", "pymongo", "pymysql",
    "pyparsing", "pypdf", "pyperclip", "pytesseract", "pytest", "pytz", "quart", "rapidfuzz", "redis", "regex",
    "reportlab", "requests", "rfc3986", "rich", "rsa", "s3fs", "sanic", "scapy", "schedule", "schema", "scipy",
    "scrapy", "seaborn", "selectolax", "selenium", "semver", "sentry_sdk", "setuptools", "shapely", "shortuuid",
    "simplejson", "simpy", "six", "smart_open", "sniffio", "sortedcontainers", "soupsieve", "spacy", "sqlglot",
    "sqlmodel", "sqlparse", "starlette", "statsmodels", "streamlit", "stripe", "structlog", "sympy", "tabulate",
    "tenacity", "tensorflow", "termcolor", "textblob", "texttable", "textual", "tiktoken", "tinydb", "tldextract",
    "toml", "tomli", "tomli_w", "tomlkit", "toolz", "torch", "torchvision", "tornado", "tqdm", "traitlets",
    "transformers", "trio", "twilio", "typeguard", "typer", "tzlocal", "ujson", "unidecode", "uritemplate", "urllib3",
    "uvicorn", "uvloop", "validators", "watchdog", "watchfiles", "wcwidth", "webcolors", "websocket", "websockets",
    "whitenoise", "wrapt", "wtforms", "xarray", "xgboost", "xlrd", "xlsxwriter", "xlwt", "xmltodict", "yarl",
    "zstandard",
})  # fmt: skip

# Namespace packages that many distributions share; each distribution is named after its part of the namespace.
SHARED = ("google.cloud", "azure", "backports", "jaraco", "ruamel", "sphinxcontrib", "zope")


def is_known_module(top: str) -> bool:
    """Return True if a top-level module belongs to a well-known distribution."""
    return top in SAME_NAMES or top in OTHER_NAMES
