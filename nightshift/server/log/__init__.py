"""The log over the wire: filters, pages, the live stream, the download."""
