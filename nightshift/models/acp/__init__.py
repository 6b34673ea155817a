"""Other coding agents as authors: they work in a sandbox, on a copy of the files, and their change is the reply.

The Agent Client Protocol (JSON-RPC 2.0 in lines, over standard input and output) is spoken with them by a client of
our own: what it needs is small, and each message comes from code that is not trusted.
"""
