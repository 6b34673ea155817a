"""Text as values: encodings, formats, masking, and plain data from people."""
