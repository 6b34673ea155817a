"""Backends that let other coding agents write changes.

An agent works in a sandbox on a copy of the files, and the changes in the copy become the reply.

Nightshift has its own client for the Agent Client Protocol (JSON-RPC 2.0 in lines, over standard input and output),
because it needs only a small part of the protocol, and because every message comes from untrusted code.
"""
