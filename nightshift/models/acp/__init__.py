"""Lets other coding agents write changes.

An agent works in a sandbox on a copy of the files, and its change is the reply.

Nightshift has its own client for the Agent Client Protocol (JSON-RPC 2.0 in lines, over standard input and output): it
needs only a small part of the protocol, and every message comes from untrusted code.
"""
