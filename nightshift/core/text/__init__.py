"""Text as values: encodings, formats, masking, and plain data that people send."""
